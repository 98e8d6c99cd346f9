"""Pure operations on rankings: fusion by rank or by score, pooling, removal of duplicates."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from rag_core.core.model import Hit, Ranking
from rag_core.text.codes import compute_code_share, find_codes

Key = TypeVar("Key", bound=Hashable)

LEG_SIGNALS = ("words", "meaning")  # the signals of the lexical and of the vector leg
NAMED_SIGNAL = "named"  # what a hit gains because the question or the best passages name its document
ORDERING_SCALES = {"grade": 10, "semantic": 1, "relevance": 1}  # the highest score of each, the last stage first
# the least depth of a leg before fusion: a chunk at rank 50 in both legs still outscores the first of only one leg
MIN_LEG_DEPTH = 50


def sort_by_score(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits by score, highest first; hits of equal score are ordered by chunk id."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id))


def get_ordering_score(hit: Hit) -> tuple[float, int | None]:
    """Return the score of the last stage that ordered a hit, and the highest on its scale; None: the search's own."""
    for signal, highest in ORDERING_SCALES.items():
        if signal in hit.signals:
            return hit.signals[signal], highest
    return hit.score, None


def fuse_by_reciprocal_rank(*rankings: Ranking, k: int = 60) -> list[Hit]:
    """Fuse rankings by rank: score(c) = sum over rankings of 1 / (k + rank), rank from 1.

    Formula: Cormack, Clarke and Buettcher, SIGIR 2009, section 2, where k = 60. Of each signal the highest is kept.
    """
    scores = sum_reciprocal_ranks(([hit.chunk.id for hit in ranking] for ranking in rankings), k=k)
    return sort_by_score([_set_score(hit, scores[hit.chunk.id]) for hit in _merge_rankings(rankings)])


def sum_reciprocal_ranks(rankings: Iterable[Sequence[Key]], *, k: int) -> dict[Key, float]:
    """Return the sum over the rankings of 1 / (k + rank), rank from 1, for everything that one of them has."""
    scores: dict[Key, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(ranking, start=1):
            scores[key] = scores.get(key, 0.0) + 1.0 / (k + rank)
    return scores


def fuse_by_weighted_sum(*parts: tuple[Ranking, float]) -> list[Hit]:
    """Fuse rankings by score: score(c) = sum of weight * score. All scores must share one 0..1 scale."""
    scores: dict[str, float] = {}
    for ranking, weight in parts:
        for hit in ranking:
            scores[hit.chunk.id] = scores.get(hit.chunk.id, 0.0) + weight * hit.score
    return sort_by_score(
        [_set_score(hit, scores[hit.chunk.id]) for hit in _merge_rankings([ranking for ranking, _ in parts])]
    )


def rescale_scores(ranking: Ranking, *, best: float | None = None) -> list[Hit]:
    """Divide the scores by `best`, by default the highest score; negative scores become 0 (S4-11).

    Min-max scaling is not used: it would give the last of ten good hits 0, as if it had not been found.
    """
    top = max((hit.score for hit in ranking), default=0.0) if best is None else best
    return [replace(hit, score=max(0.0, hit.score) / top if top > 0 else 0.0) for hit in ranking]


def pool_rankings(*rankings: Ranking) -> list[Hit]:
    """Merge rankings by each chunk's highest score (max pooling). All scores must share one scale."""
    return sort_by_score(_merge_rankings(rankings))


def drop_duplicate_hits(ranking: Ranking) -> list[Hit]:
    """Return the first hit of each text."""
    first_hits: dict[str, Hit] = {}
    for hit in ranking:
        first_hits.setdefault(hit.chunk.content, hit)
    return list(first_hits.values())


def sort_by_code_matches(ranking: Ranking, text: str) -> list[Hit]:
    """Sort hits by the share of the codes of `text` that they contain, otherwise keep their order.

    Embeddings hardly distinguish similar codes: this keeps hybrid search as good as lexical search for queries with
    codes (docs/reference/evaluation-retrieval.md, dtc).
    """
    wanted = find_codes(text)
    return sorted(ranking, key=lambda hit: -compute_code_share(wanted, hit.chunk.content)) if wanted else list(ranking)


def normalize_search_scores(ranking: Ranking) -> list[float]:
    """Return the normalized search score of each hit, in order: the mean over the legs, 0..1, and NAMED_SIGNAL.

    A leg's score is min-max normalized over these hits, and 0 for a hit that the leg has not found.
    """
    means = average_normalized_scores([[hit.signals.get(leg) for hit in ranking] for leg in LEG_SIGNALS])
    return [mean + hit.signals.get(NAMED_SIGNAL, 0.0) for mean, hit in zip(means, ranking, strict=True)]


def average_normalized_scores(legs: Sequence[Sequence[float | None]]) -> list[float]:
    """Return for each place the mean over the legs of its min-max normalized scores; a leg without any does not count.

    Every leg has a score, or None for what it has not found, for each place.
    """
    normalized = [_normalize_min_max(scores) for scores in legs if any(score is not None for score in scores)]
    return [sum(scores) / len(scores) for scores in zip(*normalized, strict=True)] or [0.0] * len(legs[0])


def fuse_by_score(ranking: Ranking) -> list[Hit]:
    """Sort the hits of a hybrid search by normalized search score, highest first; equals keep their order.

    This fusion by score is better than fusion by rank (Bruch, Gai and Ingber, ACM TOIS 2024): here by 0.02 nDCG@10 over
    eleven collections (docs/reference/evaluation-retrieval.md). The hits keep their own scores.
    """
    scores = normalize_search_scores(ranking)
    return [ranking[n] for n in sorted(range(len(ranking)), key=lambda n: -scores[n])]


def _normalize_min_max(scores: Sequence[float | None]) -> list[float]:
    """Scale scores to 0..1 by their minimum and maximum; None becomes 0, equal scores become 1."""
    present = [score for score in scores if score is not None]
    low, width = min(present), max(present) - min(present)
    return [0.0 if score is None else (score - low) / width if width else 1.0 for score in scores]


def _merge_rankings(rankings: Sequence[Ranking]) -> list[Hit]:
    """Return each chunk's hits as one, in order of first occurrence."""
    merged: dict[str, Hit] = {}
    for ranking in rankings:
        for hit in ranking:
            earlier = merged.get(hit.chunk.id)
            merged[hit.chunk.id] = _merge_hits(earlier, hit) if earlier else hit
    return list(merged.values())


def _merge_hits(a: Hit, b: Hit) -> Hit:
    """Merge two hits of one chunk: the higher score, the highest of each signal, the labels of both."""
    signals = dict(a.signals)
    for name, score in b.signals.items():
        signals[name] = max(signals.get(name, score), score)
    best = a if a.score >= b.score else b
    found_by = a.found_by if a.found_by == b.found_by else tuple(dict.fromkeys((*a.found_by, *b.found_by)))
    return Hit(best.chunk, best.score, signals, a.captions or b.captions, found_by, best.similar_count)


def _set_score(hit: Hit, score: float) -> Hit:
    """Return the hit with another score; `replace` takes five times as long, for every hit of every leg."""
    return Hit(hit.chunk, score, hit.signals, hit.captions, hit.found_by, hit.similar_count)
