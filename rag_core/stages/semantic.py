"""The semantic ranker: passages read beside the question."""

from dataclasses import replace

from rag_core.model import Hit, Ranking
from rag_core.ports import Reranker


async def semantic(text: str, hits: Ranking, reranker: Reranker, *, count: int) -> list[Hit]:
    """The first `count` hits by their relevance to `text`, equals as they stood, then the rest as they stood.

    Raises:
        Unavailable: there is no ranker, or it did not answer.
    """
    head, tail = hits[:count], hits[count:]
    if not head:
        return list(hits)
    scores = await reranker.scores(text, [hit.chunk.content for hit in head])
    judged = [replace(h, signals={**h.signals, "semantic": s}) for h, s in zip(head, scores, strict=True)]
    return [*sorted(judged, key=lambda hit: -hit.signals["semantic"]), *tail]
