"""The rows of the SQLite database: how documents, chunks and vectors are written to them and read from them."""

# ruff: noqa: S608 - the SQL is built from constants of this package; values are bound

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import apsw

from rag_core.core.json_codec import (
    entity_to_json_array,
    span_to_json_array,
)
from rag_core.core.model import Chunk, Document, Vector
from rag_core.core.ports import StoreDescription
from rag_core.stores.access import list_document_readers
from rag_core.stores.document_rules import EmbeddingSpace
from rag_core.stores.embedded.change_mark import ChangeMark
from rag_core.stores.embedded.filters import SqliteCondition, collect_stored_field_values
from rag_core.stores.embedded.parsed_chunks import chunk_from_sqlite_row
from rag_core.stores.embedded.row_checksums import (
    CHECKED_COLUMNS,
    CHUNK_COLUMNS,
    DOCUMENT_COLUMNS,
    compute_row_checksum,
)

CHANGE_COUNT_VERSION = 3  # of the schema
SQLITE_SYNCHRONOUS_NAMES = ("off", "normal", "full", "extra")

T = TypeVar("T")

ScoredRow = tuple[int, float]  # the row of a chunk, and its score


class WorkflowState(NamedTuple):
    """The state of a workflow. `seq` counts its changes; raising `generation` makes its lexical index be rebuilt."""

    id: int
    name: str
    seq: int
    generation: int
    document_count: int
    chunk_count: int


class StoredDocument(NamedTuple):
    """A document, live or deleted, and the version of it that is stored."""

    version: int
    document: Document


class AddedChunk(NamedTuple):
    """A chunk added after a given change of its workflow, with the readers of its document."""

    row: int
    version: int
    readers: frozenset[str]
    chunk: Chunk


def load_store_id(db: apsw.Connection) -> str:
    return str(db.execute("select id from store").get)


def has_change_count(db: apsw.Connection) -> bool:
    """Return whether the store counts its changes, which one that could not be upgraded does not."""
    return int(db.pragma("user_version")) >= CHANGE_COUNT_VERSION


def load_change_mark(db: apsw.Connection) -> ChangeMark:
    return ChangeMark(*db.execute("select id, changes, space, dimensions from store").get)


def count_change(db: apsw.Connection) -> ChangeMark:
    """Count one more change of the store, and return how many there are with it."""
    if not has_change_count(db):
        return ChangeMark(load_store_id(db), 0)
    db.execute("update store set changes = changes + 1")
    return load_change_mark(db)


def load_sqlite_embedding_space(db: apsw.Connection) -> EmbeddingSpace:
    return EmbeddingSpace(*db.execute("select space, dimensions from store").get)


def advance_lexical_generation(db: apsw.Connection, workflow: WorkflowState) -> None:
    """Raise the generation of a workflow, so that its lexical index is rebuilt."""
    db.execute("update workflows set generation = generation + 1 where id = ?", (workflow.id,))


def describe_sqlite_store(db: apsw.Connection, location: str) -> StoreDescription:
    stored_space = load_sqlite_embedding_space(db)
    documents, chunks = db.execute("select total(documents), total(chunks) from workflows").get
    details: dict[str, str | int] = {
        "sqlite": apsw.sqlite_lib_version(),
        "journal_mode": db.pragma("journal_mode"),
        "synchronous": SQLITE_SYNCHRONOUS_NAMES[db.pragma("synchronous")],
    }
    return StoreDescription(
        "embedded", location, stored_space.name, stored_space.dimensions, int(documents), int(chunks), details
    )


def save_sqlite_embedding_space(db: apsw.Connection, space: EmbeddingSpace) -> None:
    db.execute("update store set space = ?, dimensions = ?", space)


def load_workflow_state(db: apsw.Connection, name: str) -> WorkflowState:
    """Load the state of a workflow; one that was never written to has id 0 and no documents."""
    sql = "select id, name, seq, generation, documents, chunks from workflows where name = ?"
    return WorkflowState(*(db.execute(sql, (name,)).fetchone() or (0, name, 0, 0, 0, 0)))


def advance_workflow_state(db: apsw.Connection, name: str) -> WorkflowState:
    """Raise the `seq` of a workflow, creating it when it does not exist, and return its new state."""
    db.execute("insert into workflows(name, seq) values (?, 1) on conflict(name) do update set seq = seq + 1", (name,))
    return load_workflow_state(db, name)


def load_documents_by_version(db: apsw.Connection, name: str, where: SqliteCondition) -> dict[int, Document]:
    """Load the documents that meet the condition, by version, in order of their ids."""
    rows = db.execute(
        f"select version, {DOCUMENT_COLUMNS} from documents where {where.sql} order by id",
        where.values,
    )
    return {version: _document_from_sqlite_row(name, *row) for version, *row in rows}


def load_chunks_by_row(db: apsw.Connection, where: SqliteCondition, tail: str = "") -> dict[int, Chunk]:
    """Load the chunks that meet the condition, by row; `tail` is SQL that orders and limits them."""
    rows = db.execute(f"select row, {CHUNK_COLUMNS} from chunks where {where.sql} {tail}", where.values)
    return {row: chunk_from_sqlite_row(*columns) for row, *columns in rows}


def build_sqlite_membership_condition(column: str, values: Sequence[int | str]) -> SqliteCondition:
    return SqliteCondition(f"{column} in (select value from json_each(?))", (json.dumps(values),))


def load_deleted_documents_by_version(
    db: apsw.Connection, workflow: WorkflowState, where: SqliteCondition
) -> dict[int, Document]:
    """Load the deleted documents that meet the condition, by version, in order of their ids."""
    rows = db.execute(
        f"select version, deleted_at, {DOCUMENT_COLUMNS} from deleted where {where.sql} order by id", where.values
    )
    return {
        version: replace(_document_from_sqlite_row(workflow.name, *row), deleted_at=at) for version, at, *row in rows
    }


def load_deleted_chunks(db: apsw.Connection, version: int) -> tuple[list[Chunk], list[Vector | None]]:
    """Load the chunks of a deleted version, in order, and for each its vector or None."""
    sql = f"select vector, {CHUNK_COLUMNS} from deleted_chunks where version = ? order by ordinal, id"
    rows = list(db.execute(sql, (version,)))
    return [chunk_from_sqlite_row(*columns) for _, *columns in rows], [
        array("f", vector) if vector else None for vector, *_ in rows
    ]


def load_deleted_space(db: apsw.Connection, version: int) -> str:
    """Load the embedding space of the vectors of a deleted version."""
    ((name,),) = db.execute("select space from deleted where version = ?", (version,))
    return str(name)


def find_sqlite_document_of_any_owner(
    db: apsw.Connection, workflow: WorkflowState, document_id: str
) -> StoredDocument | None:
    """Find the document with this id, live or deleted, whoever owns it."""
    where = SqliteCondition("workflow = ? and id = ?", (workflow.id, document_id))
    documents_by_version = load_documents_by_version(db, workflow.name, where) or load_deleted_documents_by_version(
        db, workflow, where
    )
    return next((StoredDocument(*item) for item in documents_by_version.items()), None)


def list_content_hashes(db: apsw.Connection, version: int) -> list[str]:
    return [
        content_hash for (content_hash,) in db.execute("select content_hash from chunks where version = ?", (version,))
    ]


def load_chunk_ids_by_row(db: apsw.Connection, rows: Sequence[int]) -> dict[int, str]:
    where = build_sqlite_membership_condition("row", rows)
    return dict(db.execute(f"select row, id from chunks where {where.sql}", where.values))


def iter_added_chunks(db: apsw.Connection, workflow: WorkflowState, since: int) -> Iterator[AddedChunk]:
    """Yield the chunks added after change number `since`, in order of their rows."""
    documents_by_version = load_documents_by_version(
        db, workflow.name, SqliteCondition("workflow = ? and seq > ?", (workflow.id, since))
    )
    for version in sorted(documents_by_version):
        document_readers = list_document_readers(documents_by_version[version])
        for row, chunk in load_chunks_by_row(db, SqliteCondition("version = ?", (version,)), "order by row").items():
            yield AddedChunk(row, version, document_readers, chunk)


def list_removed_versions(db: apsw.Connection, workflow: WorkflowState, since: int) -> list[int]:
    """Return the versions that were replaced or deleted after change number `since`."""
    sql = "select version from gone where workflow = ? and seq > ?"
    return [version for (version,) in db.execute(sql, (workflow.id, since))]


def count_added_chunks(db: apsw.Connection, workflow: WorkflowState, since: int) -> int:
    """Count the chunks added after change number `since`, including those without a vector."""
    sql = "select total(chunks) from documents where workflow = ? and seq > ?"
    return int(db.execute(sql, (workflow.id, since)).get)


def iter_added_vectors(db: apsw.Connection, workflow: WorkflowState, since: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield row, version and vector of the chunks added after change number `since`, in order of rows.

    Reading document by document avoids sorting the vectors: a later version has higher rows.
    """
    select_versions = "select version from documents where workflow = ? and seq > ? order by version"
    select_vectors = "select row, version, vector from chunks join vectors using (row) where version = ? order by row"
    for (version,) in list(db.execute(select_versions, (workflow.id, since))):
        yield from db.execute(select_vectors, (version,))


def load_vectors_by_row(db: apsw.Connection, rows: Sequence[int]) -> dict[int, Vector]:
    where = build_sqlite_membership_condition("row", rows)
    return {
        row: array("f", vector)
        for row, vector in db.execute(f"select row, vector from vectors where {where.sql}", where.values)
    }


def load_vectors_by_hash(db: apsw.Connection, version: int) -> Mapping[str, Vector]:
    sql = "select c.content_hash, v.vector from chunks c join vectors v on v.row = c.row where c.version = ?"
    return {content_hash: array("f", vector) for content_hash, vector in db.execute(sql, (version,))}


def insert_sqlite_document(
    db: apsw.Connection,
    workflow: WorkflowState,
    document: Document,
    chunks: Sequence[Chunk],
    vectors: Sequence[Vector | None],
) -> int:
    """Insert a new version of a document and return its number; the old one, if any, must have been removed."""
    d = document
    columns = (d.id, d.title, d.source, d.content_hash, d.extractor, d.pages, d.summary, d.user_id)
    ((version,),) = db.execute(
        f"insert into documents(workflow, seq, chunks, {DOCUMENT_COLUMNS}) values ({_repeat_placeholder(13)}) "
        "returning version",
        (workflow.id, workflow.seq, len(chunks), *columns, json.dumps(d.groups), json.dumps(dict(d.metadata))),
    )
    db.executemany(
        "insert into readers values (?, ?, ?)", [(workflow.id, reader, version) for reader in list_document_readers(d)]
    )
    for chunk, vector in zip(chunks, vectors, strict=True):
        _insert_sqlite_chunk(db, workflow.id, version, chunk, vector)
    _adjust_workflow_counts(db, workflow.id, 1, len(chunks))
    _seal_sqlite_document(db, version)
    return int(version)


def _seal_sqlite_document(db: apsw.Connection, version: int) -> None:
    """Give the row of a document its checksum."""
    sql = f"update documents set checksum = row_checksum({CHECKED_COLUMNS['documents']}) where version = ?"
    db.execute(sql, (version,))


def save_document_summary(db: apsw.Connection, version: int, summary: str) -> None:
    db.execute("update documents set summary = ? where version = ?", (summary, version))
    _seal_sqlite_document(db, version)


def delete_document_version(db: apsw.Connection, workflow: WorkflowState, version: int) -> None:
    """Delete a document version with its chunks, vectors and readers, and record it in the table `gone`."""
    ((count,),) = db.execute("delete from documents where version = ? returning chunks", (version,))
    db.execute("insert into gone values (?, ?, ?)", (workflow.id, workflow.seq, version))
    _adjust_workflow_counts(db, workflow.id, -1, -count)


def move_version_to_deleted(db: apsw.Connection, workflow: WorkflowState, version: int, deleted_at: str) -> None:
    """Move a document version to the tables of deleted documents, which are not searched."""
    db.execute(
        f"insert into deleted(version, workflow, deleted_at, space, chunks, {DOCUMENT_COLUMNS}, checksum) "
        f"select version, workflow, ?, (select space from store), chunks, {DOCUMENT_COLUMNS}, checksum from documents "
        "where version = ?",
        (deleted_at, version),
    )
    db.execute(
        f"insert into deleted_chunks(version, vector, {CHUNK_COLUMNS}, checksum) "
        f"select version, vector, {CHUNK_COLUMNS}, row_checksum({CHECKED_COLUMNS['deleted_chunks']}) "
        "from chunks left join vectors using (row) where version = ?",
        (version,),
    )
    delete_document_version(db, workflow, version)


def erase_deleted_version(db: apsw.Connection, version: int) -> None:
    """Remove a version from the tables of deleted documents."""
    db.execute("delete from deleted where version = ?", (version,))


def _adjust_workflow_counts(db: apsw.Connection, workflow: int, documents: int, chunks: int) -> None:
    sql = "update workflows set documents = documents + ?, chunks = chunks + ? where id = ?"
    db.execute(sql, (documents, chunks, workflow))


def _insert_sqlite_chunk(db: apsw.Connection, workflow: int, version: int, chunk: Chunk, vector: Vector | None) -> None:
    c = chunk
    spans = json.dumps(list(map(span_to_json_array, c.spans)))
    entities = json.dumps(list(map(entity_to_json_array, c.entities)))
    columns = (c.id, c.document_id, c.ordinal, c.content, c.title, c.source, c.content_hash, spans, c.parent_id)
    other_columns = (json.dumps(c.heading_path), c.summary, entities, json.dumps(dict(c.metadata)))
    db.execute(
        f"insert into chunks(workflow, version, {CHUNK_COLUMNS}, checksum) values ({_repeat_placeholder(16)})",
        (workflow, version, *columns, *other_columns, compute_row_checksum(version, *columns, *other_columns)),
    )
    row = db.last_insert_rowid()
    if vector is not None:
        blob = array("f", vector).tobytes()
        db.execute("insert into vectors values (?, ?, ?)", (row, blob, compute_row_checksum(row, blob)))
    db.executemany(
        "insert into facts values (?, ?, ?, ?, ?)",
        [(workflow, field, value, row, version) for field, value in collect_stored_field_values(chunk)],
    )


def _document_from_sqlite_row(workflow: str, *columns: Any) -> Document:
    id, title, source, content_hash, extractor, pages, summary, user_id, groups, metadata = columns
    return Document(
        id, workflow, title, source, content_hash, extractor, pages, summary, user_id,
        tuple(json.loads(groups)), json.loads(metadata),
    )  # fmt: skip


def _repeat_placeholder(count: int) -> str:
    return ", ".join("?" * count)
