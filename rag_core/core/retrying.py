"""The only retry layer of calls over the network: jitter, a retry budget, a circuit breaker, one deadline."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from rag_core.core.errors import RagError, Unavailable
from rag_core.core.run import get_remaining_s

T = TypeVar("T")

MAX_TRIES = 3
RETRIED_STATUS_CODES = frozenset({408, 429, 500, 502, 503, 504})
DEFAULT_CALL_TIMEOUT_S = 200.0  # outside of any request: as long as a request may take
DEADLINE_GRACE_S = 0.05  # a call ends before its step does, so that the error names the dependency
RESERVE_S = 1.0  # left of the deadline after a wait, for the try itself


class TransientFailure(Exception):
    """A failure of one try that a retry may correct; it never leaves `Dependency.call`."""

    def __init__(self, reason: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after_s = retry_after_s


class Dependency:
    """A service over the network, with its circuit breaker and retry budget.

    `code` is the error code of the `Unavailable` when it cannot be reached; one try may take `try_s`.
    """

    def __init__(self, name: str, *, code: str, try_s: float) -> None:
        self.name = name
        self._code = code
        self._try_s = try_s
        self._breaker = CircuitBreaker()
        self._budget = RetryBudget()
        self._asked_to_wait_until = 0.0  # by the clock of the event loop

    async def call(self, operation: Callable[[float], Awaitable[T]], *, within_s: float = DEFAULT_CALL_TIMEOUT_S) -> T:
        """Return the result of `operation`, which is called at most `MAX_TRIES` times with its time limit in seconds.

        The operation must be idempotent, as a try whose reply was lost may have been carried out. It raises
        `TransientFailure` for a retry; its other errors are passed on.

        Raises:
            Unavailable: no try succeeded, or none was made (the breaker is open, there is no time left).
        """
        now = asyncio.get_running_loop().time
        started_at = now()
        ends_at = started_at + min(within_s, get_remaining_s()) - DEADLINE_GRACE_S
        tries = AsyncRetrying(
            retry=retry_if_exception_type(TransientFailure),
            wait=_compute_wait_s,
            stop=lambda state: not self._should_retry(state, ends_at - now()),
            sleep=asyncio.sleep,
            reraise=True,
        )
        try:
            return await tries(self._try_once, operation, ends_at)
        except TransientFailure as failure:
            waiting = "" if failure.retry_after_s is None else f", asking to wait {math.ceil(failure.retry_after_s)} s"
            raise self._make_unavailable_error(
                f"did not answer: {failure.reason}{waiting}",
                attempts=tries.statistics["attempt_number"],
                elapsed_s=round(now() - started_at, 3),
                retry_after_s=failure.retry_after_s,
            ) from failure

    async def _try_once(self, operation: Callable[[float], Awaitable[T]], ends_at: float) -> T:
        """Call the operation once and record the outcome in the breaker and the budget."""
        now = asyncio.get_running_loop().time
        if not self._breaker.allow_call(now()):
            wait_s = max(self._breaker.probes_at, self._asked_to_wait_until) - now()
            message = f"failed too often to be called again yet: try again in {math.ceil(wait_s)} s"
            raise self._make_unavailable_error(message, attempts=0, retry_after_s=round(wait_s, 3))
        timeout_s = min(self._try_s, ends_at - now())
        if timeout_s <= 0:  # no failure of the dependency, which was not called
            raise self._make_unavailable_error("was not called: no time is left within the deadline", attempts=0)
        try:
            async with asyncio.timeout(timeout_s):
                reply = await operation(timeout_s)
        except TimeoutError as error:
            self._breaker.record_failure(now())
            raise TransientFailure(f"no reply within {max(0.0, timeout_s):.1f} s") from error
        except TransientFailure as failure:
            self._breaker.record_failure(now())
            self._asked_to_wait_until = now() + (failure.retry_after_s or 0.0)
            raise
        except RagError:
            self._breaker.record_success()  # a refusal is an answer too
            raise
        self._breaker.record_success()
        self._budget.earn()
        return reply

    def _should_retry(self, state: RetryCallState, left_s: float) -> bool:
        """Return whether to retry after a failed try, given the wait before the next one."""
        return (
            state.attempt_number < MAX_TRIES
            and state.upcoming_sleep + RESERVE_S <= left_s + DEADLINE_GRACE_S
            and self._breaker.is_closed
            and self._budget.spend()
        )

    def _make_unavailable_error(self, message: str, **details: object) -> Unavailable:
        """Return the error with the name of the dependency."""
        return Unavailable(f"{self.name} {message}", code=self._code, details={"dependency": self.name, **details})


class CircuitBreaker:
    """A circuit breaker: open after repeated failures; after a pause one call is let through as a probe.

    Time is that of the event loop.
    """

    MAX_CONSECUTIVE_FAILURES = 5
    WINDOW_CALLS = 20
    MAX_FAILURE_SHARE = 0.5
    PAUSE_S = 10.0

    def __init__(self) -> None:
        self._outcomes: deque[bool] = deque(maxlen=self.WINDOW_CALLS)  # True for a failure
        self._opened_at: float | None = None

    @property
    def is_closed(self) -> bool:
        """Whether calls are allowed."""
        return self._opened_at is None

    @property
    def probes_at(self) -> float:
        """When an open breaker allows the next call."""
        return 0.0 if self._opened_at is None else self._opened_at + self.PAUSE_S

    def allow_call(self, now: float) -> bool:
        """Return whether to make a call now. While open, one call per pause is allowed as a probe."""
        if self._opened_at is None:
            return True
        if now < self._opened_at + self.PAUSE_S:
            return False
        self._opened_at = now
        return True

    def record_success(self) -> None:
        """Record a call that succeeded, which closes the breaker."""
        if not self.is_closed:
            self._outcomes.clear()
            self._opened_at = None
        self._outcomes.append(False)

    def record_failure(self, now: float) -> None:
        """Record a call that failed, and open the breaker after too many failures."""
        self._outcomes.append(True)
        failures = list(self._outcomes)
        consecutive = len(failures) >= self.MAX_CONSECUTIVE_FAILURES and all(failures[-self.MAX_CONSECUTIVE_FAILURES :])
        too_many = len(failures) == self.WINDOW_CALLS and sum(failures) >= self.MAX_FAILURE_SHARE * self.WINDOW_CALLS
        if consecutive or too_many or not self.is_closed:
            self._opened_at = now


class RetryBudget:
    """A budget of retries that successful calls earn, so that retries do not multiply the load during an outage."""

    CAPACITY = 10.0
    EARNED_PER_SUCCESS = 0.1

    def __init__(self) -> None:
        self._left = self.CAPACITY

    def earn(self) -> None:
        """Add what a successful call earns."""
        self._left = min(self.CAPACITY, self._left + self.EARNED_PER_SUCCESS)

    def spend(self) -> bool:
        """Take one retry from the budget; return False when there is none left."""
        if self._left < 1:
            return False
        self._left -= 1
        return True


def parse_retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait that the headers of a reply ask for (milliseconds, seconds or a date), else None."""
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        with suppress(ValueError):
            return _check_wait_s(float(headers.get(name, "")) / 1000)
    header = headers.get("retry-after", "")
    with suppress(ValueError):
        return _check_wait_s(float(header))
    with suppress(ValueError, OverflowError):
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    return None


def _check_wait_s(seconds: float) -> float:
    """Return the seconds; raise ValueError for a negative or infinite number, or NaN."""
    if not 0 <= seconds < float("inf"):
        raise ValueError("the time to wait must be finite and not negative")
    return seconds


_jitter = wait_random_exponential(multiplier=0.25, max=4)  # full jitter: uniform from 0 to 0.25 * 2^tries


def _compute_wait_s(state: RetryCallState) -> float:
    """Return the seconds to wait before the next try: as the dependency asked, else by full jitter."""
    failure = state.outcome.exception() if state.outcome else None
    requested_s = failure.retry_after_s if isinstance(failure, TransientFailure) else None
    return float(_jitter(state)) if requested_s is None else requested_s
