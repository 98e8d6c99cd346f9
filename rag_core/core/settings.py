"""The settings of the service; the only module that reads the environment."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from rag_core.core.errors import Misconfigured

LLM_PROVIDERS = ("auto", "azure", "openai", "openai-large", "gemini", "ollama", "local")
DEFAULT_EXPANDED_QUERIES = 2  # as in the preset "advanced"
# "UseDevelopmentStorage=true" in full, which the SDKs for Python do not know; the key is public
AZURITE_CONNECTION_STRING = (
    "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;"
    "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;"
    "BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;QueueEndpoint=http://127.0.0.1:10001/devstoreaccount1;"
    "TableEndpoint=http://127.0.0.1:10002/devstoreaccount1;"
)
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of the operator. docs/reference/settings.md lists the variable of each field.

    None and "" mean not set.

    `data_dir` is the folder of the embedded store, None for memory only. `models_dir` holds `embedder/` and
    `reranker/`, each with model.onnx and tokenizer.json; None means the pinned package. A service without a key is
    called with the machine's own identity (`DefaultAzureCredential`). Keys are not shown by `repr`.
    """

    data_dir: Path | None = Path(".rag")
    models_dir: Path | None = None
    model_threads: int = 2
    request_timeout_s: float = 200.0
    max_upload_bytes: int = 25 * 1024 * 1024
    parse_timeout_s: float = 30.0
    trust_principal: bool = False
    workflow_claim: str | None = None

    azure_search_endpoint: str | None = None
    azure_search_key: str | None = field(default=None, repr=False)
    azure_search_index: str = "rag-chunks"
    postgres_url: str | None = field(default=None, repr=False)  # may hold a password
    archive_url: str | None = field(default=None, repr=False)  # may hold a password

    llm_provider: str = "auto"
    azure_openai_endpoint: str | None = None
    azure_openai_key: str | None = field(default=None, repr=False)
    azure_openai_api_version: str = "2024-10-21"
    chat_deployment: str = "gpt-4o-mini"  # the default is the name of its model (S2-46)
    embedding_deployment: str = "text-embedding-3-small"
    openai_api_key: str | None = field(default=None, repr=False)
    openai_base_url: str | None = None
    chat_model: str | None = None
    full_model: str | None = None  # a model of the same provider
    embedding_model: str | None = None
    embedding_dimensions: int | None = None
    gemini_api_key: str | None = field(default=None, repr=False)
    gemini_model: str | None = None
    gemini_embedding_model: str | None = None
    ollama_host: str | None = None
    ollama_model: str | None = None
    ollama_embedding_model: str | None = None
    ollama_timeout_s: float = 120.0  # S4-23

    doc_intelligence_endpoint: str | None = None
    doc_intelligence_key: str | None = field(default=None, repr=False)

    inline_max_bytes: int = 1024 * 1024
    inline_max_chunks: int = 500  # about 30 s of the local embedder on two cores
    require_vectors: bool = False
    jobs_storage: str | None = field(default=None, repr=False)  # a connection string, or the URL of the queue service

    redis_url: str | None = field(default=None, repr=False)  # may hold a password
    cache_signing_key: str | None = field(default=None, repr=False)

    web_fallback: bool = False
    web_endpoint: str = "https://html.duckduckgo.com/html"

    pii_redactor: str = "rules"
    pii_types: tuple[str, ...] = ()  # empty: the redactor's default
    pii_regions: tuple[str, ...] = ()  # empty: the redactor's default

    multi_query: bool = False
    context_expansion: bool = False
    min_chunk_relevance: float = 0.35  # S4-28
    glossary: Path | None = None

    collection: str = "arbitrum-proposals"  # S2-25
    proposals_source: str | None = field(default=None, repr=False)  # may hold a password
    proposals_top_k: int = 5  # S2-38
    proposals_timeout_s: float = 30.0  # S2-45
    public_query: bool = False

    keep_originals: bool = True
    keep_runs: bool = False

    functions_url: str | None = None
    functions_key: str | None = field(default=None, repr=False)

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
SECRET_FIELDS = frozenset(
    {name for name in Settings.__dataclass_fields__ if name.endswith("_key")}
    | {"redis_url", "jobs_storage", "proposals_source", "postgres_url", "archive_url"}
)


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings from the environment. Raises Misconfigured, naming the variable, for an invalid value."""
    values = {name: raw for name, raw in (os.environ if environment is None else environment).items() if raw}
    data_dir = values.get("RAG_DATA_DIR", str(DEFAULT_SETTINGS.data_dir))
    models_dir = values.get("RAG_MODELS_DIR")
    return Settings(
        data_dir=None if data_dir == ":memory:" else Path(data_dir),
        models_dir=Path(models_dir) if models_dir else None,
        model_threads=int(_parse_number_setting(values, "RAG_MODEL_THREADS", DEFAULT_SETTINGS.model_threads, 1, 64)),
        request_timeout_s=_parse_number_setting(values, "RAG_TIMEOUT_S", DEFAULT_SETTINGS.request_timeout_s, 1, 230),
        max_upload_bytes=int(
            _parse_number_setting(values, "RAG_MAX_UPLOAD_BYTES", DEFAULT_SETTINGS.max_upload_bytes, 1, 100 * 1024**2)
        ),
        parse_timeout_s=_parse_number_setting(values, "RAG_PARSE_TIMEOUT_S", DEFAULT_SETTINGS.parse_timeout_s, 1, 200),
        trust_principal=values.get("WEBSITE_AUTH_ENABLED", "").lower() == "true",
        workflow_claim=values.get("RAG_WORKFLOW_CLAIM"),
        azure_search_endpoint=_parse_service_url(values, "AZURE_SEARCH_ENDPOINT"),
        azure_search_key=values.get("AZURE_SEARCH_API_KEY"),
        azure_search_index=_parse_index_name(values, "AZURE_SEARCH_INDEX", DEFAULT_SETTINGS.azure_search_index),
        postgres_url=_parse_database_url(values, "POSTGRES_URL"),
        archive_url=_parse_database_url(values, "ARCHIVE_URL"),
        llm_provider=_parse_choice_setting(values, "RAG_LLM_PROVIDER", LLM_PROVIDERS),
        azure_openai_endpoint=_parse_service_url(values, "AZURE_OPENAI_ENDPOINT"),
        azure_openai_key=values.get("AZURE_OPENAI_API_KEY"),
        azure_openai_api_version=values.get("AZURE_OPENAI_API_VERSION", DEFAULT_SETTINGS.azure_openai_api_version),
        chat_deployment=values.get("AZURE_OPENAI_CHAT_DEPLOYMENT", DEFAULT_SETTINGS.chat_deployment),
        embedding_deployment=values.get("AZURE_OPENAI_EMBEDDING_DEPLOYMENT", DEFAULT_SETTINGS.embedding_deployment),
        openai_api_key=values.get("OPENAI_API_KEY"),
        openai_base_url=_parse_service_url(values, "OPENAI_BASE_URL"),
        chat_model=values.get("OPENAI_CHAT_MODEL"),
        full_model=values.get("RAG_FULL_MODEL"),
        embedding_model=values.get("OPENAI_EMBEDDING_MODEL"),
        embedding_dimensions=_parse_dimensions_setting(values, "RAG_EMBEDDING_DIMENSIONS"),
        gemini_api_key=values.get("GEMINI_API_KEY"),
        gemini_model=values.get("GEMINI_MODEL"),
        gemini_embedding_model=values.get("GEMINI_EMBEDDING_MODEL"),
        ollama_host=_parse_ollama_url(values, "OLLAMA_HOST"),
        ollama_model=values.get("OLLAMA_MODEL"),
        ollama_embedding_model=values.get("OLLAMA_EMBEDDING_MODEL"),
        ollama_timeout_s=_parse_number_setting(
            values, "OLLAMA_TIMEOUT_SECONDS", DEFAULT_SETTINGS.ollama_timeout_s, 1, 230
        ),
        doc_intelligence_endpoint=_parse_service_url(values, "AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT"),
        doc_intelligence_key=values.get("AZURE_DOCUMENT_INTELLIGENCE_KEY"),
        inline_max_bytes=int(
            _parse_number_setting(values, "RAG_INLINE_MAX_BYTES", DEFAULT_SETTINGS.inline_max_bytes, 0, 1e9)
        ),
        inline_max_chunks=int(
            _parse_number_setting(values, "RAG_INLINE_MAX_CHUNKS", DEFAULT_SETTINGS.inline_max_chunks, 0, 1e6)
        ),
        require_vectors=_parse_choice_setting(values, "RAG_REQUIRE_VECTORS", ("0", "1")) == "1",
        jobs_storage=_parse_queue_storage(values, "AzureWebJobsStorage"),
        redis_url=_parse_redis_url(values, "REDIS_URL"),
        cache_signing_key=values.get("RAG_CACHE_SIGNING_KEY"),
        web_fallback=_parse_choice_setting(values, "RAG_WEB_FALLBACK", ("0", "1")) == "1",
        web_endpoint=_parse_service_url(values, "RAG_WEB_ENDPOINT") or DEFAULT_SETTINGS.web_endpoint,
        pii_redactor=_parse_choice_setting(values, "RAG_PII_REDACTOR", ("rules", "presidio")),
        pii_types=tuple(values.get("RAG_PII_TYPES", "").upper().replace(",", " ").split()),
        pii_regions=tuple(values.get("RAG_PII_REGIONS", "").upper().replace(",", " ").split()),
        multi_query=_parse_choice_setting(values, "MULTI_QUERY_ENABLED", ("0", "1")) == "1",
        context_expansion=_parse_choice_setting(values, "SKIP_CONTEXT_EXPANSION", ("1", "0")) == "0",
        min_chunk_relevance=_parse_number_setting(
            values, "MIN_CHUNK_RELEVANCE", DEFAULT_SETTINGS.min_chunk_relevance, 0, 1
        ),
        glossary=Path(values["RAG_GLOSSARY"]) if "RAG_GLOSSARY" in values else None,
        collection=_parse_collection_name(values, "RAG_COLLECTION", DEFAULT_SETTINGS.collection),
        proposals_source=values.get("RAG_PROPOSALS_SOURCE"),
        proposals_top_k=int(_parse_number_setting(values, "RAG_TOP_K", DEFAULT_SETTINGS.proposals_top_k, 1, 20)),
        proposals_timeout_s=_parse_number_setting(values, "RAG_TIMEOUT_MS", 30_000, 1000, 230_000) / 1000,
        public_query=_parse_choice_setting(values, "RAG_PUBLIC_QUERY", ("0", "1")) == "1",
        keep_originals=_parse_choice_setting(values, "RAG_KEEP_ORIGINALS", ("1", "0")) == "1",
        keep_runs=_parse_choice_setting(values, "RAG_KEEP_RUNS", ("0", "1")) == "1",
        functions_url=_parse_service_url(values, "RAG_FUNCTIONS_URL"),
        functions_key=values.get("RAG_FUNCTIONS_KEY"),
    )


def is_public_query_enabled() -> bool:
    """Return whether anyone may query proposals; needed before `load_settings`, when routes are registered."""
    return os.environ.get("RAG_PUBLIC_QUERY") == "1"


def _parse_number_setting(values: Mapping[str, str], name: str, default: float, low: float, high: float) -> float:
    """Return a variable as a number from `low` to `high`, `default` when it is not set."""
    raw = values.get(name)
    if raw is None:
        return default
    try:
        number = float(raw)
    except ValueError:
        number = float("nan")
    if not low <= number <= high:
        raise Misconfigured(f"{name} must be a number from {low:g} to {high:g}", field=name)
    return number


def _parse_dimensions_setting(values: Mapping[str, str], name: str) -> int | None:
    """Return a variable as a number of dimensions, None when it is not set."""
    return int(_parse_number_setting(values, name, 0, 1, 4096)) if name in values else None


def _parse_choice_setting(values: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    """Return a variable in lower case as one of the choices, the first when it is not set."""
    choice = values.get(name, choices[0]).lower()
    if choice not in choices:
        raise Misconfigured(f"{name} must be one of {', '.join(choices)}", field=name)
    return choice


def _parse_index_name(values: Mapping[str, str], name: str, default: str) -> str:
    """Return a variable as the name of an Azure AI Search index."""
    index_name = values.get(name, default)
    if not re.fullmatch(r"[a-z0-9](?:-?[a-z0-9]){1,127}", index_name):  # the rule of Azure AI Search
        raise Misconfigured(f"{name} must be 2 to 128 lower-case letters, digits and single dashes", field=name)
    return index_name


def _parse_collection_name(values: Mapping[str, str], name: str, default: str) -> str:
    """Return a variable as the name of a collection of proposals."""
    collection = values.get(name, default)
    if not re.fullmatch(r"[A-Za-z0-9._:-]{1,128}", collection):
        raise Misconfigured(f"{name} must be 1 to 128 of A-Z a-z 0-9 . _ : -", field=name)
    return collection


def _parse_service_url(values: Mapping[str, str], name: str) -> str | None:
    """Return a variable as a URL to which a key may be sent: https, or http to this machine."""
    url = values.get(name)
    if url is None:
        return None
    host, secure = _split_host(url)
    if not host or not (secure or host in LOOPBACK_HOSTS):
        raise Misconfigured(f"{name} must be an https:// address (http:// only on this machine)", field=name)
    return url.rstrip("/")


def _parse_ollama_url(values: Mapping[str, str], name: str) -> str | None:
    """Return a variable as the URL of an Ollama server, which may be given as host:port.

    Ollama has no key, so http is allowed to any host.
    """
    address = values.get(name)
    if address is None:
        return None
    url = address if "://" in address else f"http://{address}"
    if not _split_host(url)[0]:
        raise Misconfigured(f"{name} must be host:port or an http:// address", field=name)
    return url.rstrip("/")


def _parse_queue_storage(values: Mapping[str, str], name: str) -> str | None:
    """Return the storage account of the Functions host: the URL of its queue service, or its connection string."""
    account = values.get(f"{name}__accountName")
    account_url = account and f"https://{account}.queue.core.windows.net"
    storage = values.get(f"{name}__queueServiceUri") or account_url or values.get(name)
    return AZURITE_CONNECTION_STRING if storage == "UseDevelopmentStorage=true" else storage


def _parse_redis_url(values: Mapping[str, str], name: str) -> str | None:
    """Return a variable as the URL of a Redis server to which secrets may be sent: by TLS, or on this machine."""
    url = values.get(name)
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise _make_redis_url_error(name) from None
    private = {"rediss": bool(host), "redis": host in LOOPBACK_HOSTS, "unix": parts.path.startswith("/") and not host}
    if not private.get(parts.scheme):
        raise _make_redis_url_error(name)
    return url


def _parse_database_url(values: Mapping[str, str], name: str) -> str | None:
    """Return a variable as the URL of a PostgreSQL database, with the parameters of libpq, such as `sslmode`."""
    url = values.get(name)
    if url is not None and not url.startswith(("postgresql://", "postgres://")):
        raise Misconfigured(f"{name} must be postgresql://USER:PASSWORD@HOST:PORT/DATABASE", field=name)
    return url


def _make_redis_url_error(name: str) -> Misconfigured:
    """Return the error for an invalid Redis URL."""
    return Misconfigured(
        f"{name} must be rediss://HOST:PORT, redis://HOST:PORT on this machine, or unix:///PATH", field=name
    )


def _split_host(address: str) -> tuple[str, bool]:
    """Return the host of an http(s) URL, "" for anything else, and whether the URL is https."""
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "", False
    extras = parts.username or parts.password or parts.query or parts.fragment
    return (host or "" if parts.scheme in ("http", "https") and not extras else ""), parts.scheme == "https"
