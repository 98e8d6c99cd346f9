from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.core.model import Caption, Hit
from rag_core.core.rankings import (
    drop_duplicate_hits,
    fuse_by_reciprocal_rank,
    fuse_by_weighted_sum,
    normalize_search_scores,
    pool_rankings,
    rescale_scores,
    sort_by_code_matches,
    sort_by_score,
)
from rag_core.text.codes import find_codes
from tests.fakes import hit

scored_rankings = st.lists(
    st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 1)).map(
        lambda scores: sort_by_score([hit(id, score) for id, score in scores.items()])
    ),
    max_size=4,
)
ids = st.lists(st.sampled_from("abcdefgh"), unique=True)
rankings = st.lists(ids.map(lambda names: [hit(name, 10.0 - at) for at, name in enumerate(names)]), max_size=4)


def order(hits: Sequence[Hit]) -> str:
    return "".join(found.chunk.id for found in hits)


def test_reciprocal_rank_adds_one_over_k_and_rank() -> None:
    """S1-03, C03: two legs are fused by rank with k = 60."""
    fused = fuse_by_reciprocal_rank([hit("a"), hit("b")], [hit("b"), hit("c")])
    assert order(fused) == "bac"
    assert [h.score for h in fused] == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62])


def test_the_constant_of_fusion_can_be_chosen() -> None:
    assert fuse_by_reciprocal_rank([hit("a")], k=1)[0].score == pytest.approx(0.5)


def test_fusing_nothing_gives_nothing() -> None:
    assert fuse_by_reciprocal_rank() == fuse_by_reciprocal_rank([], []) == []


def test_fusing_keeps_each_signal_s_highest_and_who_found_it() -> None:
    words = replace(hit("a", 3.0, words=3.0, meaning=0.1), found_by=("original",))
    meaning = replace(hit("a", 0.9, meaning=0.9), found_by=("hyde", "original"), captions=(Caption("c", "c"),))
    [fused] = fuse_by_reciprocal_rank([words], [meaning])
    assert fused.signals == {"words": 3.0, "meaning": 0.9}
    assert fused.found_by == ("original", "hyde")
    assert fused.captions == (Caption("c", "c"),)


def test_pooling_keeps_the_highest_score() -> None:
    """C04: variants that share a scale are pooled by maximum."""
    pooled = pool_rankings([hit("a", 0.2), hit("b", 0.5)], [hit("a", 0.7)])
    assert [(h.chunk.id, h.score) for h in pooled] == [("a", 0.7), ("b", 0.5)]


def test_max_pooling_has_each_chunk_once_with_its_highest_score_best_first() -> None:
    """C04, S0-45: by hand; neither the sum, the mean nor the last score; of equal scores the lower id is first."""
    first = [hit("a", 0.9), hit("b", 0.5), hit("d", 0.3)]
    second = [hit("c", 0.8), hit("b", 0.6), hit("a", 0.2)]
    third = [hit("e", 0.8), hit("d", 0.1)]
    pooled = pool_rankings(first, second, third)
    assert [(h.chunk.id, h.score) for h in pooled] == [("a", 0.9), ("c", 0.8), ("e", 0.8), ("b", 0.6), ("d", 0.3)]
    assert pool_rankings() == pool_rankings([], []) == []


def test_of_equal_contents_the_first_stays() -> None:
    """S1-04, C44: duplicates are dropped by content before the best are taken."""
    twins = [hit("b", content="the same"), hit("a", content="the same"), hit("c")]
    assert order(drop_duplicate_hits(twins)) == "bc"


@given(rankings)
def test_fusion_has_each_chunk_once_best_first_equals_by_id(lists: list[list[Hit]]) -> None:
    fused = fuse_by_reciprocal_rank(*lists)
    assert sorted(order(fused)) == sorted({h.chunk.id for ranking in lists for h in ranking})
    assert fused == sort_by_score(fused)
    assert all((-a.score, a.chunk.id) < (-b.score, b.chunk.id) for a, b in pairwise(fused))


@given(scored_rankings)
def test_max_pooling_keeps_of_every_chunk_the_maximum_and_no_other(lists: list[list[Hit]]) -> None:
    """C04, S0-45: whatever the order of the rankings; to pool once more changes nothing."""
    scores: dict[str, list[float]] = {}
    for h in (h for ranking in lists for h in ranking):
        scores.setdefault(h.chunk.id, []).append(h.score)
    pooled = pool_rankings(*lists)
    assert [h.chunk.id for h in pooled] == sorted(scores, key=lambda id: (-max(scores[id]), id))
    assert {h.chunk.id: h.score for h in pooled} == {id: max(given) for id, given in scores.items()}
    assert pool_rankings(*reversed(lists)) == pooled == pool_rankings(pooled, *lists)


@given(rankings)
def test_fusion_does_not_depend_on_the_order_of_the_rankings(lists: list[list[Hit]]) -> None:
    assert order(fuse_by_reciprocal_rank(*lists)) == order(fuse_by_reciprocal_rank(*reversed(lists)))


@given(ids)
def test_one_ranking_fused_alone_keeps_its_order(names: list[str]) -> None:
    ranking = [hit(name) for name in names]
    assert order(fuse_by_reciprocal_rank(ranking)) == order(ranking)


CODED = {"a": "P0701 is near it", "b": "P0700 is it", "c": "P07001 is longer; 2nd, 10mm", "d": "also P0700"}


def test_hits_with_the_codes_of_a_text_come_first_and_keep_their_order() -> None:
    """S1-13, C28: to the letter, in whatever case; a number with a unit or an ending is no code."""
    hits = [hit(name, content=content) for name, content in CODED.items()]
    assert [h.chunk.id for h in sort_by_code_matches(hits, "what is p0700 on the 2nd of 10mm bolts")] == [
        "b",
        "d",
        "a",
        "c",
    ]
    assert sort_by_code_matches(hits, "what is the 2nd bolt, 10mm") == hits


@given(st.text() | st.text("aB-_/. 0١²", min_size=3))
def test_codes_are_letters_with_digits(text: str) -> None:
    for code in find_codes(text):
        assert len(code) >= 3
        assert any(c.isdigit() or c.isnumeric() for c in code)


def test_fusion_by_weight_is_the_documents_sum() -> None:
    """S4-14, S4-15, C03: final = 0.4 x words + 0.6 x meaning, each chunk once."""
    words, meaning = [hit("a", 1.0, words=9.0), hit("b", 0.5)], [hit("b", 0.8, meaning=0.8), hit("c", 0.7)]
    fused = fuse_by_weighted_sum((words, 0.4), (meaning, 0.6))
    assert [(h.chunk.id, round(h.score, 4)) for h in fused] == [("b", 0.68), ("c", 0.42), ("a", 0.4)]
    assert fused[2].signals == {"words": 9.0}


def test_scores_are_rescaled_to_shares_of_the_best() -> None:
    """S4-11: 0..1, the best is 1, and none is below 0."""
    assert [h.score for h in rescale_scores([hit("a", 12.0), hit("b", 3.0)])] == [1.0, 0.25]
    assert [h.score for h in rescale_scores([hit("a", 0.8), hit("b", -0.2)], best=1.0)] == [0.8, 0.0]
    assert [h.score for h in rescale_scores([hit("a", 0.0)])] == [0.0]
    assert rescale_scores([]) == []


def test_a_hit_stands_between_the_lowest_and_the_highest_of_each_leg() -> None:
    """By hand: "b" is half way by words and highest by meaning; "c" was not found by meaning, "d" not by words."""
    found = [hit("a", words=9, meaning=0.6), hit("b", words=6, meaning=0.8), hit("c", words=3), hit("d", meaning=0.7)]
    assert normalize_search_scores(found) == pytest.approx([(1 + 0) / 2, (0.5 + 1) / 2, 0.0, (0 + 0.5) / 2])


def test_a_leg_that_found_none_of_the_hits_does_not_count() -> None:
    assert normalize_search_scores([hit("a", words=9), hit("b", words=3)]) == [1.0, 0.0]
    assert normalize_search_scores([hit("a"), hit("b")]) == [0.0, 0.0]
    assert normalize_search_scores([]) == []


def test_hits_that_a_leg_scores_alike_all_stand_first_in_it() -> None:
    assert normalize_search_scores([hit("a", words=2), hit("b", words=2)]) == [1.0, 1.0]
