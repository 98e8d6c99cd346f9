"""The domain: a scoped question becomes evidence becomes a cited answer.

async with rag_core.open() as rag:
    await rag.index("manual.pdf")
    print(await rag.answer("What does P0700 mean?"))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag_core.agent import RAGRetrievalAgent
    from rag_core.client import ask, consult_rag, enrich_schema
    from rag_core.core.errors import RagError
    from rag_core.core.model import Filter, Scope
    from rag_core.engine import EngineReply, RAGEngine, TextBlock
    from rag_core.rag import RAG, open
    from rag_core.replies import AnswerReply, SearchReply

_MODULES = {  # where each public name is; imported when first used, because importing the package must be cheap
    "RAG": "rag",
    "open": "rag",
    "AnswerReply": "replies",
    "SearchReply": "replies",
    "Filter": "core.model",
    "Scope": "core.model",
    "RagError": "core.errors",
    "RAGRetrievalAgent": "agent",
    "RAGEngine": "engine",
    "EngineReply": "engine",
    "TextBlock": "engine",
    "ask": "client",
    "consult_rag": "client",
    "enrich_schema": "client",
}
__all__ = [
    "RAG",
    "AnswerReply",
    "EngineReply",
    "Filter",
    "RAGEngine",
    "RAGRetrievalAgent",
    "RagError",
    "Scope",
    "SearchReply",
    "TextBlock",
    "ask",
    "consult_rag",
    "enrich_schema",
    "open",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module rag_core has no attribute {name}")
    return getattr(import_module(f"rag_core.{_MODULES[name]}"), name)
