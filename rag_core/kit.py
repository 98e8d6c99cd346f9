"""Every part a pipeline may reach for; every slot is filled, with a null object where nothing is configured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag_core.errors import Unavailable
from rag_core.index import Index
from rag_core.model import Extraction, Job, PiiSpan, Scope
from rag_core.ports import LLM, Audit, Bell, Cache, Jobs, Layout, Lease, Redactor, Reranker, Web, WebResult


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

    async def supersede(self, document_id: str, scope: Scope) -> None:
        """Nothing is under way."""

    async def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True, slots=True)
class NoBell:
    """Wakes nobody: the worker looks for work by itself."""

    async def ring(self, job_id: str) -> None:
        """Nobody listens."""

    async def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True, slots=True)
class Kit:
    """The parts. `llm` may be a local stand-in: its replies say so."""

    index: Index
    llm: LLM
    reranker: Reranker
    layout: Layout = NoLayout()
    redactor: Redactor = NoRedactor()
    cache: Cache = NoCache()
    audit: Audit = NoAudit()
    web: Web = NoWeb()
    jobs: Jobs = NoJobs()
    bell: Bell = NoBell()
    glossary: Mapping[str, str] = field(default_factory=dict)  # what an abbreviation means, by its letters folded

    async def close(self) -> None:
        for part in (self.index.store, self.layout, self.cache, self.audit, self.web, self.jobs, self.bell):
            await part.close()
