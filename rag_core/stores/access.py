"""Who reads and who owns a document, and how a replacement is counted: the same in every store."""

from collections import Counter
from collections.abc import Sequence

from rag_core.core.errors import InvalidRequest, NotFound
from rag_core.core.model import Chunk, Document, Scope
from rag_core.core.ports import Replaced

EVERYONE = "*"


def readers(document: Document) -> frozenset[str]:
    """Who sees the document: its owner and its groups, or everyone in the workflow when it names neither."""
    owner = {f"user:{document.user_id}"} if document.user_id is not None else set()
    return frozenset(owner | {f"group:{name}" for name in document.groups} or {EVERYONE})


def reads_as(scope: Scope) -> tuple[str, ...]:
    """The readers that a scope may stand for."""
    user = (f"user:{scope.user_id}",) if scope.user_id is not None else ()
    return (EVERYONE, *user, *(f"group:{name}" for name in scope.groups))


def sees(scope: Scope, document: Document) -> bool:
    """Whether the document is one of those that the scope stands for."""
    named = not scope.document_ids or document.id in scope.document_ids
    return named and document.workflow_id == scope.workflow_id and bool(readers(document) & {*reads_as(scope)})


def owns(document: Document, scope: Scope) -> bool:
    """Whether a document that the scope sees is also its to replace or remove: groups read, the owner writes."""
    return document.user_id is None or document.user_id == scope.user_id


def refuse_a_foreign_owner(document: Document, chunks: Sequence[Chunk], scope: Scope) -> None:
    """Raises InvalidRequest unless the document is one that the scope may write, and the chunks are its own."""
    if document.workflow_id != scope.workflow_id:
        raise InvalidRequest("workflow_id", "of the document must be that of the scope")
    if document.user_id not in (None, scope.user_id):
        raise InvalidRequest("user_id", "of the document must be that of the scope, or none")
    if any(chunk.document_id != document.id for chunk in chunks):
        raise InvalidRequest("chunks", "must be those of the document")


def unknown() -> NotFound:
    """For a document that is not there, or is another's."""
    return NotFound("there is no such document")


def difference(before: Sequence[str], after: Sequence[str]) -> Replaced:
    """What a replacement did, by the content hashes of the chunks."""
    kept = (Counter(before) & Counter(after)).total()
    return Replaced(added=len(after) - kept, unchanged=kept, removed=len(before) - kept)
