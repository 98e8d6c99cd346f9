"""Construction of the kit from the settings: each adapter is imported only where it is chosen."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from secrets import token_hex
from typing import cast

from rag_core.composition import index_assembly, model_assembly
from rag_core.composition.choices import choose_chat_provider
from rag_core.composition.deferred_part import DeferredPart
from rag_core.core.errors import Misconfigured
from rag_core.core.kit import Kit, NoJobNotifier, NoLayoutReader, NoWebSearch
from rag_core.core.ports import (
    AnswerLog,
    Archive,
    Cache,
    JobNotifier,
    Jobs,
    LayoutReader,
    QueryLog,
    Redactor,
    WebSearch,
)
from rag_core.core.settings import DEFAULT_SETTINGS, Settings
from rag_core.core.sqlite_files import allow_any_place, make_moved_error
from rag_core.stores.embedded.current_index import IndexLocation
from rag_core.text.abbreviations import Glossary, load_packaged_glossary, parse_glossary

CACHE_FILE, ARCHIVE_FILE = "cache.sqlite3", "archive.sqlite3"
JOBS_FILE = "jobs.sqlite3"
ArchiveParts = tuple[Archive, QueryLog, AnswerLog]


def build_kit(settings: Settings) -> Kit:
    """Build the kit for these settings, without network access and without loading models.

    Raises:
        Misconfigured: a chosen part lacks a setting or package that it requires; the variable is named.
    """
    reranker = model_assembly.build_local_reranker(settings)
    embedder = index_assembly.build_current_embedder(settings)
    archive, audit, archived_log = _build_archive_parts(settings)
    scorer = model_assembly.build_entailment_scorer(settings)
    llm = model_assembly.build_llm(settings, reranker, scorer)
    return Kit(
        index=index_assembly.build_index(settings, embedder),
        llm=llm,
        reranker=reranker,
        full_llm_or_none=model_assembly.build_full_llm(settings),
        judge=model_assembly.build_judge(settings, llm),
        word_comparer=model_assembly.build_word_comparer(settings, embedder),
        entailment_scorer=scorer,
        layout_reader=_build_layout_reader(settings),
        redactor=_build_redactor(settings),
        cache=_build_cache(settings),
        query_log=audit,
        archive=archive,
        answer_log=_build_shared_answer_log(settings) or archived_log,
        web=_build_web_search(settings),
        jobs=_build_jobs(settings),
        job_notifier=_build_job_notifier(settings),
        enrichment=model_assembly.build_enrichment_model(settings),
        has_chat_model=choose_chat_provider(settings).name != "local",
        keep_originals=settings.keep_originals,
        keep_runs=settings.keep_runs,
        glossary=_load_glossary(settings),
    )


def build_in_memory_kit(settings: Settings = DEFAULT_SETTINGS) -> Kit:
    """Build a kit of local parts with a store in memory (the InMemoryVectorStore of S1-36)."""
    return build_kit(replace(settings, data_dir=None, azure_search_endpoint=None, postgres_url=None, archive_url=None))


class KitHolder:
    """The current kit, to be called before each request; the first call builds it.

    After `rag reindex` has switched to another index, or back, the next request gets that index; after the first
    vectors came to an empty one, from whatever process, it gets their embedder. Running requests keep theirs, which is
    closed when the last of them drops it. Where the data folder was there and is not, a request is refused; what takes
    its place is opened by the parts themselves.
    """

    def __init__(self, get_settings: Callable[[], Settings]) -> None:
        self._get_settings, self._place, self._embedding_provider = get_settings, IndexLocation(), ""
        self._kit: Kit | None = None
        self._had_data_folder = False

    def __call__(self) -> Kit:
        """Return the kit with the current index. Raises Unavailable while the data folder is moved away."""
        settings = self._get_settings()
        place = index_assembly.load_current_place(settings)
        has_data_folder = index_assembly.has_data_folder(settings, place)
        if self._had_data_folder and not has_data_folder:
            raise make_moved_error()
        self._had_data_folder = has_data_folder
        provider_name = index_assembly.choose_embedding_provider(settings, place).name
        if self._kit is None:
            self._kit = build_kit(settings)
        elif place != self._place:
            self._kit = replace(self._kit, index=index_assembly.build_index_at(settings, place))
        elif provider_name != self._embedding_provider:
            embedder = index_assembly.build_embedder_at(place, settings)
            self._kit = replace(self._kit, index=replace(self._kit.index, embedder=embedder))
        self._place, self._embedding_provider = place, provider_name
        return self._kit

    async def close(self) -> None:
        """Close the kit, if one was built."""
        if self._kit:
            await self._kit.close()


async def set_up_stores(settings: Settings) -> str:
    """Create or upgrade the chunk store and the archive and return in words what was done. May be repeated."""
    store = await index_assembly.set_up_chunk_store(settings)
    if not settings.archive_url:
        return store
    archive, *_ = _build_archive_parts(settings)
    try:
        await archive.load_edited_presets()  # its first use creates the tables, by an account that may
    finally:
        await archive.close()
    return f"{store}; the archive in {archive.name} is ready"


def _build_cache(settings: Settings) -> Cache:
    """Build the cache; without a signing key, a process accepts only values that it wrote itself."""
    secret = (settings.cache_signing_key or token_hex()).encode()
    if settings.redis_url is None:
        from rag_core.providers.embedded_cache import EmbeddedCache

        return EmbeddedCache(
            settings.data_dir and settings.data_dir / CACHE_FILE, secret, require_in_place=_require_place(settings)
        )
    try:
        from rag_core.providers.redis_cache import RedisCache
    except ModuleNotFoundError as error:
        raise Misconfigured("REDIS_URL requires: pip install redis", field="REDIS_URL") from error
    return RedisCache(settings.redis_url, secret)


def _build_archive_parts(settings: Settings) -> ArchiveParts:
    """Build the archive, the query log and the answer log, which share a database.

    Those in SQLite are deferred: SQLAlchemy is a quarter of what a first answer takes, and few questions need it.
    """
    if settings.archive_url is None:
        file = settings.data_dir and settings.data_dir / ARCHIVE_FILE
        build = cache(lambda: _build_sql_archive(file, _require_place(settings)))
        deferred = (
            DeferredPart(lambda: build()[0]),
            DeferredPart(lambda: build()[1]),
            DeferredPart(lambda: build()[2]),
        )
        return cast(ArchiveParts, deferred)
    try:
        return _build_sql_archive(settings.archive_url, allow_any_place)
    except ModuleNotFoundError as error:
        raise Misconfigured("ARCHIVE_URL requires: pip install 'psycopg[binary]'", field="ARCHIVE_URL") from error


def _require_place(settings: Settings) -> Callable[[], None]:
    """Return what a part calls before it opens another file in the place of the one that it had."""
    return partial(index_assembly.require_data_folder, settings)


def _build_sql_archive(location: Path | str | None, require_in_place: Callable[[], None]) -> ArchiveParts:
    from rag_core.stores.archive import ArchiveDatabase, SqlAnswerLog, SqlArchive, SqlQueryLog

    database = ArchiveDatabase(location, require_in_place=require_in_place)
    return SqlArchive(database), SqlQueryLog(database), SqlAnswerLog(database)


def _build_shared_answer_log(settings: Settings) -> AnswerLog | None:
    """Build the answer log in the host's storage account, None where there is none and the archive has it."""
    if settings.jobs_storage is None:
        return None
    from rag_core.stores.azure_answer_log import AzureAnswerLog

    return AzureAnswerLog(settings.jobs_storage)


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

    file = settings.data_dir and settings.data_dir / JOBS_FILE
    return SqliteJobs(file, require_in_place=_require_place(settings))


def _build_job_notifier(settings: Settings) -> JobNotifier:
    if settings.jobs_storage is None:
        return NoJobNotifier()
    from rag_core.jobs.azure_queue import AzureQueueNotifier

    return AzureQueueNotifier(settings.jobs_storage)


def _build_layout_reader(settings: Settings) -> LayoutReader:
    if settings.doc_intelligence_endpoint is None:
        return _build_text_recogniser(settings)
    from rag_core.ingestion.extract.document_intelligence import DocumentIntelligence

    return DocumentIntelligence(settings.doc_intelligence_endpoint, settings.doc_intelligence_key)


def _build_text_recogniser(settings: Settings) -> LayoutReader:
    """Build the reader of scans and pictures on this machine, where tesseract is installed and not switched off."""
    from rag_core.ingestion.extract.tesseract import Tesseract, find_tesseract

    program = find_tesseract() if settings.ocr_languages else None
    return Tesseract(program, settings.ocr_languages, settings.parse_timeout_s) if program else NoLayoutReader()


def _build_default_redactor() -> Redactor:
    from rag_core.guard.redaction import RuleBasedRedactor

    return RuleBasedRedactor()


def _build_redactor(settings: Settings) -> Redactor:
    """Build the redactor: by rules, with Presidio beside them for the types to which it adds, where that is set.

    That of no settings is deferred: its patterns take 0.1 s, and it is the pipeline `classical` that redacts.
    """
    if settings.pii_redactor == "rules" and not settings.pii_types and not settings.pii_regions:
        return cast(Redactor, DeferredPart(_build_default_redactor))
    from rag_core.guard.redaction import OPT_IN_PII_TYPES, PII_TYPES, JoinedRedactor, RuleBasedRedactor

    types = frozenset(settings.pii_types) or PII_TYPES - OPT_IN_PII_TYPES
    if unknown := types - PII_TYPES:
        raise Misconfigured(
            f"RAG_PII_TYPES: no {', '.join(sorted(unknown))} among {', '.join(sorted(PII_TYPES))}",
            field="RAG_PII_TYPES",
        )
    rules = RuleBasedRedactor(types, _check_pii_regions(settings)) if settings.pii_regions else RuleBasedRedactor(types)
    if settings.pii_redactor == "rules":
        return rules
    try:
        from rag_core.providers.presidio import TYPES_ADDED_TO_RULES, PresidioRedactor
    except ModuleNotFoundError as error:
        message = "RAG_PII_REDACTOR is presidio, which requires: pip install 'azure-rag[presidio]'"
        raise Misconfigured(message, field="RAG_PII_REDACTOR") from error
    return JoinedRedactor(rules, PresidioRedactor(types & TYPES_ADDED_TO_RULES))


def _check_pii_regions(settings: Settings) -> tuple[str, ...]:
    """Return the regions of phone numbers. Raises Misconfigured for one that the library does not know."""
    from phonenumbers import SUPPORTED_REGIONS as KNOWN

    if unknown := set(settings.pii_regions) - KNOWN:
        message = f"RAG_PII_REGIONS: no {', '.join(sorted(unknown))} among {', '.join(sorted(KNOWN))}"
        raise Misconfigured(message, field="RAG_PII_REGIONS")
    return settings.pii_regions
