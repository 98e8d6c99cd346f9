"""Reads without ranking in SQLite: chunks, documents, facets and stored vectors."""

# ruff: noqa: S608 - the SQL is built from constants of this package; values are bound

from collections.abc import Mapping, Sequence

import apsw

from rag_core.core.field_values import compute_field_order
from rag_core.core.model import Chunk, Document, Facet, FacetBucket, Filter, Scope, Vector
from rag_core.stores.access import can_read_document
from rag_core.stores.embedded import records
from rag_core.stores.embedded.filters import (
    SqliteCondition,
    build_filtered_rows_condition,
    build_visible_document_condition,
    build_visible_rows_condition,
    build_visible_versions_condition,
    decode_stored_value,
)
from rag_core.stores.embedded.records import WorkflowState


def select_sqlite_chunks(
    db: apsw.Connection, workflow: WorkflowState, scope: Scope, filters: Sequence[Filter], limit: int
) -> list[Chunk]:
    condition = build_filtered_rows_condition(workflow.id, scope, filters)
    return list(
        records.load_chunks_by_row(db, condition, f"order by document_id, ordinal, id limit {limit:d}").values()
    )


def get_sqlite_chunks(db: apsw.Connection, workflow: WorkflowState, scope: Scope, ids: Sequence[str]) -> list[Chunk]:
    condition = (
        records.build_sqlite_membership_condition("id", ids)
        .and_where("workflow = ?", (workflow.id,))
        .and_where(*build_visible_rows_condition("chunks", workflow.id, scope))
    )
    chunks_by_id = {chunk.id: chunk for chunk in records.load_chunks_by_row(db, condition).values()}
    return [chunks_by_id[id] for id in ids if id in chunks_by_id]


def load_sqlite_neighbours(
    db: apsw.Connection, workflow: WorkflowState, scope: Scope, chunk: Chunk, before: int, after: int
) -> list[Chunk]:
    condition = build_visible_document_condition(workflow.id, scope, chunk.document_id).and_where(
        "ordinal between ? and ? and id <> ?", (chunk.ordinal - before, chunk.ordinal + after, chunk.id)
    )
    return list(records.load_chunks_by_row(db, condition, "order by ordinal, id").values())


def count_sqlite_facets(
    db: apsw.Connection,
    workflow: WorkflowState,
    scope: Scope,
    fields: Sequence[str],
    filters: Sequence[Filter],
    limit: int,
) -> list[Facet]:
    return [
        _count_sqlite_facet(db, workflow, field, build_filtered_rows_condition(workflow.id, scope, filters), limit)
        for field in fields
    ]


def _count_sqlite_facet(
    db: apsw.Connection, workflow: WorkflowState, field: str, condition: SqliteCondition, limit: int
) -> Facet:
    condition = SqliteCondition("workflow = ? and field = ?", (workflow.id, field)).and_where(*condition)
    sql = f"select value, count(*) from facts where {condition.sql} group by value order by 2 desc, value"
    buckets = [FacetBucket(decode_stored_value(value), count) for value, count in db.execute(sql, condition.values)]
    return Facet(field, len(buckets), tuple(buckets[:limit]))


def list_sqlite_facet_fields(db: apsw.Connection, workflow: WorkflowState, scope: Scope) -> list[str]:
    """List the fields with values that the scope may read: any entity, entity types, common fields, metadata."""
    condition = build_visible_rows_condition("facts", workflow.id, scope)
    sql = f"select 1 from facts where workflow = ? and field = ? and {condition.sql} limit 1"
    fields = [
        field
        for field in _list_stored_fields(db, workflow)
        if db.execute(sql, (workflow.id, field, *condition.values)).fetchone()
    ]
    return sorted(fields, key=compute_field_order)


def _list_stored_fields(db: apsw.Connection, workflow: WorkflowState) -> list[str]:
    """List the stored fields, stepping through the primary key: a plain DISTINCT would read every row of `facts`."""
    sql = """
        with recursive f(field) as (
            select min(field) from facts where workflow = ?1
            union all select (select min(field) from facts where workflow = ?1 and field > f.field) from f
            where f.field is not null)
        select field from f where field is not null"""
    return [field for (field,) in db.execute(sql, (workflow.id,))]


def format_sqlite_corpus_version(db: apsw.Connection, workflow: WorkflowState, scope: Scope) -> str:
    """Return a text that changes with every change of the workflow."""
    return f"{records.load_store_id(db)}.{workflow.id}.{workflow.seq}"


def list_sqlite_documents(
    db: apsw.Connection, workflow: WorkflowState, scope: Scope, source_prefix: str
) -> list[Document]:
    condition = build_visible_versions_condition(workflow.id, scope)
    if source_prefix:
        condition = condition.and_where("substr(source, 1, ?) = ?", (len(source_prefix), source_prefix))
    return list(records.load_documents_by_version(db, workflow.name, condition).values())


def list_deleted_sqlite_documents(db: apsw.Connection, workflow: WorkflowState, scope: Scope) -> list[Document]:
    documents_by_version = records.load_deleted_documents_by_version(
        db, workflow, SqliteCondition("workflow = ?", (workflow.id,))
    )
    return [document for document in documents_by_version.values() if can_read_document(document, scope)]


def load_sqlite_document_version(
    db: apsw.Connection, workflow: WorkflowState, scope: Scope, document_id: str
) -> tuple[int, Document] | None:
    """Find a document that the scope may read, with its version."""
    condition = build_visible_document_condition(workflow.id, scope, document_id)
    return next(iter(records.load_documents_by_version(db, workflow.name, condition).items()), None)


def load_sqlite_document(
    db: apsw.Connection, workflow: WorkflowState, scope: Scope, document_id: str
) -> Document | None:
    version_and_document = load_sqlite_document_version(db, workflow, scope, document_id)
    return version_and_document[1] if version_and_document else None


def load_sqlite_vectors(
    db: apsw.Connection, workflow: WorkflowState, scope: Scope, document_id: str
) -> Mapping[str, Vector]:
    version_and_document = load_sqlite_document_version(db, workflow, scope, document_id)
    return records.load_vectors_by_hash(db, version_and_document[0]) if version_and_document else {}
