"""The chunk store of one folder. Every operation runs in a thread, because SQLite and the indexes block."""

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

BACKLOG = 256  # documents that writers leave for the next search to add to the lexical index

P = ParamSpec("P")
T = TypeVar("T")


class EmbeddedStore:
    """A `ChunkStore` in the folder `path`, or in memory without one; opened when first used.

    The SQLite database is authoritative. The lexical index and the vector matrix are projections of it: every process
    brings its own up to date before it searches, and they may be deleted at any time. An index that is no longer the
    current one can be read but refuses writes, which no search would find.
    """

    def __init__(self, path: Path | None = None, *, current: Callable[[], bool] = lambda: True) -> None:
        self._path, self._is_current = path, current
        self._open_lock = threading.Lock()
        self._database_and_search: tuple[Truth, Search] | None = None
        self._unindexed_documents: Counter[str] = Counter()

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
        result = await self._write(writes.replace, scope, document, chunks, vectors, space)
        await asyncio.to_thread(self._note_backlog, scope.workflow_id)
        return result

    async def save_summary(self, document_id: str, summary: str, scope: Scope) -> None:
        await self._write(writes.save_summary, scope, document_id, summary)

    async def delete(self, document_id: str, scope: Scope) -> bool:
        return await self._write(writes.delete, scope, document_id)

    async def restore(self, document_id: str, scope: Scope) -> bool:
        return await self._write(writes.restore, scope, document_id)

    async def purge(self, document_id: str, scope: Scope) -> bool:
        workflow_state = await self._write(writes.purge, scope, document_id)
        if workflow_state is None:
            return False
        await asyncio.to_thread(self._scrub, workflow_state)
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
        database_and_search, self._database_and_search = self._database_and_search, None
        if database_and_search:
            database_and_search[0].close()

    def _open(self) -> tuple[Truth, Search]:
        with self._open_lock:
            if self._database_and_search is None:
                database = Truth(self._path)
                self._database_and_search = database, Search(database, self._path)
            return self._database_and_search

    async def _read(
        self,
        function: Callable[Concatenate[apsw.Connection, Workflow, Scope, P], T],
        scope: Scope,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        def read() -> T:
            database, _ = self._open()
            with database.reading() as db:
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
            database, _ = self._open()
            with database.writing() as db:
                if not self._is_current():  # checked while the write lock keeps a switch from happening
                    raise Unavailable("another index has replaced this one: repeat the request", code="index_replaced")
                return function(db, scope, *args, **kwargs)

        return await asyncio.to_thread(write)

    def _note_backlog(self, workflow_id: str) -> None:
        _, search = self._open()
        self._unindexed_documents[workflow_id] += 1
        if self._unindexed_documents[workflow_id] >= BACKLOG:
            self._unindexed_documents[workflow_id] = 0
            search.catch_up(workflow_id)

    def _scrub(self, workflow: Workflow) -> None:
        database, search = self._open()
        search.discard(workflow)
        database.scrub()
        search.catch_up(workflow.name)  # now, so that the next search does not wait for it

    def _space(self) -> str:
        database, _ = self._open()
        with database.reading() as db:
            return records.space(db).name

    def _describe(self) -> StoreDescription:
        database, _ = self._open()
        with database.reading() as db:
            return records.description(db, str(self._path or ":memory:"))
