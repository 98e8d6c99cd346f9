"""The one retry layer of all calls that leave this process: few tries, jitter, a budget, a breaker, one deadline."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from rag_core.core.errors import RagError, Unavailable
from rag_core.core.run import remaining_s

T = TypeVar("T")

TRIES = 3
RETRIED = frozenset({408, 429, 500, 502, 503, 504})
WITHIN_S = 200.0  # of a call outside of any request: as long as a request may take
GRACE_S = 0.05  # a call ends before its step does, so that the reply can say who was late
RESERVE_S = 1.0  # what must be left of the deadline after a wait, for the try itself


class Transient(Exception):
    """Raised by the work of a call: this try failed as the next may not. It never leaves `Dependency.call`."""

    def __init__(self, reason: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after_s = retry_after_s


class Dependency:
    """A neighbour over the network, with what must be remembered of it from call to call.

    `code` is that of the `Unavailable` when it cannot be reached; one try may take `try_s`. Time is the event loop's.
    """

    def __init__(self, name: str, *, code: str, try_s: float) -> None:
        self.name = name
        self._code = code
        self._try_s = try_s
        self._breaker = Breaker()
        self._budget = Budget()

    async def call(self, work: Callable[[float], Awaitable[T]], *, within_s: float = WITHIN_S) -> T:
        """What `work` gives, asked at most `TRIES` times; it is told how many seconds it has.

        Work must be idempotent, as it may have been done by a try whose reply was lost. It raises `Transient`
        for what may pass; its other errors pass through.

        Raises:
            Unavailable: no try succeeded, or none was made (the breaker is open, there is no time left).
        """
        now = asyncio.get_running_loop().time
        began = now()
        ends = began + min(within_s, remaining_s()) - GRACE_S
        tries = AsyncRetrying(
            retry=retry_if_exception_type(Transient),
            wait=_wait,
            stop=lambda state: not self._try_again(state, ends - now()),
            sleep=asyncio.sleep,
            reraise=True,
        )
        try:
            return await tries(self._try, work, ends)
        except Transient as failure:
            raise self._unavailable(
                f"did not answer: {failure.reason}",
                attempts=tries.statistics["attempt_number"],
                elapsed_s=round(now() - began, 3),
                retry_after_s=failure.retry_after_s,
            ) from failure

    async def _try(self, work: Callable[[float], Awaitable[T]], ends: float) -> T:
        now = asyncio.get_running_loop().time
        if not self._breaker.admits(now()):
            raise self._unavailable("failed too often to be asked again yet", attempts=0)
        allowed = min(self._try_s, ends - now())
        if allowed <= 0:  # says nothing of the neighbour, which was not asked
            raise self._unavailable("was not asked: no time is left within the deadline", attempts=0)
        try:
            async with asyncio.timeout(allowed):
                answer = await work(allowed)
        except TimeoutError as late:
            self._breaker.failed(now())
            raise Transient(f"nothing within {max(0.0, allowed):.1f} s") from late
        except Transient:
            self._breaker.failed(now())
            raise
        except RagError:
            self._breaker.succeeded()  # it answered, if only to refuse
            raise
        self._breaker.succeeded()
        self._budget.earn()
        return answer

    def _try_again(self, state: RetryCallState, left_s: float) -> bool:
        """Asked after a failed try, when the wait before the next one is known."""
        return (
            state.attempt_number < TRIES
            and state.upcoming_sleep + RESERVE_S <= left_s + GRACE_S
            and self._breaker.closed
            and self._budget.spend()
        )

    def _unavailable(self, what: str, **details: object) -> Unavailable:
        return Unavailable(f"{self.name} {what}", code=self._code, details={"dependency": self.name, **details})


class Breaker:
    """Keeps calls from a neighbour that fails; after a pause lets one through to see whether it still does."""

    CONSECUTIVE = 5
    WINDOW = 20
    SHARE = 0.5
    PAUSE_S = 10.0

    def __init__(self) -> None:
        self._last: deque[bool] = deque(maxlen=self.WINDOW)  # True for a failure
        self._opened: float | None = None

    @property
    def closed(self) -> bool:
        return self._opened is None

    def admits(self, now: float) -> bool:
        """Whether to make a call now. One admitted while open is the probe: the next comes a pause later."""
        if self._opened is None:
            return True
        if now < self._opened + self.PAUSE_S:
            return False
        self._opened = now
        return True

    def succeeded(self) -> None:
        if not self.closed:
            self._last.clear()
            self._opened = None
        self._last.append(False)

    def failed(self, now: float) -> None:
        self._last.append(True)
        latest = list(self._last)
        in_a_row = len(latest) >= self.CONSECUTIVE and all(latest[-self.CONSECUTIVE :])
        too_many = len(latest) == self.WINDOW and sum(latest) >= self.SHARE * self.WINDOW
        if in_a_row or too_many or not self.closed:
            self._opened = now


class Budget:
    """Retries are paid from what successes earn, so that an outage is not met by a multiple of the usual load."""

    FULL = 10.0
    EARNED = 0.1

    def __init__(self) -> None:
        self._left = self.FULL

    def earn(self) -> None:
        self._left = min(self.FULL, self._left + self.EARNED)

    def spend(self) -> bool:
        if self._left < 1:
            return False
        self._left -= 1
        return True


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """What the headers of a reply ask to wait: in milliseconds, seconds, or until a date. None when they do not."""
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        with suppress(ValueError):
            return _finite(float(headers.get(name, "")) / 1000)
    asked = headers.get("retry-after", "")
    with suppress(ValueError):
        return _finite(float(asked))
    with suppress(ValueError, OverflowError):
        return max(0.0, parsedate_to_datetime(asked).timestamp() - time.time())
    return None


def _finite(seconds: float) -> float:
    if not 0 <= seconds < float("inf"):
        raise ValueError("not a time to wait")
    return seconds


_jitter = wait_random_exponential(multiplier=0.25, max=4)  # full jitter: uniform from 0 to 0.25 * 2^tries


def _wait(state: RetryCallState) -> float:
    failure = state.outcome.exception() if state.outcome else None
    asked = failure.retry_after_s if isinstance(failure, Transient) else None
    return float(_jitter(state)) if asked is None else asked
