"""The chunk store of one folder: writes to the truth, and hops to a thread for everything."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import apsw

from rag_core.errors import Conflict, NotFound
from rag_core.model import Chunk, Document, Facet, Filter, Ranking, Scope, Vector
from rag_core.ports import Probe, Replaced, StoreDescription
from rag_core.stores.access import difference, owns, refuse_a_foreign_owner
from rag_core.stores.embedded import reads, records
from rag_core.stores.embedded.records import Workflow
from rag_core.stores.embedded.search import Search
from rag_core.stores.embedded.truth import Truth

BACKLOG = 256  # documents that a writer may leave to the next question's word index

P = ParamSpec("P")
T = TypeVar("T")


class EmbeddedStore:
    """A `ChunkStore` in the folder `path`, or in memory when there is none; opened when first used.

    SQLite is the only truth. The word index and the matrix are read off it: every process brings its own up to
    date before it searches, and they may be deleted at any time.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
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
        return await asyncio.to_thread(self._replace, document, chunks, vectors, scope, space)

    async def save_summary(self, document_id: str, summary: str, scope: Scope) -> None:
        await asyncio.to_thread(self._save_summary, document_id, summary, scope)

    async def drop(self, document_id: str, scope: Scope) -> bool:
        return await asyncio.to_thread(self._drop, document_id, scope)

    async def space(self) -> str:
        return await asyncio.to_thread(self._space)

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

    def _replace(
        self,
        document: Document,
        chunks: Sequence[Chunk],
        vectors: Sequence[Vector | None],
        scope: Scope,
        space: str,
    ) -> Replaced:
        refuse_a_foreign_owner(document, chunks, scope)
        truth, search = self._open()
        with truth.writing() as db:
            _join_space(db, space, vectors)
            workflow = records.changed_workflow(db, scope.workflow_id)
            before = _removed(db, workflow, scope, document.id)
            records.add(db, workflow, document, chunks, vectors)
            _leave_space_when_empty(db)
        self._note_backlog(search, scope.workflow_id)
        return difference(before, [chunk.content_hash for chunk in chunks])

    def _note_backlog(self, search: Search, workflow_id: str) -> None:
        self._behind[workflow_id] += 1
        if self._behind[workflow_id] >= BACKLOG:
            self._behind[workflow_id] = 0
            search.catch_up(workflow_id)

    def _drop(self, document_id: str, scope: Scope) -> bool:
        truth, _ = self._open()
        with truth.writing() as db:
            found = _owned(db, records.workflow(db, scope.workflow_id), scope, document_id)
            if found is None:
                return False
            records.remove(db, records.changed_workflow(db, scope.workflow_id), found)
            _leave_space_when_empty(db)
            return True

    def _save_summary(self, document_id: str, summary: str, scope: Scope) -> None:
        truth, _ = self._open()
        with truth.writing() as db:
            found = reads.version(db, records.workflow(db, scope.workflow_id), scope, document_id)
            if found is None:
                raise _not_found()
            db.execute("update documents set summary = ? where version = ?", (summary, found[0]))

    def _space(self) -> str:
        truth, _ = self._open()
        with truth.reading() as db:
            return records.space(db).name

    def _describe(self) -> StoreDescription:
        truth, _ = self._open()
        with truth.reading() as db:
            return records.description(db, str(self._path or ":memory:"))


def _join_space(db: apsw.Connection, name: str, vectors: Sequence[Vector | None]) -> None:
    """Refuse vectors of another space than those that are kept; the first vectors decide it."""
    kept = records.space(db)
    widths = {len(vector) for vector in vectors if vector is not None}
    other_name = kept.name and name != kept.name and (name or widths)
    other_width = len(widths | {kept.dimensions} - {0}) > 1
    if other_name or other_width:
        raise Conflict(
            f"the index holds vectors of {kept.name} ({kept.dimensions} dimensions), these are of {name or 'no model'} "
            f"({', '.join(map(str, sorted(widths))) or 'none'}): use the first, or index into an empty store",
            code="reindex_required",
        )
    if widths and not kept.dimensions:
        records.set_space(db, name, widths.pop())


def _leave_space_when_empty(db: apsw.Connection) -> None:
    if not db.execute("select 1 from vectors limit 1").fetchone():
        records.set_space(db, "", 0)


def _removed(db: apsw.Connection, workflow: Workflow, scope: Scope, document_id: str) -> list[str]:
    """Take out what is there under this id and give the hashes of its chunks. Raises NotFound when it is another's."""
    if not records.has_document(db, workflow, document_id):
        return []
    version = _owned(db, workflow, scope, document_id)
    if version is None:
        raise _not_found()
    hashes = records.hashes(db, version)
    records.remove(db, workflow, version)
    return hashes


def _owned(db: apsw.Connection, workflow: Workflow, scope: Scope, document_id: str) -> int | None:
    """The version of a document that the scope may replace or remove."""
    found = reads.version(db, workflow, scope, document_id)
    return found[0] if found and owns(found[1], scope) else None


def _not_found() -> NotFound:
    return NotFound("there is no such document")
