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
from rag_core.core.ports import Probe, ReplacementResult, StoreDescription
from rag_core.stores.embedded import reads, records, writes
from rag_core.stores.embedded.database import IndexDatabase
from rag_core.stores.embedded.records import WorkflowState
from rag_core.stores.embedded.search import EmbeddedSearch

MAX_UNINDEXED_DOCUMENTS = 256  # documents that writers leave for the next search to add to the lexical index

P = ParamSpec("P")
T = TypeVar("T")


class EmbeddedStore:
    """A `ChunkStore` in the folder `path`, or in memory without one; opened when first used.

    The SQLite database is authoritative. The lexical index and the vector matrix are projections of it: every process
    brings its own up to date before it searches, and they may be deleted at any time. An index that is no longer the
    current one can be read but refuses writes, which no search would find.
    """

    def __init__(self, path: Path | None = None, *, is_current: Callable[[], bool] = lambda: True) -> None:
        self._path, self._is_current = path, is_current
        self._open_lock = threading.Lock()
        self._database_and_search: tuple[IndexDatabase, EmbeddedSearch] | None = None
        self._unindexed_documents: Counter[str] = Counter()

    async def search(
        self, probes: Sequence[Probe], scope: Scope, *, limit: int, filters: Sequence[Filter] = (), rrf_k: int = 60
    ) -> Sequence[Ranking]:
        return await asyncio.to_thread(self._search_sync, probes, scope, limit, filters, rrf_k)

    async def select(self, scope: Scope, *, filters: Sequence[Filter] = (), limit: int) -> Sequence[Chunk]:
        return await self._run_read(reads.select_sqlite_chunks, scope, filters, limit)

    async def get(self, ids: Sequence[str], scope: Scope) -> Sequence[Chunk]:
        return await self._run_read(reads.get_sqlite_chunks, scope, ids)

    async def load_neighbours(self, chunk: Chunk, scope: Scope, *, before: int, after: int) -> Sequence[Chunk]:
        return await self._run_read(reads.load_sqlite_neighbours, scope, chunk, before, after)

    async def count_facets(
        self, fields: Sequence[str], scope: Scope, *, filters: Sequence[Filter] = (), limit: int
    ) -> Sequence[Facet]:
        return await self._run_read(reads.count_sqlite_facets, scope, fields, filters, limit)

    async def list_facet_fields(self, scope: Scope) -> Sequence[str]:
        return await self._run_read(reads.list_sqlite_facet_fields, scope)

    async def load_document(self, document_id: str, scope: Scope) -> Document | None:
        return await self._run_read(reads.load_sqlite_document, scope, document_id)

    async def list_documents(self, scope: Scope) -> Sequence[Document]:
        return await self._run_read(reads.list_sqlite_documents, scope)

    async def load_vectors(self, document_id: str, scope: Scope) -> Mapping[str, Vector]:
        return await self._run_read(reads.load_sqlite_vectors, scope, document_id)

    async def replace_document(
        self, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector | None], scope: Scope, *, space: str
    ) -> ReplacementResult:
        result = await self._run_write(writes.replace_sqlite_document, scope, document, chunks, vectors, space)
        await asyncio.to_thread(self._count_unindexed_document, scope.workflow_id)
        return result

    async def save_summary(self, document_id: str, summary: str, scope: Scope) -> None:
        await self._run_write(writes.save_sqlite_summary, scope, document_id, summary)

    async def delete(self, document_id: str, scope: Scope) -> bool:
        return await self._run_write(writes.delete_sqlite_document, scope, document_id)

    async def restore(self, document_id: str, scope: Scope) -> bool:
        return await self._run_write(writes.restore_sqlite_document, scope, document_id)

    async def purge(self, document_id: str, scope: Scope) -> bool:
        workflow_state = await self._run_write(writes.purge_sqlite_document, scope, document_id)
        if workflow_state is None:
            return False
        await asyncio.to_thread(self._erase_purged_text, workflow_state)
        return True

    async def list_deleted(self, scope: Scope) -> Sequence[Document]:
        return await self._run_read(reads.list_deleted_sqlite_documents, scope)

    async def load_embedding_space(self) -> str:
        return await asyncio.to_thread(self._load_space_name)

    async def load_corpus_version(self, scope: Scope) -> str:
        return await self._run_read(reads.format_sqlite_corpus_version, scope)

    async def describe(self) -> StoreDescription:
        return await asyncio.to_thread(self._describe_sync)

    async def close(self) -> None:
        database_and_search, self._database_and_search = self._database_and_search, None
        if database_and_search:
            database_and_search[0].close()

    def _get_database_and_search(self) -> tuple[IndexDatabase, EmbeddedSearch]:
        with self._open_lock:
            if self._database_and_search is None:
                database = IndexDatabase(self._path)
                self._database_and_search = database, EmbeddedSearch(database, self._path)
            return self._database_and_search

    async def _run_read(
        self,
        function: Callable[Concatenate[apsw.Connection, WorkflowState, Scope, P], T],
        scope: Scope,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        def read() -> T:
            database, _ = self._get_database_and_search()
            with database.read_transaction() as db:
                return function(db, records.load_workflow_state(db, scope.workflow_id), scope, *args, **kwargs)

        return await asyncio.to_thread(read)

    def _search_sync(
        self, probes: Sequence[Probe], scope: Scope, limit: int, filters: Sequence[Filter], rrf_k: int
    ) -> Sequence[Ranking]:
        _, search = self._get_database_and_search()
        return search.search(scope, probes, filters, limit, rrf_k)

    async def _run_write(
        self,
        function: Callable[Concatenate[apsw.Connection, Scope, P], T],
        scope: Scope,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        def write() -> T:
            database, _ = self._get_database_and_search()
            with database.write_transaction() as db:
                if not self._is_current():  # checked while the write lock keeps a switch from happening
                    raise Unavailable("another index has replaced this one: repeat the request", code="index_replaced")
                return function(db, scope, *args, **kwargs)

        return await asyncio.to_thread(write)

    def _count_unindexed_document(self, workflow_id: str) -> None:
        _, search = self._get_database_and_search()
        self._unindexed_documents[workflow_id] += 1
        if self._unindexed_documents[workflow_id] >= MAX_UNINDEXED_DOCUMENTS:
            self._unindexed_documents[workflow_id] = 0
            search.update_lexical_index(workflow_id)

    def _erase_purged_text(self, workflow: WorkflowState) -> None:
        database, search = self._get_database_and_search()
        search.remove_lexical_index_files(workflow)
        database.erase_deleted_bytes()
        search.update_lexical_index(workflow.name)  # now, so that the next search does not wait for it

    def _load_space_name(self) -> str:
        database, _ = self._get_database_and_search()
        with database.read_transaction() as db:
            return records.load_sqlite_embedding_space(db).name

    def _describe_sync(self) -> StoreDescription:
        database, _ = self._get_database_and_search()
        with database.read_transaction() as db:
            return records.describe_sqlite_store(db, str(self._path or ":memory:"))
