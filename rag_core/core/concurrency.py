"""Awaiting several things at once, so that none of them outlives the failure of another."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def run_together(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run all at once and return their results in order; the first failure cancels the others and is raised.

    `asyncio.gather` lets the others go on: their calls are paid for, and may use parts that are closed by then.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in coroutines]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


async def run_in_order(
    coroutines: Iterable[Coroutine[Any, Any, T]], tell: Callable[[T], object], *, at_once: int
) -> None:
    """Run up to `at_once` at the same time, each begun when there is room, and tell of their results in order.

    The first failure, and being cancelled, cancels the others and is raised; of those that were done it is told first.
    """
    begun: deque[asyncio.Task[T]] = deque()
    try:
        for coroutine in coroutines:
            begun.append(asyncio.ensure_future(coroutine))
            while len(begun) >= at_once:
                tell(await begun[0])
                begun.popleft()
        while begun:
            tell(await begun[0])
            begun.popleft()
    finally:
        for task in begun:
            task.cancel()
        await asyncio.gather(*begun, return_exceptions=True)
        for task in begun:
            if not task.cancelled() and not task.exception():
                tell(task.result())
