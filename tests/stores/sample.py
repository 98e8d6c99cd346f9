"""Small documents with vectors that mean something: texts that share words lie near each other."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace

from rag_core.core.model import Chunk, Document, Entity, Ranking, Scalar, Scope, Span, Vector
from rag_core.core.ports import ChunkStore, Probe, ReplacementResult

SPACE = "sample-16"
SCOPE = Scope("manuals")


def vector(text: str) -> list[float]:
    """A unit vector of 16 numbers: each word adds one of 16 directions."""
    sums = [0.001] * 16
    for word in text.lower().split():
        sums[hashlib.sha256(word.encode()).digest()[0] % 16] += 1.0
    length = math.sqrt(sum(x * x for x in sums))
    return [x / length for x in sums]


class SampleEmbedder:
    """Makes the vectors of this file, and counts the texts that it was sent."""

    space, dimensions = SPACE, 16

    def __init__(self) -> None:
        self.embedded = 0

    async def embed_query(self, text: str) -> Vector:
        return vector(text)

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.embedded += len(texts)
        return [vector(text) for text in texts]


def chunk(document_id: str, ordinal: int, content: str, **more: object) -> Chunk:
    spans = (
        Span(0, len(content), ordinal // 2 + 1, ordinal + 1, ordinal + 1, (0.0, 1.0, 2.0, 3.5), ("Codes", content[:9])),
    )
    codes = tuple(Entity("dtc", word) for word in content.split() if word[0] == "P" and word[1:].isdigit())
    content_hash = hashlib.sha256(content.encode()).hexdigest()
    made = Chunk(
        f"{document_id}:{ordinal:03}", document_id, ordinal, content, f"Manual {document_id}", f"{document_id}.pdf",
        content_hash, spans, parent_id="part-1", heading_path=("Part",), summary=f"On {content}"[:80], entities=codes,
    )  # fmt: skip
    return replace(made, **more)


def document(document_id: str, scope: Scope = SCOPE, *, groups: tuple[str, ...] = (), **metadata: Scalar) -> Document:
    return Document(
        document_id, scope.workflow_id, f"Manual {document_id}", f"{document_id}.pdf", "hash", "sample", 3,
        user_id=scope.user_id, groups=groups, metadata=metadata,
    )  # fmt: skip


async def put(
    store: ChunkStore,
    document_id: str,
    texts: Sequence[str],
    scope: Scope = SCOPE,
    *,
    groups: tuple[str, ...] = (),
    space: str = SPACE,
    **metadata: Scalar,
) -> ReplacementResult:
    """Make `texts` the document's chunks."""
    chunks = [chunk(document_id, i, text, metadata=metadata) for i, text in enumerate(texts)]
    vectors = [vector(text) for text in texts]
    return await store.replace_document(
        document(document_id, scope, groups=groups), chunks, vectors, scope, space=space
    )


def probe(text: str, how: str = "both") -> Probe:
    """Ask by "words", by "meaning", or by both."""
    return Probe("original", "" if how == "meaning" else text, None if how == "words" else vector(text))


async def find(
    store: ChunkStore, text: str, scope: Scope = SCOPE, *, how: str = "both", limit: int = 10, **more: object
) -> Ranking:
    (ranking,) = await store.search([probe(text, how)], scope, limit=limit, **more)
    return ranking


def ids(ranking: Ranking) -> list[str]:
    return [hit.chunk.id for hit in ranking]


def bare(ranking: Ranking) -> list[tuple[str, float, dict[str, float]]]:
    """All that a reply could show of a ranking's order."""
    return [(hit.chunk.id, hit.score, dict(hit.signals)) for hit in ranking]
