"""Builds an index anew in a process of its own, and kills itself at a moment that is named."""

import asyncio
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from rag_core.core.model import Vector
from rag_core.ingestion import reindex as building
from rag_core.stores.embedded import current_index


def reindex(data: Path, moment: str) -> None:
    asyncio.run(_reindex(data, moment))


async def _reindex(data: Path, moment: str) -> None:
    from tests.ingestion.test_reindex import NEW, Other, rebuild

    class Mortal(Other):
        async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
            if self.given and moment == "embedding":
                _die()
            return await super().embed_documents(texts)

    def switch() -> None:
        if moment == "switching":
            _die()
        current_index.switch_current_index(data, NEW)
        _die()

    embedder, made = Mortal(), rebuild(data)
    await building.build_new_index(made, embedder)
    if moment == "copied":
        _die()
    await building.switch_to_new_index(made, embedder, switch)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
