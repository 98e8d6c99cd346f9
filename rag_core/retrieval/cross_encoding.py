"""Reranking by a cross-encoder, the model that reads the question and a passage together and scores the pair."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from rag_core.core.model import Hit, Ranking
from rag_core.core.ports import Reranker
from rag_core.core.rankings import normalize_search_scores, sort_by_code_matches
from rag_core.retrieval.extractive_answers import to_log_odds


async def rerank_hits(
    query_text: str, hits: Ranking, reranker: Reranker, *, count: int, prior: float = 0.0
) -> list[Hit]:
    """Rerank the first `count` hits by cross-encoder, see `blend_with_search_scores`; the rest keep their order.

    Scores are kept as the signal "semantic". When a store's own semantic ranker has already scored these hits, no
    model is called, and the hits that it scored are sorted by its scores.

    Raises:
        Unavailable: there is no cross-encoder, or it did not answer.
    """
    head, tail = hits[:count], hits[count:]
    if not head:
        return list(hits)
    if has_semantic_scores(head):
        scored = list(takewhile(lambda hit: "semantic" in hit.signals, hits))
        return [*sorted(scored, key=lambda hit: -hit.signals["semantic"]), *hits[len(scored) :]]
    scores = await reranker.score_passages(query_text, [hit.chunk.content for hit in head])
    rescored = [replace(h, signals={**h.signals, "semantic": s}) for h, s in zip(head, scores, strict=True)]
    return [*blend_with_search_scores(query_text, rescored, scores, prior=prior), *tail]


def has_semantic_scores(hits: Ranking) -> bool:
    """Return whether every hit has a score of a cross-encoder or semantic ranker; False for no hits."""
    return bool(hits) and all("semantic" in hit.signals for hit in hits)


def blend_with_search_scores(query_text: str, hits: Ranking, scores: Sequence[float], *, prior: float) -> list[Hit]:
    """Sort hits by log odds of the cross-encoder's scores (0..1) plus `prior` times their normalized search scores.

    Hits with the codes of the query text come first; equal ones keep their order. On a subject that the model does not
    know, it scores all passages near 0, and the search scores decide. Added to the scores instead of their log odds,
    the search scores overruled the model where it was sure (docs/reference/evaluation-retrieval.md).
    """
    odds = [
        to_log_odds(score) + prior * share for score, share in zip(scores, normalize_search_scores(hits), strict=True)
    ]
    return sort_by_code_matches([hits[n] for n in sorted(range(len(hits)), key=lambda n: -odds[n])], query_text)
