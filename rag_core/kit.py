"""Every part a pipeline may reach for; every slot is filled, with a null object where nothing is configured."""

from dataclasses import dataclass

from rag_core.index import Index
from rag_core.ports import LLM, Reranker


@dataclass(frozen=True, slots=True)
class Kit:
    """The parts. `llm` may be a local stand-in: its replies say so."""

    index: Index
    llm: LLM
    reranker: Reranker
