"""Every part a pipeline may reach for; every slot is filled, with a null object where nothing is configured."""

from dataclasses import dataclass

from rag_core.errors import Unavailable
from rag_core.index import Index
from rag_core.model import Extraction
from rag_core.ports import LLM, Layout, Reranker


@dataclass(frozen=True, slots=True)
class NoLayout:
    """Reads nothing by sight: everything is left to the local parsers."""

    name: str = "local parsers"
    kinds: frozenset[str] = frozenset()

    async def read(self, data: bytes, kind: str) -> Extraction:
        raise Unavailable("no service reads documents by sight here")

    async def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True, slots=True)
class Kit:
    """The parts. `llm` may be a local stand-in: its replies say so."""

    index: Index
    llm: LLM
    reranker: Reranker
    layout: Layout = NoLayout()

    async def close(self) -> None:
        await self.index.store.close()
        await self.layout.close()
