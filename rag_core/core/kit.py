"""The parts that a pipeline may use; a part that is not configured is a null object."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from rag_core.core.errors import Unavailable
from rag_core.core.index import Index
from rag_core.core.model import Extraction, Job, Original, PiiSpan, SavedQuery, SavedResult, Scope
from rag_core.core.ports import (
    LLM,
    AnswerLog,
    Archive,
    Cache,
    EntailmentScorer,
    JobNotifier,
    Jobs,
    Judge,
    LayoutReader,
    Lease,
    QueryLog,
    Redactor,
    Reranker,
    WebResult,
    WebSearch,
    WordComparer,
)


@dataclass(frozen=True, slots=True)
class NoLayoutReader:
    """A layout reader for no kind of file: all files are left to the local parsers."""

    name: str = "local parsers"
    kinds: frozenset[str] = frozenset()
    usd_per_page: float = 0.0

    async def read(self, data: bytes, kind: str) -> Extraction:
        raise Unavailable("no layout reader is configured here")

    async def close(self) -> None:
        """Do nothing: no resource is open."""


@dataclass(frozen=True, slots=True)
class NoRedactor:
    """A redactor that always fails, so that a pipeline that requires redaction never uses an unredacted text."""

    name: str = "no redactor"

    def find_pii_spans(self, text: str) -> Sequence[PiiSpan]:
        raise Unavailable("no redactor is configured here", code="redaction_failed")


@dataclass(frozen=True, slots=True)
class NoCache:
    """A cache that keeps nothing."""

    name: str = "none"

    async def get(self, key: str) -> bytes | None:
        return None

    async def set(self, key: str, value: bytes, *, ttl_s: float) -> None:
        """Do nothing: no value is kept."""

    async def clear(self) -> None:
        """Do nothing: no value is kept."""

    async def close(self) -> None:
        """Do nothing: no resource is open."""


@dataclass(frozen=True, slots=True)
class NoQueryLog:
    """A query log that keeps no entries."""

    name: str = "none"

    async def record(self, entry: Mapping[str, Any]) -> None:
        """Do nothing: no value is kept."""

    async def list_latest(self, limit: int) -> Sequence[Mapping[str, Any]]:
        return ()

    async def close(self) -> None:
        """Do nothing: no resource is open."""


@dataclass(frozen=True, slots=True)
class NoArchive:
    """An archive that holds nothing and refuses to save queries, presets and prompts."""

    name: str = "none"

    async def list_queries(self, scope: Scope, *, limit: int, before: int | None = None) -> Sequence[SavedQuery]:
        raise _make_no_archive_error()

    async def count_queries(self, scope: Scope) -> int:
        raise _make_no_archive_error()

    async def load_query(self, id: int, scope: Scope) -> SavedQuery | None:
        raise _make_no_archive_error()

    async def add_query(self, query: SavedQuery, scope: Scope) -> SavedQuery:
        raise _make_no_archive_error()

    async def update_query(self, query: SavedQuery, scope: Scope) -> SavedQuery:
        raise _make_no_archive_error()

    async def delete_query(self, id: int, scope: Scope) -> bool:
        raise _make_no_archive_error()

    async def list_results(self, query_id: int, scope: Scope) -> Sequence[SavedResult]:
        raise _make_no_archive_error()

    async def load_result(self, query_id: int, id: int, scope: Scope) -> SavedResult | None:
        raise _make_no_archive_error()

    async def add_result(self, result: SavedResult, scope: Scope) -> SavedResult:
        raise _make_no_archive_error()

    async def update_result(self, result: SavedResult, scope: Scope) -> SavedResult:
        raise _make_no_archive_error()

    async def load_edited_presets(self) -> Mapping[str, Mapping[str, Any]]:
        return {}

    async def load_preset_descriptions(self) -> Mapping[str, str]:
        return {}

    async def save_edited_preset(self, name: str, overrides: Mapping[str, Any] | None, description: str = "") -> None:
        raise _make_no_archive_error()

    async def load_edited_prompts(self) -> Mapping[str, str]:
        return {}

    async def save_edited_prompt(self, tag: str, template: str | None) -> None:
        raise _make_no_archive_error()

    async def load_original(self, document_id: str, workflow_id: str) -> Original | None:
        return None

    async def list_original_hashes(self, workflow_id: str) -> Mapping[str, str]:
        return {}

    async def save_original(self, original: Original) -> None:
        """Do nothing: no value is kept."""

    async def delete_original(self, document_id: str, workflow_id: str) -> None:
        """Do nothing: no original was saved."""

    async def purge_document(self, document_id: str, workflow_id: str) -> None:
        """Do nothing: no original was saved."""

    async def close(self) -> None:
        """Do nothing: no resource is open."""


def _make_no_archive_error() -> Unavailable:
    """Return the error for a request that needs an archive."""
    return Unavailable("no archive is configured here", code="archive_unavailable")


@dataclass(frozen=True, slots=True)
class NoAnswerLog:
    """An answer log that keeps nothing: who polls waits for the answer."""

    async def start(self, id: str, scope: Scope) -> None:
        """Do nothing: no value is kept."""

    async def append(self, id: str, text: str, scope: Scope) -> None:
        """Do nothing: no value is kept."""

    async def read(self, id: str, scope: Scope) -> str | None:
        return None

    async def purge_workflow(self, workflow_id: str) -> None:
        """Do nothing: no value is kept."""

    async def close(self) -> None:
        """Do nothing: no resource is open."""


@dataclass(frozen=True, slots=True)
class NoWebSearch:
    """A web search that is switched off and returns no results."""

    name: str = "off"

    async def search(self, text: str, limit: int) -> Sequence[WebResult]:
        return ()

    async def close(self) -> None:
        """Do nothing: no resource is open."""


@dataclass(frozen=True, slots=True)
class NoJobs:
    """A job queue that accepts nothing: a document too large for one request is refused."""

    async def add(
        self, payload: bytes, scope: Scope, *, document_id: str | None, key: str | None = None, hold: bool = False
    ) -> tuple[Job, Lease | None]:
        raise Unavailable("no job queue is configured here", code="jobs_unavailable")

    async def get(self, id: str, user_id: str | None) -> Job | None:
        return None

    async def claim(self) -> Lease | None:
        return None

    async def cancel(self, id: str, user_id: str | None) -> Job | None:
        return None

    def supersede_document(self, document_id: str, scope: Scope) -> AbstractAsyncContextManager[bool]:
        """Do nothing: there are no jobs."""
        return nullcontext(False)

    async def close(self) -> None:
        """Do nothing: no resource is open."""


@dataclass(frozen=True, slots=True)
class NoJobNotifier:
    """A job notifier that notifies no one: the worker polls for jobs."""

    async def notify(self, job_id: str, *, after_s: float = 0.0) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing: no resource is open."""


@dataclass(frozen=True, slots=True)
class EnrichmentModel:
    """The chat model that writes entities and summaries of passages at indexing, its price and its ceiling.

    Prices are in USD per million tokens, None where they are not known: nothing is then asked, because no ceiling could
    be kept. `spare_tokens` of output a call may be hidden reasoning. `budget_usd` is the ceiling for one document.
    """

    name: str
    input_usd: float | None
    output_usd: float | None
    spare_tokens: int
    budget_usd: float


@dataclass(frozen=True, slots=True)
class Kit:
    """The configured parts of the service, shared by all requests.

    `llm` may be a local technique, which its completions say. `full_llm_or_none` is the full chat model where it is
    another one than `llm` (S0-70). Without a `judge`, claims are judged by the local technique alone,
    which compares words by `word_comparer`, or by their forms where there is none, and asks `entailment_scorer`.
    """

    index: Index
    llm: LLM
    reranker: Reranker
    full_llm_or_none: LLM | None = None
    judge: Judge | None = None
    word_comparer: WordComparer | None = None
    entailment_scorer: EntailmentScorer | None = None
    layout_reader: LayoutReader = NoLayoutReader()
    redactor: Redactor = NoRedactor()
    cache: Cache = NoCache()
    query_log: QueryLog = NoQueryLog()
    archive: Archive = NoArchive()
    answer_log: AnswerLog = NoAnswerLog()
    web: WebSearch = NoWebSearch()
    jobs: Jobs = NoJobs()
    job_notifier: JobNotifier = NoJobNotifier()
    has_chat_model: bool = True  # False where `llm` is a local technique
    enrichment: EnrichmentModel | None = None  # None: entities and summaries are found without a model
    keep_originals: bool = True  # save uploaded documents in the archive
    keep_runs: bool = False  # save queries with their hits in the archive
    glossary: Mapping[str, str] = field(default_factory=dict)  # meanings by the case-folded abbreviation

    @property
    def full_llm(self) -> LLM:
        """The full chat model, or `llm` where there is no other."""
        return self.full_llm_or_none or self.llm

    async def close(self) -> None:
        """Close every part that holds something open, also after another failed to close.

        Raises what failed: one failure as it is, several as a group.
        """
        parts = (
            self.index.store,
            self.layout_reader,
            self.cache,
            self.query_log,
            self.archive,
            self.answer_log,
            self.web,
            self.jobs,
            self.job_notifier,
        )
        outcomes = await asyncio.gather(*(part.close() for part in parts), return_exceptions=True)
        failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if len(failures) > 1:
            raise BaseExceptionGroup("parts of the service failed to close", failures)
        if failures:
            raise failures[0]
