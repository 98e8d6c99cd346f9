"""The settings of the service; the only module that reads the environment."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from rag_core.core.hosted_models import AZURE_API_VERSION, DEFAULT_CHAT_MODEL, DEFAULT_EMBEDDING_MODEL
from rag_core.core.setting_names import list_unknown_settings
from rag_core.core.setting_readers import (
    SettingReader,
    make_choice_reader,
    make_flag_reader,
    make_integer_reader,
    make_number_reader,
    read_collection_name,
    read_data_dir,
    read_database_url,
    read_index_name,
    read_ocr_languages,
    read_ollama_url,
    read_path,
    read_preview_version,
    read_redis_url,
    read_service_url,
    read_text,
    read_upper_case_words,
)

T = TypeVar("T")
R = TypeVar("R")

COMPRESSIONS = ("none", "scalar", "binary")
JUDGES = ("auto", "chat", "entailment", "local")
MODEL_PROVIDERS = ("auto", "azure", "openai", "openai-large", "gemini", "ollama", "local")
DEFAULT_EXPANDED_QUERIES = 2  # as in the preset "advanced"
PUBLIC_QUERY = "RAG_PUBLIC_QUERY"
QUEUE_STORAGE = "AzureWebJobsStorage"  # named by the Functions host
# "UseDevelopmentStorage=true" in full, which the SDKs for Python do not know; the key is public
AZURITE_CONNECTION_STRING = (
    "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;"
    "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;"
    "BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;QueueEndpoint=http://127.0.0.1:10001/devstoreaccount1;"
    "TableEndpoint=http://127.0.0.1:10002/devstoreaccount1;"
)


def _declare(default: T, name: str, read: SettingReader[R], *, secret: bool = False) -> T | R:
    """Declare a field with the variable that it is read from; a secret one is not shown by `repr`."""
    declared: Any = field(default=default, repr=not secret, metadata={"name": name, "read": read})
    return declared  # type: ignore[no-any-return]


def _declare_text(name: str) -> str | None:
    return _declare(None, name, read_text)


def _declare_secret(name: str, read: SettingReader[str] = read_text) -> str | None:
    return _declare(None, name, read, secret=True)


def _declare_url(name: str) -> str | None:
    return _declare(None, name, read_service_url)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of the operator: of each field the default, the variable, and how its text is read.

    None and "" mean not set.

    `data_dir` is the folder of the embedded store, None for memory only. `models_dir` holds `embedder/` and
    `reranker/`, each with model.onnx and tokenizer.json, and may hold `entailment/`; None means the pinned package. A
    service without a key is
    called with the machine's own identity (`DefaultAzureCredential`). Keys are not shown by `repr`.
    """

    data_dir: Path | None = _declare(Path(".rag"), "RAG_DATA_DIR", read_data_dir)  # noqa: RUF009 - it declares a field
    models_dir: Path | None = _declare(None, "RAG_MODELS_DIR", read_path)  # noqa: RUF009
    model_threads: int = _declare(2, "RAG_MODEL_THREADS", make_integer_reader(1, 64))
    request_timeout_s: float = _declare(200.0, "RAG_TIMEOUT_S", make_number_reader(1, 230))
    # heavy requests run models or read files: two at once for each of the default model threads
    max_heavy_requests: int = _declare(4, "RAG_MAX_HEAVY_REQUESTS", make_integer_reader(1, 1000))
    max_waiting_requests: int = _declare(16, "RAG_MAX_WAITING_REQUESTS", make_integer_reader(0, 1000))
    max_upload_bytes: int = _declare(25 * 1024**2, "RAG_MAX_UPLOAD_BYTES", make_integer_reader(1, 100 * 1024**2))
    parse_timeout_s: float = _declare(30.0, "RAG_PARSE_TIMEOUT_S", make_number_reader(1, 200))
    trust_principal: bool = _declare(False, "WEBSITE_AUTH_ENABLED", lambda _, text: text.lower() == "true")
    workflow_claim: str | None = _declare_text("RAG_WORKFLOW_CLAIM")

    azure_search_endpoint: str | None = _declare_url("AZURE_SEARCH_ENDPOINT")
    azure_search_key: str | None = _declare_secret("AZURE_SEARCH_API_KEY")
    azure_search_index: str = _declare("rag-chunks", "AZURE_SEARCH_INDEX", read_index_name)
    azure_search_compression: str = _declare("none", "AZURE_SEARCH_COMPRESSION", make_choice_reader(*COMPRESSIONS))
    azure_search_truncated_dimensions: int | None = _declare(
        None, "AZURE_SEARCH_TRUNCATED_DIMENSIONS", make_integer_reader(2, 4096)
    )
    azure_search_vectors_stored: bool = _declare(True, "AZURE_SEARCH_VECTORS_STORED", make_flag_reader("0", "1"))
    azure_search_vectorizer: bool = _declare(False, "AZURE_SEARCH_VECTORIZER", make_flag_reader("0", "1"))
    azure_search_vector_weight: float = _declare(1.0, "AZURE_SEARCH_VECTOR_WEIGHT", make_number_reader(0.01, 100))
    # what exists only in previews of the service's API: nothing of it works without a version of a preview
    azure_search_preview: str | None = _declare(None, "AZURE_SEARCH_PREVIEW", read_preview_version)
    azure_search_query_rewrites: int = _declare(0, "AZURE_SEARCH_QUERY_REWRITES", make_integer_reader(0, 10))
    azure_search_query_language: str = _declare("en-us", "AZURE_SEARCH_QUERY_LANGUAGE", read_text)
    azure_search_max_text_recall_size: int = _declare(
        0, "AZURE_SEARCH_MAX_TEXT_RECALL_SIZE", make_integer_reader(0, 10_000)
    )
    azure_search_document_acl: bool = _declare(False, "AZURE_SEARCH_DOCUMENT_ACL", make_flag_reader("0", "1"))
    postgres_url: str | None = _declare_secret("POSTGRES_URL", read_database_url)  # may hold a password
    archive_url: str | None = _declare_secret("ARCHIVE_URL", read_database_url)  # may hold a password

    chat_api: str = _declare("completions", "RAG_CHAT_API", make_choice_reader("completions", "responses"))
    chat_provider: str = _declare("auto", "RAG_CHAT_PROVIDER", make_choice_reader(*MODEL_PROVIDERS))
    embedding_provider: str = _declare("auto", "RAG_EMBEDDING_PROVIDER", make_choice_reader(*MODEL_PROVIDERS))
    # of both, where they have no name of their own
    llm_provider: str = _declare("auto", "RAG_LLM_PROVIDER", make_choice_reader(*MODEL_PROVIDERS))
    azure_openai_endpoint: str | None = _declare_url("AZURE_OPENAI_ENDPOINT")
    azure_openai_key: str | None = _declare_secret("AZURE_OPENAI_API_KEY")
    azure_openai_api_version: str = _declare(AZURE_API_VERSION, "AZURE_OPENAI_API_VERSION", read_text)
    # the default of both deployments is the name of their model, which infra/main.bicep gives them (S2-46)
    chat_deployment: str = _declare(DEFAULT_CHAT_MODEL.name, "AZURE_OPENAI_CHAT_DEPLOYMENT", read_text)
    embedding_deployment: str = _declare(DEFAULT_EMBEDDING_MODEL.name, "AZURE_OPENAI_EMBEDDING_DEPLOYMENT", read_text)
    openai_api_key: str | None = _declare_secret("OPENAI_API_KEY")
    openai_base_url: str | None = _declare_url("OPENAI_BASE_URL")
    chat_model: str | None = _declare_text("OPENAI_CHAT_MODEL")
    full_model: str | None = _declare_text("RAG_FULL_MODEL")  # a model of the same provider
    embedding_model: str | None = _declare_text("OPENAI_EMBEDDING_MODEL")
    # of a document's entities and summaries by the chat model; 0: none are asked for
    layout_budget_usd: float = _declare(5.0, "RAG_LAYOUT_BUDGET_USD", make_number_reader(0, 1000))
    enrichment_budget_usd: float = _declare(0.0, "RAG_ENRICHMENT_BUDGET_USD", make_number_reader(0, 1000))
    judge: str = _declare("auto", "RAG_JUDGE", make_choice_reader(*JUDGES))
    embedding_dimensions: int | None = _declare(None, "RAG_EMBEDDING_DIMENSIONS", make_integer_reader(1, 4096))
    gemini_api_key: str | None = _declare_secret("GEMINI_API_KEY")
    gemini_model: str | None = _declare_text("GEMINI_MODEL")
    gemini_embedding_model: str | None = _declare_text("GEMINI_EMBEDDING_MODEL")
    ollama_host: str | None = _declare(None, "OLLAMA_HOST", read_ollama_url)
    ollama_model: str | None = _declare_text("OLLAMA_MODEL")
    ollama_embedding_model: str | None = _declare_text("OLLAMA_EMBEDDING_MODEL")
    ollama_timeout_s: float = _declare(120.0, "OLLAMA_TIMEOUT_SECONDS", make_number_reader(1, 230))  # S4-23

    doc_intelligence_endpoint: str | None = _declare_url("AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT")
    doc_intelligence_key: str | None = _declare_secret("AZURE_DOCUMENT_INTELLIGENCE_KEY")

    ocr_languages: str = _declare("eng", "RAG_OCR_LANGUAGES", read_ocr_languages)  # "" for no recognition

    inline_max_bytes: int = _declare(1024**2, "RAG_INLINE_MAX_BYTES", make_integer_reader(0, 1e9))
    # about 30 s of the local embedder on two cores
    inline_max_chunks: int = _declare(500, "RAG_INLINE_MAX_CHUNKS", make_integer_reader(0, 1e6))
    require_vectors: bool = _declare(False, "RAG_REQUIRE_VECTORS", make_flag_reader("0", "1"))
    jobs_storage: str | None = _declare_secret(QUEUE_STORAGE)  # a connection string, or the URL of the queue service

    redis_url: str | None = _declare_secret("REDIS_URL", read_redis_url)  # may hold a password
    cache_signing_key: str | None = _declare_secret("RAG_CACHE_SIGNING_KEY")

    web_fallback: bool = _declare(False, "RAG_WEB_FALLBACK", make_flag_reader("0", "1"))
    web_endpoint: str = _declare("https://html.duckduckgo.com/html", "RAG_WEB_ENDPOINT", read_service_url)

    pii_redactor: str = _declare("rules", "RAG_PII_REDACTOR", make_choice_reader("rules", "presidio"))
    pii_types: tuple[str, ...] = _declare((), "RAG_PII_TYPES", read_upper_case_words)  # empty: the redactor's default
    pii_regions: tuple[str, ...] = _declare((), "RAG_PII_REGIONS", read_upper_case_words)  # the same

    multi_query: bool = _declare(False, "MULTI_QUERY_ENABLED", make_flag_reader("0", "1"))
    context_expansion: bool = _declare(False, "SKIP_CONTEXT_EXPANSION", make_flag_reader("1", "0", true="0"))
    min_chunk_relevance: float = _declare(0.35, "MIN_CHUNK_RELEVANCE", make_number_reader(0, 1))  # S4-28
    glossary: Path | None = _declare(None, "RAG_GLOSSARY", read_path)  # noqa: RUF009

    applicationinsights: str | None = _declare_secret("APPLICATIONINSIGHTS_CONNECTION_STRING")
    otlp_endpoint: str | None = _declare_url("OTEL_EXPORTER_OTLP_ENDPOINT")

    collection: str = _declare("arbitrum-proposals", "RAG_COLLECTION", read_collection_name)  # S2-25
    proposals_source: str | None = _declare_secret("RAG_PROPOSALS_SOURCE")  # may hold a password
    proposals_top_k: int = _declare(5, "RAG_TOP_K", make_integer_reader(1, 20))  # S2-38
    proposals_timeout_s: float = _declare(  # S2-45
        30.0, "RAG_TIMEOUT_MS", lambda name, text: make_number_reader(1000, 230_000)(name, text) / 1000
    )
    public_query: bool = _declare(False, "RAG_PUBLIC_QUERY", make_flag_reader("0", "1"))

    keep_originals: bool = _declare(True, "RAG_KEEP_ORIGINALS", make_flag_reader("1", "0"))
    keep_runs: bool = _declare(False, "RAG_KEEP_RUNS", make_flag_reader("0", "1"))

    functions_url: str | None = _declare_url("RAG_FUNCTIONS_URL")
    functions_key: str | None = _declare_secret("RAG_FUNCTIONS_KEY")

    @property
    def exports_telemetry(self) -> bool:
        """Whether spans and metrics have somewhere to go."""
        return bool(self.applicationinsights or self.otlp_endpoint)

    @property
    def preset_overrides(self) -> Mapping[str, Mapping[str, float]]:
        """The numbers of presets that settings override, by the preset's name."""
        return {
            "classical": {
                "rewordings": DEFAULT_EXPANDED_QUERIES if self.multi_query else 0,
                "neighbours": 1 if self.context_expansion else 0,
                "relevance_min": self.min_chunk_relevance,
            },
            "proposals": {"top_k": self.proposals_top_k},
        }


DEFAULT_SETTINGS = Settings()
SECRET_FIELDS = frozenset(declared.name for declared in fields(Settings) if not declared.repr)


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings from the environment. Raises Misconfigured, naming the variable, for an invalid value."""
    texts = {name: text for name, text in (os.environ if environment is None else environment).items() if text}
    if storage := _find_queue_storage(texts):
        texts[QUEUE_STORAGE] = storage
    values: dict[str, Any] = {
        declared.name: declared.metadata["read"](name, texts[name])
        for declared in fields(Settings)
        if (name := declared.metadata["name"]) in texts
    }
    return Settings(**values)


def is_setting_given(name: str) -> bool:
    """Return whether the environment sets the variable of this name."""
    return bool(os.environ.get(name))


def list_given_settings() -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Return the variables that the environment sets, with their texts, and the names of those that are secret."""
    given = {one.metadata["name"]: one.repr for one in fields(Settings) if is_setting_given(one.metadata["name"])}
    shown = {name: os.environ[name] for name, is_shown in given.items() if is_shown}
    return shown, tuple(name for name, is_shown in given.items() if not is_shown)


def list_misnamed_settings() -> Iterator[str]:
    """Yield a sentence for each variable of the environment that looks like a setting and is none."""
    names = (name for name, text in os.environ.items() if text)
    return list_unknown_settings(names, [PUBLIC_QUERY, *(declared.metadata["name"] for declared in fields(Settings))])


def is_public_query_enabled() -> bool:
    """Return whether anyone may query proposals; needed before `load_settings`, when routes are registered."""
    return os.environ.get(PUBLIC_QUERY) == "1"


def _find_queue_storage(texts: Mapping[str, str]) -> str | None:
    """Return the storage account of the Functions host: the URL of its queue service, or its connection string."""
    account = texts.get(f"{QUEUE_STORAGE}__accountName")
    account_url = account and f"https://{account}.queue.core.windows.net"
    storage = texts.get(f"{QUEUE_STORAGE}__queueServiceUri") or account_url or texts.get(QUEUE_STORAGE)
    return AZURITE_CONNECTION_STRING if storage == "UseDevelopmentStorage=true" else storage
