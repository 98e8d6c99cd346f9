"""What the adapters of the answer log have in common: the key of a log, the time that it lives, and their errors."""

import hashlib
import json

from rag_core.core.errors import Conflict, NotFound
from rag_core.core.model import Scope

ANSWER_LOG_LIFETIME_S = 15 * 60.0  # four times what an answer may take


def make_log_key(id: str, scope: Scope) -> str:
    """Return the key of a log, which begins with that of its workflow and tells neither workflow nor user nor id."""
    return make_workflow_key(scope.workflow_id) + _hash_values(scope.workflow_id, scope.user_id, id)


def make_workflow_key(workflow_id: str) -> str:
    """Return what the keys of all logs of a workflow begin with."""
    return f"{_hash_values(workflow_id)}/"


def make_log_exists_error() -> Conflict:
    """Return the error for a log that is begun twice."""
    return Conflict("an answer with this progress_id was begun before")


def make_log_gone_error() -> NotFound:
    """Return the error for an addition to a log that does not exist, or exists no more."""
    return NotFound("the log of this answer is gone")


def _hash_values(*values: str | None) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()
