"""Published sets beside their goals: the intervals, the stages at which answers are refused, and the table."""

from collections.abc import Mapping
from typing import Any

import pytest

from evals import held_out
from rag_core.core.model import Answer, Chunk, Evidence, Hit
from rag_core.core.model.answers import Confidence


def test_a_share_has_wilsons_interval_and_a_mean_a_bootstraps() -> None:
    share = held_out.build_row("hybrid", "page in ten", [1.0] * 98 + [0.0] * 2, 5)
    assert share["value"] == 0.98
    assert share["interval"] == pytest.approx([0.930, 0.994], abs=1e-3)
    mean = held_out.build_row("hybrid", "nDCG@10", [0.2, 0.4, 0.6] * 20, 5)
    low, high = mean["interval"]
    assert mean["value"] == pytest.approx(0.4)
    assert 0.3 < low < 0.4 < high < 0.5


@pytest.mark.parametrize(
    ("scores", "both", "page"),
    [
        ({"ndcg@10": 0.5, "recall@10": 1.0, "mrr": 0.1}, 1.0, 1.0),
        ({"ndcg@10": 0.5, "recall@10": 0.5, "mrr": 1 / 11}, 0.0, 0.0),
    ],
)
def test_ten_is_the_last_rank_that_counts(scores: Mapping[str, float], both: float, page: float) -> None:
    assert held_out.QUESTION_MEASURES["all documents in ten"](scores) == both
    assert held_out.QUESTION_MEASURES["page in ten"](scores) == page


def refuse(document: str) -> Answer:
    chunk = Chunk(document, document, 0, "A text.", "", "", document)
    return Answer("?", "unknown", "extractive", (), Confidence(0, {}, ""), (Evidence("e1", Hit(chunk, 1.0), 0, 7),))


def test_refusals_are_counted_by_the_stage_that_lacked_something() -> None:
    answers = {"1": refuse("right"), "2": refuse("right"), "3": refuse("other")}
    judged = {id: {"right": 1} for id in answers}
    found = held_out.count_refusals(answers, judged, lambda chunk: [chunk.document_id], doubted={"1"})
    assert found == {
        held_out.LOW_CONFIDENCE: 1,
        held_out.NO_SENTENCE: 1,
        held_out.NO_EVIDENCE: 1,
    }


def test_the_table_says_which_goals_are_held() -> None:
    row: dict[str, Any] = {"way": "ask", "measure": "m", "n": 9, "value": 0.5, "interval": [0.2, 0.8], "cpu_ms": 3.0}
    rows = [{**row, "goal": 0.5}, {**row, "goal": 0.51}, {**row, "most": 0.4}, {**row, "most": 0.5}, row]
    table = held_out.format_table({"a": {"date": "today", "machine": "here", "found": {"rows": rows}}})
    assert [line.split(" | ")[6] for line in table.splitlines()[2:]] == ["yes", "no", "no", "yes", ""]


def test_every_goal_is_of_a_search_that_is_made() -> None:
    for of in held_out.SETS.values():
        assert {search for search, _ in of.goals} <= set(held_out.SEARCHES)
        assert {way for _, way in of.goals} <= set(of.ways)
