"""Who deletes, purges and restores what: an owner the own documents, an administrator also those that nobody owns.

Without a user (the command line, a function key alone) it is these that a caller may change. An administrator gets no
other right over documents: none that another user owns, and none to replace a shared one, which would then be the
administrator's own.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from functions.operations import Principal
from rag_core.core.errors import NotFound
from rag_core.core.model import Document, Scope

ADMINISTRATOR_ROLE = "admin"


def can_change_document(document: Document, principal: Principal) -> bool:
    """Return whether a caller may delete or restore a document that the caller may see."""
    is_shared = document.user_id is None and ADMINISTRATOR_ROLE in principal.roles
    return is_shared or document.user_id == principal.user_id


async def change_document(change: Callable[[Scope], Awaitable[None]], scope: Scope, principal: Principal) -> None:
    """Change a document of the caller, or else, for an administrator, one that nobody owns.

    Raises:
        NotFound: there is no such document, or none that the caller may change.
    """
    try:
        await change(scope)
    except NotFound:
        if scope.user_id is None or ADMINISTRATOR_ROLE not in principal.roles:
            raise
        await change(replace(scope, user_id=None))
