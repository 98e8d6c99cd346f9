"""Things that are awaited at once."""

import asyncio
from collections.abc import Coroutine

import pytest

from rag_core.core.concurrency import run_in_order, run_together
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


@pytest.mark.parametrize("at_once", [1, 3])
async def test_of_several_at_once_the_results_are_told_in_order(at_once: int) -> None:
    """And none is begun before there is room."""
    running, most, told = 0, 0, list[int]()

    async def work(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001 * (5 - number))
        running -= 1
        return number

    await run_in_order((work(number) for number in range(5)), told.append, at_once=at_once)
    assert (told, most) == ([0, 1, 2, 3, 4], at_once)


async def test_of_what_was_done_before_a_failure_it_is_told_and_the_rest_is_cancelled() -> None:
    told, cancelled = list[str](), list[str]()

    async def fail() -> str:
        await asyncio.sleep(0.01)
        raise Unavailable("no reply")

    async def work(name: str, seconds: float) -> str:
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            cancelled.append(name)
            raise
        return name

    works = [work("first", 0), fail(), work("quick", 0), work("slow", 60)]
    with pytest.raises(Unavailable, match="no reply"):
        await run_in_order(works, told.append, at_once=4)
    assert (told, cancelled) == (["first", "quick"], ["slow"])
