"""What hosted_models.json says of hosted models: prices, the day they are retired, and what a request may hold."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Literal

RETIREMENT_NOTICE = timedelta(days=90)  # from then on a default fails a test, and `rag doctor` warns
AZURE_API_VERSION = "v1"  # dated versions before 2024-12-01 refuse models that reason
REASONING_TOKENS = 2048  # hidden reasoning counts as output, up to so many tokens a call
MODEL_VERSION_SUFFIX = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{3,4}|latest)$")
LimitParameter = Literal["max_tokens", "max_completion_tokens"]


@dataclass(frozen=True, slots=True)
class ChatParameters:
    """What a request to a chat model may hold: the name of its limit of tokens, and which parameters it takes.

    `reasoning_effort` is the effort to ask for, None where the model does not reason. A model that wants
    `max_completion_tokens` counts its hidden reasoning in that limit.
    """

    limit_parameter: LimitParameter = "max_tokens"
    temperature: bool = True
    reasoning_effort: str | None = None
    structured_output: bool = True


@dataclass(frozen=True, slots=True)
class HostedModel:
    """A model of a provider: its version and SKU on Azure, prices in USD per million tokens, and its last days.

    `retires` has the day by provider, at which its deployments fail; a provider that has published none is absent.
    `chat` is None for an embedding model, `dimensions` for a chat model.
    """

    name: str
    version: str
    sku: str
    retires: Mapping[str, date]
    input_usd: float
    cached_input_usd: float
    output_usd: float
    context_tokens: int
    chat: ChatParameters | None
    dimensions: int | None

    def days_left(self, provider: str, today: date) -> int | None:
        """Return the days until the provider retires it, negative afterwards; None where no day is known."""
        last = self.retires.get(provider)
        return None if last is None else (last - today).days


def _read_model(name: str, facts: Mapping[str, Any]) -> HostedModel:
    prices = facts["usd_per_million"]
    return HostedModel(
        name,
        version=facts.get("version", ""),
        sku=facts.get("sku", ""),
        retires={provider: date.fromisoformat(day) for provider, day in facts.get("retires", {}).items()},
        input_usd=prices["input"],
        cached_input_usd=prices.get("cached_input", prices["input"]),
        output_usd=prices.get("output", 0.0),
        context_tokens=facts["context_tokens"],
        chat=ChatParameters(**facts["chat"]) if "chat" in facts else None,
        dimensions=facts.get("dimensions"),
    )


FACTS: Mapping[str, Any] = json.loads(Path(__file__).with_name("hosted_models.json").read_text("utf-8"))
HOSTED_MODELS: Mapping[str, HostedModel] = {name: _read_model(name, facts) for name, facts in FACTS["models"].items()}
DEFAULT_CHAT_MODEL = HOSTED_MODELS[FACTS["defaults"]["chat"]]  # what infra/main.bicep deploys
DEFAULT_EMBEDDING_MODEL = HOSTED_MODELS[FACTS["defaults"]["embeddings"]]


def find_hosted_model(name: str) -> HostedModel | None:
    """Return the model of a name, with or without a version or "models/" before it; None for one not listed."""
    bare = name.removeprefix("models/")
    return HOSTED_MODELS.get(bare) or HOSTED_MODELS.get(MODEL_VERSION_SUFFIX.sub("", bare))


def describe_retirement(name: str, provider: str, today: date) -> str | None:
    """Return a sentence on a model that its provider retires within `RETIREMENT_NOTICE`, or has retired; else None."""
    model = find_hosted_model(name)
    days = model.days_left(provider, today) if model else None
    if model is None or days is None or days > RETIREMENT_NOTICE.days:
        return None
    when = f"in {days} days, on" if days > 0 else "today," if days == 0 else "since"
    verb = "retires" if days >= 0 else "is retired"
    advice = "deploy another model and name it in the settings (docs/reference/azure-deployment.md)"
    return f"{model.name} {model.version} {verb} {when} {model.retires[provider]}: calls fail from then on; {advice}"
