"""What fills a slot for which there is no model: it says so when asked, and the caller goes on without."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_core.core.errors import Unavailable
from rag_core.core.model import Vector


@dataclass(frozen=True, slots=True)
class NoEmbedder:
    """Makes no vectors; `reason` says what would change that."""

    reason: str
    space: str = ""
    dimensions: int = 0

    async def embed_query(self, text: str) -> Vector:
        raise Unavailable(self.reason, code="embedding_unavailable")

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        raise Unavailable(self.reason, code="embedding_unavailable")


@dataclass(frozen=True, slots=True)
class NoReranker:
    """Judges nothing; `reason` says what would change that."""

    reason: str
    name: str = "none"

    async def scores(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        raise Unavailable(self.reason, code="reranker_unavailable")
