"""Reranking by a cross-encoder, the model that reads the question and a passage together and scores the pair."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from rag_core.core.model import Chunk, Hit, Ranking
from rag_core.core.ports import Reranker
from rag_core.core.presets import RANKED_CANDIDATES
from rag_core.core.rankings import normalize_search_scores, sort_by_code_matches
from rag_core.retrieval.extractive_answers import to_log_odds

# hits over which search scores are normalized; over those reranked alone, the two legs would be weighed anew
STANDING_DEPTH = RANKED_CANDIDATES
# log odds, see docs/decisions/0055-what-a-judge-is-worth.md
MIN_SPREAD, MAX_SPREAD = 1.0, 4.0
HALF_TRUSTED, TRUST_SLOPE = 2.0, 2.0  # those of the best passage at which the model's order counts half, and the width
# a model as sure as this of one of the first reads no more: 0.9997 (docs/decisions/0131-fewer-and-cheaper-pairs.md)
FIRST_READ, SURE_LOG_ODDS = 5, 8.0


async def rerank_hits(
    query_text: str, hits: Ranking, reranker: Reranker, *, count: int, prior: float = 0.0
) -> list[Hit]:
    """Rerank the first `count` hits by cross-encoder, see `blend_with_search_scores`; the rest keep their order.

    Where the search counts as well, by `prior`, a model that is sure of one of the first reads no more. Scores are
    kept as the signal "semantic". When a store's own semantic ranker has already scored these hits, no model is called,
    and the hits that it scored are sorted by its scores.

    Raises:
        Unavailable: there is no cross-encoder, or it did not answer.
    """
    head = hits[:count]
    if not head:
        return list(hits)
    if has_semantic_scores(head):
        scored = list(takewhile(lambda hit: "semantic" in hit.signals, hits))
        return [*sorted(scored, key=lambda hit: -hit.signals["semantic"]), *hits[len(scored) :]]
    scores = await _score_until_sure(query_text, head, reranker, at_least=FIRST_READ if prior else count)
    head, tail = hits[: len(scores)], hits[len(scores) :]
    rescored = [replace(h, signals={**h.signals, "semantic": s}) for h, s in zip(head, scores, strict=True)]
    return [*blend_with_search_scores(query_text, rescored, scores, compute_standings(hits), prior=prior), *tail]


async def _score_until_sure(query_text: str, hits: Ranking, reranker: Reranker, *, at_least: int) -> list[float]:
    """Return the scores of the first `at_least` hits, and of the others unless the model is sure of one of these."""
    passages = [prepend_title(hit.chunk) for hit in hits]
    scores = list(await reranker.score_passages(query_text, passages[:at_least]))
    if passages[at_least:] and to_log_odds(max(scores)) < SURE_LOG_ODDS:
        scores += await reranker.score_passages(query_text, passages[at_least:])
    return scores


def prepend_title(chunk: Chunk) -> str:
    """Return a chunk as a cross-encoder reads it: its text, under the document's title unless it begins with that.

    A question may name one of several similar documents. Ranking, grading and answering read the same, so that each
    pair is scored once.
    """
    has_title = not chunk.title or chunk.content.startswith(chunk.title)
    return chunk.content if has_title else f"{chunk.title}\n\n{chunk.content}"


def has_semantic_scores(hits: Ranking) -> bool:
    """Return whether every hit has a score of a cross-encoder or semantic ranker; False for no hits."""
    return bool(hits) and all("semantic" in hit.signals for hit in hits)


def compute_standings(ranking: Ranking) -> dict[str, float]:
    """Return the normalized search scores of the best STANDING_DEPTH hits by chunk id."""
    found = ranking[:STANDING_DEPTH]
    return dict(zip((hit.chunk.id for hit in found), normalize_search_scores(found), strict=True))


def blend_with_search_scores(
    query_text: str, hits: Ranking, scores: Sequence[float], standings: Mapping[str, float], *, prior: float
) -> list[Hit]:
    """Sort hits by the cross-encoder's scores (0..1) and their standings in the search, by chunk id.

    The sum is trust * log odds / spread + `prior` * standing. The spread is the standard deviation of these log odds:
    what a difference means depends on the question. The trust, 0..1, follows the best score: on a subject that the
    model does not know, it scores all passages low, and the search decides. Hits with the codes of the query text come
    first; equal ones keep their order.
    """
    odds = [to_log_odds(score) for score in scores]
    spread = min(max(statistics.pstdev(odds or [0.0]), MIN_SPREAD), MAX_SPREAD)
    trust = 1 / (1 + math.exp((HALF_TRUSTED - max(odds, default=0.0)) / TRUST_SLOPE))
    sums = [
        trust * odd / spread + prior * standings.get(hit.chunk.id, 0.0) for odd, hit in zip(odds, hits, strict=True)
    ]
    return sort_by_code_matches([hits[n] for n in sorted(range(len(hits)), key=lambda n: -sums[n])], query_text)
