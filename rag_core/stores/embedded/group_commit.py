"""Group commit: documents that arrive while others are being written are made durable by one transaction.

Each costs a wait for the disk, and as much again of work that does not depend on the size of the document.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

import apsw

from rag_core.core.errors import RagError

MAX_GROUP_CHUNKS = 512  # written in a tenth of a second: other processes wait for the end of a transaction

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class DocumentWrite(Generic[T]):
    """The write of a document with so many chunks, and its result once it is committed."""

    write: Callable[[apsw.Connection], T]
    chunk_count: int
    result: T | None = None


class GroupCommit(Generic[T]):
    """The queue of writes; `commit` makes several durable in one transaction, or none of them, and returns the results.

    When one of a group is refused, each is committed by itself, so that it succeeds or fails as if it were alone.
    """

    def __init__(self, commit: Callable[[Sequence[DocumentWrite[T]]], Sequence[T]]) -> None:
        self._commit = commit
        self._turn = threading.Lock()
        self._waiting: deque[DocumentWrite[T]] = deque()

    async def run(self, write: DocumentWrite[T]) -> T:
        """Return the result of a write once it is durable; who is cancelled before its turn may find it undone."""
        self._waiting.append(write)
        try:
            return await asyncio.to_thread(self._run_in_turn, write)
        finally:
            with suppress(ValueError):
                self._waiting.remove(write)

    def _run_in_turn(self, own: DocumentWrite[T]) -> T:
        with self._turn:
            while own in self._waiting:
                self._commit_group(self._take_group())
            return self._commit([own])[0] if own.result is None else own.result

    def _take_group(self) -> list[DocumentWrite[T]]:
        group, chunk_count = [], 0
        while self._waiting and chunk_count < MAX_GROUP_CHUNKS:
            group.append(self._waiting.popleft())
            chunk_count += group[-1].chunk_count
        return group

    def _commit_group(self, group: Sequence[DocumentWrite[T]]) -> None:
        """Commit several writes; one alone, and each of a group that is refused, is committed by who waits for it."""
        if len(group) > 1:
            with suppress(RagError):
                for write, result in zip(group, self._commit(group), strict=True):
                    write.result = result
