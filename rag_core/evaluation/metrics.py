"""How good a ranking is, by trec_eval's own definitions, and whether two differ by more than chance."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytrec_eval

MEASURES = {"ndcg@10": "ndcg_cut_10", "recall@10": "recall_10", "mrr": "recip_rank"}
EVERY = {**MEASURES, "precision@5": "P_5"}
RESAMPLES = 10_000
SEED = 20261121

Scores = Mapping[str, Mapping[str, float]]  # by query, then by measure


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean difference of two systems over the same queries, and the 95 % interval of a paired bootstrap."""

    mean: float
    low: float
    high: float

    @property
    def star(self) -> str:
        """A mark where the interval leaves out 0."""
        return "" if self.low <= 0 <= self.high else " *"

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]{self.star}"


def evaluate(rankings: Mapping[str, Sequence[str]], judgements: Mapping[str, Mapping[str, int]]) -> Scores:
    """Each query's measures for its documents, best first. A query with an empty ranking scores 0."""
    evaluator = pytrec_eval.RelevanceEvaluator(judgements, {"ndcg_cut.10", "recall.10", "recip_rank", "P.5"})
    descending = {q: {d: -float(rank) for rank, d in enumerate(ranking)} for q, ranking in rankings.items() if ranking}
    scored = evaluator.evaluate(descending)
    return {q: {name: scored.get(q, {}).get(key, 0.0) for name, key in EVERY.items()} for q in judgements}


def among(scores: Scores, wanted: Iterable[str]) -> list[str]:
    """The measures that are wanted, as far as these scores have them; where they have none of them, all they have."""
    known = list(next(iter(scores.values())))
    return [measure for measure in wanted if measure in known] or known


def mean(scores: Scores, measure: str) -> float:
    return float(np.mean([of_query[measure] for of_query in scores.values()]))


def compare(ours: Scores, theirs: Scores, measure: str = "ndcg@10") -> Difference:
    """Ours minus theirs: queries are drawn with replacement, each with both of its scores."""
    gaps = np.array([ours[query][measure] - theirs[query][measure] for query in ours])
    draws = np.random.default_rng(SEED).integers(len(gaps), size=(RESAMPLES, len(gaps)))
    low, high = np.percentile(gaps[draws].mean(axis=1), [2.5, 97.5])
    return Difference(float(gaps.mean()), float(low), float(high))


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927): it holds also near 0 and 1 and for few trials."""
    z = 1.959964
    share, square = successes / trials, z * z / trials
    middle, half = share + square / 2, z * math.sqrt(share * (1 - share) / trials + square / (4 * trials))
    return max(0.0, (middle - half) / (1 + square)), min(1.0, (middle + half) / (1 + square))
