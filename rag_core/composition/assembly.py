"""The only file that knows which adapter fills which slot. Adapters are imported when first chosen."""

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
JOBS = "jobs.sqlite3"  # of long work
OUTBOX = "outbox.sqlite3"  # of the chunks that Azure AI Search has not taken yet
NAMES = {  # the setting that names a provider's embedding model, where it is not `embedding_model`
    "azure": "embedding_deployment",
    "gemini": "gemini_embedding_model",
    "ollama": "ollama_embedding_model",
}
CUT = ("text-embedding-3-large",)  # wider than the profiles' 1536 unless asked to be less (C06)


def build(settings: Settings) -> Kit:
    """The parts for these settings. Nothing heavy is loaded before it is used, and nobody is contacted.

    Raises:
        Misconfigured: a part is chosen that lacks what it requires; the variable is named.
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
    """The local parts over a store that ends with the process (the InMemoryVectorStore of S1-36)."""
    return build(replace(settings, data_dir=None, azure_search_endpoint=None, postgres_url=None, archive_url=None))


class Parts:
    """The parts for some settings, asked for before each request, and built by the first.

    When `rag reindex` has switched to another index, or back, the next request gets that one; those under way keep
    theirs, which is closed when the last of them lets it go.
    """

    def __init__(self, get_settings: Callable[[], Settings]) -> None:
        self._get_settings, self._place = get_settings, Place()
        self._kit: Kit | None = None

    def __call__(self) -> Kit:
        settings = self._get_settings()
        place = _place(settings)
        if self._kit is None:
            self._kit = build(settings)
        elif place != self._place:
            self._kit = replace(self._kit, index=index_at(settings, place))
        self._place = place
        return self._kit

    async def close(self) -> None:
        if self._kit:
            await self._kit.close()


async def setup(settings: Settings) -> str:
    """Make store and archive ready to be written to, or upgrade them; says what was done. May be repeated."""
    store = await _set_up(settings)
    if not settings.archive_url:
        return store
    archive, _ = _kept(settings)
    try:
        await archive.configs()  # the tables are made when it is first used, by whoever may
    finally:
        await archive.close()
    return f"{store}; the archive in {archive.name} is ready"


async def _set_up(settings: Settings) -> str:
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
    held = await store.describe()
    await store.close()
    return f"{held.location} is ready: {held.documents} documents, {held.chunks} chunks"


def local_embedder(settings: Settings) -> Embedder:
    """The offline embedder, or the null one that says which files are missing."""
    from rag_core.providers import local_models
    from rag_core.providers.absent import NoEmbedder

    folder = local_models.find("embedder", settings.models_dir)
    if folder is None:
        return NoEmbedder(local_models.missing("embedder", settings.models_dir))
    from rag_core.providers.local_embedder import LocalEmbedder  # wants the libraries that `find` has looked for

    return LocalEmbedder(folder, threads=settings.model_threads)


def local_reranker(settings: Settings) -> Reranker:
    """The offline cross-encoder, or the null one that says which files are missing."""
    from rag_core.providers import local_models
    from rag_core.providers.absent import NoReranker

    folder = local_models.find("reranker", settings.models_dir)
    if folder is None:
        return NoReranker(local_models.missing("reranker", settings.models_dir))
    from rag_core.providers.cross_encoder import CrossEncoder

    return CrossEncoder(folder, threads=settings.model_threads)


def _store(settings: Settings, embedder: Embedder) -> ChunkStore:
    if settings.azure_search_endpoint:
        return _azure_search(settings.azure_search_endpoint, settings, embedder)
    return _postgres(settings.postgres_url, embedder) if settings.postgres_url else _embedded(settings)


def _postgres(url: str, embedder: Embedder) -> "PostgresStore":
    try:
        from rag_core.stores.postgres import PostgresStore
    except ModuleNotFoundError as lacking:
        what = "POSTGRES_URL requires: pip install 'psycopg[binary]'"
        raise Misconfigured(what, field="POSTGRES_URL") from lacking
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
    except ModuleNotFoundError as lacking:
        raise Misconfigured(
            f"no store: AZURE_SEARCH_ENDPOINT is not set, and the embedded store lacks {lacking.name}: "
            "set the one, or pip install 'azure-rag[local]' for the other",
            field="AZURE_SEARCH_ENDPOINT",
        ) from lacking
    return EmbeddedStore() if settings.data_dir is None else _store_at(_place(settings), settings.data_dir)


def _place(settings: Settings) -> Place:
    """The index that the embedded store is in."""
    elsewhere = settings.data_dir is None or settings.azure_search_endpoint or settings.postgres_url
    return Place() if elsewhere else current_index.read(data_dir(settings)).current


def data_dir(settings: Settings) -> Path:
    """Where the indexes are. Raises Misconfigured where there is no such place."""
    if settings.data_dir is None:
        raise Misconfigured("RAG_DATA_DIR is :memory:, where nothing outlives this process", field="RAG_DATA_DIR")
    return settings.data_dir


def _embedder(settings: Settings) -> Embedder:
    """That of the model for which the current index was built."""
    return embedder_at(_place(settings), settings)


def embedder_at(place: Place, settings: Settings) -> Embedder:
    """The embedder for the index of this place."""
    settings = _for(place, settings)
    if provider(settings) == "local":
        return local_embedder(settings)
    from rag_core.providers.openai import OpenAIEmbedder

    chosen, key = profile(settings)
    return OpenAIEmbedder(chosen, key=key)


def embeds(settings: Settings) -> str:
    """Which provider embeds for the current index."""
    return provider(_for(_place(settings), settings))


def tariff(settings: Settings, place: Place | None = None) -> "Tariff":
    """What the embedder costs: of the current index, or of another place."""
    from rag_core.ingestion.plan import Tariff
    from rag_core.providers.prices import cost_usd

    settings = _for(place or _place(settings), settings)
    if provider(settings) == "local":
        return Tariff("the local model", 0.0)
    chosen, _ = profile(settings)
    model = chosen.embedding_model
    price = 0.0 if chosen.provider == "ollama" else cost_usd(model, input_tokens=1_000_000)
    return Tariff(model, price, chosen.document_prefix, chosen.text_tokens)


def beside(settings: Settings, *, profile_name: str, model: str | None, dimensions: int | None) -> Place:
    """Where the index of a profile's model is built, or was begun.

    Raises:
        Misconfigured: the store is not the embedded one, or the profile lacks what it requires.
    """
    if settings.azure_search_endpoint or settings.postgres_url:
        raise Misconfigured(
            "rag reindex is for the embedded store: elsewhere give the other model an index or database of its own, "
            "fill it by rag index, then point the service at it (docs/plan-and-reindex.md)",
            field="AZURE_SEARCH_INDEX" if settings.azure_search_endpoint else "POSTGRES_URL",
        )
    from rag_core.stores.embedded.rebuild import folder_for

    meant = _for(Place("", profile_name, model or _named(profile_name, settings), dimensions), settings)
    named = None if provider(meant) == "local" else profile(meant)[0].embedding_model
    place = Place("", profile_name, named, dimensions)
    held = current_index.read(data_dir(settings))
    used = {known.folder for known in (held.current, held.previous) if known}
    return replace(place, folder=folder_for(embedder_at(place, settings).space, data_dir(settings), used))


def rebuild(settings: Settings, place: Place, embedder: Embedder) -> Rebuild:
    """The index in the making at a place, of the current one."""
    from rag_core.stores.embedded.rebuild import Rebuild as EmbeddedRebuild

    data = data_dir(settings)
    return EmbeddedRebuild(data / _place(settings).folder, data / place.folder, embedder.space, embedder.dimensions)


def index_at(settings: Settings, place: Place) -> Index:
    """The index of a place, whether it is the current one or not."""
    return Index(_store_at(place, data_dir(settings)), embedder_at(place, settings))


def _store_at(place: Place, data: Path) -> ChunkStore:
    from rag_core.stores.embedded import EmbeddedStore

    return EmbeddedStore(data / place.folder, current=partial(current_index.is_current, data, place))


def _named(profile_name: str, settings: Settings) -> str | None:
    """The embedding model that the settings name for a provider."""
    named: str | None = getattr(settings, NAMES.get(profile_name, "embedding_model"))
    return named


def _for(place: Place, settings: Settings) -> Settings:
    """The settings with the embedding model of a place, where it has one of its own."""
    if place.profile is None:
        return settings
    own = {NAMES.get(place.profile, "embedding_model"): place.model}
    return replace(settings, llm_provider=place.profile, embedding_dimensions=place.dimensions, **own)  # type: ignore[arg-type]


def _llm(settings: Settings, reranker: Reranker) -> LLM:
    if provider(settings) == "local":
        from rag_core.ingestion.enrichment import key_sentences
        from rag_core.providers.local_text import LocalText

        return LocalText(reranker, key_sentences)
    from rag_core.providers.openai import OpenAIChat

    chosen, key = profile(settings)
    return OpenAIChat(chosen, key=key)


def _larger(settings: Settings) -> LLM | None:
    """The full chat model, where one is named and models are asked at all."""
    if settings.full_model is None or provider(settings) == "local":
        return None
    from rag_core.providers.openai import OpenAIChat

    chosen, key = profile(settings)
    return OpenAIChat(replace(chosen, chat_model=settings.full_model), key=key)


def profile(settings: Settings) -> tuple["Profile", str | None]:
    """The provider's profile with what the operator said of it, and the key."""
    from rag_core.providers.openai import PROFILES

    name = provider(settings)
    own = PROFILES[name]
    where, chat, embedding, key = {
        "azure": (
            settings.azure_openai_endpoint,
            settings.chat_deployment,
            settings.embedding_deployment,
            settings.azure_openai_key,
        ),
        "gemini": (None, settings.gemini_model, settings.gemini_embedding_model, settings.gemini_api_key),
        "ollama": (_v1(settings.ollama_host), settings.ollama_model, settings.ollama_embedding_model, None),
    }.get(name, (settings.openai_base_url, settings.chat_model, settings.embedding_model, settings.openai_api_key))
    said = replace(
        own,
        base_url=where or own.base_url,
        chat_model=chat or own.chat_model,
        embedding_model=embedding or own.embedding_model,
        dimensions=settings.embedding_dimensions or own.dimensions,
        send_dimensions=own.send_dimensions or settings.embedding_dimensions is not None or embedding in CUT,
    )
    if name == "azure":
        said = replace(said, api_version=settings.azure_openai_api_version)
    return replace(said, try_s=settings.ollama_timeout_s) if name == "ollama" else said, key


def _cache(settings: Settings) -> Cache:
    """Without a key to sign with, a process believes only what it wrote itself."""
    secret = (settings.cache_signing_key or token_hex()).encode()
    if settings.redis_url is None:
        from rag_core.providers.cache import EmbeddedCache

        return EmbeddedCache(settings.data_dir and settings.data_dir / CACHE, secret)
    try:
        from rag_core.providers.redis_cache import RedisCache
    except ModuleNotFoundError as lacking:
        raise Misconfigured("REDIS_URL requires: pip install redis", field="REDIS_URL") from lacking
    return RedisCache(settings.redis_url, secret)


def _kept(settings: Settings) -> tuple[Archive, Audit]:
    """The archive and the log of queries, in one database."""
    from rag_core.stores.archive import Database, QueriesLog, SqlArchive

    try:
        database = Database(settings.archive_url or (settings.data_dir and settings.data_dir / ARCHIVE))
    except ModuleNotFoundError as lacking:
        raise Misconfigured("ARCHIVE_URL requires: pip install 'psycopg[binary]'", field="ARCHIVE_URL") from lacking
    return SqlArchive(database), QueriesLog(database)


def _web(settings: Settings) -> Web:
    if not settings.web_fallback:
        return NoWeb()
    from rag_core.providers.web_search import DuckDuckGo

    return DuckDuckGo(settings.web_endpoint)


def _glossary(settings: Settings) -> Glossary:
    if settings.glossary is None:
        return shipped()
    try:
        with settings.glossary.open(encoding="utf-8") as lines:
            return read(lines)
    except (OSError, ValueError) as unread:
        what = "must name a file of lines abbreviation,meaning in UTF-8"
        raise Misconfigured(f"RAG_GLOSSARY {what}", field="RAG_GLOSSARY") from unread


def _jobs(settings: Settings) -> Jobs:
    """In the host's storage account, where there is one: all instances of the app share it."""
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
    return host and f"{host}/v1"


def _layout(settings: Settings) -> Layout:
    if settings.doc_intelligence_endpoint is None:
        return NoLayout()
    from rag_core.ingestion.extract.document_intelligence import DocumentIntelligence

    return DocumentIntelligence(settings.doc_intelligence_endpoint, settings.doc_intelligence_key)


def _redactor(settings: Settings) -> Redactor:
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
    except ModuleNotFoundError as lacking:
        what = "RAG_PII_REDACTOR is presidio, which requires: pip install 'azure-rag[presidio]'"
        raise Misconfigured(what, field="RAG_PII_REDACTOR") from lacking
    return Presidio(types)


def _regions(settings: Settings) -> tuple[str, ...]:
    from phonenumbers import SUPPORTED_REGIONS as KNOWN

    if unknown := set(settings.pii_regions) - KNOWN:
        what = f"RAG_PII_REGIONS: no {', '.join(sorted(unknown))} among {', '.join(sorted(KNOWN))}"
        raise Misconfigured(what, field="RAG_PII_REGIONS")
    return settings.pii_regions
