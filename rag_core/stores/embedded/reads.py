"""What is read straight off the database: chunks, documents, facets and stored vectors."""

# ruff: noqa: S608 - the SQL is put together from this package's own words; values are bound

from collections.abc import Mapping, Sequence

import apsw

from rag_core.core.model import Bucket, Chunk, Document, Facet, Filter, Scope, Vector
from rag_core.stores.access import sees
from rag_core.stores.embedded import records
from rag_core.stores.embedded.filters import Condition, passing, shown, visible
from rag_core.stores.embedded.records import Workflow
from rag_core.stores.facts import place


def select(db: apsw.Connection, workflow: Workflow, scope: Scope, filters: Sequence[Filter], limit: int) -> list[Chunk]:
    where = passing(workflow.id, scope, filters)
    return list(records.chunks(db, where, f"order by document_id, ordinal, id limit {limit:d}").values())


def get(db: apsw.Connection, workflow: Workflow, scope: Scope, ids: Sequence[str]) -> list[Chunk]:
    where = records.among("id", ids).also("workflow = ?", (workflow.id,)).also(*visible(workflow.id, scope))
    found = {chunk.id: chunk for chunk in records.chunks(db, where).values()}
    return [found[id] for id in ids if id in found]


def neighbours(
    db: apsw.Connection, workflow: Workflow, scope: Scope, chunk: Chunk, before: int, after: int
) -> list[Chunk]:
    around = Condition(
        "document_id = ? and ordinal between ? and ? and id <> ?",
        (chunk.document_id, chunk.ordinal - before, chunk.ordinal + after, chunk.id),
    )
    return list(records.chunks(db, around.also(*visible(workflow.id, scope)), "order by ordinal, id").values())


def facets(
    db: apsw.Connection, workflow: Workflow, scope: Scope, fields: Sequence[str], filters: Sequence[Filter], limit: int
) -> list[Facet]:
    return [_facet(db, workflow, field, passing(workflow.id, scope, filters), limit) for field in fields]


def _facet(db: apsw.Connection, workflow: Workflow, field: str, where: Condition, limit: int) -> Facet:
    where = Condition("workflow = ? and field = ?", (workflow.id, field)).also(*where)
    counted = f"select value, count(*) from facts where {where.sql} group by value order by 2 desc, value"
    found = [Bucket(shown(value), count) for value, count in db.execute(counted, where.values)]
    return Facet(field, len(found), tuple(found[:limit]))


def facet_fields(db: apsw.Connection, workflow: Workflow, scope: Scope) -> list[str]:
    """In the order: any entity, entity types, what every document has, metadata."""
    where = visible(workflow.id, scope)
    seen = f"select 1 from facts where workflow = ? and field = ? and {where.sql} limit 1"
    present = [f for f in _fields(db, workflow) if db.execute(seen, (workflow.id, f, *where.values)).fetchone()]
    return sorted(present, key=place)


def _fields(db: apsw.Connection, workflow: Workflow) -> list[str]:
    """From field to field through the primary key: a plain DISTINCT would read every fact."""
    sql = """
        with recursive f(field) as (
            select min(field) from facts where workflow = ?1
            union all select (select min(field) from facts where workflow = ?1 and field > f.field) from f
            where f.field is not null)
        select field from f where field is not null"""
    return [field for (field,) in db.execute(sql, (workflow.id,))]


def state(db: apsw.Connection, workflow: Workflow, scope: Scope) -> str:
    """The name of what the workflow holds now."""
    return f"{records.space(db).store}.{workflow.id}.{workflow.seq}"


def documents(db: apsw.Connection, workflow: Workflow, scope: Scope) -> list[Document]:
    return list(records.documents(db, workflow.name, visible(workflow.id, scope)).values())


def deleted(db: apsw.Connection, workflow: Workflow, scope: Scope) -> list[Document]:
    found = records.deleted(db, workflow, Condition("workflow = ?", (workflow.id,)))
    return [document for document in found.values() if sees(scope, document)]


def version(db: apsw.Connection, workflow: Workflow, scope: Scope, document_id: str) -> tuple[int, Document] | None:
    """A document that the scope sees, and its version."""
    where = visible(workflow.id, scope).also("workflow = ? and id = ?", (workflow.id, document_id))
    return next(iter(records.documents(db, workflow.name, where).items()), None)


def document(db: apsw.Connection, workflow: Workflow, scope: Scope, document_id: str) -> Document | None:
    found = version(db, workflow, scope, document_id)
    return found[1] if found else None


def vectors(db: apsw.Connection, workflow: Workflow, scope: Scope, document_id: str) -> Mapping[str, Vector]:
    found = version(db, workflow, scope, document_id)
    return records.vectors_by_hash(db, found[0]) if found else {}
