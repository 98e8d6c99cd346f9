"""Reads without ranking in SQLite: chunks, documents, facets and stored vectors."""

# ruff: noqa: S608 - the SQL is built from constants of this package; values are bound

from collections.abc import Mapping, Sequence

import apsw

from rag_core.core.model import Bucket, Chunk, Document, Facet, Filter, Scope, Vector
from rag_core.stores.access import sees
from rag_core.stores.embedded import records
from rag_core.stores.embedded.filters import Condition, passing, shown, visible
from rag_core.stores.embedded.records import Workflow
from rag_core.stores.facts import place


def select(db: apsw.Connection, workflow: Workflow, scope: Scope, filters: Sequence[Filter], limit: int) -> list[Chunk]:
    condition = passing(workflow.id, scope, filters)
    return list(records.chunks(db, condition, f"order by document_id, ordinal, id limit {limit:d}").values())


def get(db: apsw.Connection, workflow: Workflow, scope: Scope, ids: Sequence[str]) -> list[Chunk]:
    condition = records.among("id", ids).also("workflow = ?", (workflow.id,)).also(*visible(workflow.id, scope))
    chunks_by_id = {chunk.id: chunk for chunk in records.chunks(db, condition).values()}
    return [chunks_by_id[id] for id in ids if id in chunks_by_id]


def neighbours(
    db: apsw.Connection, workflow: Workflow, scope: Scope, chunk: Chunk, before: int, after: int
) -> list[Chunk]:
    condition = Condition(
        "document_id = ? and ordinal between ? and ? and id <> ?",
        (chunk.document_id, chunk.ordinal - before, chunk.ordinal + after, chunk.id),
    )
    return list(records.chunks(db, condition.also(*visible(workflow.id, scope)), "order by ordinal, id").values())


def facets(
    db: apsw.Connection, workflow: Workflow, scope: Scope, fields: Sequence[str], filters: Sequence[Filter], limit: int
) -> list[Facet]:
    return [_facet(db, workflow, field, passing(workflow.id, scope, filters), limit) for field in fields]


def _facet(db: apsw.Connection, workflow: Workflow, field: str, condition: Condition, limit: int) -> Facet:
    condition = Condition("workflow = ? and field = ?", (workflow.id, field)).also(*condition)
    sql = f"select value, count(*) from facts where {condition.sql} group by value order by 2 desc, value"
    buckets = [Bucket(shown(value), count) for value, count in db.execute(sql, condition.values)]
    return Facet(field, len(buckets), tuple(buckets[:limit]))


def facet_fields(db: apsw.Connection, workflow: Workflow, scope: Scope) -> list[str]:
    """List the fields with values that the scope may read: any entity, entity types, common fields, metadata."""
    condition = visible(workflow.id, scope)
    sql = f"select 1 from facts where workflow = ? and field = ? and {condition.sql} limit 1"
    fields = [
        field for field in _fields(db, workflow) if db.execute(sql, (workflow.id, field, *condition.values)).fetchone()
    ]
    return sorted(fields, key=place)


def _fields(db: apsw.Connection, workflow: Workflow) -> list[str]:
    """List the stored fields, stepping through the primary key: a plain DISTINCT would read every row of `facts`."""
    sql = """
        with recursive f(field) as (
            select min(field) from facts where workflow = ?1
            union all select (select min(field) from facts where workflow = ?1 and field > f.field) from f
            where f.field is not null)
        select field from f where field is not null"""
    return [field for (field,) in db.execute(sql, (workflow.id,))]


def state(db: apsw.Connection, workflow: Workflow, scope: Scope) -> str:
    """Return a text that changes with every change of the workflow."""
    return f"{records.space(db).store}.{workflow.id}.{workflow.seq}"


def documents(db: apsw.Connection, workflow: Workflow, scope: Scope) -> list[Document]:
    return list(records.documents(db, workflow.name, visible(workflow.id, scope)).values())


def deleted(db: apsw.Connection, workflow: Workflow, scope: Scope) -> list[Document]:
    documents_by_version = records.deleted(db, workflow, Condition("workflow = ?", (workflow.id,)))
    return [document for document in documents_by_version.values() if sees(scope, document)]


def version(db: apsw.Connection, workflow: Workflow, scope: Scope, document_id: str) -> tuple[int, Document] | None:
    """Find a document that the scope may read, with its version."""
    condition = visible(workflow.id, scope).also("workflow = ? and id = ?", (workflow.id, document_id))
    return next(iter(records.documents(db, workflow.name, condition).items()), None)


def document(db: apsw.Connection, workflow: Workflow, scope: Scope, document_id: str) -> Document | None:
    version_and_document = version(db, workflow, scope, document_id)
    return version_and_document[1] if version_and_document else None


def vectors(db: apsw.Connection, workflow: Workflow, scope: Scope, document_id: str) -> Mapping[str, Vector]:
    version_and_document = version(db, workflow, scope, document_id)
    return records.vectors_by_hash(db, version_and_document[0]) if version_and_document else {}
