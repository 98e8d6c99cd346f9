"""Writes to PostgreSQL, each within one transaction: a document is live, deleted or absent."""

# ruff: noqa: S608 - the SQL is built from constants of this package; values are bound

from collections.abc import Sequence
from typing import Any

from rag_core.core.errors import make_unknown_document_error
from rag_core.core.model import Chunk, Document, Scope, Vector
from rag_core.core.ports import ReplacementResult
from rag_core.stores.access import can_read_document, can_write_document, require_replaceable_documents
from rag_core.stores.document_rules import count_replaced_chunks, name_document_space, require_deleted_document
from rag_core.stores.postgres import records
from rag_core.stores.postgres.conditions import PostgresCondition
from rag_core.stores.postgres.connections import PostgresConnection
from rag_core.stores.postgres.row_security import CHUNKS_VIEW, DOCUMENTS_VIEW, WORKFLOWS_VIEW
from rag_core.stores.postgres.schema import join_postgres_space


async def replace_postgres_document(
    db: PostgresConnection,
    scope: Scope,
    document: Document,
    chunks: Sequence[Chunk],
    vectors: Sequence[Vector | None],
    space: str,
) -> ReplacementResult:
    await join_postgres_space(db, space, vectors)
    old_hashes = await _remove_postgres_document(db, scope, document.id)
    await records.insert_postgres_document(db, document, chunks, vectors, name_document_space(space, vectors))
    await _renew_corpus_version(db, scope)
    return count_replaced_chunks(old_hashes, [chunk.content_hash for chunk in chunks])


async def delete_postgres_document(db: PostgresConnection, scope: Scope, document_id: str) -> bool:
    """Mark a document as deleted by setting `deleted_at`, which every read checks (S3-16)."""
    document = await _find_writable_document(db, scope, document_id)
    if document is None or document.deleted_at:
        return False
    await _update_document_row(db, "deleted_at = now()", scope, document_id)
    await _renew_corpus_version(db, scope)
    return True


async def restore_postgres_document(db: PostgresConnection, scope: Scope, document_id: str) -> bool:
    document = await _find_writable_document(db, scope, document_id)
    if document is None:
        return False
    require_deleted_document(document)
    row_id = records.make_postgres_row_id(scope.workflow_id, document_id)
    from_sql = f"from {records.CHUNKS_JOIN_DOCUMENTS} where c.document_id = %s"
    sql = f"select d.space, coalesce(embedding, deleted_embedding)::real[] {from_sql}"
    rows = await (await db.execute(sql, (row_id,))).fetchall()
    await join_postgres_space(db, rows[0][0] if rows else "", [vector for _, vector in rows])
    await db.execute(
        f"update {CHUNKS_VIEW} set embedding = deleted_embedding, deleted_embedding = null "
        "where document_id = %s and deleted_embedding is not null",
        (row_id,),
    )
    await _update_document_row(db, "deleted_at = null", scope, document_id)
    await _renew_corpus_version(db, scope)
    return True


async def purge_postgres_document(db: PostgresConnection, scope: Scope, document_id: str) -> bool:
    if await _find_writable_document(db, scope, document_id) is None:
        return False
    await _remove_postgres_document(db, scope, document_id)
    await _renew_corpus_version(db, scope)
    return True


async def save_postgres_summary(db: PostgresConnection, scope: Scope, document_id: str, summary: str) -> None:
    document = await _find_postgres_document_of_any_owner(db, scope, document_id)
    if document is None or document.deleted_at or not can_read_document(document, scope):
        raise make_unknown_document_error()
    await _update_document_row(db, "summary = %s", scope, document_id, summary)


async def _remove_postgres_document(db: PostgresConnection, scope: Scope, document_id: str) -> list[str]:
    """Remove the document with this id, live or deleted, and return the content hashes of its live chunks.

    Raises NotFound when the scope may not replace the document.
    """
    document = await _find_postgres_document_of_any_owner(db, scope, document_id)
    require_replaceable_documents([document] if document else [], scope)
    row_id = records.make_postgres_row_id(scope.workflow_id, document_id)
    rows = await db.execute(f"delete from {CHUNKS_VIEW} where document_id = %s returning content_hash", (row_id,))
    hashes = [content_hash for (content_hash,) in await rows.fetchall()]
    await db.execute(f"delete from {DOCUMENTS_VIEW} where id = %s", (row_id,))
    return [] if document is None or document.deleted_at else hashes


async def _renew_corpus_version(db: PostgresConnection, scope: Scope) -> None:
    """Give the workflow a new version; called last, because its other writers wait from here until the commit."""
    await db.execute(
        f"insert into {WORKFLOWS_VIEW} values (%s, gen_random_uuid()) "
        "on conflict (collection) do update set version = excluded.version",
        (scope.workflow_id,),
    )


async def _find_writable_document(db: PostgresConnection, scope: Scope, document_id: str) -> Document | None:
    """Find a document, live or deleted, that the scope may replace."""
    document = await _find_postgres_document_of_any_owner(db, scope, document_id)
    return document if document and can_write_document(document, scope) else None


async def _find_postgres_document_of_any_owner(
    db: PostgresConnection, scope: Scope, document_id: str
) -> Document | None:
    """Find the document with this id, live or deleted, whoever owns it."""
    condition = PostgresCondition("d.id = %s", (records.make_postgres_row_id(scope.workflow_id, document_id),))
    return next(iter(await records.load_postgres_documents_where(db, condition)), None)


async def _update_document_row(
    db: PostgresConnection, assignment: str, scope: Scope, document_id: str, *values: Any
) -> None:
    row_id = records.make_postgres_row_id(scope.workflow_id, document_id)
    await db.execute(f"update {DOCUMENTS_VIEW} set {assignment} where id = %s", (*values, row_id))
