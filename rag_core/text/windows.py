"""Windows of a text that is longer than what a model reads at once."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def split_windows(items: Sequence[T], max_items: int, *, overlap: int) -> list[Sequence[T]]:
    """Split tokens into the fewest equal windows of at most `max_items`; neighbours share `overlap` of them or more."""
    if len(items) <= max_items:
        return [items]
    count = -(-(len(items) - overlap) // (max_items - overlap))
    length = -(-(len(items) + (count - 1) * overlap) // count)
    starts = (i * (len(items) - length) // (count - 1) for i in range(count))
    return [items[start : start + length] for start in starts]
