"""The chunk store of one folder: writes to the truth, and hops to a thread for everything."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import apsw

from rag_core.core.errors import Unavailable
from rag_core.core.model import Chunk, Document, Facet, Filter, Ranking, Scope, Vector
from rag_core.core.ports import Probe, Replaced, StoreDescription
from rag_core.stores.embedded import reads, records, writes
from rag_core.stores.embedded.records import Workflow
from rag_core.stores.embedded.search import Search
from rag_core.stores.embedded.truth import Truth

BACKLOG = 256  # documents that a writer may leave to the next question's word index

P = ParamSpec("P")
T = TypeVar("T")


class EmbeddedStore:
    """A `ChunkStore` in the folder `path`, or in memory when there is none; opened when first used.

    SQLite is the only truth. The word index and the matrix are read off it: every process brings its own up to
    date before it searches, and they may be deleted at any time. One that is no more the `current` index can be read,
    and refuses writes: nobody would find them.
    """

    def __init__(self, path: Path | None = None, *, current: Callable[[], bool] = lambda: True) -> None:
        self._path, self._current = path, current
        self._opening = threading.Lock()
        self._opened: tuple[Truth, Search] | None = None
        self._behind: Counter[str] = Counter()

    async def search(
        self, probes: Sequence[Probe], scope: Scope, *, limit: int, filters: Sequence[Filter] = (), rrf_k: int = 60
    ) -> Sequence[Ranking]:
        return await asyncio.to_thread(self._search, probes, scope, limit, filters, rrf_k)

    async def select(self, scope: Scope, *, filters: Sequence[Filter] = (), limit: int) -> Sequence[Chunk]:
        return await self._read(reads.select, scope, filters, limit)

    async def get(self, ids: Sequence[str], scope: Scope) -> Sequence[Chunk]:
        return await self._read(reads.get, scope, ids)

    async def neighbours(self, chunk: Chunk, scope: Scope, *, before: int, after: int) -> Sequence[Chunk]:
        return await self._read(reads.neighbours, scope, chunk, before, after)

    async def facets(
        self, fields: Sequence[str], scope: Scope, *, filters: Sequence[Filter] = (), limit: int
    ) -> Sequence[Facet]:
        return await self._read(reads.facets, scope, fields, filters, limit)

    async def facet_fields(self, scope: Scope) -> Sequence[str]:
        return await self._read(reads.facet_fields, scope)

    async def document(self, document_id: str, scope: Scope) -> Document | None:
        return await self._read(reads.document, scope, document_id)

    async def documents(self, scope: Scope) -> Sequence[Document]:
        return await self._read(reads.documents, scope)

    async def vectors(self, document_id: str, scope: Scope) -> Mapping[str, Vector]:
        return await self._read(reads.vectors, scope, document_id)

    async def replace_document(
        self, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector | None], scope: Scope, *, space: str
    ) -> Replaced:
        replaced = await self._write(writes.replace, scope, document, chunks, vectors, space)
        await asyncio.to_thread(self._note_backlog, scope.workflow_id)
        return replaced

    async def save_summary(self, document_id: str, summary: str, scope: Scope) -> None:
        await self._write(writes.save_summary, scope, document_id, summary)

    async def delete(self, document_id: str, scope: Scope) -> bool:
        return await self._write(writes.delete, scope, document_id)

    async def restore(self, document_id: str, scope: Scope) -> bool:
        return await self._write(writes.restore, scope, document_id)

    async def purge(self, document_id: str, scope: Scope) -> bool:
        workflow = await self._write(writes.purge, scope, document_id)
        if workflow is None:
            return False
        await asyncio.to_thread(self._scrub, workflow)
        return True

    async def deleted(self, scope: Scope) -> Sequence[Document]:
        return await self._read(reads.deleted, scope)

    async def space(self) -> str:
        return await asyncio.to_thread(self._space)

    async def version(self, scope: Scope) -> str:
        return await self._read(reads.state, scope)

    async def describe(self) -> StoreDescription:
        return await asyncio.to_thread(self._describe)

    async def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened:
            opened[0].close()

    def _open(self) -> tuple[Truth, Search]:
        with self._opening:
            if self._opened is None:
                truth = Truth(self._path)
                self._opened = truth, Search(truth, self._path)
            return self._opened

    async def _read(
        self,
        function: Callable[Concatenate[apsw.Connection, Workflow, Scope, P], T],
        scope: Scope,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        def read() -> T:
            truth, _ = self._open()
            with truth.reading() as db:
                return function(db, records.workflow(db, scope.workflow_id), scope, *args, **kwargs)

        return await asyncio.to_thread(read)

    def _search(
        self, probes: Sequence[Probe], scope: Scope, limit: int, filters: Sequence[Filter], rrf_k: int
    ) -> Sequence[Ranking]:
        _, search = self._open()
        return search.rankings(scope, probes, filters, limit, rrf_k)

    async def _write(
        self,
        function: Callable[Concatenate[apsw.Connection, Scope, P], T],
        scope: Scope,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        def write() -> T:
            truth, _ = self._open()
            with truth.writing() as db:
                if not self._current():  # asked when no switch can come between: it too waits for its turn to write
                    raise Unavailable("another index took the place of this one: do it again", code="index_replaced")
                return function(db, scope, *args, **kwargs)

        return await asyncio.to_thread(write)

    def _note_backlog(self, workflow_id: str) -> None:
        _, search = self._open()
        self._behind[workflow_id] += 1
        if self._behind[workflow_id] >= BACKLOG:
            self._behind[workflow_id] = 0
            search.catch_up(workflow_id)

    def _scrub(self, workflow: Workflow) -> None:
        truth, search = self._open()
        search.discard(workflow)
        truth.scrub()
        search.catch_up(workflow.name)  # rather than that the next question waits for it

    def _space(self) -> str:
        truth, _ = self._open()
        with truth.reading() as db:
            return records.space(db).name

    def _describe(self) -> StoreDescription:
        truth, _ = self._open()
        with truth.reading() as db:
            return records.description(db, str(self._path or ":memory:"))
