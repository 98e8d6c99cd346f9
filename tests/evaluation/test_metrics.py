import math

import pytest

from rag_core.evaluation import metrics

JUDGEMENTS = {"a": {"d1": 2, "d2": 1, "d3": 0}, "b": {"d4": 1}, "c": {"d5": 1}}
RANKINGS = {"a": ["d3", "d2", "d9", "d1"], "b": ["d4"], "c": []}


def test_measures_are_those_worked_out_by_hand() -> None:
    scores = metrics.score_rankings(RANKINGS, JUDGEMENTS)
    found = 1 / math.log2(3) + 2 / math.log2(5)
    ideal = 2 + 1 / math.log2(3)
    assert scores["a"]["ndcg@10"] == pytest.approx(found / ideal)
    assert (scores["a"]["recall@10"], scores["a"]["mrr"]) == (1.0, 0.5)
    assert scores["b"] == {"ndcg@10": 1.0, "recall@10": 1.0, "mrr": 1.0, "precision@5": 0.2}


def test_a_query_that_finds_nothing_scores_0_and_counts() -> None:
    scores = metrics.score_rankings(RANKINGS, JUDGEMENTS)
    assert set(scores["c"].values()) == {0.0}
    assert metrics.average_measure(scores, "mrr") == pytest.approx((0.5 + 1 + 0) / 3)


def test_only_the_first_ten_count_but_for_mrr() -> None:
    late = metrics.score_rankings({"b": [f"x{n}" for n in range(10)] + ["d4"]}, {"b": {"d4": 1}})["b"]
    assert late == {"ndcg@10": 0.0, "recall@10": 0.0, "mrr": pytest.approx(1 / 11), "precision@5": 0.0}


def test_a_difference_in_every_query_is_beyond_chance_and_one_that_cancels_is_not() -> None:
    zeros = {str(n): {"ndcg@10": 0.0} for n in range(20)}
    better = {query: {"ndcg@10": 0.1} for query in zeros}
    mixed = {query: {"ndcg@10": 0.1 if n % 2 else -0.1} for n, query in enumerate(zeros)}
    assert metrics.compare_scores(better, zeros) == metrics.MeanDifference(*[pytest.approx(0.1)] * 3)
    assert str(metrics.compare_scores(better, zeros)).endswith("*")
    spread = metrics.compare_scores(mixed, zeros)
    assert spread.low < 0 < spread.high
    assert "*" not in str(spread)
    assert spread == metrics.compare_scores(mixed, zeros)
