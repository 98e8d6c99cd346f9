"""The rules that every store shares: who may read or write a document, and how a replacement is counted."""

from collections import Counter
from collections.abc import Sequence

from rag_core.core.errors import InvalidRequest, NotFound
from rag_core.core.model import Chunk, Document, Scope
from rag_core.core.ports import Replaced

EVERYONE = "*"


def readers(document: Document) -> frozenset[str]:
    """Return the readers of a document: its owner and its groups, or everyone in the workflow if it names neither."""
    owner_readers = {f"user:{document.user_id}"} if document.user_id is not None else set()
    return frozenset(owner_readers | {f"group:{group}" for group in document.groups} or {EVERYONE})


def reads_as(scope: Scope) -> tuple[str, ...]:
    """Return the readers that a scope stands for: everyone, its user and its groups."""
    user_readers = (f"user:{scope.user_id}",) if scope.user_id is not None else ()
    return (EVERYONE, *user_readers, *(f"group:{group}" for group in scope.groups))


def sees(scope: Scope, document: Document) -> bool:
    """Return whether the scope may read the document: same workflow, a shared reader, and among its document ids."""
    is_selected = not scope.document_ids or document.id in scope.document_ids
    return is_selected and document.workflow_id == scope.workflow_id and bool(readers(document) & {*reads_as(scope)})


def owns(document: Document, scope: Scope) -> bool:
    """Return whether the scope may replace or remove a document that it may read: groups read, the owner writes."""
    return document.user_id is None or document.user_id == scope.user_id


def refuse_a_foreign_owner(document: Document, chunks: Sequence[Chunk], scope: Scope) -> None:
    """Raise InvalidRequest unless the scope may write the document and every chunk belongs to it."""
    if document.workflow_id != scope.workflow_id:
        raise InvalidRequest("workflow_id", "of the document must equal that of the scope")
    if document.user_id not in (None, scope.user_id):
        raise InvalidRequest("user_id", "of the document must be absent or equal that of the scope")
    if any(chunk.document_id != document.id for chunk in chunks):
        raise InvalidRequest("chunks", "must all have the document's id")


def unknown() -> NotFound:
    """Return the error for a document that does not exist or belongs to somebody else: the two are not told apart."""
    return NotFound("there is no such document")


def difference(old_hashes: Sequence[str], new_hashes: Sequence[str]) -> Replaced:
    """Count the chunks a replacement added, removed and left unchanged, by comparing content hashes."""
    unchanged = (Counter(old_hashes) & Counter(new_hashes)).total()
    return Replaced(added=len(new_hashes) - unchanged, unchanged=unchanged, removed=len(old_hashes) - unchanged)
