"""What two rankings have in common and what has moved, by hand-worked numbers; and passages as plain data."""

import json

import pytest

from rag_core.core.model import Hit, Span
from rag_core.workbench.contexts import encode_hit, encode_ranking
from rag_core.workbench.saved_runs import RankChange, RankedPassage, compute_overlap, list_rank_changes, rank_contexts
from tests.fakes import chunk, hit


def ranking(ids: str) -> tuple[RankedPassage, ...]:
    return rank_contexts(encode_ranking([hit(id, 1.0 / place) for place, id in enumerate(ids, start=1)]))


@pytest.mark.parametrize(
    ("before", "after", "shared"),
    [
        ("abc", "abc", 1.0),
        ("abc", "cba", 1.0),
        ("ab", "cd", 0.0),
        ("abcd", "ab", 0.5),
        ("", "", 1.0),
        ("", "a", 0.0),
        ("abcdefghijK", "abcdefghijL", 1.0),  # the eleventh is not of the first ten
        ("abcdefghij", "abcdeVWXYZ", 0.5),
    ],
)
def test_the_overlap_is_the_share_of_the_longer_ten(before: str, after: str, shared: float) -> None:
    assert compute_overlap(ranking(before), ranking(after)) == shared


def test_what_moved_has_both_ranks_and_what_stayed_is_not_named() -> None:
    assert list_rank_changes(ranking("abcd"), ranking("acbe")) == (
        RankChange("b", 2, 3),
        RankChange("c", 3, 2),
        RankChange("d", 4, None),
        RankChange("e", None, 4),
    )
    assert list_rank_changes(ranking("ab"), ranking("ab")) == ()


def test_a_passage_as_plain_data_has_all_that_citing_it_needs() -> None:
    """S0-52: id, content, scores, metadata; and the place, what found it, what stands in it."""
    box = (1.0, 2.0, 3.0, 4.0)
    found = chunk("a", "one line", spans=(Span(0, 8, 2, 7, 7, box, ("Head",)),))
    told = encode_hit(Hit(found, 0.5, {"meaning": 0.9, "words": 2.0}))
    assert (told["page"], told["line_start"], told["line_end"], told["boxes"]) == (2, 7, 7, [list(box)])
    assert told["scores"] == {"meaning": 0.9, "words": 2.0, "fused": 0.5, "final": 0.5}
    assert told["metadata"] == {}
    assert json.loads(json.dumps(told))["id"] == "a"


def test_the_final_score_is_the_last_judges() -> None:
    """S0-52: the cross-encoder's before the search's; a score that is told as final before both."""
    assert encode_hit(hit("a", 0.5, semantic=0.7))["scores"]["final"] == 0.7
    assert encode_hit(hit("a", 0.5, grade=9.0, semantic=0.7))["scores"]["rerank"] == 9.0
    assert encode_hit(hit("a", 0.5, rerank=0.4, final=0.6))["scores"] == {"fused": 0.5, "rerank": 0.4, "final": 0.6}


def test_ranks_count_from_one_by_leg() -> None:
    """S0-44, S0-46: a passage that a leg did not find has no rank there."""
    first, second = encode_ranking([hit("a", 0.5, meaning=0.1), hit("b", 0.6, meaning=0.9, words=3.0)])
    assert first["ranks"] == {"dense": 2, "fused": 2}
    assert second["ranks"] == {"dense": 1, "words": 1, "fused": 1}
