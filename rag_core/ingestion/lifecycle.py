"""Deletion, purge and restoration of indexed documents."""

from rag_core.core.errors import StorageFull, make_unknown_document_error
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.core.run import Run


async def delete_document(document_id: str, scope: Scope, kit: Kit, run: Run, *, purge: bool = False) -> None:
    """Delete a document so that it can be restored; with `purge`, remove it for good, whether live or deleted.

    Unfinished jobs for the document end too, also where it is not in the index yet: what was accepted is taken back.
    Cached answers that quote it are not given again in either case, because the cache key holds the state of the
    documents. A purge also clears the answer cache, ends the workflow's answer logs, and removes the original and what
    saved queries quote of the document; an interrupted purge can be repeated.

    Raises:
        NotFound: there is no such document, or it does not belong to the caller.
        Unavailable: document_being_indexed: a job is writing the document just now.
    """
    # the block ends before the purge, which leaves no trace of the document
    async with kit.jobs.supersede_document(document_id, scope) as had_jobs:
        was_live = await run.step("delete", _delete_or_find(document_id, scope, kit.index, purge=purge))
        if not (was_live or had_jobs or (purge and await _can_purge_deleted(document_id, scope, kit.index))):
            raise make_unknown_document_error()
    if purge:
        await run.step("purge", _purge_document(document_id, scope, kit))


async def _delete_or_find(document_id: str, scope: Scope, index: Index, *, purge: bool) -> bool:
    """Delete a live document and return whether there was one; on a full disk leave it to the purge that follows."""
    try:
        return await index.store.delete(document_id, scope)
    except StorageFull:
        if not purge:
            raise
        return await index.store.load_document(document_id, scope) is not None


async def _purge_document(document_id: str, scope: Scope, kit: Kit) -> None:
    """Purge archive, logs, cache and index; the index is last, so that the purge can be repeated after a failure."""
    await kit.archive.purge_document(document_id, scope.workflow_id)
    await kit.answer_log.purge_workflow(scope.workflow_id)
    await kit.cache.clear()
    await kit.index.store.purge(document_id, scope)


async def _can_purge_deleted(document_id: str, scope: Scope, index: Index) -> bool:
    """Return True for a deleted document that the scope owns; others who may read it cannot."""
    matches = (document for document in await index.store.list_deleted(scope) if document.id == document_id)
    return any(document.user_id == scope.user_id for document in matches)


async def restore_document(document_id: str, scope: Scope, index: Index, run: Run) -> None:
    """Restore a deleted document unchanged; only a store that keeps no vectors embeds it again.

    Raises:
        NotFound: no deleted document has this id, or it does not belong to the caller.
        Conflict: the document is live (document_exists), or the index now holds another model's vectors.
    """
    if not await run.step("restore", index.store.restore(document_id, scope)):
        raise make_unknown_document_error()
