"""Results that are kept while one request runs and go with it, since they hold the words of a tenant."""

from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
RequestMemory = MutableMapping[Callable[..., Any], Callable[..., Any]]  # each function with the one that remembers

_memory: ContextVar[RequestMemory | None] = ContextVar("memory", default=None)


@contextmanager
def keep_results(memory: RequestMemory | None = None) -> Iterator[None]:
    """Keep the results of remembered functions in a memory within the block; None for that in use, or a new one."""
    kept = memory if memory is not None else _memory.get()
    token = _memory.set({} if kept is None else kept)
    try:
        yield
    finally:
        _memory.reset(token)


def remember_in_request(maxsize: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator: within a request, the last `maxsize` results of a function are kept; outside, none is."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def look_up(*args: P.args, **kwargs: P.kwargs) -> T:
            memory = _memory.get()
            if memory is None:
                return function(*args, **kwargs)
            if function not in memory:
                memory[function] = lru_cache(maxsize)(function)
            found: T = memory[function](*args, **kwargs)
            return found

        return look_up

    return decorate
