"""The rows of the PostgreSQL tables: how documents and chunks are written to them and read from them."""

# ruff: noqa: S608 - the SQL is built from constants of this package; values are bound

import json
from collections.abc import Sequence
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

from psycopg.types.json import Jsonb

from rag_core.core.json_codec import (
    entity_from_json_array,
    entity_to_json_array,
    span_from_json_array,
    span_to_json_array,
)
from rag_core.core.model import Chunk, Document, Span, Vector
from rag_core.stores.access import list_document_readers
from rag_core.stores.postgres.conditions import PostgresCondition, collect_json_field_values
from rag_core.stores.postgres.connections import PostgresConnection
from rag_core.stores.postgres.lexical_text import normalize_lexical_text
from rag_core.stores.postgres.row_security import CHUNKS_VIEW, DOCUMENTS_VIEW

CHUNKS_JOIN_DOCUMENTS = f"{CHUNKS_VIEW} c join {DOCUMENTS_VIEW} d on d.id = c.document_id"
DELETED_AT_UTC_SQL = "to_char(d.deleted_at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS\"+00:00\"')"

_DOCUMENT_SELECTION = (
    "d.external_id, d.collection, d.title, d.source, d.content_hash, d.extractor, d.pages, d.summary, d.user_id, "
    f"d.groups, d.metadata, {DELETED_AT_UTC_SQL}"
)
_CHUNK_SELECTION = "c.external_id, d.external_id, c.ordinal, c.content, c.content_hash, c.metadata, c.record"
_WEIGHTED_TSVECTOR_SQL = "setweight(to_tsvector('rag_words', %s), 'A') || setweight(to_tsvector('rag_words', %s), 'C')"


def make_postgres_row_id(workflow_id: str, document_id: str, chunk_id: str | None = None) -> UUID:
    """Return the row id of a document, or of a chunk when its id is given: a UUID derived from the ids."""
    return uuid5(NAMESPACE_OID, json.dumps([workflow_id, document_id, chunk_id]))


async def load_postgres_documents_where(db: PostgresConnection, condition: PostgresCondition) -> list[Document]:
    """Load the documents that meet the condition, by id."""
    sql = (
        f'select {_DOCUMENT_SELECTION} from {DOCUMENTS_VIEW} d where {condition.sql} order by d.external_id collate "C"'
    )
    return [_document_from_postgres_row(*row) for row in await (await db.execute(sql, condition.values)).fetchall()]


async def load_postgres_chunks_where(
    db: PostgresConnection, condition: PostgresCondition, tail: str = ""
) -> list[Chunk]:
    """Load the chunks that meet the condition; `tail` is SQL that orders and limits them."""
    rows = await db.execute(
        f"select {_CHUNK_SELECTION} from {CHUNKS_JOIN_DOCUMENTS} where {condition.sql} {tail}", condition.values
    )
    return [_chunk_from_postgres_row(*row) for row in await rows.fetchall()]


async def insert_postgres_document(
    db: PostgresConnection, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector | None], space: str
) -> None:
    """Insert a document that does not exist, with its chunks and vectors."""
    d, document_row_id = document, make_postgres_row_id(document.workflow_id, document.id)
    row = (
        document_row_id, d.workflow_id, d.id, d.title, d.source, d.content_hash, d.extractor, d.pages, d.summary,
        d.user_id, list(d.groups), Jsonb(dict(d.metadata)), sorted(list_document_readers(d)), space,
    )  # fmt: skip
    await db.execute(
        f"insert into {DOCUMENTS_VIEW}(id, collection, external_id, title, source, content_hash, extractor, pages, "
        f"summary, user_id, groups, metadata, readers, space) values ({', '.join(['%s'] * len(row))})",
        row,
    )
    sql = (
        f"insert into {CHUNKS_VIEW}(id, document_id, collection, external_id, ordinal, content, content_hash, "
        "embedding, page_number, line_start, line_end, x0, y0, x1, y1, facts, metadata, record, words) "
        f"values (%s, %s, %s, %s, %s, %s, %s, l2_normalize(%s::vector), {', '.join(['%s'] * 10)}, "
        f"{_WEIGHTED_TSVECTOR_SQL})"
    )
    rows = [
        _chunk_to_postgres_row(document, document_row_id, chunk, vector)
        for chunk, vector in zip(chunks, vectors, strict=True)
    ]
    await db.cursor().executemany(sql, rows)


def format_pgvector_literal(vector: Vector | None) -> str | None:
    """Format a vector for pgvector. It is normalized on insertion, so that cosine, L2 and inner product order alike."""
    return None if vector is None else f"[{','.join(map(repr, map(float, vector)))}]"


def _chunk_to_postgres_row(
    document: Document, document_row_id: UUID, chunk: Chunk, vector: Vector | None
) -> tuple[Any, ...]:
    c = chunk
    span = c.place or Span(0, 0, None, 0, 0)
    lines = (span.line_start or None, span.line_end or None)
    record = {
        "title": c.title,
        "source": c.source,
        "spans": list(map(span_to_json_array, c.spans)),
        "parent_id": c.parent_id,
        "heading_path": c.heading_path,
        "summary": c.summary,
        "entities": list(map(entity_to_json_array, c.entities)),
    }
    return (
        make_postgres_row_id(document.workflow_id, document.id, c.id), document_row_id, document.workflow_id, c.id,
        c.ordinal, c.content, c.content_hash, format_pgvector_literal(vector), span.page, *lines,
        *(span.bbox or [None] * 4),
        Jsonb(collect_json_field_values(c)), Jsonb(dict(c.metadata)), Jsonb(record),
        normalize_lexical_text(c.content), normalize_lexical_text(" ".join((c.title, *c.heading_path))),
    )  # fmt: skip


def _document_from_postgres_row(*columns: Any) -> Document:
    *head, groups, metadata, deleted_at = columns
    id, workflow, title, source, content_hash, extractor, pages, summary, user_id = head
    return Document(
        id, workflow, title, source, content_hash, extractor, pages, summary, user_id, tuple(groups), metadata,
        deleted_at,
    )  # fmt: skip


def _chunk_from_postgres_row(
    id: str, document_id: str, ordinal: int, content: str, content_hash: str, metadata: Any, record: Any
) -> Chunk:
    return Chunk(
        id, document_id, ordinal, content, record["title"], record["source"], content_hash,
        tuple(map(span_from_json_array, record["spans"])),
        record["parent_id"], tuple(record["heading_path"]), record["summary"],
        tuple(map(entity_from_json_array, record["entities"])), metadata,
    )  # fmt: skip
