"""A part of the kit that most requests do without, and whose imports a cold start would wait for."""

from collections.abc import Callable
from threading import Lock
from typing import Any


class DeferredPart:
    """Stands for what `build` returns, and builds it when something of it is first asked for; closing builds nothing.

    `build` must not fail: what settings can be wrong is checked before.
    """

    def __init__(self, build: Callable[[], Any]) -> None:
        self._build = build
        self._lock = Lock()
        self._part: Any = None

    def __getattr__(self, name: str) -> Any:
        with self._lock:
            if self._part is None:
                self._part = self._build()
        return getattr(self._part, name)

    async def close(self) -> None:
        if self._part is not None:
            await self._part.close()
