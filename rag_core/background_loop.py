"""Async calls from synchronous code: one event loop on a thread of its own, for all of them."""

import asyncio
from collections.abc import Coroutine
from functools import cache
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


@cache
def _get_loop() -> asyncio.AbstractEventLoop:
    """Return the loop of all calls: clients belong to a loop, and the caller's, as in a notebook, is busy with it."""
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name="rag_core", daemon=True).start()
    return loop


def wait_for_result(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop of all calls, wait until it is done, and return its result.

    An interrupt, as of a notebook's cell, ends the work too: it would go on asking models that are paid for.
    """
    future = asyncio.run_coroutine_threadsafe(work, _get_loop())
    try:
        return future.result()
    finally:
        future.cancel()
