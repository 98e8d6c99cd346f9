"""Things that are awaited at once."""

import asyncio
from collections.abc import Coroutine

import pytest

from rag_core.core.concurrency import run_together
from rag_core.core.errors import Unavailable


async def wait_and_give(number: int) -> int:
    await asyncio.sleep(0.001 * (3 - number))
    return number


async def test_the_results_are_in_order() -> None:
    assert await run_together(wait_and_give(number) for number in range(3)) == [0, 1, 2]
    nothing: list[Coroutine[None, None, int]] = []
    assert await run_together(nothing) == []


async def test_the_first_failure_is_raised_and_nothing_goes_on() -> None:
    """What goes on unread is paid for, and may open again what the service has closed."""
    ended: list[str] = []

    async def go_on() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")

    async def fail() -> None:
        await asyncio.sleep(0)
        raise Unavailable("no reply")

    with pytest.raises(Unavailable, match="no reply"):
        await run_together([go_on(), fail(), go_on()])
    assert ended == ["cancelled", "cancelled"]


async def test_who_is_cancelled_cancels_them_all() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def go_on() -> None:
        try:
            started.set()
            await asyncio.sleep(60)
        finally:
            ended.set()

    task = asyncio.create_task(run_together([go_on()]))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()
