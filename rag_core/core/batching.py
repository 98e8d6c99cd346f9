"""Cutting what is sent into pieces that a service takes."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def packed(items: Sequence[T], size: Callable[[T], int], *, items_each: int, size_each: int) -> Iterator[list[T]]:
    """The items in order, in as few runs as keep both limits; one item over `size_each` goes alone."""
    batch: list[T] = []
    held = 0
    for item in items:
        more = size(item)
        if batch and (len(batch) == items_each or held + more > size_each):
            yield batch
            batch, held = [], 0
        batch.append(item)
        held += more
    if batch:
        yield batch
