"""Splitting of items into batches that a service accepts."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def batch_items(items: Sequence[T], size: Callable[[T], int], *, max_items: int, max_size: int) -> Iterator[list[T]]:
    """Yield the items in order, batched within both limits; an item larger than `max_size` is a batch by itself."""
    batch: list[T] = []
    batch_size = 0
    for item in items:
        item_size = size(item)
        if batch and (len(batch) == max_items or batch_size + item_size > max_size):
            yield batch
            batch, batch_size = [], 0
        batch.append(item)
        batch_size += item_size
    if batch:
        yield batch
