"""What is written, each within one transaction: a document is live, deleted, or not there."""

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
    before = await _removed(db, scope, document.id)
    await records.add(db, document, chunks, vectors, space if any(v is not None for v in vectors) else "")
    await _changed(db, scope)
    return difference(before, [chunk.content_hash for chunk in chunks])


async def delete(db: Connection, scope: Scope, document_id: str) -> bool:
    """Nothing but a time is written (S3-16): whatever reads looks for it."""
    found = await _mine(db, scope, document_id)
    if found is None or found.deleted_at:
        return False
    await _set(db, "deleted_at = now()", scope, document_id)
    await _changed(db, scope)
    return True


async def restore(db: Connection, scope: Scope, document_id: str) -> bool:
    found = await _mine(db, scope, document_id)
    if found is None:
        return False
    if found.deleted_at is None:
        raise Conflict("the document is there: delete it first", code="document_exists", field="document_id")
    id = records.key(scope.workflow_id, document_id)
    kept = "from document_chunks c join rag_documents d on d.id = document_id where document_id = %s"
    sql = f"select d.space, coalesce(embedding, deleted_embedding)::real[] {kept}"
    rows = await (await db.execute(sql, (id,))).fetchall()
    await join_space(db, rows[0][0] if rows else "", [vector for _, vector in rows])
    await db.execute(
        "update document_chunks set embedding = deleted_embedding, deleted_embedding = null "
        "where document_id = %s and deleted_embedding is not null",
        (id,),
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
    found = await _known(db, scope, document_id)
    if found is None or found.deleted_at or not sees(scope, found):
        raise unknown()
    await _set(db, "summary = %s", scope, document_id, summary)


async def _removed(db: Connection, scope: Scope, document_id: str) -> list[str]:
    """Take out what is there under this id, live or deleted, and give the hashes of the chunks that were searched.

    Raises NotFound when it is another's.
    """
    mine = await _mine(db, scope, document_id)
    if mine is None and await _known(db, scope, document_id):
        raise unknown()
    id = records.key(scope.workflow_id, document_id)
    gone = await db.execute("delete from document_chunks where document_id = %s returning content_hash", (id,))
    hashes = [content_hash for (content_hash,) in await gone.fetchall()]
    await db.execute("delete from rag_documents where id = %s", (id,))
    return [] if mine is None or mine.deleted_at else hashes


async def _changed(db: Connection, scope: Scope) -> None:
    """Last of all: from here on to the end the workflow's other writers wait."""
    await db.execute(
        "insert into rag_workflows values (%s, gen_random_uuid()) "
        "on conflict (collection) do update set version = excluded.version",
        (scope.workflow_id,),
    )


async def _mine(db: Connection, scope: Scope, document_id: str) -> Document | None:
    """A document, live or deleted, that the scope may replace."""
    found = await _known(db, scope, document_id)
    return found if found and sees(scope, found) and owns(found, scope) else None


async def _known(db: Connection, scope: Scope, document_id: str) -> Document | None:
    """Whatever has the id, whoever's it is."""
    where = Condition("d.id = %s", (records.key(scope.workflow_id, document_id),))
    return next(iter(await records.documents(db, where)), None)


async def _set(db: Connection, change: str, scope: Scope, document_id: str, *values: Any) -> None:
    id = records.key(scope.workflow_id, document_id)
    await db.execute(f"update rag_documents set {change} where id = %s", (*values, id))  # noqa: S608 - our own words
