"""Null objects for models that are not available: each call raises `Unavailable` with the reason."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_core.core.errors import NotChosen, Unavailable
from rag_core.core.model import Vector


@dataclass(frozen=True, slots=True)
class NoEmbedder:
    """An embedder without a model; `reason` says what is missing and how to install it."""

    reason: str
    space: str = ""
    dimensions: int = 0

    async def embed_query(self, text: str) -> Vector:
        raise Unavailable(self.reason, code="embedding_unavailable")

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        raise Unavailable(self.reason, code="embedding_unavailable")


@dataclass(frozen=True, slots=True)
class NoReranker:
    """A reranker without a model; `reason` says what is missing and how to install it.

    `by_choice` says that the composition does without it: a chat model judges the claims.
    """

    reason: str
    name: str = "none"
    by_choice: bool = False

    async def score_passages(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        kind = NotChosen if self.by_choice else Unavailable
        raise kind(self.reason, code="reranker_unavailable")
