"""What `rag doctor` says of hosted models: their prices, and the day on which their provider retires them."""

from collections.abc import Iterator
from datetime import date

from rag_core.cli.findings import Finding
from rag_core.composition.choices import ProviderChoice, choose_chat_provider
from rag_core.composition.model_assembly import build_provider_profile
from rag_core.core.hosted_models import HostedModel, describe_retirement, find_hosted_model
from rag_core.core.settings import Settings


def list_hosted_model_findings(settings: Settings, embedding: ProviderChoice, today: date) -> Iterator[Finding]:
    """Yield what is known of the chat and embedding models in use, as far as they are hosted, without asking them."""
    chosen = (("chat model", choose_chat_provider(settings).name), ("embedder", embedding.name))
    for slot, provider_name in chosen:
        if provider_name in ("local", "ollama"):
            continue
        profile, _ = build_provider_profile(settings, provider_name)
        name = profile.chat_model if slot == "chat model" else profile.embedding_model
        yield from describe_hosted_model(slot, name, get_retiring_provider(profile.provider), today)


def get_retiring_provider(provider: str) -> str:
    """Return who retires the models of a provider: "azure" of "azure.ai.openai"."""
    return provider.split(".")[0]


def describe_hosted_model(slot: str, name: str, provider: str, today: date) -> Iterator[Finding]:
    """Yield the price of a model, and its retirement when that is near or past; a retired one is broken."""
    listed = find_hosted_model(name)
    if listed is None:
        unknown = f"nothing is known of {name}: costs are reported as unknown, and --budget-usd is refused"
        yield Finding("ok", f"{slot} price", f"{unknown} (rag doctor --live names the model of a deployment)")
        return
    yield Finding("ok", f"{slot} price", _describe_price(listed, provider))
    if said := describe_retirement(name, provider, today):
        is_gone = (listed.days_left(provider, today) or 0) <= 0
        yield Finding("broken" if is_gone else "missing", f"{slot} retirement", said)


def _describe_price(model: HostedModel, provider: str) -> str:
    prices = f"{model.input_usd:g} in"
    if model.chat:
        prices += f", {model.cached_input_usd:g} in from the cache, {model.output_usd:g} out"
    last = model.retires.get(provider)
    until = f"retires {last}" if last else "no day of retirement is known"
    return f"{model.name}: USD {prices} per million tokens; {until}"
