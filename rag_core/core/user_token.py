"""The token of the user on whose behalf a request reads, for a search service that checks by itself who may see what.

It stands in no record of the request: no scope, log, trace, or key holds it. A task that a request starts inherits it.
"""

from contextvars import ContextVar
from hashlib import sha256

_user_token: ContextVar[str | None] = ContextVar("user_token", default=None)


def set_user_token(token: str | None) -> None:
    """Set the token for what the current task does from now on; None: nobody's."""
    _user_token.set(token)


def get_user_token() -> str | None:
    """Return the token of the user for whom the current task reads, None when nobody's was given."""
    return _user_token.get()


def hash_user_token() -> str:
    """Return what tells the current user's token from another's and says nothing else of it; "" without one."""
    token = _user_token.get()
    return sha256(token.encode()).hexdigest() if token else ""
