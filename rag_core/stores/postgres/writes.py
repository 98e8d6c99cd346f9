"""Writes to PostgreSQL, each within one transaction: a document is live, deleted or absent."""

from collections.abc import Sequence
from typing import Any

from rag_core.core.errors import Conflict
from rag_core.core.model import Chunk, Document, Scope, Vector
from rag_core.core.ports import Replaced
from rag_core.stores.access import difference, owns, sees, unknown
from rag_core.stores.postgres import records
from rag_core.stores.postgres.conditions import Condition
from rag_core.stores.postgres.connections import Connection
from rag_core.stores.postgres.schema import join_space


async def replace(
    db: Connection,
    scope: Scope,
    document: Document,
    chunks: Sequence[Chunk],
    vectors: Sequence[Vector | None],
    space: str,
) -> Replaced:
    await join_space(db, space, vectors)
    old_hashes = await _removed(db, scope, document.id)
    await records.add(db, document, chunks, vectors, space if any(v is not None for v in vectors) else "")
    await _changed(db, scope)
    return difference(old_hashes, [chunk.content_hash for chunk in chunks])


async def delete(db: Connection, scope: Scope, document_id: str) -> bool:
    """Mark a document as deleted by setting `deleted_at`, which every read checks (S3-16)."""
    document = await _mine(db, scope, document_id)
    if document is None or document.deleted_at:
        return False
    await _set(db, "deleted_at = now()", scope, document_id)
    await _changed(db, scope)
    return True


async def restore(db: Connection, scope: Scope, document_id: str) -> bool:
    document = await _mine(db, scope, document_id)
    if document is None:
        return False
    if document.deleted_at is None:
        raise Conflict("the document is there: delete it first", code="document_exists", field="document_id")
    row_id = records.key(scope.workflow_id, document_id)
    from_sql = "from document_chunks c join rag_documents d on d.id = document_id where document_id = %s"
    sql = f"select d.space, coalesce(embedding, deleted_embedding)::real[] {from_sql}"
    rows = await (await db.execute(sql, (row_id,))).fetchall()
    await join_space(db, rows[0][0] if rows else "", [vector for _, vector in rows])
    await db.execute(
        "update document_chunks set embedding = deleted_embedding, deleted_embedding = null "
        "where document_id = %s and deleted_embedding is not null",
        (row_id,),
    )
    await _set(db, "deleted_at = null", scope, document_id)
    await _changed(db, scope)
    return True


async def purge(db: Connection, scope: Scope, document_id: str) -> bool:
    if await _mine(db, scope, document_id) is None:
        return False
    await _removed(db, scope, document_id)
    await _changed(db, scope)
    return True


async def save_summary(db: Connection, scope: Scope, document_id: str, summary: str) -> None:
    document = await _known(db, scope, document_id)
    if document is None or document.deleted_at or not sees(scope, document):
        raise unknown()
    await _set(db, "summary = %s", scope, document_id, summary)


async def _removed(db: Connection, scope: Scope, document_id: str) -> list[str]:
    """Remove the document with this id, live or deleted, and return the content hashes of its live chunks.

    Raises NotFound when the scope may not replace the document.
    """
    document = await _mine(db, scope, document_id)
    if document is None and await _known(db, scope, document_id):
        raise unknown()
    row_id = records.key(scope.workflow_id, document_id)
    rows = await db.execute("delete from document_chunks where document_id = %s returning content_hash", (row_id,))
    hashes = [content_hash for (content_hash,) in await rows.fetchall()]
    await db.execute("delete from rag_documents where id = %s", (row_id,))
    return [] if document is None or document.deleted_at else hashes


async def _changed(db: Connection, scope: Scope) -> None:
    """Give the workflow a new version; called last, because its other writers wait from here until the commit."""
    await db.execute(
        "insert into rag_workflows values (%s, gen_random_uuid()) "
        "on conflict (collection) do update set version = excluded.version",
        (scope.workflow_id,),
    )


async def _mine(db: Connection, scope: Scope, document_id: str) -> Document | None:
    """Find a document, live or deleted, that the scope may replace."""
    document = await _known(db, scope, document_id)
    return document if document and sees(scope, document) and owns(document, scope) else None


async def _known(db: Connection, scope: Scope, document_id: str) -> Document | None:
    """Find the document with this id, live or deleted, whoever owns it."""
    condition = Condition("d.id = %s", (records.key(scope.workflow_id, document_id),))
    return next(iter(await records.documents(db, condition)), None)


async def _set(db: Connection, assignment: str, scope: Scope, document_id: str, *values: Any) -> None:
    row_id = records.key(scope.workflow_id, document_id)
    await db.execute(f"update rag_documents set {assignment} where id = %s", (*values, row_id))  # noqa: S608 - a constant
