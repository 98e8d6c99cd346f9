"""The rows of the PostgreSQL tables: how documents and chunks are written to them and read from them."""

# ruff: noqa: S608 - the SQL is built from constants of this package; values are bound

import json
from collections.abc import Sequence
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

from psycopg.types.json import Jsonb

from rag_core.core.model import Chunk, Document, Entity, Span, Vector
from rag_core.stores.access import readers
from rag_core.stores.postgres.conditions import Condition, facts
from rag_core.stores.postgres.connections import Connection
from rag_core.stores.postgres.words import words

BOTH = "document_chunks c join rag_documents d on d.id = c.document_id"
UTC = "to_char(d.deleted_at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS\"+00:00\"')"

_DOCUMENT = (
    "d.external_id, d.collection, d.title, d.source, d.content_hash, d.extractor, d.pages, d.summary, d.user_id, "
    f"d.groups, d.metadata, {UTC}"
)
_CHUNK = "c.external_id, d.external_id, c.ordinal, c.content, c.content_hash, c.metadata, c.record"
_TITLED = "setweight(to_tsvector('rag_words', %s), 'A') || setweight(to_tsvector('rag_words', %s), 'C')"


def key(workflow_id: str, document_id: str, chunk_id: str | None = None) -> UUID:
    """Return the row id of a document, or of a chunk when its id is given: a UUID derived from the ids."""
    return uuid5(NAMESPACE_OID, json.dumps([workflow_id, document_id, chunk_id]))


async def documents(db: Connection, condition: Condition) -> list[Document]:
    """Load the documents that meet the condition, by id."""
    sql = f'select {_DOCUMENT} from rag_documents d where {condition.sql} order by d.external_id collate "C"'
    return [_document(*row) for row in await (await db.execute(sql, condition.values)).fetchall()]


async def chunks(db: Connection, condition: Condition, tail: str = "") -> list[Chunk]:
    """Load the chunks that meet the condition; `tail` is SQL that orders and limits them."""
    rows = await db.execute(f"select {_CHUNK} from {BOTH} where {condition.sql} {tail}", condition.values)
    return [_chunk(*row) for row in await rows.fetchall()]


async def add(
    db: Connection, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector | None], space: str
) -> None:
    """Insert a document that does not exist, with its chunks and vectors."""
    d, document_row_id = document, key(document.workflow_id, document.id)
    row = (
        document_row_id, d.workflow_id, d.id, d.title, d.source, d.content_hash, d.extractor, d.pages, d.summary,
        d.user_id, list(d.groups), Jsonb(dict(d.metadata)), sorted(readers(d)), space,
    )  # fmt: skip
    await db.execute(
        "insert into rag_documents(id, collection, external_id, title, source, content_hash, extractor, pages, summary,"
        f" user_id, groups, metadata, readers, space) values ({', '.join(['%s'] * len(row))})",
        row,
    )
    sql = (
        "insert into document_chunks(id, document_id, collection, external_id, ordinal, content, content_hash, "
        "embedding, page_number, line_start, line_end, x0, y0, x1, y1, facts, metadata, record, words) "
        f"values (%s, %s, %s, %s, %s, %s, %s, l2_normalize(%s::vector), {', '.join(['%s'] * 10)}, {_TITLED})"
    )
    rows = [_row(document, document_row_id, chunk, vector) for chunk, vector in zip(chunks, vectors, strict=True)]
    await db.cursor().executemany(sql, rows)


def literal(vector: Vector | None) -> str | None:
    """Format a vector for pgvector. It is normalized on insertion, so that cosine, L2 and inner product order alike."""
    return None if vector is None else f"[{','.join(map(repr, map(float, vector)))}]"


def _row(document: Document, document_row_id: UUID, chunk: Chunk, vector: Vector | None) -> tuple[Any, ...]:
    c = chunk
    span = c.place(0, len(c.content)) or Span(0, 0, None, 0, 0)
    lines = (span.line_start or None, span.line_end or None)
    record = {
        "title": c.title,
        "source": c.source,
        "spans": [(s.start, s.end, s.page, s.line_start, s.line_end, s.bbox, s.section) for s in c.spans],
        "parent_id": c.parent_id,
        "heading_path": c.heading_path,
        "summary": c.summary,
        "entities": [(e.type, e.value) for e in c.entities],
    }
    return (
        key(document.workflow_id, document.id, c.id), document_row_id, document.workflow_id, c.id, c.ordinal, c.content,
        c.content_hash, literal(vector), span.page, *lines, *(span.bbox or [None] * 4),
        Jsonb(facts(c)), Jsonb(dict(c.metadata)), Jsonb(record),
        words(c.content), words(" ".join((c.title, *c.heading_path))),
    )  # fmt: skip


def _document(*columns: Any) -> Document:
    *head, groups, metadata, deleted_at = columns
    id, workflow, title, source, content_hash, extractor, pages, summary, user_id = head
    return Document(
        id, workflow, title, source, content_hash, extractor, pages, summary, user_id, tuple(groups), metadata,
        deleted_at,
    )  # fmt: skip


def _chunk(
    id: str, document_id: str, ordinal: int, content: str, content_hash: str, metadata: Any, record: Any
) -> Chunk:
    return Chunk(
        id, document_id, ordinal, content, record["title"], record["source"], content_hash,
        tuple(_span(*span) for span in record["spans"]),
        record["parent_id"], tuple(record["heading_path"]), record["summary"],
        tuple(Entity(*pair) for pair in record["entities"]), metadata,
    )  # fmt: skip


def _span(
    start: int, end: int, page: int | None, line_start: int, line_end: int, bbox: list[float] | None, *section: Any
) -> Span:
    box = (bbox[0], bbox[1], bbox[2], bbox[3]) if bbox else None
    return Span(start, end, page, line_start, line_end, box, *map(tuple, section))
