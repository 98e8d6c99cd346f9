"""Passages that name what the question names come forward."""

from rag_core.stages.boost import boosted
from tests.fakes import hit


def test_a_passage_that_names_the_entity_overtakes_one_that_is_a_little_better() -> None:
    """S4-40: and keeps the score of its search."""
    hits = [hit("plain", 0.50, "Nothing of that name."), hit("named", 0.45, "P0700 is stored by the TCM.")]
    best = boosted("What stores P0700?", hits)
    assert [(h.chunk.id, h.score) for h in best] == [("named", 0.45), ("plain", 0.50)]


def test_a_share_of_the_names_is_worth_a_share_of_the_boost() -> None:
    hits = [hit("none", 0.50, "Nothing."), hit("half", 0.47, "P0700 only."), hit("far", 0.43, "P0700 only.")]
    assert [h.chunk.id for h in boosted("P0700 or P0715?", hits)] == ["half", "none", "far"]


def test_a_question_without_names_changes_nothing() -> None:
    assert [h.chunk.id for h in boosted("why?", [hit("a", 0.7), hit("b", 0.3)])] == ["a", "b"]
