"""Reads without ranking in PostgreSQL: chunks, documents, facets and stored vectors."""

# ruff: noqa: S608 - the SQL is built from constants of this package; values are bound

from collections.abc import Mapping, Sequence

from rag_core.core.model import Bucket, Chunk, Document, Facet, Filter, Scalar, Scope, Vector
from rag_core.stores.facts import place
from rag_core.stores.postgres import records
from rag_core.stores.postgres.conditions import Condition, passing, visible
from rag_core.stores.postgres.connections import Connection
from rag_core.stores.postgres.records import BOTH


async def select(db: Connection, scope: Scope, filters: Sequence[Filter], limit: int) -> list[Chunk]:
    order = 'order by d.external_id collate "C", c.ordinal, c.external_id collate "C"'
    return await records.chunks(db, passing(scope, filters), f"{order} limit {limit:d}")


async def get(db: Connection, scope: Scope, ids: Sequence[str]) -> list[Chunk]:
    condition = passing(scope, ()).also("c.external_id = any(%s)", list(ids))
    chunks_by_id = {chunk.id: chunk for chunk in await records.chunks(db, condition)}
    return [chunks_by_id[id] for id in ids if id in chunks_by_id]


async def neighbours(db: Connection, scope: Scope, chunk: Chunk, before: int, after: int) -> list[Chunk]:
    condition = visible(scope).also("d.external_id = %s", chunk.document_id)
    condition = condition.also("c.ordinal between %s and %s", chunk.ordinal - before, chunk.ordinal + after)
    tail = 'order by c.ordinal, c.external_id collate "C"'
    return await records.chunks(db, condition.also("c.external_id <> %s", chunk.id), tail)


async def facets(
    db: Connection, scope: Scope, fields: Sequence[str], filters: Sequence[Filter], limit: int
) -> list[Facet]:
    return [await _facet(db, field, passing(scope, filters), limit) for field in fields]


async def _facet(db: Connection, field: str, condition: Condition, limit: int) -> Facet:
    sql = f"select v, count(*) from {BOTH}, jsonb_array_elements(c.facts -> %s) v where {condition.sql} group by v"
    rows = await (await db.execute(sql, (field, *condition.values))).fetchall()
    buckets = sorted((Bucket(value, count) for value, count in rows), key=_most_first)
    return Facet(field, len(buckets), tuple(buckets[:limit]))


def _most_first(bucket: Bucket) -> tuple[int, int, Scalar]:
    """Return the sort key of a bucket: most frequent first, ties by value, numbers before texts before booleans."""
    type_order = 2 if isinstance(bucket.value, bool) else 1 if isinstance(bucket.value, str) else 0
    return -bucket.count, type_order, bucket.value


async def facet_fields(db: Connection, scope: Scope) -> list[str]:
    """List the fields with values that the scope may read: any entity, entity types, common fields, metadata."""
    condition = passing(scope, ())
    sql = f"select distinct f from {BOTH}, jsonb_object_keys(c.facts) f where {condition.sql}"
    return sorted([field for (field,) in await (await db.execute(sql, condition.values)).fetchall()], key=place)


async def documents(db: Connection, scope: Scope) -> list[Document]:
    return await records.documents(db, visible(scope))


async def deleted(db: Connection, scope: Scope) -> list[Document]:
    return await records.documents(db, visible(scope, deleted=True))


async def document(db: Connection, scope: Scope, document_id: str) -> Document | None:
    return next(iter(await records.documents(db, visible(scope).also("d.external_id = %s", document_id))), None)


async def vectors(db: Connection, scope: Scope, document_id: str) -> Mapping[str, Vector]:
    condition = visible(scope).also("d.external_id = %s", document_id).also("c.embedding is not null")
    sql = f"select c.content_hash, c.embedding::real[] from {BOTH} where {condition.sql}"
    return dict(await (await db.execute(sql, condition.values)).fetchall())


async def version(db: Connection, scope: Scope) -> str:
    """Load the version of the scope's workflow; "" for a workflow that was never written to."""
    rows = await db.execute("select version::text from rag_workflows where collection = %s", (scope.workflow_id,))
    return "".join(version for (version,) in await rows.fetchall())
