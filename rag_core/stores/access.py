"""The rules of access that every store shares: who reads a document, and who writes it."""

from collections.abc import Sequence

from rag_core.core.errors import InvalidRequest, make_unknown_document_error
from rag_core.core.model import Chunk, Document, Scope

EVERYONE_READER = "*"


def list_document_readers(document: Document) -> frozenset[str]:
    """Return the readers of a document: its owner and its groups, or everyone in the workflow if it names neither."""
    owner_readers = {f"user:{document.user_id}"} if document.user_id is not None else set()
    return frozenset(owner_readers | {f"group:{group}" for group in document.groups} or {EVERYONE_READER})


def list_scope_readers(scope: Scope) -> tuple[str, ...]:
    """Return the readers that a scope stands for: everyone, its user and its groups."""
    user_readers = (f"user:{scope.user_id}",) if scope.user_id is not None else ()
    return (EVERYONE_READER, *user_readers, *(f"group:{group}" for group in scope.groups))


def can_read_document(document: Document, scope: Scope) -> bool:
    """Return whether the scope may read the document: same workflow, a shared reader, and among its document ids."""
    is_selected = not scope.document_ids or document.id in scope.document_ids
    return (
        is_selected
        and document.workflow_id == scope.workflow_id
        and bool(list_document_readers(document) & {*list_scope_readers(scope)})
    )


def can_write_document(document: Document, scope: Scope) -> bool:
    """Return whether the scope may replace, delete, restore or purge the document: groups read, the owner writes.

    A document without an owner belongs to the workflow, not to each who reads it: a signed-in user would take it away
    from all others, since what that user writes is that user's.
    """
    return can_read_document(document, scope) and document.user_id == scope.user_id


def require_writable_document(document: Document, chunks: Sequence[Chunk], scope: Scope) -> None:
    """Raise InvalidRequest unless the scope may write a document of this owner and every chunk belongs to it."""
    if document.workflow_id != scope.workflow_id:
        raise InvalidRequest("workflow_id", "of the document must equal that of the scope")
    if document.user_id not in (None, scope.user_id):
        raise InvalidRequest("user_id", "of the document must be absent or equal that of the scope")
    if any(chunk.document_id != document.id for chunk in chunks):
        raise InvalidRequest("chunks", "must all have the document's id")


def require_replaceable_documents(documents: Sequence[Document], scope: Scope) -> None:
    """Raise NotFound unless the scope may write every one of the documents that have the id, live or deleted.

    A document of somebody else is reported as one that does not exist; its id stays taken until it is purged.
    """
    if not all(can_write_document(document, scope) for document in documents):
        raise make_unknown_document_error()
