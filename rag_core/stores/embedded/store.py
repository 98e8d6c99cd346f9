"""The chunk store of one folder. Every operation runs in a thread, because SQLite and the indexes block."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import apsw

from rag_core.core.errors import Misconfigured, StorageFull, Unavailable
from rag_core.core.model import Chunk, Document, Facet, Filter, Ranking, Scope, Vector
from rag_core.core.ports import Probe, ReplacementResult, StoreDescription
from rag_core.core.run import warn_current_run
from rag_core.core.sqlite_files import make_moved_error
from rag_core.stores.embedded import reads, records, writes
from rag_core.stores.embedded.change_mark import ChangeMark, write_change_mark
from rag_core.stores.embedded.database import DAMAGE_CODE, IndexDatabase, get_database_file
from rag_core.stores.embedded.disk_reserve import give_up_disk_reserve, make_disk_reserve
from rag_core.stores.embedded.group_commit import DocumentWrite, GroupCommit
from rag_core.stores.embedded.open_index import OpenIndex, open_index, open_salvaged_index
from rag_core.stores.embedded.parsed_chunks import forget_kept_chunks
from rag_core.stores.embedded.records import WorkflowState
from rag_core.stores.embedded.search import EmbeddedSearch

MAX_UNINDEXED_CHUNKS = 4096  # that writers leave for the next search to add to the lexical index, in half a second

P = ParamSpec("P")
T = TypeVar("T")


class EmbeddedStore:
    """A `ChunkStore` in the folder `path`, or in memory without one; opened when first used.

    The SQLite database is authoritative. The lexical index and the vector matrix are projections of it: every process
    brings its own up to date before it searches, and they may be deleted at any time. An index that is no longer the
    current one can be read but refuses writes, which no search would find.

    Where the database was moved away, another in its place is opened, and none is refused; what was written just before
    to the one that was moved is not acknowledged.

    A damaged database is read through a copy of its whole documents, which names the others in `warnings`; it refuses
    writes until `rag check --repair`.
    """

    def __init__(self, path: Path | None = None, *, is_current: Callable[[], bool] = lambda: True) -> None:
        self._path, self._is_current = path, is_current
        self._open_lock = threading.Lock()
        self._opened: OpenIndex | None = None
        self._noted: dict[str, str] = {}  # the damages that were met, by their code
        self._replacements = 0  # of the database by another in its place, which may count the same changes again
        self._unindexed_chunks: Counter[str] = Counter()  # by workflow
        self._group_commit = GroupCommit(self._commit_documents)

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

    async def list_documents(self, scope: Scope, *, source_prefix: str = "") -> Sequence[Document]:
        return await self._run_read(reads.list_sqlite_documents, scope, source_prefix)

    async def load_vectors(self, document_id: str, scope: Scope) -> Mapping[str, Vector]:
        return await self._run_read(reads.load_sqlite_vectors, scope, document_id)

    async def is_embedded(self, document: Document, chunks: Sequence[Chunk], scope: Scope) -> bool:
        return False  # every vector can be read back

    async def replace_document(
        self, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector | None], scope: Scope, *, space: str
    ) -> ReplacementResult:
        def replace(db: apsw.Connection) -> ReplacementResult:
            return writes.replace_sqlite_document(db, scope, document, chunks, vectors, space)

        result = await self._group_commit.run(DocumentWrite(replace, len(chunks)))
        self._unindexed_chunks[scope.workflow_id] += len(chunks)
        if self._unindexed_chunks[scope.workflow_id] >= MAX_UNINDEXED_CHUNKS:
            self._unindexed_chunks[scope.workflow_id] = 0
            await asyncio.to_thread(self._update_lexical_index, scope.workflow_id)
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
        version = await self._run_read(reads.format_sqlite_corpus_version, scope)
        return f"{version}.{self._replacements}" if self._replacements else version

    async def describe(self) -> StoreDescription:
        return await asyncio.to_thread(self._describe_sync)

    async def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened:
            await asyncio.to_thread(opened.close)

    def _get_opened(self) -> OpenIndex:
        with self._open_lock:
            if self._opened and self._is_replaced(self._opened):
                self._replacements += 1
                self._noted.clear()
                self._close_opened()
            if self._opened and self._opened.may_have_room():
                self._close_opened()
            if self._opened is None:
                self._opened = open_index(self._path, self._note_damage)
            return self._opened

    def _is_replaced(self, opened: OpenIndex) -> bool:
        """Return whether another database lies in the place of an opened one. Raises Unavailable when none does.

        An index that is no longer the current one is not missed: who reads it goes on.
        """
        if not (opened.is_elsewhere() and self._is_current()):
            return False
        if opened.folder and not get_database_file(opened.folder).is_file():
            raise make_moved_error()
        return True

    def _close_opened(self) -> None:
        opened, self._opened = self._opened, None
        if opened:
            opened.close()

    def _get_database_and_search(self) -> tuple[IndexDatabase, EmbeddedSearch]:
        opened = self._get_opened()
        return opened.database, opened.search

    def _note_damage(self, code: str, message: str) -> None:
        """Warn the present request of a damage, and keep it for the health of the store."""
        self._noted[code] = message
        warn_current_run(code, message)

    def _read(self, work: Callable[[OpenIndex], T], scope: Scope | None = None) -> T:
        """Read from the index, or from a copy of what is left of it when it turns out to be damaged."""
        try:
            opened = self._get_opened()
            result = work(opened)
        except Misconfigured as failure:
            if failure.code != DAMAGE_CODE:
                raise
            opened = self._switch_to_salvaged(failure)
            result = work(opened)
        self._warn_of(opened, scope)
        return result

    def _warn_of(self, opened: OpenIndex, scope: Scope | None) -> None:
        for code, message in opened.list_warnings(scope):
            self._note_damage(code, message)

    def _switch_to_salvaged(self, failure: Misconfigured) -> OpenIndex:
        """Open what is left of the damaged index, once. Raises the failure again when that is damaged, too."""
        with self._open_lock:
            if self._path is None or (self._opened and self._opened.report):
                raise failure
            damaged, self._opened = self._opened, open_salvaged_index(self._path, self._note_damage)
        if damaged:
            damaged.close()
        return self._opened

    async def _run_read(
        self,
        function: Callable[Concatenate[apsw.Connection, WorkflowState, Scope, P], T],
        scope: Scope,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        def read(opened: OpenIndex) -> T:
            with opened.database.read_transaction() as db:
                return function(db, records.load_workflow_state(db, scope.workflow_id), scope, *args, **kwargs)

        return await asyncio.to_thread(self._read, read, scope)

    def _search_sync(
        self, probes: Sequence[Probe], scope: Scope, limit: int, filters: Sequence[Filter], rrf_k: int
    ) -> Sequence[Ranking]:
        return self._read(lambda opened: opened.search.search(scope, probes, filters, limit, rrf_k), scope)

    async def _run_write(
        self,
        function: Callable[Concatenate[apsw.Connection, Scope, P], T],
        scope: Scope,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        is_deletion = function in (writes.delete_sqlite_document, writes.purge_sqlite_document)
        return await asyncio.to_thread(
            self._write, lambda db: function(db, scope, *args, **kwargs), is_deletion=is_deletion
        )

    def _commit_documents(self, group: Sequence[DocumentWrite[ReplacementResult]]) -> list[ReplacementResult]:
        return self._write(lambda db: [one.write(db) for one in group], is_deletion=False)

    def _write(self, work: Callable[[apsw.Connection], T], *, is_deletion: bool) -> T:
        """Write in one transaction. On a full disk try again with an empty journal, and a deletion with the reserve."""
        opened = self._get_opened()
        self._warn_of(opened, None)
        opened.require_writable()
        for make_room in (opened.database.empty_journal, self._give_up_reserve, None):
            try:
                result, mark = self._write_once(opened, work)
                break
            except StorageFull:
                if make_room is None or (make_room == self._give_up_reserve and not is_deletion):
                    raise
                make_room()
        if self._path:
            write_change_mark(self._path, mark._replace(is_earlier=opened.is_earlier))
            make_disk_reserve(self._path)
        return result

    def _write_once(self, opened: OpenIndex, work: Callable[[apsw.Connection], T]) -> tuple[T, ChangeMark]:
        with opened.database.write_transaction() as db:
            if not self._is_current():  # checked while the write lock keeps a switch from happening
                raise Unavailable("another index has replaced this one: repeat the request", code="index_replaced")
            if opened.is_elsewhere():
                raise make_moved_error()
            written = work(db), records.count_change(db)
        if opened.is_elsewhere():  # nothing keeps a folder from being moved: what was written last went with it
            raise make_moved_error()
        return written

    def _give_up_reserve(self) -> None:
        if self._path:
            give_up_disk_reserve(self._path)

    def _update_lexical_index(self, workflow_id: str) -> None:
        _, search = self._get_database_and_search()
        search.update_lexical_index(workflow_id)

    def _erase_purged_text(self, workflow: WorkflowState) -> None:
        forget_kept_chunks()
        database, search = self._get_database_and_search()
        search.remove_lexical_index_files(workflow)
        try:
            database.erase_deleted_bytes()
        except StorageFull:
            self._note_damage(
                "purge_unfinished",
                "the disk is full: the document is gone from the index, but its bytes stay in the file until the next "
                "purge that has room",
            )
        search.update_lexical_index(workflow.name)  # now, so that the next search does not wait for it

    def _load_space_name(self) -> str:
        def load(opened: OpenIndex) -> str:
            with opened.database.read_transaction() as db:
                return records.load_sqlite_embedding_space(db).name

        return self._read(load)

    def _describe_sync(self) -> StoreDescription:
        def describe(opened: OpenIndex) -> StoreDescription:
            with opened.database.read_transaction() as db:
                return records.describe_sqlite_store(db, str(self._path or ":memory:"))

        return replace(self._read(describe), damage=tuple(sorted(self._noted)))
