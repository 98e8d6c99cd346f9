"""Ranking metrics as trec_eval defines them, and tests whether two systems differ by more than chance."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytrec_eval

REPORTED_MEASURES = {"ndcg@10": "ndcg_cut_10", "recall@10": "recall_10", "mrr": "recip_rank"}
ALL_MEASURES = {**REPORTED_MEASURES, "precision@5": "P_5"}
BOOTSTRAP_RESAMPLES = 10_000
BOOTSTRAP_SEED = 20261121

MeasureScores = Mapping[str, Mapping[str, float]]  # by query id, then by measure


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """The mean difference of two systems over the same queries, with the 95 % interval of a paired bootstrap."""

    mean: float
    low: float
    high: float

    @property
    def significance_mark(self) -> str:
        """The mark " *" when the interval excludes 0, else ""."""
        return "" if self.low <= 0 <= self.high else " *"

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]{self.significance_mark}"


def score_rankings(rankings: Mapping[str, Sequence[str]], judgements: Mapping[str, Mapping[str, int]]) -> MeasureScores:
    """Compute each query's measures for its ranking of document ids, best first. An empty ranking scores 0."""
    evaluator = pytrec_eval.RelevanceEvaluator(judgements, {"ndcg_cut.10", "recall.10", "recip_rank", "P.5"})
    scored_rankings = {
        query_id: {document_id: -float(rank) for rank, document_id in enumerate(ranking)}
        for query_id, ranking in rankings.items()
        if ranking
    }
    results = evaluator.evaluate(scored_rankings)
    return {
        query_id: {name: results.get(query_id, {}).get(key, 0.0) for name, key in ALL_MEASURES.items()}
        for query_id in judgements
    }


def select_measures(scores: MeasureScores, wanted: Iterable[str]) -> list[str]:
    """Return the `wanted` measures that the scores contain; if they contain none, all measures they have."""
    available = list(next(iter(scores.values())))
    return [measure for measure in wanted if measure in available] or available


def average_measure(scores: MeasureScores, measure: str) -> float:
    """Return the mean of a measure over all queries."""
    return float(np.mean([query_scores[measure] for query_scores in scores.values()]))


def compare_scores(scores: MeasureScores, baseline: MeasureScores, measure: str = "ndcg@10") -> MeanDifference:
    """Return the mean of ours minus theirs; the bootstrap draws queries with replacement, each with both scores."""
    gaps = np.array([scores[query][measure] - baseline[query][measure] for query in scores])
    draws = np.random.default_rng(BOOTSTRAP_SEED).integers(len(gaps), size=(BOOTSTRAP_RESAMPLES, len(gaps)))
    low, high = np.percentile(gaps[draws].mean(axis=1), [2.5, 97.5])
    return MeanDifference(float(gaps.mean()), float(low), float(high))


def compute_wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """Return the 95 % interval of a proportion (Wilson 1927), which is valid also near 0 and 1 and for few trials."""
    z = 1.959964
    share, z_term = successes / trials, z * z / trials
    centre, half_width = share + z_term / 2, z * math.sqrt(share * (1 - share) / trials + z_term / (4 * trials))
    return max(0.0, (centre - half_width) / (1 + z_term)), min(1.0, (centre + half_width) / (1 + z_term))
