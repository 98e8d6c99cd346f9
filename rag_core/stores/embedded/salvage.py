"""What can be read of a damaged index, copied to a new one: whole documents only, the others by name."""

# ruff: noqa: S608 - the SQL is built from constants of this package; values are bound

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import apsw

from rag_core.core.errors import Misconfigured
from rag_core.core.model import Chunk, Document, Scope, Vector
from rag_core.stores.access import can_read_document
from rag_core.stores.document_rules import EmbeddingSpace
from rag_core.stores.embedded import page_checksums, records
from rag_core.stores.embedded.change_mark import read_change_mark
from rag_core.stores.embedded.database import (
    DAMAGE_CODE,
    DAMAGE_MESSAGE,
    IndexDatabase,
    get_database_file,
    is_damage,
    translate_apsw_errors,
)
from rag_core.stores.embedded.filters import SqliteCondition
from rag_core.stores.embedded.row_checksums import count_altered_rows, register_row_checksum

EXISTING_VERSIONS_SQL = {  # each reads another tree of the file
    "documents": (
        "select version from documents not indexed",
        "select version from documents indexed by documents_by_seq where workflow >= 0",
        "select version from documents indexed by sqlite_autoindex_documents_1 where workflow >= 0",
        "select distinct version from chunks indexed by chunks_by_version",
    ),
    "deleted": (
        "select version from deleted not indexed",
        "select version from deleted indexed by sqlite_autoindex_deleted_1 where workflow >= 0",
        "select distinct version from deleted_chunks",
    ),
}
NAME_SQL = {
    "documents": (
        "select workflow, id from documents indexed by sqlite_autoindex_documents_1 where workflow > 0 and version = ?",
        "select workflow, document_id from chunks where version = ? limit 1",
    ),
    "deleted": (
        "select workflow, id from deleted indexed by sqlite_autoindex_deleted_1 where workflow >= 0 and version = ?",
        "select -1, document_id from deleted_chunks where version = ? limit 1",
    ),
}

ORIGIN_TABLES = {  # each passage has it too: the row of the document itself may be what is damaged
    "documents": ("documents", "chunks not indexed"),
    "deleted": ("deleted", "deleted_chunks"),
}


@dataclass(frozen=True, slots=True)
class DamagedDocument:
    """A document that cannot be read whole. `document` is None where not even its owner is known.

    `origin` is its source, as the name of its file, and its title; "" where neither is known.
    """

    workflow_id: str | None
    document_id: str
    document: Document | None = None
    is_deleted: bool = False
    origin: str = ""

    def __str__(self) -> str:
        workflow = "a workflow whose name is lost" if self.workflow_id is None else f"workflow {self.workflow_id}"
        name = f"{self.origin}, id {self.document_id}," if self.origin else self.document_id
        return f"{name} of {workflow}{', deleted' if self.is_deleted else ''}"


@dataclass(slots=True)
class SalvageReport:
    """How many documents were copied, which of them could not be, and in words what is lost without a name.

    `is_unchecked` is true where another program has written pages without their checksums.
    """

    kept: int = 0
    damaged: list[DamagedDocument] = field(default_factory=list)
    lost: str = ""
    space: EmbeddingSpace = field(default_factory=lambda: EmbeddingSpace("", 0))
    is_unchecked: bool = False

    def describe_for(self, scope: Scope) -> str:
        """Return in words what is missing for a scope, naming what it may read; "" when nothing is."""
        missing = [d for d in self.damaged if not d.is_deleted and d.workflow_id in (None, scope.workflow_id)]
        readable = [d for d in missing if d.document and can_read_document(d.document, scope)]
        named = [f"{d.origin}, id {d.document_id}" if d.origin else d.document_id for d in readable]
        unknown = sum(d.document is None for d in missing)
        unnamed = f"{unknown} whose owner cannot be read" if unknown else ""
        return " and ".join(filter(None, (", ".join(sorted(named)), unnamed, self.lost)))


class _WholeDocument(NamedTuple):
    document: Document
    chunks: list[Chunk]
    vectors: list[Vector | None]


class _DamagedReader:
    """Reads of a damaged database, each of which may fail by itself.

    With `verified`, the reader of the undamaged pages, damaged ones are read as well, and every row must have its own
    checksum. The name of a workflow has none: it must stand on an undamaged page, or in both of its places.
    """

    def __init__(self, db: apsw.Connection, verified: "_DamagedReader | None" = None) -> None:
        self.db, self._verified, is_verified = db, verified, verified is None
        db.pragma("checksum_verification", "on" if is_verified else "off")  # cksumvfs takes True for off

    @cached_property
    def workflow_names(self) -> dict[int, str]:
        by_tree: list[dict[int, str]] = []
        for tree in ("not indexed", "indexed by sqlite_autoindex_workflows_1"):
            names: dict[int, str] = {}
            with _skip_damage():
                for id, name in self.db.execute(f"select id, name from workflows {tree} where name >= ''"):
                    names[id] = name
            by_tree.append(names)
        if self._verified is None:
            return by_tree[0] | by_tree[1]
        return dict(by_tree[0].items() & by_tree[1].items()) | self._verified.workflow_names

    @cached_property
    def rows_by_version(self) -> dict[int, list[int]]:
        """The rows of every chunk that can be read, found without the index of versions."""
        rows: dict[int, list[int]] = {}
        highest, last = self._find_highest_row(), 0
        while last < highest:
            with _skip_damage():
                sql = "select row, version from chunks not indexed where row > ? order by row"
                for row, version in self.db.execute(sql, (last,)):
                    rows.setdefault(version, []).append(row)
                    last = row
                return rows
            last = self._read_past_damage(last + 1, highest, rows)
        return rows

    def _find_highest_row(self) -> int:
        highest = 0
        for sql in ("select seq from sqlite_sequence where name = 'chunks'", "select max(row) from vectors"):
            with _skip_damage():
                highest = max(highest, self.db.execute(sql).get or 0)
        return highest

    def _read_past_damage(self, row: int, highest: int, rows: dict[int, list[int]]) -> int:
        """Read one row after the other until one after the damage can be read, and return it."""
        met_damage = False
        while row <= highest:
            is_damaged, version = True, None
            with _skip_damage():
                version = self.db.execute("select version from chunks where row = ?", (row,)).get
                is_damaged = False
            met_damage = met_damage or is_damaged
            if version is not None:
                rows.setdefault(version, []).append(row)
                if met_damage:
                    return row
            row += 1
        return highest

    def list_versions(self, table: str) -> list[int]:
        versions: set[int] = set()
        for sql in EXISTING_VERSIONS_SQL[table]:
            with _skip_damage():
                for (version,) in self.db.execute(sql):
                    if isinstance(version, int):  # a cell of a damaged page may be anything
                        versions.add(version)
        return sorted(versions)

    def name_document(self, table: str, version: int) -> DamagedDocument:
        is_deleted = table == "deleted"
        for sql in NAME_SQL[table]:
            with _skip_damage():
                row = self.db.execute(sql, (version,)).fetchone()
                if row and isinstance(row[1], str):
                    name = self.workflow_names.get(row[0])
                    return DamagedDocument(name, row[1], self.load_document(table, version), is_deleted)
        return DamagedDocument(None, f"number {version}", None, is_deleted)

    def describe_origin(self, table: str, version: int) -> str:
        """Return the source of a document and its title in words; "" where no row can be read that has them."""
        for rows in ORIGIN_TABLES[table]:
            with _skip_damage():
                sql = f"select source, title from {rows} where version = ? limit 1"
                if row := self.db.execute(sql, (version,)).fetchone():
                    source, title = map(str, row)
                    return f"{source} ({title})" if title != source else source
        return ""

    def load_document(self, table: str, version: int) -> Document | None:
        with _skip_damage():
            if self._verified and count_altered_rows(self.db, table, version):
                return None
            workflow = self.db.execute(f"select workflow from {table} where version = ?", (version,)).get
            name, where = self.workflow_names.get(workflow), SqliteCondition("version = ?", (version,))
            if name is None:
                return None
            if table == "documents":
                return records.load_documents_by_version(self.db, name, where).get(version)
            state = records.WorkflowState(workflow, name, 0, 0, 0, 0)
            return records.load_deleted_documents_by_version(self.db, state, where).get(version)
        return None

    def load_whole(self, table: str, version: int) -> _WholeDocument | None:
        """Return a document with its chunks and their vectors; None when not all of it can be read."""
        with _skip_damage():
            document, chunks_and_vectors = self.load_document(table, version), self._load_chunks(table, version)
            if document is None or chunks_and_vectors is None:
                return None
            chunk_table = "chunks" if table == "documents" else "deleted_chunks"
            if self._verified:
                if any(count_altered_rows(self.db, name, version) for name in (table, chunk_table)):
                    return None
                if len({vector is None for vector in chunks_and_vectors[1]}) > 1:
                    return None
            return _WholeDocument(document, *chunks_and_vectors)
        return None

    def _load_chunks(self, table: str, version: int) -> tuple[list[Chunk], list[Vector | None]] | None:
        with _skip_damage():
            count = self.db.execute(f"select chunks from {table} where version = ?", (version,)).get
            chunks, vectors = (
                self._load_live_chunks(version)
                if table == "documents"
                else records.load_deleted_chunks(self.db, version)
            )
            return (chunks, vectors) if len(chunks) == count else None
        return None

    def _load_live_chunks(self, version: int) -> tuple[list[Chunk], list[Vector | None]]:
        try:
            chunks_by_row = records.load_chunks_by_row(
                self.db, SqliteCondition("version = ?", (version,)), "order by row"
            )
        except apsw.Error as failure:
            if not is_damage(failure):
                raise
            where = records.build_sqlite_membership_condition("row", self.rows_by_version.get(version, []))
            chunks_by_row = records.load_chunks_by_row(self.db, where, "order by row")
        vectors = records.load_vectors_by_row(self.db, list(chunks_by_row))
        return list(chunks_by_row.values()), [vectors.get(row) for row in chunks_by_row]


def salvage_index(folder: Path, target: IndexDatabase) -> SalvageReport:
    """Copy every document that can be read whole from the damaged index in `folder` to an empty one.

    Raises Misconfigured when not even the head of the file can be read, or no document is left.
    """
    report = SalvageReport()
    with translate_apsw_errors(), target.write_transaction() as db:
        for table, whole in _read_damaged(folder, report):
            report.kept += 1
            _copy_document(table, whole, db, report.space)
        records.save_sqlite_embedding_space(db, report.space)
    if not report.kept:
        raise Misconfigured(DAMAGE_MESSAGE, code=DAMAGE_CODE)
    return report


def find_damaged_documents(folder: Path) -> SalvageReport:
    """Name the documents of an index that cannot be read whole. Raises Misconfigured when its head cannot be read."""
    report = SalvageReport()
    with translate_apsw_errors():
        report.kept = sum(1 for _ in _read_damaged(folder, report))
    return report


def _read_damaged(folder: Path, report: SalvageReport) -> Iterator[tuple[str, _WholeDocument]]:
    """Yield the documents that can be read whole, each with its table, and report the others."""
    with closing(_open_damaged(folder)) as db, closing(_open_damaged(folder)) as unverified_db:
        verified = _DamagedReader(db)
        readers = verified, _DamagedReader(unverified_db, verified)
        report.space = _load_space(db, folder)
        report.is_unchecked = page_checksums.has_pages_without_checksum(get_database_file(folder))
        lister = readers[report.is_unchecked]
        for table in EXISTING_VERSIONS_SQL:
            for version in sorted({*verified.list_versions(table), *lister.list_versions(table)}):
                whole = readers[0].load_whole(table, version) or readers[1].load_whole(table, version)
                if whole:
                    yield table, whole
                else:
                    damaged = lister.name_document(table, version)
                    report.damaged.append(replace(damaged, origin=_describe_origin(readers, table, version)))
        report.lost = _describe_lost(lister, report.space)


def _describe_origin(readers: Iterable[_DamagedReader], table: str, version: int) -> str:
    """Return the source and title of a document, from damaged pages where they stand on no other."""
    verified, unverified = (reader.describe_origin(table, version) for reader in readers)
    return verified or (unverified and f"{unverified}, as far as it can be read")


def _open_damaged(folder: Path) -> apsw.Connection:
    """Open a database that may be shorter than its head says, without changing it."""
    page_checksums.load_page_checksums()
    db = apsw.Connection(str(get_database_file(folder)), flags=apsw.SQLITE_OPEN_READONLY)
    db.pragma("writable_schema", True)  # lets a file be read that lacks its last pages
    db.pragma("cell_size_check", True)
    register_row_checksum(db)
    return db


def _load_space(damaged: apsw.Connection, folder: Path) -> EmbeddingSpace:
    """Load the embedding space, from the mark beside the database where it cannot be read there."""
    with _skip_damage():
        return records.load_sqlite_embedding_space(damaged)
    mark = read_change_mark(folder)
    return EmbeddingSpace(mark.space, mark.dimensions) if mark else EmbeddingSpace("", 0)


def _describe_lost(reader: _DamagedReader, space: EmbeddingSpace) -> str:
    """Return in words what is lost without a name to it; "" when nothing is."""
    expected = None
    with _skip_damage():
        expected = reader.db.execute("select total(documents) from workflows not indexed").get
    unnamed = expected is None or len(reader.list_versions("documents")) < expected
    has_vectors = False
    with _skip_damage():
        has_vectors = reader.db.execute("select 1 from vectors limit 1").fetchone() is not None
    without_space = has_vectors and not space.name
    parts = ("perhaps documents whose names are lost" if unnamed else "", "every vector" if without_space else "")
    return " and ".join(filter(None, parts))


def _copy_document(table: str, whole: _WholeDocument, db: apsw.Connection, space: EmbeddingSpace) -> None:
    """Copy a document, live or deleted; without its vectors when it is not known which model made them."""
    document = whole.document
    workflow = records.advance_workflow_state(db, document.workflow_id)
    vectors = whole.vectors if space.name else [None] * len(whole.chunks)
    version = records.insert_sqlite_document(db, workflow, document, whole.chunks, vectors)
    if table == "deleted":
        records.move_version_to_deleted(db, workflow, version, document.deleted_at or "")
        db.execute("update deleted set space = ? where version = ?", (space.name, version))


@contextmanager
def _skip_damage() -> Iterator[None]:
    """End the block where the database is damaged."""
    try:
        yield
    except (apsw.Error, ValueError, TypeError) as failure:
        if isinstance(failure, apsw.SQLError) or (isinstance(failure, apsw.Error) and not is_damage(failure)):
            raise
