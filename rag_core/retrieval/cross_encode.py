"""The semantic ranker: passages read beside the question."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from rag_core.core.model import Hit, Ranking
from rag_core.core.ports import Reranker
from rag_core.core.rankings import codes_first, standing
from rag_core.retrieval.extractive import log_odds


async def semantic(text: str, hits: Ranking, reranker: Reranker, *, count: int, prior: float = 0.0) -> list[Hit]:
    """The first `count` hits by their relevance to `text`, see `joined`, then the rest as they stood.

    Where a store's own ranker has judged all of these already, nobody is asked again, and its order stands for as many
    as it has judged.

    Raises:
        Unavailable: there is no ranker, or it did not answer.
    """
    head, tail = hits[:count], hits[count:]
    if not head:
        return list(hits)
    if is_judged(head):
        judged = list(takewhile(lambda hit: "semantic" in hit.signals, hits))
        return [*sorted(judged, key=lambda hit: -hit.signals["semantic"]), *hits[len(judged) :]]
    scores = await reranker.scores(text, [hit.chunk.content for hit in head])
    read = [replace(h, signals={**h.signals, "semantic": s}) for h, s in zip(head, scores, strict=True)]
    return [*joined(text, read, scores, prior=prior), *tail]


def is_judged(hits: Ranking) -> bool:
    return bool(hits) and all("semantic" in hit.signals for hit in hits)


def joined(text: str, hits: Ranking, scores: Sequence[float], *, prior: float) -> list[Hit]:
    """The hits by log odds of a cross-encoder's scores (0..1) plus `prior` times their standing in the search, those
    with the codes of `text` first.

    What the model knows nothing of, it gives scores near 0, all alike: there the search decides. Added to the scores
    themselves, the search overruled the model where it was sure (docs/evaluation.md). Equals stay as they stood.
    """
    odds = [log_odds(score) + prior * share for score, share in zip(scores, standing(hits), strict=True)]
    return codes_first([hits[n] for n in sorted(range(len(hits)), key=lambda n: -odds[n])], text)
