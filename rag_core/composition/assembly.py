"""Construction of the kit: the only module that knows all adapters, each imported only where it is chosen."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from rag_core.composition.choices import choose_provider
from rag_core.core.errors import Misconfigured
from rag_core.core.index import Index
from rag_core.core.kit import Kit, NoJobNotifier, NoLayoutReader, NoWebSearch
from rag_core.core.ports import (
    LLM,
    Archive,
    Cache,
    ChunkStore,
    Embedder,
    IndexRebuild,
    JobNotifier,
    Jobs,
    LayoutReader,
    QueryLog,
    Redactor,
    Reranker,
    WebSearch,
)
from rag_core.core.settings import DEFAULT_SETTINGS, Settings
from rag_core.stores.embedded import current_index
from rag_core.stores.embedded.current_index import IndexLocation
from rag_core.text.abbreviations import Glossary, load_packaged_glossary, parse_glossary

if TYPE_CHECKING:
    from rag_core.ingestion.plan import Tariff
    from rag_core.providers.openai import ProviderProfile
    from rag_core.stores.azure_search import AzureSearchStore
    from rag_core.stores.postgres import PostgresStore

CACHE_FILE, ARCHIVE_FILE = "cache.sqlite3", "archive.sqlite3"
JOBS_FILE = "jobs.sqlite3"
OUTBOX_FILE = "outbox.sqlite3"  # chunks that Azure AI Search has not accepted yet
EMBEDDING_MODEL_FIELDS = {  # by provider: the setting with its embedding model, where it is not `embedding_model`
    "azure": "embedding_deployment",
    "gemini": "gemini_embedding_model",
    "ollama": "ollama_embedding_model",
}
# their vectors are longer than the 1536 of the profiles unless shortened by request
SHORTENED_EMBEDDING_MODELS = ("text-embedding-3-large",)


def build_kit(settings: Settings) -> Kit:
    """Build the kit for these settings, without network access and without loading models.

    Raises:
        Misconfigured: a chosen part lacks a setting or package that it requires; the variable is named.
    """
    reranker = build_local_reranker(settings)
    embedder = _build_current_embedder(settings)
    archive, audit = _build_archive_and_query_log(settings)
    return Kit(
        index=Index(_build_chunk_store(settings, embedder), embedder),
        llm=_build_llm(settings, reranker),
        reranker=reranker,
        full_llm_or_none=_build_full_llm(settings),
        layout_reader=_build_layout_reader(settings),
        redactor=_build_redactor(settings),
        cache=_build_cache(settings),
        query_log=audit,
        archive=archive,
        web=_build_web_search(settings),
        jobs=_build_jobs(settings),
        job_notifier=_build_job_notifier(settings),
        has_chat_model=choose_provider(settings) != "local",
        keep_originals=settings.keep_originals,
        keep_runs=settings.keep_runs,
        glossary=_load_glossary(settings),
    )


def build_in_memory_kit(settings: Settings = DEFAULT_SETTINGS) -> Kit:
    """Build a kit of local parts with a store in memory (the InMemoryVectorStore of S1-36)."""
    return build_kit(replace(settings, data_dir=None, azure_search_endpoint=None, postgres_url=None, archive_url=None))


class KitHolder:
    """The current kit, to be called before each request; the first call builds it.

    After `rag reindex` has switched to another index, or back, the next request gets that index. Running requests keep
    theirs, which is closed when the last of them drops it.
    """

    def __init__(self, get_settings: Callable[[], Settings]) -> None:
        self._get_settings, self._place = get_settings, IndexLocation()
        self._kit: Kit | None = None

    def __call__(self) -> Kit:
        """Return the kit with the current index."""
        settings = self._get_settings()
        place = _load_current_place(settings)
        if self._kit is None:
            self._kit = build_kit(settings)
        elif place != self._place:
            self._kit = replace(self._kit, index=build_index_at(settings, place))
        self._place = place
        return self._kit

    async def close(self) -> None:
        """Close the kit, if one was built."""
        if self._kit:
            await self._kit.close()


async def set_up_stores(settings: Settings) -> str:
    """Create or upgrade the chunk store and the archive and return in words what was done. May be repeated."""
    store = await _set_up_chunk_store(settings)
    if not settings.archive_url:
        return store
    archive, _ = _build_archive_and_query_log(settings)
    try:
        await archive.load_edited_presets()  # its first use creates the tables, by an account that may
    finally:
        await archive.close()
    return f"{store}; the archive in {archive.name} is ready"


async def _set_up_chunk_store(settings: Settings) -> str:
    """Create or upgrade the chunk store and return in words what was done."""
    if settings.azure_search_endpoint:
        search = _build_azure_search_store(settings.azure_search_endpoint, settings, _build_current_embedder(settings))
        try:
            return f"{settings.azure_search_endpoint}, index {settings.azure_search_index}: {await search.setup()}"
        finally:
            await search.close()
    if settings.postgres_url:
        database = _build_postgres_store(settings.postgres_url, _build_current_embedder(settings))
        try:
            return await database.setup()
        finally:
            await database.close()
    store = _build_embedded_store(settings)
    description = await store.describe()
    await store.close()
    return f"{description.location} is ready: {description.documents} documents, {description.chunks} chunks"


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
    """Return the offline cross-encoder, or a null reranker whose error names the missing files."""
    from rag_core.providers import local_models
    from rag_core.providers.null_models import NoReranker

    folder = local_models.find_model_folder("reranker", settings.models_dir)
    if folder is None:
        return NoReranker(local_models.explain_missing_model("reranker", settings.models_dir))
    from rag_core.providers.cross_encoder import CrossEncoder

    return CrossEncoder(folder, threads=settings.model_threads)


def _build_chunk_store(settings: Settings, embedder: Embedder) -> ChunkStore:
    """Build the chunk store: Azure AI Search, else PostgreSQL, else the embedded one."""
    if settings.azure_search_endpoint:
        return _build_azure_search_store(settings.azure_search_endpoint, settings, embedder)
    return (
        _build_postgres_store(settings.postgres_url, embedder)
        if settings.postgres_url
        else _build_embedded_store(settings)
    )


def _build_postgres_store(url: str, embedder: Embedder) -> "PostgresStore":
    try:
        from rag_core.stores.postgres import PostgresStore
    except ModuleNotFoundError as error:
        message = "POSTGRES_URL requires: pip install 'psycopg[binary]'"
        raise Misconfigured(message, field="POSTGRES_URL") from error
    return PostgresStore(url, dimensions=embedder.dimensions)


def _build_azure_search_store(endpoint: str, settings: Settings, embedder: Embedder) -> "AzureSearchStore":
    from rag_core.stores.azure_search import AzureSearchStore

    return AzureSearchStore(
        endpoint,
        settings.azure_search_key,
        settings.azure_search_index,
        outbox=settings.data_dir and settings.data_dir / OUTBOX_FILE,
        space=embedder.space,
        dimensions=embedder.dimensions,
    )


def _build_embedded_store(settings: Settings) -> ChunkStore:
    try:
        from rag_core.stores.embedded import EmbeddedStore
    except ModuleNotFoundError as error:
        raise Misconfigured(
            f"no store: AZURE_SEARCH_ENDPOINT is not set, and the embedded store lacks {error.name}: "
            "set AZURE_SEARCH_ENDPOINT, or pip install 'azure-rag[local]' for the embedded store",
            field="AZURE_SEARCH_ENDPOINT",
        ) from error
    return (
        EmbeddedStore()
        if settings.data_dir is None
        else _build_embedded_store_at(_load_current_place(settings), settings.data_dir)
    )


def _load_current_place(settings: Settings) -> IndexLocation:
    """Return the place of the embedded store's current index; the default place for other stores."""
    elsewhere = settings.data_dir is None or settings.azure_search_endpoint or settings.postgres_url
    return IndexLocation() if elsewhere else current_index.read_index_locations(require_data_dir(settings)).current


def require_data_dir(settings: Settings) -> Path:
    """Return the folder of the indexes. Raises Misconfigured when they are only in memory."""
    if settings.data_dir is None:
        message = "RAG_DATA_DIR is :memory:, which ends with this process: it must be a folder"
        raise Misconfigured(message, field="RAG_DATA_DIR")
    return settings.data_dir


def _build_current_embedder(settings: Settings) -> Embedder:
    """Build the embedder of the current index."""
    return build_embedder_at(_load_current_place(settings), settings)


def build_embedder_at(place: IndexLocation, settings: Settings) -> Embedder:
    """Build the embedder for the index of a place."""
    settings = _apply_place_to_settings(place, settings)
    if choose_provider(settings) == "local":
        return build_local_embedder(settings)
    from rag_core.providers.openai import OpenAIEmbedder

    model_profile, key = build_provider_profile(settings)
    return OpenAIEmbedder(model_profile, key=key)


def choose_embedding_provider(settings: Settings) -> str:
    """Return the provider of the embedding model of the current index."""
    return choose_provider(_apply_place_to_settings(_load_current_place(settings), settings))


def build_embedding_tariff(settings: Settings, place: IndexLocation | None = None) -> "Tariff":
    """Return the price of embedding for the current index, or for the index of a place."""
    from rag_core.ingestion.plan import Tariff
    from rag_core.providers.prices import calculate_cost_usd

    settings = _apply_place_to_settings(place or _load_current_place(settings), settings)
    if choose_provider(settings) == "local":
        return Tariff("the local model", 0.0)
    model_profile, _ = build_provider_profile(settings)
    model = model_profile.embedding_model
    price = 0.0 if model_profile.provider == "ollama" else calculate_cost_usd(model, input_tokens=1_000_000)
    return Tariff(model, price, model_profile.document_prefix, model_profile.max_text_tokens)


def choose_rebuild_place(
    settings: Settings, *, profile_name: str, model: str | None, dimensions: int | None
) -> IndexLocation:
    """Return the place where an index with a profile's embedding model is built, or was begun.

    Raises:
        Misconfigured: the store is not the embedded one, or a setting that the profile requires is not set.
    """
    if settings.azure_search_endpoint or settings.postgres_url:
        raise Misconfigured(
            "rag reindex is for the embedded store: elsewhere give the other model an index or database of its own, "
            "fill it by rag index, then point the service at it (docs/reference/stores.md)",
            field="AZURE_SEARCH_INDEX" if settings.azure_search_endpoint else "POSTGRES_URL",
        )
    from rag_core.stores.embedded.rebuild import choose_rebuild_folder

    requested = IndexLocation("", profile_name, model or _get_embedding_model_name(profile_name, settings), dimensions)
    place_settings = _apply_place_to_settings(requested, settings)
    model_name = (
        None
        if choose_provider(place_settings) == "local"
        else build_provider_profile(place_settings)[0].embedding_model
    )
    place = IndexLocation("", profile_name, model_name, dimensions)
    places = current_index.read_index_locations(require_data_dir(settings))
    used = {used_place.folder for used_place in (places.current, places.previous) if used_place}
    return replace(
        place, folder=choose_rebuild_folder(build_embedder_at(place, settings).space, require_data_dir(settings), used)
    )


def open_index_rebuild(settings: Settings, place: IndexLocation, embedder: Embedder) -> IndexRebuild:
    """Open the rebuild of the current index at a place, new or begun before."""
    from rag_core.stores.embedded.rebuild import EmbeddedRebuild

    folder = require_data_dir(settings)
    return EmbeddedRebuild(
        folder / _load_current_place(settings).folder, folder / place.folder, embedder.space, embedder.dimensions
    )


def build_index_at(settings: Settings, place: IndexLocation) -> Index:
    """Build the index of a place, whether it is the current one or not."""
    return Index(_build_embedded_store_at(place, require_data_dir(settings)), build_embedder_at(place, settings))


def _build_embedded_store_at(place: IndexLocation, data: Path) -> ChunkStore:
    from rag_core.stores.embedded import EmbeddedStore

    return EmbeddedStore(data / place.folder, is_current=partial(current_index.is_current_index, data, place))


def _get_embedding_model_name(profile_name: str, settings: Settings) -> str | None:
    """Return the embedding model that the settings name for a provider, None for its default."""
    model_name: str | None = getattr(settings, EMBEDDING_MODEL_FIELDS.get(profile_name, "embedding_model"))
    return model_name


def _apply_place_to_settings(place: IndexLocation, settings: Settings) -> Settings:
    """Return the settings with the embedding model of a place, where it has one of its own."""
    if place.profile is None:
        return settings
    model = {EMBEDDING_MODEL_FIELDS.get(place.profile, "embedding_model"): place.model}
    return replace(settings, llm_provider=place.profile, embedding_dimensions=place.dimensions, **model)  # type: ignore[arg-type]


def _build_llm(settings: Settings, reranker: Reranker) -> LLM:
    """Build the chat model, or the local techniques in its place."""
    if choose_provider(settings) == "local":
        from rag_core.ingestion.enrichment import select_key_sentences
        from rag_core.providers.local_techniques import LocalTechniques

        return LocalTechniques(reranker, select_key_sentences)
    from rag_core.providers.openai import OpenAIChatModel

    model_profile, key = build_provider_profile(settings)
    return OpenAIChatModel(model_profile, key=key)


def _build_full_llm(settings: Settings) -> LLM | None:
    """Build the full chat model; None where none is named or the provider is local."""
    if settings.full_model is None or choose_provider(settings) == "local":
        return None
    from rag_core.providers.openai import OpenAIChatModel

    model_profile, key = build_provider_profile(settings)
    return OpenAIChatModel(replace(model_profile, chat_model=settings.full_model), key=key)


def build_provider_profile(settings: Settings) -> tuple["ProviderProfile", str | None]:
    """Return the provider's profile with the operator's settings applied, and the key."""
    from rag_core.providers.openai import PROVIDER_PROFILES

    name = choose_provider(settings)
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
    shortened = settings.embedding_dimensions is not None or embedding_model in SHORTENED_EMBEDDING_MODELS
    adapted = replace(
        default,
        base_url=base_url or default.base_url,
        chat_model=chat_model or default.chat_model,
        embedding_model=embedding_model or default.embedding_model,
        dimensions=settings.embedding_dimensions or default.dimensions,
        send_dimensions=default.send_dimensions or shortened,
    )
    if name == "azure":
        adapted = replace(adapted, api_version=settings.azure_openai_api_version)
    return replace(adapted, attempt_timeout_s=settings.ollama_timeout_s) if name == "ollama" else adapted, key


def _build_cache(settings: Settings) -> Cache:
    """Build the cache; without a signing key, a process accepts only values that it wrote itself."""
    secret = (settings.cache_signing_key or token_hex()).encode()
    if settings.redis_url is None:
        from rag_core.providers.embedded_cache import EmbeddedCache

        return EmbeddedCache(settings.data_dir and settings.data_dir / CACHE_FILE, secret)
    try:
        from rag_core.providers.redis_cache import RedisCache
    except ModuleNotFoundError as error:
        raise Misconfigured("REDIS_URL requires: pip install redis", field="REDIS_URL") from error
    return RedisCache(settings.redis_url, secret)


def _build_archive_and_query_log(settings: Settings) -> tuple[Archive, QueryLog]:
    """Build the archive and the query log, which share a database."""
    from rag_core.stores.archive import ArchiveDatabase, SqlArchive, SqlQueryLog

    try:
        database = ArchiveDatabase(settings.archive_url or (settings.data_dir and settings.data_dir / ARCHIVE_FILE))
    except ModuleNotFoundError as error:
        raise Misconfigured("ARCHIVE_URL requires: pip install 'psycopg[binary]'", field="ARCHIVE_URL") from error
    return SqlArchive(database), SqlQueryLog(database)


def _build_web_search(settings: Settings) -> WebSearch:
    if not settings.web_fallback:
        return NoWebSearch()
    from rag_core.providers.web_search import DuckDuckGoSearch

    return DuckDuckGoSearch(settings.web_endpoint)


def _load_glossary(settings: Settings) -> Glossary:
    """Return the operator's glossary, or the packaged one."""
    if settings.glossary is None:
        return load_packaged_glossary()
    try:
        with settings.glossary.open(encoding="utf-8") as lines:
            return parse_glossary(lines)
    except (OSError, ValueError) as error:
        message = "RAG_GLOSSARY must name a file of lines abbreviation,meaning in UTF-8"
        raise Misconfigured(message, field="RAG_GLOSSARY") from error


def _build_jobs(settings: Settings) -> Jobs:
    """Build the job queue: in the host's storage account, which all instances of the app share, else in SQLite."""
    if settings.jobs_storage:
        from rag_core.jobs.azure_jobs import AzureJobs

        return AzureJobs(settings.jobs_storage)
    from rag_core.jobs.sqlite_jobs import SqliteJobs

    return SqliteJobs(settings.data_dir and settings.data_dir / JOBS_FILE)


def _build_job_notifier(settings: Settings) -> JobNotifier:
    if settings.jobs_storage is None:
        return NoJobNotifier()
    from rag_core.jobs.azure_queue import AzureQueueNotifier

    return AzureQueueNotifier(settings.jobs_storage)


def _append_v1_path(host: str | None) -> str | None:
    """Return the URL of the OpenAI-compatible API of an Ollama host."""
    return host and f"{host}/v1"


def _build_layout_reader(settings: Settings) -> LayoutReader:
    if settings.doc_intelligence_endpoint is None:
        return NoLayoutReader()
    from rag_core.ingestion.extract.document_intelligence import DocumentIntelligence

    return DocumentIntelligence(settings.doc_intelligence_endpoint, settings.doc_intelligence_key)


def _build_redactor(settings: Settings) -> Redactor:
    """Build the redactor: by rules, or Presidio."""
    from rag_core.guard.redaction import OPT_IN_PII_TYPES, PII_TYPES, RuleBasedRedactor

    types = frozenset(settings.pii_types) or PII_TYPES - OPT_IN_PII_TYPES
    if unknown := types - PII_TYPES:
        raise Misconfigured(
            f"RAG_PII_TYPES: no {', '.join(sorted(unknown))} among {', '.join(sorted(PII_TYPES))}",
            field="RAG_PII_TYPES",
        )
    if settings.pii_redactor == "rules":
        return (
            RuleBasedRedactor(types, _check_pii_regions(settings)) if settings.pii_regions else RuleBasedRedactor(types)
        )
    try:
        from rag_core.providers.presidio import PresidioRedactor
    except ModuleNotFoundError as error:
        message = "RAG_PII_REDACTOR is presidio, which requires: pip install 'azure-rag[presidio]'"
        raise Misconfigured(message, field="RAG_PII_REDACTOR") from error
    return PresidioRedactor(types)


def _check_pii_regions(settings: Settings) -> tuple[str, ...]:
    """Return the regions of phone numbers. Raises Misconfigured for one that the library does not know."""
    from phonenumbers import SUPPORTED_REGIONS as KNOWN

    if unknown := set(settings.pii_regions) - KNOWN:
        message = f"RAG_PII_REGIONS: no {', '.join(sorted(unknown))} among {', '.join(sorted(KNOWN))}"
        raise Misconfigured(message, field="RAG_PII_REGIONS")
    return settings.pii_regions
