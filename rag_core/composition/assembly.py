"""Construction of the kit: the only module that knows all adapters, each imported only where it is chosen."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from rag_core.composition.choices import provider
from rag_core.core.errors import Misconfigured
from rag_core.core.index import Index
from rag_core.core.kit import Kit, NoBell, NoLayout, NoWeb
from rag_core.core.ports import (
    LLM,
    Archive,
    Audit,
    Bell,
    Cache,
    ChunkStore,
    Embedder,
    Jobs,
    Layout,
    Rebuild,
    Redactor,
    Reranker,
    Web,
)
from rag_core.core.settings import DEFAULTS, Settings
from rag_core.stores.embedded import current_index
from rag_core.stores.embedded.current_index import Place
from rag_core.text.abbreviations import Glossary, read, shipped

if TYPE_CHECKING:
    from rag_core.ingestion.plan import Tariff
    from rag_core.providers.openai import Profile
    from rag_core.stores.azure_search import AzureSearchStore
    from rag_core.stores.postgres import PostgresStore

CACHE, ARCHIVE = "cache.sqlite3", "archive.sqlite3"
JOBS = "jobs.sqlite3"
OUTBOX = "outbox.sqlite3"  # chunks that Azure AI Search has not accepted yet
NAMES = {  # by provider: the setting with its embedding model, where it is not `embedding_model`
    "azure": "embedding_deployment",
    "gemini": "gemini_embedding_model",
    "ollama": "ollama_embedding_model",
}
CUT = ("text-embedding-3-large",)  # longer than the 1536 of the profiles unless shortened by request


def build(settings: Settings) -> Kit:
    """Build the kit for these settings, without network access and without loading models.

    Raises:
        Misconfigured: a chosen part lacks a setting or package that it requires; the variable is named.
    """
    reranker = local_reranker(settings)
    embedder = _embedder(settings)
    archive, audit = _kept(settings)
    return Kit(
        index=Index(_store(settings, embedder), embedder),
        llm=_llm(settings, reranker),
        reranker=reranker,
        larger=_larger(settings),
        layout=_layout(settings),
        redactor=_redactor(settings),
        cache=_cache(settings),
        audit=audit,
        archive=archive,
        web=_web(settings),
        jobs=_jobs(settings),
        bell=_bell(settings),
        chat=provider(settings) != "local",
        keep_originals=settings.keep_originals,
        keep_runs=settings.keep_runs,
        glossary=_glossary(settings),
    )


def in_memory(settings: Settings = DEFAULTS) -> Kit:
    """Build a kit of local parts with a store in memory (the InMemoryVectorStore of S1-36)."""
    return build(replace(settings, data_dir=None, azure_search_endpoint=None, postgres_url=None, archive_url=None))


class Parts:
    """The current kit, to be called before each request; the first call builds it.

    After `rag reindex` has switched to another index, or back, the next request gets that index. Running requests keep
    theirs, which is closed when the last of them drops it.
    """

    def __init__(self, get_settings: Callable[[], Settings]) -> None:
        self._get_settings, self._place = get_settings, Place()
        self._kit: Kit | None = None

    def __call__(self) -> Kit:
        """Return the kit with the current index."""
        settings = self._get_settings()
        place = _place(settings)
        if self._kit is None:
            self._kit = build(settings)
        elif place != self._place:
            self._kit = replace(self._kit, index=index_at(settings, place))
        self._place = place
        return self._kit

    async def close(self) -> None:
        """Close the kit, if one was built."""
        if self._kit:
            await self._kit.close()


async def setup(settings: Settings) -> str:
    """Create or upgrade the chunk store and the archive and return in words what was done. May be repeated."""
    store = await _set_up(settings)
    if not settings.archive_url:
        return store
    archive, _ = _kept(settings)
    try:
        await archive.configs()  # its first use creates the tables, by an account that may
    finally:
        await archive.close()
    return f"{store}; the archive in {archive.name} is ready"


async def _set_up(settings: Settings) -> str:
    """Create or upgrade the chunk store and return in words what was done."""
    if settings.azure_search_endpoint:
        search = _azure_search(settings.azure_search_endpoint, settings, _embedder(settings))
        try:
            return f"{settings.azure_search_endpoint}, index {settings.azure_search_index}: {await search.setup()}"
        finally:
            await search.close()
    if settings.postgres_url:
        database = _postgres(settings.postgres_url, _embedder(settings))
        try:
            return await database.setup()
        finally:
            await database.close()
    store = _embedded(settings)
    description = await store.describe()
    await store.close()
    return f"{description.location} is ready: {description.documents} documents, {description.chunks} chunks"


def local_embedder(settings: Settings) -> Embedder:
    """Return the offline embedder, or a null embedder whose error names the missing files."""
    from rag_core.providers import local_models
    from rag_core.providers.absent import NoEmbedder

    folder = local_models.find("embedder", settings.models_dir)
    if folder is None:
        return NoEmbedder(local_models.missing("embedder", settings.models_dir))
    from rag_core.providers.local_embedder import LocalEmbedder  # needs the libraries that `find` has checked

    return LocalEmbedder(folder, threads=settings.model_threads)


def local_reranker(settings: Settings) -> Reranker:
    """Return the offline cross-encoder, or a null reranker whose error names the missing files."""
    from rag_core.providers import local_models
    from rag_core.providers.absent import NoReranker

    folder = local_models.find("reranker", settings.models_dir)
    if folder is None:
        return NoReranker(local_models.missing("reranker", settings.models_dir))
    from rag_core.providers.cross_encoder import CrossEncoder

    return CrossEncoder(folder, threads=settings.model_threads)


def _store(settings: Settings, embedder: Embedder) -> ChunkStore:
    """Build the chunk store: Azure AI Search, else PostgreSQL, else the embedded one."""
    if settings.azure_search_endpoint:
        return _azure_search(settings.azure_search_endpoint, settings, embedder)
    return _postgres(settings.postgres_url, embedder) if settings.postgres_url else _embedded(settings)


def _postgres(url: str, embedder: Embedder) -> "PostgresStore":
    try:
        from rag_core.stores.postgres import PostgresStore
    except ModuleNotFoundError as error:
        message = "POSTGRES_URL requires: pip install 'psycopg[binary]'"
        raise Misconfigured(message, field="POSTGRES_URL") from error
    return PostgresStore(url, dimensions=embedder.dimensions)


def _azure_search(endpoint: str, settings: Settings, embedder: Embedder) -> "AzureSearchStore":
    from rag_core.stores.azure_search import AzureSearchStore

    return AzureSearchStore(
        endpoint,
        settings.azure_search_key,
        settings.azure_search_index,
        outbox=settings.data_dir and settings.data_dir / OUTBOX,
        space=embedder.space,
        dimensions=embedder.dimensions,
    )


def _embedded(settings: Settings) -> ChunkStore:
    try:
        from rag_core.stores.embedded import EmbeddedStore
    except ModuleNotFoundError as error:
        raise Misconfigured(
            f"no store: AZURE_SEARCH_ENDPOINT is not set, and the embedded store lacks {error.name}: "
            "set AZURE_SEARCH_ENDPOINT, or pip install 'azure-rag[local]' for the embedded store",
            field="AZURE_SEARCH_ENDPOINT",
        ) from error
    return EmbeddedStore() if settings.data_dir is None else _store_at(_place(settings), settings.data_dir)


def _place(settings: Settings) -> Place:
    """Return the place of the embedded store's current index; the default place for other stores."""
    elsewhere = settings.data_dir is None or settings.azure_search_endpoint or settings.postgres_url
    return Place() if elsewhere else current_index.read(data_dir(settings)).current


def data_dir(settings: Settings) -> Path:
    """Return the folder of the indexes. Raises Misconfigured when they are only in memory."""
    if settings.data_dir is None:
        message = "RAG_DATA_DIR is :memory:, which ends with this process: it must be a folder"
        raise Misconfigured(message, field="RAG_DATA_DIR")
    return settings.data_dir


def _embedder(settings: Settings) -> Embedder:
    """Build the embedder of the current index."""
    return embedder_at(_place(settings), settings)


def embedder_at(place: Place, settings: Settings) -> Embedder:
    """Build the embedder for the index of a place."""
    settings = _for(place, settings)
    if provider(settings) == "local":
        return local_embedder(settings)
    from rag_core.providers.openai import OpenAIEmbedder

    model_profile, key = profile(settings)
    return OpenAIEmbedder(model_profile, key=key)


def embeds(settings: Settings) -> str:
    """Return the provider of the embedding model of the current index."""
    return provider(_for(_place(settings), settings))


def tariff(settings: Settings, place: Place | None = None) -> "Tariff":
    """Return the price of embedding for the current index, or for the index of a place."""
    from rag_core.ingestion.plan import Tariff
    from rag_core.providers.prices import cost_usd

    settings = _for(place or _place(settings), settings)
    if provider(settings) == "local":
        return Tariff("the local model", 0.0)
    model_profile, _ = profile(settings)
    model = model_profile.embedding_model
    price = 0.0 if model_profile.provider == "ollama" else cost_usd(model, input_tokens=1_000_000)
    return Tariff(model, price, model_profile.document_prefix, model_profile.text_tokens)


def beside(settings: Settings, *, profile_name: str, model: str | None, dimensions: int | None) -> Place:
    """Return the place where an index with a profile's embedding model is built, or was begun.

    Raises:
        Misconfigured: the store is not the embedded one, or a setting that the profile requires is not set.
    """
    if settings.azure_search_endpoint or settings.postgres_url:
        raise Misconfigured(
            "rag reindex is for the embedded store: elsewhere give the other model an index or database of its own, "
            "fill it by rag index, then point the service at it (docs/plan-and-reindex.md)",
            field="AZURE_SEARCH_INDEX" if settings.azure_search_endpoint else "POSTGRES_URL",
        )
    from rag_core.stores.embedded.rebuild import folder_for

    requested = Place("", profile_name, model or _named(profile_name, settings), dimensions)
    place_settings = _for(requested, settings)
    model_name = None if provider(place_settings) == "local" else profile(place_settings)[0].embedding_model
    place = Place("", profile_name, model_name, dimensions)
    places = current_index.read(data_dir(settings))
    used = {used_place.folder for used_place in (places.current, places.previous) if used_place}
    return replace(place, folder=folder_for(embedder_at(place, settings).space, data_dir(settings), used))


def rebuild(settings: Settings, place: Place, embedder: Embedder) -> Rebuild:
    """Open the rebuild of the current index at a place, new or begun before."""
    from rag_core.stores.embedded.rebuild import Rebuild as EmbeddedRebuild

    folder = data_dir(settings)
    return EmbeddedRebuild(folder / _place(settings).folder, folder / place.folder, embedder.space, embedder.dimensions)


def index_at(settings: Settings, place: Place) -> Index:
    """Build the index of a place, whether it is the current one or not."""
    return Index(_store_at(place, data_dir(settings)), embedder_at(place, settings))


def _store_at(place: Place, data: Path) -> ChunkStore:
    from rag_core.stores.embedded import EmbeddedStore

    return EmbeddedStore(data / place.folder, current=partial(current_index.is_current, data, place))


def _named(profile_name: str, settings: Settings) -> str | None:
    """Return the embedding model that the settings name for a provider, None for its default."""
    model_name: str | None = getattr(settings, NAMES.get(profile_name, "embedding_model"))
    return model_name


def _for(place: Place, settings: Settings) -> Settings:
    """Return the settings with the embedding model of a place, where it has one of its own."""
    if place.profile is None:
        return settings
    model = {NAMES.get(place.profile, "embedding_model"): place.model}
    return replace(settings, llm_provider=place.profile, embedding_dimensions=place.dimensions, **model)  # type: ignore[arg-type]


def _llm(settings: Settings, reranker: Reranker) -> LLM:
    """Build the chat model, or the local techniques in its place."""
    if provider(settings) == "local":
        from rag_core.ingestion.enrichment import key_sentences
        from rag_core.providers.local_text import LocalText

        return LocalText(reranker, key_sentences)
    from rag_core.providers.openai import OpenAIChat

    model_profile, key = profile(settings)
    return OpenAIChat(model_profile, key=key)


def _larger(settings: Settings) -> LLM | None:
    """Build the full chat model; None where none is named or the provider is local."""
    if settings.full_model is None or provider(settings) == "local":
        return None
    from rag_core.providers.openai import OpenAIChat

    model_profile, key = profile(settings)
    return OpenAIChat(replace(model_profile, chat_model=settings.full_model), key=key)


def profile(settings: Settings) -> tuple["Profile", str | None]:
    """Return the provider's profile with the operator's settings applied, and the key."""
    from rag_core.providers.openai import PROFILES

    name = provider(settings)
    default = PROFILES[name]
    base_url, chat_model, embedding_model, key = {
        "azure": (
            settings.azure_openai_endpoint,
            settings.chat_deployment,
            settings.embedding_deployment,
            settings.azure_openai_key,
        ),
        "gemini": (None, settings.gemini_model, settings.gemini_embedding_model, settings.gemini_api_key),
        "ollama": (_v1(settings.ollama_host), settings.ollama_model, settings.ollama_embedding_model, None),
    }.get(name, (settings.openai_base_url, settings.chat_model, settings.embedding_model, settings.openai_api_key))
    shortened = settings.embedding_dimensions is not None or embedding_model in CUT
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
    return replace(adapted, try_s=settings.ollama_timeout_s) if name == "ollama" else adapted, key


def _cache(settings: Settings) -> Cache:
    """Build the cache; without a signing key, a process accepts only values that it wrote itself."""
    secret = (settings.cache_signing_key or token_hex()).encode()
    if settings.redis_url is None:
        from rag_core.providers.cache import EmbeddedCache

        return EmbeddedCache(settings.data_dir and settings.data_dir / CACHE, secret)
    try:
        from rag_core.providers.redis_cache import RedisCache
    except ModuleNotFoundError as error:
        raise Misconfigured("REDIS_URL requires: pip install redis", field="REDIS_URL") from error
    return RedisCache(settings.redis_url, secret)


def _kept(settings: Settings) -> tuple[Archive, Audit]:
    """Build the archive and the query log, which share a database."""
    from rag_core.stores.archive import Database, QueriesLog, SqlArchive

    try:
        database = Database(settings.archive_url or (settings.data_dir and settings.data_dir / ARCHIVE))
    except ModuleNotFoundError as error:
        raise Misconfigured("ARCHIVE_URL requires: pip install 'psycopg[binary]'", field="ARCHIVE_URL") from error
    return SqlArchive(database), QueriesLog(database)


def _web(settings: Settings) -> Web:
    if not settings.web_fallback:
        return NoWeb()
    from rag_core.providers.web_search import DuckDuckGo

    return DuckDuckGo(settings.web_endpoint)


def _glossary(settings: Settings) -> Glossary:
    """Return the operator's glossary, or the packaged one."""
    if settings.glossary is None:
        return shipped()
    try:
        with settings.glossary.open(encoding="utf-8") as lines:
            return read(lines)
    except (OSError, ValueError) as error:
        message = "RAG_GLOSSARY must name a file of lines abbreviation,meaning in UTF-8"
        raise Misconfigured(message, field="RAG_GLOSSARY") from error


def _jobs(settings: Settings) -> Jobs:
    """Build the job queue: in the host's storage account, which all instances of the app share, else in SQLite."""
    if settings.jobs_storage:
        from rag_core.jobs.azure_jobs import AzureJobs

        return AzureJobs(settings.jobs_storage)
    from rag_core.jobs.sqlite_jobs import JobTable

    return JobTable(settings.data_dir and settings.data_dir / JOBS)


def _bell(settings: Settings) -> Bell:
    if settings.jobs_storage is None:
        return NoBell()
    from rag_core.jobs.azure_queue import QueueBell

    return QueueBell(settings.jobs_storage)


def _v1(host: str | None) -> str | None:
    """Return the URL of the OpenAI-compatible API of an Ollama host."""
    return host and f"{host}/v1"


def _layout(settings: Settings) -> Layout:
    if settings.doc_intelligence_endpoint is None:
        return NoLayout()
    from rag_core.ingestion.extract.document_intelligence import DocumentIntelligence

    return DocumentIntelligence(settings.doc_intelligence_endpoint, settings.doc_intelligence_key)


def _redactor(settings: Settings) -> Redactor:
    """Build the redactor: by rules, or Presidio."""
    from rag_core.guard.redaction import ON_REQUEST, TYPES, Rules

    types = frozenset(settings.pii_types) or TYPES - ON_REQUEST
    if unknown := types - TYPES:
        raise Misconfigured(
            f"RAG_PII_TYPES: no {', '.join(sorted(unknown))} among {', '.join(sorted(TYPES))}", field="RAG_PII_TYPES"
        )
    if settings.pii_redactor == "rules":
        return Rules(types, _regions(settings)) if settings.pii_regions else Rules(types)
    try:
        from rag_core.providers.presidio import Presidio
    except ModuleNotFoundError as error:
        message = "RAG_PII_REDACTOR is presidio, which requires: pip install 'azure-rag[presidio]'"
        raise Misconfigured(message, field="RAG_PII_REDACTOR") from error
    return Presidio(types)


def _regions(settings: Settings) -> tuple[str, ...]:
    """Return the regions of phone numbers. Raises Misconfigured for one that the library does not know."""
    from phonenumbers import SUPPORTED_REGIONS as KNOWN

    if unknown := set(settings.pii_regions) - KNOWN:
        message = f"RAG_PII_REGIONS: no {', '.join(sorted(unknown))} among {', '.join(sorted(KNOWN))}"
        raise Misconfigured(message, field="RAG_PII_REGIONS")
    return settings.pii_regions
