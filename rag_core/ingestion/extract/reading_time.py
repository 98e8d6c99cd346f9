"""How long a document may take to be read: longer with more pages, which its extractor reports."""

from collections.abc import Callable

PAGES_WITHIN_LIMIT = 60  # a page is given a 60th of the limit beyond it: 0.5 s of 30, where an annual report takes 0.15
MAX_GROWTH = 5  # times the limit, whatever number of pages a file claims to have
MAX_WALL_GROWTH = 10  # times the limit by the clock: a busy machine gives a process half of its time, a hung one ends

_listeners: list[Callable[[int], None]] = []


def compute_cpu_limit(limit_s: float, pages: int) -> float:
    """Return the seconds of processor time that a document of this many pages may take."""
    return min(limit_s * (1 + pages / PAGES_WITHIN_LIMIT), limit_s * MAX_GROWTH)


def report_pages(count: int) -> None:
    """Tell the listeners how many pages an extractor is about to read."""
    for listener in _listeners:
        listener(count)


def listen_to_pages(listener: Callable[[int], None]) -> None:
    """Call `listener` with the number of pages of each document that is read from now on in this process."""
    _listeners.append(listener)
