"""The CPU time that a function takes for a text, or a file, and for one twice as long."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TypeVar

T = TypeVar("T", str, bytes)

MAX_RATIO = 2.6  # of the CPU for twice the text: 2 is linear, 4 quadratic
SUSPECT_RATIO = 2.3  # of short texts, for which what is linear hides more of the square
FACTORS = {1: SUSPECT_RATIO, 4: MAX_RATIO, 16: MAX_RATIO, 64: MAX_RATIO}  # how many times as long a text, and its ratio
PLAIN_RATIO = 3.4  # nothing but the square gives it twice, of two long texts: no longer one is tried
GIVE_UP = 2  # times what a call may take: it is ended there, and reported as more than that


class OverBudget(Exception):
    """A call took more CPU than it may."""


@dataclass(frozen=True, slots=True)
class Growth:
    """CPU seconds for texts of `chars` characters and of twice as many.

    Infinite where the limit ended the call, and for the shorter text where that of the longer left nothing to ask.
    """

    chars: int
    once_s: float
    twice_s: float

    @property
    def is_plain(self) -> bool:
        return self.twice_s == float("inf") or self.twice_s / self.once_s > PLAIN_RATIO

    def __str__(self) -> str:
        return f"{self.once_s:.3f} s for {self.chars:,} characters, {self.twice_s:.3f} s for {2 * self.chars:,}"


def find_excess(
    function: Callable[[T], object], shape: Callable[[int], T], *, chars: int, floor_s: float, max_s: float
) -> Growth | None:
    """Return the growth of a function's CPU time from `chars` to twice as many where it is too much, else None.

    What takes less than `floor_s` for the longer text is fast enough, whatever its growth; what takes more than `max_s`
    is too slow, whatever its growth. Between them the ratio decides. It is asked again for 4, 16 and 64 times the text,
    for on a busy machine that of a short text is chance, and memory comes in steps: what takes the square only stands
    out the more, and two long texts that say it plainly settle it.
    """
    growth, plain = None, 0
    for factor, max_ratio in FACTORS.items():
        if not (growth := _find_growth(function, shape, factor * chars, factor * floor_s, factor * max_s, max_ratio)):
            return None
        plain = plain + 1 if factor > 1 and growth.is_plain else 0
        if plain == 2:
            break
    return growth


def _find_growth(
    function: Callable[[T], object],
    shape: Callable[[int], T],
    chars: int,
    floor_s: float,
    max_s: float,
    max_ratio: float,
) -> Growth | None:
    """Return the growth unless one of three measurements is good enough."""
    longer, text = shape(2 * chars), None
    once_s = twice_s = float("inf")
    for _ in range(3):
        twice_s = min(twice_s, _measure_cpu_s(function, longer, GIVE_UP * max_s))
        if twice_s < floor_s:
            return None
        if twice_s == float("inf"):
            break
        text = shape(chars) if text is None else text
        once_s = min(once_s, _measure_cpu_s(function, text, GIVE_UP * max_s))
        if twice_s <= max_s and twice_s / once_s < max_ratio:
            return None
    return Growth(chars, once_s, twice_s)


def _measure_cpu_s(function: Callable[[T], object], text: T, limit_s: float) -> float:
    """Return the CPU seconds of a call in this thread, infinity for more than `limit_s` of them."""
    began = time.thread_time()
    try:
        with _limit_cpu(limit_s):
            function(text)
    except OverBudget:
        return float("inf")
    return max(1e-6, time.thread_time() - began)


@contextmanager
def _limit_cpu(limit_s: float) -> Iterator[None]:
    """End the block by OverBudget after `limit_s` of CPU; `re` looks for signals while it matches, native code not."""
    before = signal.signal(signal.SIGVTALRM, _end_call)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _end_call(_: int, __: FrameType | None) -> None:
    raise OverBudget
