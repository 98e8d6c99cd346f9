"""The state of the store as anyone may ask for it, looked up at most once in a while."""

import asyncio
import time
from typing import TYPE_CHECKING

from rag_core.core.errors import RagError

if TYPE_CHECKING:
    from rag_core.core.ports import ChunkStore, StoreDescription

PROBE_INTERVAL_S = 2.0


class StoreProbe:
    """The newest description of the store, or the error that describing it gave, at most PROBE_INTERVAL_S old.

    Health is anonymous: without this anybody could keep the store busy.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._next_at = 0.0
        self._outcome: StoreDescription | RagError | None = None

    async def describe(self, store: "ChunkStore") -> "StoreDescription":
        """Return what the store is and how much it holds. Raises the RagError of the newest look at it."""
        async with self._lock:
            if self._outcome is None or time.monotonic() >= self._next_at:
                try:
                    self._outcome = await store.describe()
                except RagError as error:
                    self._outcome = error
                self._next_at = time.monotonic() + PROBE_INTERVAL_S
        if isinstance(self._outcome, RagError):
            raise self._outcome
        return self._outcome
