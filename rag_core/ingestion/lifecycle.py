"""A document is live, deleted, or not there: the ways between, for those who may index it."""

from rag_core.core.errors import no_document
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.core.run import Run


async def delete(document_id: str, scope: Scope, kit: Kit, run: Run, *, purge: bool = False) -> None:
    """Take a document out of everything at once, to be restored; with `purge`, live or deleted, for good.

    What was taken on for it before, and is not done yet, ends. Answers that quote it are not given again either way:
    what is remembered goes by the state of the documents. A purge forgets all of them, for their bytes, and the
    document as it came, and what kept questions quote of it; it can be made again wherever it broke off.

    Raises:
        NotFound: there is no such document, or it is not the caller's.
    """
    async with kit.jobs.superseding(document_id, scope):  # ends before the purge, which leaves no sign of a deletion
        gone = await run.step("delete", kit.index.store.delete(document_id, scope))
        if not gone and not (purge and await _deleted(document_id, scope, kit.index)):
            raise no_document()
    if purge:
        await run.step("purge", _purge(document_id, scope, kit))


async def _purge(document_id: str, scope: Scope, kit: Kit) -> None:
    """The index last: as long as anything else could not be removed, there is a deleted document to be purged again."""
    await kit.archive.forget(document_id, scope.workflow_id)
    await kit.cache.clear()
    await kit.index.store.purge(document_id, scope)


async def _deleted(document_id: str, scope: Scope, index: Index) -> bool:
    """Whether it is the scope's own: groups read what is deleted, the owner removes it."""
    found = (document for document in await index.store.deleted(scope) if document.id == document_id)
    return any(document.user_id in (None, scope.user_id) for document in found)


async def restore(document_id: str, scope: Scope, index: Index, run: Run) -> None:
    """Bring a deleted document back as it was; nothing is embedded anew.

    Raises:
        NotFound: nothing was deleted under this id, or it is not the caller's.
        Conflict: the document is there (document_exists), or the index holds another model's vectors by now.
    """
    if not await run.step("restore", index.store.restore(document_id, scope)):
        raise no_document()
