"""Reads without ranking in PostgreSQL: chunks, documents, facets and stored vectors."""

# ruff: noqa: S608 - the SQL is built from constants of this package; values are bound

from collections.abc import Mapping, Sequence

from rag_core.core.field_values import compute_field_order
from rag_core.core.model import Chunk, Document, Facet, FacetBucket, Filter, Scalar, Scope, Vector
from rag_core.stores.postgres import records
from rag_core.stores.postgres.conditions import (
    PostgresCondition,
    build_visible_chunks_condition,
    build_visible_documents_condition,
)
from rag_core.stores.postgres.connections import PostgresConnection
from rag_core.stores.postgres.records import CHUNKS_JOIN_DOCUMENTS
from rag_core.stores.postgres.row_security import WORKFLOWS_VIEW


async def select_postgres_chunks(
    db: PostgresConnection, scope: Scope, filters: Sequence[Filter], limit: int
) -> list[Chunk]:
    order = 'order by d.external_id collate "C", c.ordinal, c.external_id collate "C"'
    return await records.load_postgres_chunks_where(
        db, build_visible_chunks_condition(scope, filters), f"{order} limit {limit:d}"
    )


async def get_postgres_chunks(db: PostgresConnection, scope: Scope, ids: Sequence[str]) -> list[Chunk]:
    condition = build_visible_chunks_condition(scope, ()).and_where("c.external_id = any(%s)", list(ids))
    chunks_by_id = {chunk.id: chunk for chunk in await records.load_postgres_chunks_where(db, condition)}
    return [chunks_by_id[id] for id in ids if id in chunks_by_id]


async def load_postgres_neighbours(
    db: PostgresConnection, scope: Scope, chunk: Chunk, before: int, after: int
) -> list[Chunk]:
    condition = build_visible_documents_condition(scope).and_where("d.external_id = %s", chunk.document_id)
    condition = condition.and_where("c.ordinal between %s and %s", chunk.ordinal - before, chunk.ordinal + after)
    tail = 'order by c.ordinal, c.external_id collate "C"'
    return await records.load_postgres_chunks_where(db, condition.and_where("c.external_id <> %s", chunk.id), tail)


async def count_postgres_facets(
    db: PostgresConnection, scope: Scope, fields: Sequence[str], filters: Sequence[Filter], limit: int
) -> list[Facet]:
    return [
        await _count_postgres_facet(db, field, build_visible_chunks_condition(scope, filters), limit)
        for field in fields
    ]


async def _count_postgres_facet(db: PostgresConnection, field: str, condition: PostgresCondition, limit: int) -> Facet:
    values = f"{CHUNKS_JOIN_DOCUMENTS}, jsonb_array_elements(c.facts -> %s) v"
    sql = f"select v, count(*) from {values} where {condition.sql} group by v"
    rows = await (await db.execute(sql, (field, *condition.values))).fetchall()
    buckets = sorted((FacetBucket(value, count) for value, count in rows), key=_compute_postgres_bucket_order)
    return Facet(field, len(buckets), tuple(buckets[:limit]))


def _compute_postgres_bucket_order(bucket: FacetBucket) -> tuple[int, int, Scalar]:
    """Return the sort key of a bucket: most frequent first, ties by value, numbers before texts before booleans."""
    type_order = 2 if isinstance(bucket.value, bool) else 1 if isinstance(bucket.value, str) else 0
    return -bucket.count, type_order, bucket.value


async def list_postgres_facet_fields(db: PostgresConnection, scope: Scope) -> list[str]:
    """List the fields with values that the scope may read: any entity, entity types, common fields, metadata."""
    condition = build_visible_chunks_condition(scope, ())
    sql = f"select distinct f from {CHUNKS_JOIN_DOCUMENTS}, jsonb_object_keys(c.facts) f where {condition.sql}"
    return sorted(
        [field for (field,) in await (await db.execute(sql, condition.values)).fetchall()], key=compute_field_order
    )


async def list_postgres_documents(db: PostgresConnection, scope: Scope, source_prefix: str) -> list[Document]:
    condition = build_visible_documents_condition(scope)
    if source_prefix:
        condition = condition.and_where("starts_with(d.source, %s)", source_prefix)
    return await records.load_postgres_documents_where(db, condition)


async def list_deleted_postgres_documents(db: PostgresConnection, scope: Scope) -> list[Document]:
    return await records.load_postgres_documents_where(db, build_visible_documents_condition(scope, deleted=True))


async def load_postgres_document(db: PostgresConnection, scope: Scope, document_id: str) -> Document | None:
    return next(
        iter(
            await records.load_postgres_documents_where(
                db, build_visible_documents_condition(scope).and_where("d.external_id = %s", document_id)
            )
        ),
        None,
    )


async def load_postgres_vectors(db: PostgresConnection, scope: Scope, document_id: str) -> Mapping[str, Vector]:
    condition = (
        build_visible_documents_condition(scope)
        .and_where("d.external_id = %s", document_id)
        .and_where("c.embedding is not null")
    )
    sql = f"select c.content_hash, c.embedding::real[] from {CHUNKS_JOIN_DOCUMENTS} where {condition.sql}"
    return dict(await (await db.execute(sql, condition.values)).fetchall())


async def load_postgres_corpus_version(db: PostgresConnection, scope: Scope) -> str:
    """Load the version of the scope's workflow; "" for a workflow that was never written to."""
    rows = await db.execute(f"select version::text from {WORKFLOWS_VIEW} where collection = %s", (scope.workflow_id,))
    return "".join(version for (version,) in await rows.fetchall())
