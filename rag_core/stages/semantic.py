"""The semantic ranker: passages read beside the question."""

from dataclasses import replace

from rag_core.model import Hit, Ranking
from rag_core.ports import Reranker


async def semantic(text: str, hits: Ranking, reranker: Reranker, *, count: int) -> list[Hit]:
    """The first `count` hits by their relevance to `text`, equals as they stood, then the rest as they stood.

    Where a store's own ranker has judged all of these already, its judgement stands and nobody is asked again.

    Raises:
        Unavailable: there is no ranker, or it did not answer.
    """
    head, tail = hits[:count], hits[count:]
    if not head:
        return list(hits)
    judged = head if is_judged(head) else await _judged(text, head, reranker)
    return [*sorted(judged, key=lambda hit: -hit.signals["semantic"]), *tail]


def is_judged(hits: Ranking) -> bool:
    return bool(hits) and all("semantic" in hit.signals for hit in hits)


async def _judged(text: str, hits: Ranking, reranker: Reranker) -> Ranking:
    scores = await reranker.scores(text, [hit.chunk.content for hit in hits])
    return [replace(h, signals={**h.signals, "semantic": s}) for h, s in zip(hits, scores, strict=True)]
