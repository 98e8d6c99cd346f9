"""Every part a pipeline may reach for; every slot is filled, with a null object where nothing is configured."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from rag_core.core.errors import Unavailable
from rag_core.core.index import Index
from rag_core.core.model import Extraction, Job, PiiSpan, SavedQuery, SavedResult, Scope, Work
from rag_core.core.ports import (
    LLM,
    Archive,
    Audit,
    Bell,
    Cache,
    Jobs,
    Layout,
    Lease,
    Redactor,
    Reranker,
    Web,
    WebResult,
)


@dataclass(frozen=True, slots=True)
class NoLayout:
    """Reads nothing by sight: everything is left to the local parsers."""

    name: str = "local parsers"
    kinds: frozenset[str] = frozenset()

    async def read(self, data: bytes, kind: str) -> Extraction:
        raise Unavailable("no service reads documents by sight here")

    async def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True, slots=True)
class NoRedactor:
    """Looks at nothing, and says so: a pipeline that asks for redaction does not get to see a text unredacted."""

    name: str = "no redactor"

    def spans(self, text: str) -> Sequence[PiiSpan]:
        raise Unavailable("no redactor is configured here", code="redaction_failed")


@dataclass(frozen=True, slots=True)
class NoCache:
    """Remembers nothing."""

    name: str = "none"

    async def get(self, key: str) -> bytes | None:
        return None

    async def set(self, key: str, value: bytes, *, ttl_s: float) -> None:
        """Nothing is kept."""

    async def clear(self) -> None:
        """There is nothing to forget."""

    async def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True, slots=True)
class NoAudit:
    """Keeps no account."""

    name: str = "none"

    async def record(self, entry: Mapping[str, Any]) -> None:
        """Nothing is kept."""

    async def last(self, limit: int) -> Sequence[Mapping[str, Any]]:
        return ()

    async def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True, slots=True)
class NoArchive:
    """Keeps nothing, and says so to who wants something kept."""

    name: str = "none"

    async def queries(self, scope: Scope, *, limit: int, before: int | None = None) -> Sequence[SavedQuery]:
        raise _no_archive()

    async def count(self, scope: Scope) -> int:
        raise _no_archive()

    async def query(self, id: int, scope: Scope) -> SavedQuery | None:
        raise _no_archive()

    async def add(self, query: SavedQuery, scope: Scope) -> SavedQuery:
        raise _no_archive()

    async def change(self, query: SavedQuery, scope: Scope) -> SavedQuery:
        raise _no_archive()

    async def remove(self, id: int, scope: Scope) -> bool:
        raise _no_archive()

    async def results(self, query_id: int, scope: Scope) -> Sequence[SavedResult]:
        raise _no_archive()

    async def result(self, query_id: int, id: int, scope: Scope) -> SavedResult | None:
        raise _no_archive()

    async def add_result(self, result: SavedResult, scope: Scope) -> SavedResult:
        raise _no_archive()

    async def configs(self) -> Mapping[str, Mapping[str, Any]]:
        return {}

    async def descriptions(self) -> Mapping[str, str]:
        return {}

    async def save_config(self, name: str, config: Mapping[str, Any] | None, description: str = "") -> None:
        raise _no_archive()

    async def prompts(self) -> Mapping[str, str]:
        return {}

    async def save_prompt(self, tag: str, wording: str | None) -> None:
        raise _no_archive()

    async def work(self, document_id: str, workflow_id: str) -> Work | None:
        return None

    async def works(self, workflow_id: str) -> Mapping[str, str]:
        return {}

    async def save_work(self, work: Work) -> None:
        """Nothing is kept."""

    async def remove_work(self, document_id: str, workflow_id: str) -> None:
        """There is nothing to remove."""

    async def forget(self, document_id: str, workflow_id: str) -> None:
        """There is nothing to forget."""

    async def close(self) -> None:
        """Nothing is open."""


def _no_archive() -> Unavailable:
    return Unavailable("no archive is configured here", code="archive_unavailable")


@dataclass(frozen=True, slots=True)
class NoWeb:
    """The web is not asked."""

    name: str = "off"

    async def search(self, text: str, limit: int) -> Sequence[WebResult]:
        return ()

    async def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True, slots=True)
class NoJobs:
    """Takes no long work on: what cannot be done within a request is refused."""

    async def add(
        self, work: bytes, scope: Scope, *, document_id: str | None, key: str | None = None, hold: bool = False
    ) -> tuple[Job, Lease | None]:
        raise Unavailable("long work is not taken on here", code="jobs_unavailable")

    async def get(self, id: str, user_id: str | None) -> Job | None:
        return None

    async def claim(self) -> Lease | None:
        return None

    def superseding(self, document_id: str, scope: Scope) -> AbstractAsyncContextManager[None]:
        """Nothing is under way."""
        return nullcontext()

    async def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True, slots=True)
class NoBell:
    """Wakes nobody: the worker looks for work by itself."""

    async def ring(self, job_id: str, *, after_s: float = 0.0) -> None:
        """Nobody listens."""

    async def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True, slots=True)
class Kit:
    """The parts. `llm` may be a local stand-in: its replies say so. `larger` is the full chat model, where it is
    another than `llm` (S0-70)."""

    index: Index
    llm: LLM
    reranker: Reranker
    larger: LLM | None = None
    layout: Layout = NoLayout()
    redactor: Redactor = NoRedactor()
    cache: Cache = NoCache()
    audit: Audit = NoAudit()
    archive: Archive = NoArchive()
    web: Web = NoWeb()
    jobs: Jobs = NoJobs()
    bell: Bell = NoBell()
    chat: bool = True  # `llm` is a chat model, no stand-in
    keep_originals: bool = True  # documents as they came are kept in the archive
    keep_runs: bool = False  # so are questions with what was found
    glossary: Mapping[str, str] = field(default_factory=dict)  # what an abbreviation means, by its letters folded

    @property
    def full(self) -> LLM:
        return self.larger or self.llm

    async def close(self) -> None:
        for part in (
            self.index.store,
            self.layout,
            self.cache,
            self.audit,
            self.archive,
            self.web,
            self.jobs,
            self.bell,
        ):
            await part.close()
