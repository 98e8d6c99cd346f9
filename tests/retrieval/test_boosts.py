"""Passages that name what the question names come forward."""

import pytest

from rag_core.retrieval.boosts import boost_by_entities, boost_by_entities_and_intent
from tests.fakes import hit


def test_a_passage_that_names_the_entity_overtakes_one_that_is_a_little_better() -> None:
    """S4-40: and keeps the score of its search."""
    hits = [hit("plain", 0.50, "Nothing of that name."), hit("named", 0.45, "P0700 is stored by the TCM.")]
    best = boost_by_entities("What stores P0700?", hits)
    assert [(h.chunk.id, h.score) for h in best] == [("named", 0.45), ("plain", 0.50)]


def test_a_share_of_the_names_is_worth_a_share_of_the_boost() -> None:
    hits = [hit("none", 0.50, "Nothing."), hit("half", 0.47, "P0700 only."), hit("far", 0.43, "P0700 only.")]
    assert [h.chunk.id for h in boost_by_entities("P0700 or P0715?", hits)] == ["half", "none", "far"]


def test_a_question_without_names_changes_nothing() -> None:
    assert [h.chunk.id for h in boost_by_entities("why?", [hit("a", 0.7), hit("b", 0.3)])] == ["a", "b"]


def test_a_passage_gains_for_the_names_in_it_and_for_its_intent() -> None:
    """S0-49, S0-50: final = relevance * (1 + 0.2 * share of the names + 0.1), by hand."""
    found = [
        hit("plain", content="Bananas.", semantic=0.9),
        hit("named", content="The TCM lights it.", semantic=0.8),
        hit("both", content="P0700 is a request of the TCM.", semantic=0.75),
    ]
    best = boost_by_entities_and_intent(found, ["P0700", "tcm"], "DEFINITION", entity_boost=0.2, intent_boost=0.1)
    assert [h.chunk.id for h in best] == ["both", "plain", "named"]
    assert [h.signals["final"] for h in best] == pytest.approx([0.75 * 1.3, 0.9, 0.8 * 1.1])
    assert [h.signals["entity_boost"] for h in best] == pytest.approx([0.2, 0, 0.1])
    assert [h.signals["intent_boost"] for h in best] == pytest.approx([0.1, 0, 0])


def test_where_no_ranker_has_judged_the_score_is_what_gains() -> None:
    """S0-49."""
    best = boost_by_entities_and_intent(
        [hit("a", 0.03), hit("b", 0.029, content="P0700")], ["P0700"], "", entity_boost=0.2, intent_boost=0.1
    )
    assert [h.chunk.id for h in best] == ["b", "a"]
