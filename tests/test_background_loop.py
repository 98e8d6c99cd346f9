"""Async calls from synchronous code: what is interrupted ends."""

import asyncio
import signal
import sys
import threading
from collections.abc import Iterator

import pytest

from rag_core.background_loop import wait_for_result


@pytest.fixture
def heeded() -> Iterator[None]:
    """SIGINT interrupts, also where a shell has started the tests in its background, with that signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def is_waiting() -> bool:
    """Tell whether the main thread waits for a future."""
    frame = sys._current_frames()[threading.main_thread().ident or 0]
    return frame.f_back is not None and (frame.f_code.co_name, frame.f_back.f_code.co_name) == ("wait", "result")


@pytest.mark.usefixtures("heeded")
def test_an_interrupt_ends_the_work_that_is_waited_for() -> None:
    """As of a notebook's cell: it went on asking models that are paid for."""
    ended = threading.Event()

    async def ask_for_ever() -> None:
        try:
            while not is_waiting():  # noqa: ASYNC110 - nobody could tell
                await asyncio.sleep(0.01)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(KeyboardInterrupt):
        wait_for_result(ask_for_ever())
    assert ended.wait(10)
