"""The log of answers that are under way."""

from typing import Protocol

from rag_core.core.model import Scope


class AnswerLog(Protocol):
    """What answers under way have told so far, for readers to whom the host cannot send it as it comes.

    A log belongs to the workflow and the user of its scope; to any other scope it does not exist. It is gone 15 minutes
    after its last text. Every call raises Unavailable when the place of the logs does not answer.
    """

    async def start(self, id: str, scope: Scope) -> None:
        """Begin an empty log. Raises Conflict where there is one of this id."""
        ...

    async def append(self, id: str, text: str, scope: Scope) -> None:
        """Add a text to a log. Raises NotFound for one that was not begun, or that was purged."""
        ...

    async def read(self, id: str, scope: Scope) -> str | None:
        """Return the texts of a log in their order, None where there is no log."""
        ...

    async def purge_workflow(self, workflow_id: str) -> None:
        """Delete the logs of a workflow, whosever they are; an answer that is under way can add nothing more."""
        ...

    async def close(self) -> None: ...
