"""A document is live, deleted, or not there: the ways between, for those who may index it."""

from rag_core.errors import NotFound
from rag_core.index import Index
from rag_core.kit import Kit
from rag_core.model import Scope
from rag_core.run import Run


async def delete(document_id: str, scope: Scope, kit: Kit, run: Run, *, purge: bool = False) -> None:
    """Take a document out of everything at once, to be restored; with `purge`, live or deleted, for good.

    Answers that quote it are not given again either way: what is remembered goes by the state of the documents. A
    purge forgets all of them, for their bytes.

    Raises:
        NotFound: there is no such document, or it is not the caller's.
    """
    store = kit.index.store
    way = store.purge if purge else store.delete
    if not await run.step("purge" if purge else "delete", way(document_id, scope)):
        raise _not_found()
    if purge:
        await run.step("forget", kit.cache.clear())


async def restore(document_id: str, scope: Scope, index: Index, run: Run) -> None:
    """Bring a deleted document back as it was; nothing is embedded anew.

    Raises:
        NotFound: nothing was deleted under this id, or it is not the caller's.
        Conflict: the document is there (document_exists), or the index holds another model's vectors by now.
    """
    if not await run.step("restore", index.store.restore(document_id, scope)):
        raise _not_found()


def _not_found() -> NotFound:
    return NotFound("there is no such document in this workflow", code="document_not_found", field="document_id")
