"""The choice of adapters by the settings: `assembly` builds the adapters, `rag doctor` lists the choices."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from rag_core.core.errors import Misconfigured
from rag_core.core.settings import DEFAULT_SETTINGS, Settings
from rag_core.providers.entailment_folder import find_entailment_folder

# by provider: the variables of which one must be set, with their fields; the first provider with one is chosen
PROVIDER_VARIABLES: Mapping[str, Mapping[str, str]] = {
    "azure": {"AZURE_OPENAI_ENDPOINT": "azure_openai_endpoint"},
    "openai": {"OPENAI_API_KEY": "openai_api_key"},
    "gemini": {"GEMINI_API_KEY": "gemini_api_key"},
    "ollama": {"OLLAMA_HOST": "ollama_host", "OLLAMA_MODEL": "ollama_model"},
}
PROVIDER_VARIABLE_NAMES = ", ".join(name for fields in PROVIDER_VARIABLES.values() for name in fields)
NAMED_PROVIDER_VARIABLES: Mapping[str, Mapping[str, str]] = {
    **PROVIDER_VARIABLES,
    "openai-large": PROVIDER_VARIABLES["openai"],
    "ollama": {},
    "local": {},
}
AVAILABLE_PROVIDER_VARIABLES: Mapping[str, Mapping[str, str]] = {
    **PROVIDER_VARIABLES,
    "openai-large": PROVIDER_VARIABLES["openai"],
}
DEPENDENT_SETTINGS = (  # settings without effect unless another is set: variable and field of both
    ("AZURE_SEARCH_API_KEY", "azure_search_key", "AZURE_SEARCH_ENDPOINT", "azure_search_endpoint"),
    ("AZURE_OPENAI_API_KEY", "azure_openai_key", "AZURE_OPENAI_ENDPOINT", "azure_openai_endpoint"),
    ("OPENAI_BASE_URL", "openai_base_url", "OPENAI_API_KEY", "openai_api_key"),
    (
        "AZURE_DOCUMENT_INTELLIGENCE_KEY",
        "doc_intelligence_key",
        "AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT",
        "doc_intelligence_endpoint",
    ),
    ("RAG_FUNCTIONS_KEY", "functions_key", "RAG_FUNCTIONS_URL", "functions_url"),
)


@dataclass(frozen=True, slots=True)
class ProviderChoice:
    """A provider of models, and what decided on it: a setting, or the index."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class AdapterChoice:
    """The adapter of a slot, its location, and the setting that decided on it."""

    slot: str
    adapter: str
    where: str
    why: str


def choose_chat_provider(settings: Settings) -> ProviderChoice:
    """Return the provider of the chat model: the one named, else the first that is set, else "local".

    Raises:
        Misconfigured: a variable that the named provider requires is not set.
    """
    if named := _find_named_provider("RAG_CHAT_PROVIDER", settings.chat_provider, settings):
        return named
    for name, variables in PROVIDER_VARIABLES.items():
        for variable, field in variables.items():
            if getattr(settings, field):
                return ProviderChoice(name, f"{variable} is set")
    return ProviderChoice("local", f"none is set of {PROVIDER_VARIABLE_NAMES}")


def find_named_embedding_provider(settings: Settings) -> ProviderChoice | None:
    """Return the provider of the embedding model that the settings name, None where they leave it to the index.

    Raises Misconfigured as `choose_chat_provider` does.
    """
    return _find_named_provider("RAG_EMBEDDING_PROVIDER", settings.embedding_provider, settings)


def require_provider(provider_name: str, settings: Settings, *, wanted_by: str) -> None:
    """Raise Misconfigured when no variable is set that the provider requires; `wanted_by` begins the message."""
    fields = NAMED_PROVIDER_VARIABLES[provider_name]
    if fields and not _is_any_set(settings, fields):
        variable = " or ".join(fields)
        raise Misconfigured(f"{wanted_by} {provider_name}, which requires {variable}: it is not set", field=variable)


def list_available_providers(settings: Settings) -> list[str]:
    """Return the hosted providers of which a variable is set, in their order."""
    return [name for name, fields in AVAILABLE_PROVIDER_VARIABLES.items() if _is_any_set(settings, fields)]


def choose_judge(settings: Settings) -> str:
    """Return who judges claims: "entailment", "chat" or "local"; of those that are configured, the first.

    Raises:
        Misconfigured: what the named judge requires is not there.
    """
    configured = [
        *(["entailment"] if find_entailment_folder(settings.models_dir) else []),
        *(["chat"] if choose_chat_provider(settings).name != "local" else []),
        "local",
    ]
    judge = configured[0] if settings.judge == "auto" else settings.judge
    if judge not in configured:
        required = {
            "entailment": "the folder entailment in the folder that RAG_MODELS_DIR names (see `rag models`)",
            "chat": f"a chat model: set one of {PROVIDER_VARIABLE_NAMES}",
        }
        raise Misconfigured(f"RAG_JUDGE is {judge}, which requires {required[judge]}", field="RAG_JUDGE")
    return judge


PREVIEW_SETTINGS = (
    ("AZURE_SEARCH_QUERY_REWRITES", "azure_search_query_rewrites"),
    ("AZURE_SEARCH_MAX_TEXT_RECALL_SIZE", "azure_search_max_text_recall_size"),
    ("AZURE_SEARCH_DOCUMENT_ACL", "azure_search_document_acl"),
)


def list_adapter_choices(settings: Settings, embedding: ProviderChoice) -> Iterator[AdapterChoice]:
    """Yield the choice for every slot, without network access; the choice for `embedding` depends on the index.

    Raises Misconfigured as `choose_chat_provider` does.
    """
    yield _choose_store(settings)
    yield _choose_document_reader(settings)
    yield _choose_client(settings)
    yield _describe_models("chat model", choose_chat_provider(settings), settings, settings.chat_deployment)
    yield _describe_models("embedder", embedding, settings, settings.embedding_deployment)
    yield _choose_judge_adapter(settings)


def list_previews_in_use(settings: Settings) -> list[str]:
    """Return the variables of the preview features of Azure AI Search that are switched on."""
    return [name for name, field in PREVIEW_SETTINGS if getattr(settings, field)]


def require_preview_version(settings: Settings) -> None:
    """Raise Misconfigured where a preview feature is switched on and no version of a preview is set."""
    used = list_previews_in_use(settings)
    if used and not settings.azure_search_preview:
        message = (
            f"{used[0]} exists only in previews of Azure AI Search, which may be withdrawn: set AZURE_SEARCH_PREVIEW "
            "to a version that has it, such as 2026-08-01-preview"
        )
        raise Misconfigured(message, field="AZURE_SEARCH_PREVIEW")


def list_ineffective_settings(settings: Settings) -> Iterator[str]:
    """Yield a sentence for each setting without effect, with the variable that is missing."""
    for name, field, missing, missing_field in DEPENDENT_SETTINGS:
        if getattr(settings, field) and not getattr(settings, missing_field):
            yield f"{name} has no effect: {missing} is not set"
    if settings.azure_search_preview and not list_previews_in_use(settings):
        yield f"AZURE_SEARCH_PREVIEW has no effect: none of {', '.join(name for name, _ in PREVIEW_SETTINGS)} is set"
    if settings.layout_budget_usd != DEFAULT_SETTINGS.layout_budget_usd and not settings.doc_intelligence_endpoint:
        yield "RAG_LAYOUT_BUDGET_USD has no effect: AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT is not set"
    if settings.azure_search_document_acl and not settings.trust_principal:
        yield (
            "AZURE_SEARCH_DOCUMENT_ACL shows nobody more than what everybody may see: WEBSITE_AUTH_ENABLED is not set, "
            "and a user's token is taken only from the platform's authentication"
        )
    if settings.azure_search_endpoint and settings.postgres_url:
        yield "POSTGRES_URL has no effect: AZURE_SEARCH_ENDPOINT is set"
    if "auto" not in (settings.llm_provider, settings.chat_provider, settings.embedding_provider):
        yield "RAG_LLM_PROVIDER has no effect: RAG_CHAT_PROVIDER and RAG_EMBEDDING_PROVIDER are set"


def describe_admission_to_workflows(settings: Settings) -> str:
    """Say which workflows a caller over HTTP may name: this decides whether tenants are apart."""
    if settings.workflow_claim and settings.trust_principal:
        return f"a caller may name those of the claim {settings.workflow_claim}; one without it gets 404"
    if settings.workflow_claim:
        return "every caller gets 404: RAG_WORKFLOW_CLAIM is set, but WEBSITE_AUTH_ENABLED is not true"
    return "every caller may name every workflow: RAG_WORKFLOW_CLAIM is not set"


def _choose_store(settings: Settings) -> AdapterChoice:
    """Return the choice of the chunk store."""
    if settings.azure_search_endpoint:
        where = f"{settings.azure_search_endpoint}, index {settings.azure_search_index}"
        return AdapterChoice(
            "store", "Azure AI Search", where, _describe_credential("AZURE_SEARCH_API_KEY", settings.azure_search_key)
        )
    if settings.postgres_url:
        return AdapterChoice("store", "PostgreSQL", _strip_password(settings.postgres_url), "POSTGRES_URL is set")
    where = "memory" if settings.data_dir is None else str(settings.data_dir)
    return AdapterChoice("store", "embedded", where, "AZURE_SEARCH_ENDPOINT is not set, nor POSTGRES_URL")


def _strip_password(url: str) -> str:
    """Return host, port and database of a URL; user, password and query are left out."""
    parts = urlsplit(url)
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}"


def _find_named_provider(variable: str, name: str, settings: Settings) -> ProviderChoice | None:
    """Return the provider that a variable names, or RAG_LLM_PROVIDER, which names both."""
    for named_by, named in ((variable, name), ("RAG_LLM_PROVIDER", settings.llm_provider)):
        if named != "auto":
            require_provider(named, settings, wanted_by=f"{named_by} is")
            return ProviderChoice(named, f"{named_by} is {named}")
    return None


def _describe_models(slot: str, choice: ProviderChoice, settings: Settings, deployment: str) -> AdapterChoice:
    """Return the choice of the chat or the embedding model, with the place that is asked."""
    match choice.name:
        case "azure":
            credential = _describe_credential("AZURE_OPENAI_API_KEY", settings.azure_openai_key)
            where = f"{settings.azure_openai_endpoint}, deployment {deployment}, {credential}"
            return AdapterChoice(slot, "Azure OpenAI", where, choice.why)
        case "openai" | "openai-large":
            return AdapterChoice(slot, "OpenAI", settings.openai_base_url or "api.openai.com", choice.why)
        case "gemini":
            return AdapterChoice(slot, "Gemini", "generativelanguage.googleapis.com", choice.why)
        case "ollama":
            return AdapterChoice(slot, "Ollama", settings.ollama_host or "this machine", choice.why)
        case _:
            return AdapterChoice(slot, "local", "this process", choice.why)


def _choose_judge_adapter(settings: Settings) -> AdapterChoice:
    """Return the choice of the judge of claims."""
    adapter, where = {
        "entailment": ("entailment model", str(find_entailment_folder(settings.models_dir))),
        "chat": ("chat model", "where the models are"),
        "local": ("local technique", "this process"),
    }[choose_judge(settings)]
    why = "of an entailment model, a chat model and the local technique, the first that is there"
    return AdapterChoice(
        "judge", adapter, where, f"RAG_JUDGE is {settings.judge}" + f": {why}" * (settings.judge == "auto")
    )


def _choose_document_reader(settings: Settings) -> AdapterChoice:
    """Return the choice of the reader of documents."""
    if settings.doc_intelligence_endpoint is None:
        return _choose_text_recogniser(settings)
    where = f"{settings.doc_intelligence_endpoint}, for Word files, scans and images, by the page"
    credential = _describe_credential("AZURE_DOCUMENT_INTELLIGENCE_KEY", settings.doc_intelligence_key)
    return AdapterChoice("documents", "Document Intelligence", where, credential)


def _choose_text_recogniser(settings: Settings) -> AdapterChoice:
    """Return the choice of what reads scans and images where no service does."""
    from rag_core.ingestion.extract.tesseract import find_tesseract

    unset = "AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT is not set"
    if not settings.ocr_languages:
        why = f"{unset}, and RAG_OCR_LANGUAGES is off, so scans and images are refused"
        return AdapterChoice("documents", "local parsers", "this machine", why)
    if program := find_tesseract():
        where = f"{program} ({settings.ocr_languages}), for scans and images"
        return AdapterChoice("documents", "tesseract", where, f"{unset}, and tesseract is installed")
    why = f"{unset}, and tesseract is not installed, so scans and images are refused"
    return AdapterChoice("documents", "local parsers", "this machine", why)


def _choose_client(settings: Settings) -> AdapterChoice:
    """Return the choice of the client: a local agent or a deployed function."""
    if settings.functions_url is None:
        return AdapterChoice("client", "local agent", "the process that asks", "RAG_FUNCTIONS_URL is not set")
    why = f"RAG_FUNCTIONS_KEY is {'set' if settings.functions_key else 'not set: the app must want none'}"
    return AdapterChoice("client", "deployed function", settings.functions_url, why)


def _describe_credential(name: str, key: str | None) -> str:
    """Return in words how a service is authenticated with."""
    return f"with the key in {name}" if key else f"as this machine's identity, for {name} is not set"


def _is_any_set(settings: Settings, fields: Mapping[str, str]) -> bool:
    """Return whether one of the fields (by variable) has a value."""
    return any(getattr(settings, field) for field in fields.values())
