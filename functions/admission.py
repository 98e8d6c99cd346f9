"""Admission of heavy requests: a few run at once, some wait for their turn, and the rest are refused with 429.

Without a bound all requests of a burst share the processors, all of them run out of time, and none has its answer.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

from rag_core.core.errors import Overloaded
from rag_core.core.run import Run

ADMISSION_STEP = "admission"
WAITING_SHARE = 0.5  # of the time that a request has left: the rest is for its work
FIRST_ESTIMATE_S = 1.0  # of the time that a heavy request takes, before one has ended
NEWEST_SHARE = 0.2  # of the newest request in the running mean of these times
MAX_RETRY_AFTER_S = 60


class Admission:
    """The places for heavy requests in this process; those that wait are admitted in the order of their arrival.

    It belongs to one event loop, as the requests of a worker do.
    """

    def __init__(self, places: int, queue: int) -> None:
        """Let `places` requests run at once and `queue` more wait."""
        self._places, self._queue, self._waiting = places, queue, 0
        self._free_places = asyncio.Semaphore(places)
        self._mean_s = FIRST_ESTIMATE_S

    @asynccontextmanager
    async def admit(self, run: Run) -> AsyncIterator[None]:
        """Run the block when there is a place for it.

        Raises:
            Overloaded: too many requests wait already, or this one has waited for half of its time.
        """
        with ExitStack() as place:
            # filled within the step, which may end in a cancellation after the place was taken
            await run.step(ADMISSION_STEP, self._take_place(run.remaining_s * WAITING_SHARE, place))
            started_at = time.monotonic()
            try:
                yield
            finally:
                self._mean_s += NEWEST_SHARE * (time.monotonic() - started_at - self._mean_s)

    async def _take_place(self, longest_wait_s: float, place: ExitStack) -> None:
        if self._free_places.locked() and self._waiting >= self._queue:
            raise self._make_overloaded_error()
        self._waiting += 1
        try:
            async with asyncio.timeout(longest_wait_s):
                await self._free_places.acquire()
                place.callback(self._free_places.release)
        except TimeoutError:
            raise self._make_overloaded_error() from None
        finally:
            self._waiting -= 1

    def _make_overloaded_error(self) -> Overloaded:
        ahead = self._waiting + 1
        retry_after_s = min(MAX_RETRY_AFTER_S, math.ceil(self._mean_s * ahead / self._places))
        message = f"{self._places} requests that need models or read files are running and {self._waiting} wait"
        return Overloaded(f"{message}: repeat the request in {retry_after_s} s", retry_after_s=retry_after_s)
