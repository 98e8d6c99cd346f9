"""The translation of what libraries raise without a class that can be imported or is narrow enough to be caught."""

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType


@dataclass(frozen=True, slots=True)
class ForeignFailures:
    """A block in which a failure that `translate` knows becomes the error that it returns; it returns None for others.

    Nothing is caught here: another failure, and what ends a task or a process, goes on as if there were no block.
    """

    translate: Callable[[BaseException], Exception | None]

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, traceback: TracebackType | None
    ) -> None:
        translated = self.translate(failure) if failure is not None else None
        if translated is not None:
            raise translated from failure
