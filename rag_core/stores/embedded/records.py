"""The rows of the SQLite database: how documents, chunks and vectors are written to them and read from them."""

# ruff: noqa: S608 - the SQL is built from constants of this package; values are bound

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import apsw

from rag_core.core.model import Chunk, Document, Entity, Span, Vector
from rag_core.core.ports import StoreDescription
from rag_core.stores.access import readers
from rag_core.stores.embedded.filters import Condition, facts

SYNCHRONOUS = ("off", "normal", "full", "extra")

_DOCUMENT = "id, title, source, content_hash, extractor, pages, summary, user_id, groups, metadata"
_CHUNK = (
    "id, document_id, ordinal, content, title, source, content_hash, spans, parent_id, heading_path, summary, "
    "entities, metadata"
)


ScoredRow = tuple[int, float]  # the row of a chunk, and its score


class Workflow(NamedTuple):
    """The state of a workflow. `seq` counts its changes; raising `generation` makes its lexical index be rebuilt."""

    id: int
    name: str
    seq: int
    generation: int
    documents: int
    chunks: int


class Space(NamedTuple):
    """The id of the database and the embedding space of the stored vectors: "" and 0 while there are none."""

    store: str
    name: str
    dimensions: int


class Fresh(NamedTuple):
    """A chunk added after a given change of its workflow, with the readers of its document."""

    row: int
    version: int
    readers: frozenset[str]
    chunk: Chunk


def space(db: apsw.Connection) -> Space:
    """Load the id of the database and its embedding space."""
    return Space(*db.execute("select id, space, dimensions from store").get)


def new_generation(db: apsw.Connection, workflow: Workflow) -> None:
    """Raise the generation of a workflow, so that its lexical index is rebuilt."""
    db.execute("update workflows set generation = generation + 1 where id = ?", (workflow.id,))


def description(db: apsw.Connection, location: str) -> StoreDescription:
    stored_space = space(db)
    documents, chunks = db.execute("select total(documents), total(chunks) from workflows").get
    details: dict[str, str | int] = {
        "sqlite": apsw.sqlite_lib_version(),
        "journal_mode": db.pragma("journal_mode"),
        "synchronous": SYNCHRONOUS[db.pragma("synchronous")],
    }
    return StoreDescription(
        "embedded", location, stored_space.name, stored_space.dimensions, int(documents), int(chunks), details
    )


def set_space(db: apsw.Connection, name: str, dimensions: int) -> None:
    db.execute("update store set space = ?, dimensions = ?", (name, dimensions))


def workflow(db: apsw.Connection, name: str) -> Workflow:
    """Load the state of a workflow; one that was never written to has id 0 and no documents."""
    sql = "select id, name, seq, generation, documents, chunks from workflows where name = ?"
    return Workflow(*(db.execute(sql, (name,)).fetchone() or (0, name, 0, 0, 0, 0)))


def changed_workflow(db: apsw.Connection, name: str) -> Workflow:
    """Raise the `seq` of a workflow, creating it when it does not exist, and return its new state."""
    db.execute("insert into workflows(name, seq) values (?, 1) on conflict(name) do update set seq = seq + 1", (name,))
    return workflow(db, name)


def documents(db: apsw.Connection, name: str, where: Condition) -> dict[int, Document]:
    """Load the documents that meet the condition, by version, in order of their ids."""
    rows = db.execute(
        f"select version, {_DOCUMENT} from documents where {where.sql} order by id",
        where.values,
    )
    return {version: _document(name, *row) for version, *row in rows}


def chunks(db: apsw.Connection, where: Condition, tail: str = "") -> dict[int, Chunk]:
    """Load the chunks that meet the condition, by row; `tail` is SQL that orders and limits them."""
    rows = db.execute(f"select row, {_CHUNK} from chunks where {where.sql} {tail}", where.values)
    return {row: _chunk(*columns) for row, *columns in rows}


def among(column: str, values: Sequence[int | str]) -> Condition:
    return Condition(f"{column} in (select value from json_each(?))", (json.dumps(values),))


def deleted(db: apsw.Connection, workflow: Workflow, where: Condition) -> dict[int, Document]:
    """Load the deleted documents that meet the condition, by version, in order of their ids."""
    rows = db.execute(
        f"select version, deleted_at, {_DOCUMENT} from deleted where {where.sql} order by id", where.values
    )
    return {version: replace(_document(workflow.name, *row), deleted_at=at) for version, at, *row in rows}


def deleted_chunks(db: apsw.Connection, version: int) -> tuple[list[Chunk], list[Vector | None]]:
    """Load the chunks of a deleted version, in order, and for each its vector or None."""
    sql = f"select vector, {_CHUNK} from deleted_chunks where version = ? order by ordinal, id"
    rows = list(db.execute(sql, (version,)))
    return [_chunk(*columns) for _, *columns in rows], [array("f", vector) if vector else None for vector, *_ in rows]


def deleted_space(db: apsw.Connection, version: int) -> str:
    """Load the embedding space of the vectors of a deleted version."""
    ((name,),) = db.execute("select space from deleted where version = ?", (version,))
    return str(name)


def has_document(db: apsw.Connection, workflow: Workflow, document_id: str) -> bool:
    """Return whether any document of the workflow, live or deleted, has this id."""
    sql = " union all ".join(
        f"select 1 from {table} where workflow = ?1 and id = ?2" for table in ("documents", "deleted")
    )
    return db.execute(sql, (workflow.id, document_id)).fetchone() is not None


def hashes(db: apsw.Connection, version: int) -> list[str]:
    return [
        content_hash for (content_hash,) in db.execute("select content_hash from chunks where version = ?", (version,))
    ]


def chunk_ids(db: apsw.Connection, rows: Sequence[int]) -> dict[int, str]:
    where = among("row", rows)
    return dict(db.execute(f"select row, id from chunks where {where.sql}", where.values))


def fresh(db: apsw.Connection, workflow: Workflow, since: int) -> Iterator[Fresh]:
    """Yield the chunks added after change number `since`, in order of their rows."""
    documents_by_version = documents(db, workflow.name, Condition("workflow = ? and seq > ?", (workflow.id, since)))
    for version in sorted(documents_by_version):
        document_readers = readers(documents_by_version[version])
        for row, chunk in chunks(db, Condition("version = ?", (version,)), "order by row").items():
            yield Fresh(row, version, document_readers, chunk)


def gone(db: apsw.Connection, workflow: Workflow, since: int) -> list[int]:
    """Return the versions that were replaced or deleted after change number `since`."""
    sql = "select version from gone where workflow = ? and seq > ?"
    return [version for (version,) in db.execute(sql, (workflow.id, since))]


def fresh_count(db: apsw.Connection, workflow: Workflow, since: int) -> int:
    """Count the chunks added after change number `since`, including those without a vector."""
    sql = "select total(chunks) from documents where workflow = ? and seq > ?"
    return int(db.execute(sql, (workflow.id, since)).get)


def fresh_vectors(db: apsw.Connection, workflow: Workflow, since: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield row, version and vector of the chunks added after change number `since`, in order of rows.

    Reading document by document avoids sorting the vectors: a later version has higher rows.
    """
    select_versions = "select version from documents where workflow = ? and seq > ? order by version"
    select_vectors = "select row, version, vector from chunks join vectors using (row) where version = ? order by row"
    for (version,) in list(db.execute(select_versions, (workflow.id, since))):
        yield from db.execute(select_vectors, (version,))


def vectors_by_hash(db: apsw.Connection, version: int) -> Mapping[str, Vector]:
    sql = "select c.content_hash, v.vector from chunks c join vectors v on v.row = c.row where c.version = ?"
    return {content_hash: array("f", vector) for content_hash, vector in db.execute(sql, (version,))}


def add(
    db: apsw.Connection,
    workflow: Workflow,
    document: Document,
    chunks: Sequence[Chunk],
    vectors: Sequence[Vector | None],
) -> None:
    """Insert a new version of a document; the old one, if any, must have been removed."""
    d = document
    columns = (d.id, d.title, d.source, d.content_hash, d.extractor, d.pages, d.summary, d.user_id)
    ((version,),) = db.execute(
        f"insert into documents(workflow, seq, chunks, {_DOCUMENT}) values ({_marks(13)}) returning version",
        (workflow.id, workflow.seq, len(chunks), *columns, json.dumps(d.groups), json.dumps(dict(d.metadata))),
    )
    db.executemany("insert into readers values (?, ?, ?)", [(workflow.id, reader, version) for reader in readers(d)])
    for chunk, vector in zip(chunks, vectors, strict=True):
        _add_chunk(db, workflow.id, version, chunk, vector)
    _count(db, workflow.id, 1, len(chunks))


def remove(db: apsw.Connection, workflow: Workflow, version: int) -> None:
    """Delete a document version with its chunks, vectors and readers, and record it in the table `gone`."""
    ((count,),) = db.execute("delete from documents where version = ? returning chunks", (version,))
    db.execute("insert into gone values (?, ?, ?)", (workflow.id, workflow.seq, version))
    _count(db, workflow.id, -1, -count)


def set_aside(db: apsw.Connection, workflow: Workflow, version: int, deleted_at: str) -> None:
    """Move a document version to the tables of deleted documents, which are not searched."""
    db.execute(
        f"insert into deleted(version, workflow, deleted_at, space, chunks, {_DOCUMENT}) "
        f"select version, workflow, ?, (select space from store), chunks, {_DOCUMENT} from documents where version = ?",
        (deleted_at, version),
    )
    db.execute(
        f"insert into deleted_chunks(version, vector, {_CHUNK}) "
        f"select version, vector, {_CHUNK} from chunks left join vectors using (row) where version = ?",
        (version,),
    )
    remove(db, workflow, version)


def forget(db: apsw.Connection, version: int) -> None:
    """Remove a version from the tables of deleted documents."""
    db.execute("delete from deleted where version = ?", (version,))


def _count(db: apsw.Connection, workflow: int, documents: int, chunks: int) -> None:
    sql = "update workflows set documents = documents + ?, chunks = chunks + ? where id = ?"
    db.execute(sql, (documents, chunks, workflow))


def _add_chunk(db: apsw.Connection, workflow: int, version: int, chunk: Chunk, vector: Vector | None) -> None:
    c = chunk
    spans = json.dumps([(s.start, s.end, s.page, s.line_start, s.line_end, s.bbox, s.section) for s in c.spans])
    entities = json.dumps([(e.type, e.value) for e in c.entities])
    columns = (c.id, c.document_id, c.ordinal, c.content, c.title, c.source, c.content_hash, spans, c.parent_id)
    other_columns = (json.dumps(c.heading_path), c.summary, entities, json.dumps(dict(c.metadata)))
    db.execute(
        f"insert into chunks(workflow, version, {_CHUNK}) values ({_marks(15)})",
        (workflow, version, *columns, *other_columns),
    )
    row = db.last_insert_rowid()
    if vector is not None:
        db.execute("insert into vectors values (?, ?)", (row, array("f", vector).tobytes()))
    db.executemany(
        "insert into facts values (?, ?, ?, ?, ?)",
        [(workflow, field, value, row, version) for field, value in facts(chunk)],
    )


def _document(workflow: str, *columns: Any) -> Document:
    id, title, source, content_hash, extractor, pages, summary, user_id, groups, metadata = columns
    return Document(
        id, workflow, title, source, content_hash, extractor, pages, summary, user_id,
        tuple(json.loads(groups)), json.loads(metadata),
    )  # fmt: skip


def _chunk(*columns: Any) -> Chunk:
    (id, document_id, ordinal, content, title, source, content_hash, spans, parent_id) = columns[:9]
    heading_path, summary, entities, metadata = columns[9:]
    return Chunk(
        id, document_id, ordinal, content, title, source, content_hash,
        tuple(_span(*place) for place in json.loads(spans)),
        parent_id, tuple(json.loads(heading_path)), summary,
        tuple(Entity(*pair) for pair in json.loads(entities)), json.loads(metadata),
    )  # fmt: skip


def _span(
    start: int,
    end: int,
    page: int | None,
    line_start: int,
    line_end: int,
    bbox: Sequence[float] | None,
    section: Sequence[str] = (),
) -> Span:
    box = (bbox[0], bbox[1], bbox[2], bbox[3]) if bbox else None
    return Span(start, end, page, line_start, line_end, box, tuple(section))


def _marks(count: int) -> str:
    return ", ".join("?" * count)
