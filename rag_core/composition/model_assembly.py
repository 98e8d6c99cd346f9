"""Construction of the models: chat models, embedders, rerankers and judges, local or of a provider."""

from dataclasses import replace

from rag_core.composition.choices import choose_chat_provider, choose_judge
from rag_core.core.errors import Misconfigured
from rag_core.core.hosted_models import REASONING_TOKENS, find_hosted_model
from rag_core.core.kit import EnrichmentModel
from rag_core.core.ports import LLM, Embedder, EntailmentScorer, Judge, Reranker, WordComparer
from rag_core.core.settings import Settings
from rag_core.providers.provider_profiles import PROVIDER_PROFILES, ProviderProfile

EMBEDDING_MODEL_FIELDS = {  # by provider: the setting with its embedding model, where it is not `embedding_model`
    "azure": "embedding_deployment",
    "gemini": "gemini_embedding_model",
    "ollama": "ollama_embedding_model",
}


def build_embedder(settings: Settings, provider_name: str) -> Embedder:
    """Build the embedder of a provider, which opens no connection and loads no model."""
    if provider_name == "local":
        return build_local_embedder(settings)
    from rag_core.providers.openai import OpenAIEmbedder

    model_profile, key = build_provider_profile(settings, provider_name)
    return OpenAIEmbedder(model_profile, key=key)


def get_embedding_space(settings: Settings, provider_name: str) -> str:
    """Return the space of a provider's embedder, "" where its model is missing here."""
    if provider_name == "local":
        return build_local_embedder(settings).space
    return build_provider_profile(settings, provider_name)[0].embedding_space


def build_local_embedder(settings: Settings) -> Embedder:
    """Return the offline embedder, or a null embedder whose error names the missing files."""
    from rag_core.providers import local_models
    from rag_core.providers.null_models import NoEmbedder

    folder = local_models.find_model_folder("embedder", settings.models_dir)
    if folder is None:
        return NoEmbedder(local_models.explain_missing_model("embedder", settings.models_dir))
    from rag_core.providers.local_embedder import LocalEmbedder  # needs the libraries that `find_model_folder` checked

    return LocalEmbedder(folder, threads=settings.model_threads)


def build_local_reranker(settings: Settings) -> Reranker:
    """Return the offline cross-encoder, which scores a pair once a request, or a null reranker naming missing files."""
    from rag_core.providers import local_models
    from rag_core.providers.null_models import NoReranker

    folder = local_models.find_model_folder("reranker", settings.models_dir)
    if folder is None:
        if settings.azure_search_endpoint is None:
            return NoReranker(local_models.explain_missing_model("reranker", settings.models_dir))
        # who reads a reply of a deployment cannot install anything; another model checks the answers there
        return NoReranker("this deployment has no cross-encoder", by_choice=choose_judge(settings) != "local")
    from rag_core.providers.cross_encoder import CrossEncoder
    from rag_core.retrieval.shared_scores import SharingReranker

    return SharingReranker(CrossEncoder(folder, threads=settings.model_threads))


def build_llm(settings: Settings, reranker: Reranker, scorer: EntailmentScorer | None) -> LLM:
    """Build the chat model, or the local techniques in its place."""
    provider_name = choose_chat_provider(settings).name
    if provider_name == "local":
        from rag_core.ingestion.enrichment import select_key_sentences
        from rag_core.providers.local_techniques import LocalTechniques
        from rag_core.retrieval.extractive_answers import get_least_answerability

        return LocalTechniques(reranker, select_key_sentences, least_answerability=get_least_answerability(scorer))
    from rag_core.providers.openai import OpenAIChatModel

    model_profile, key = build_provider_profile(settings, provider_name)
    return OpenAIChatModel(model_profile, key=key)


def build_enrichment_model(settings: Settings) -> EnrichmentModel | None:
    """Return the chat model with its price and ceiling; None where there is none, or its ceiling is 0."""
    provider_name = choose_chat_provider(settings).name
    if provider_name == "local" or not settings.enrichment_budget_usd:
        return None
    name = build_provider_profile(settings, provider_name)[0].chat_model
    listed = find_hosted_model(name)
    reasons = bool(listed and listed.chat and listed.chat.limit_parameter == "max_completion_tokens")
    input_usd, output_usd = (listed.input_usd, listed.output_usd) if listed else (None, None)
    if provider_name == "ollama":
        input_usd = output_usd = 0.0
    spare_tokens = REASONING_TOKENS if reasons else 0
    return EnrichmentModel(name, input_usd, output_usd, spare_tokens, settings.enrichment_budget_usd)


def build_full_llm(settings: Settings) -> LLM | None:
    """Build the full chat model; None where none is named or the provider is local."""
    provider_name = choose_chat_provider(settings).name
    if settings.full_model is None or provider_name == "local":
        return None
    from rag_core.providers.openai import OpenAIChatModel

    model_profile, key = build_provider_profile(settings, provider_name)
    return OpenAIChatModel(replace(model_profile, chat_model=settings.full_model), key=key)


def build_judge(settings: Settings, llm: LLM) -> Judge | None:
    """Build the model that judges claims, which may be the chat model; None where the facts of a claim decide alone.

    Raises:
        Misconfigured: the chosen judge is not there, or its folder is not that of an entailment model.
    """
    judge = choose_judge(settings)
    if judge == "chat":
        from rag_core.answering.chat_judge import ChatJudge

        return ChatJudge(llm)
    return _build_entailment_model(settings) if judge == "entailment" else None


def build_word_comparer(settings: Settings, embedder: Embedder) -> WordComparer | None:
    """Return the local embedder, which may be the index's own, as what compares words; None without its model."""
    from rag_core.providers import local_models

    folder = local_models.find_model_folder("embedder", settings.models_dir)
    if folder is None:
        return None
    from rag_core.providers.local_embedder import LocalEmbedder

    return embedder if isinstance(embedder, LocalEmbedder) else LocalEmbedder(folder, threads=settings.model_threads)


def build_entailment_scorer(settings: Settings) -> EntailmentScorer | None:
    """Return this project's own small model; None where the packaged cross-encoder is missing, or another is used."""
    from rag_core.providers import local_models

    folder = local_models.find_entailment_weights(settings.models_dir)
    if folder is None:
        return None
    from rag_core.providers.local_entailment import LocalEntailment

    return LocalEntailment(folder, threads=settings.model_threads)


def _build_entailment_model(settings: Settings) -> Judge | None:
    from rag_core.providers import entailment_folder, local_models

    folder = entailment_folder.find_entailment_folder(settings.models_dir)
    if folder is None:
        return None
    if missing := local_models.list_missing_libraries():
        raise Misconfigured(
            f"the entailment model requires {', '.join(missing)}: pip install 'azure-rag[local]'",
            field="RAG_MODELS_DIR",
        )
    from rag_core.providers.entailment_model import EntailmentModel

    return EntailmentModel(folder, threads=settings.model_threads)


def build_provider_profile(settings: Settings, name: str) -> tuple[ProviderProfile, str | None]:
    """Return a hosted provider's profile with the operator's settings applied, and the key."""
    default = PROVIDER_PROFILES[name]
    base_url, chat_model, embedding_model, key = {
        "azure": (
            settings.azure_openai_endpoint,
            settings.chat_deployment,
            settings.embedding_deployment,
            settings.azure_openai_key,
        ),
        "gemini": (None, settings.gemini_model, settings.gemini_embedding_model, settings.gemini_api_key),
        "ollama": (_append_v1_path(settings.ollama_host), settings.ollama_model, settings.ollama_embedding_model, None),
    }.get(name, (settings.openai_base_url, settings.chat_model, settings.embedding_model, settings.openai_api_key))
    dimensions = settings.embedding_dimensions or default.dimensions
    listed = find_hosted_model(embedding_model or default.embedding_model)
    is_too_wide = listed is not None and (listed.dimensions or 0) > dimensions
    adapted = replace(
        default,
        base_url=base_url or default.base_url,
        chat_model=chat_model or default.chat_model,
        embedding_model=embedding_model or default.embedding_model,
        dimensions=dimensions,
        chat_api=settings.chat_api,
        send_dimensions=default.send_dimensions or settings.embedding_dimensions is not None or is_too_wide,
    )
    if name == "azure":
        adapted = replace(adapted, api_version=settings.azure_openai_api_version)
    return replace(adapted, attempt_timeout_s=settings.ollama_timeout_s) if name == "ollama" else adapted, key


def _append_v1_path(host: str | None) -> str | None:
    """Return the URL of the OpenAI-compatible API of an Ollama host."""
    return host and f"{host}/v1"
