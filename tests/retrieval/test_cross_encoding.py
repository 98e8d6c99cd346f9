import pytest

from rag_core.core.errors import Unavailable
from rag_core.core.model import Hit
from rag_core.retrieval.cross_encoding import blend_with_search_scores, compute_standings, prepend_title, rerank_hits
from tests.fakes import Down, OverlapReranker, chunk, hit

FOUND = [hit("a", content="brakes"), hit("b", content="gearbox oil"), hit("c", content="oil"), hit("d", content="oil")]


async def test_the_head_is_ordered_by_relevance_and_the_tail_follows() -> None:
    """S1-03, S1-07, S1-13."""
    ranked = await rerank_hits("gearbox oil", FOUND, OverlapReranker(), count=3)
    assert [h.chunk.id for h in ranked] == ["b", "c", "a", "d"]
    assert [h.signals.get("semantic") for h in ranked] == [1.0, 0.5, 0.0, None]


async def test_a_count_of_zero_asks_nobody() -> None:
    assert await rerank_hits("oil", FOUND, Down(), count=0) == FOUND


async def test_without_a_ranker_it_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        await rerank_hits("oil", FOUND, Down(), count=3)


async def test_a_ranker_that_is_sure_of_one_of_the_first_reads_no_more() -> None:
    """Unless its order alone counts: what it has not read could not be compared."""
    found = [hit(str(n), content="gearbox" if n else "gearbox oil") for n in range(9)]
    for text, prior, read in (("gearbox oil", 2, [5]), ("gearbox oil", 0, [8]), ("gearbox wear", 2, [5, 3])):
        ranker = OverlapReranker()
        ranked = await rerank_hits(text, found, ranker, count=8, prior=prior)
        assert [len(passages) for passages in ranker.calls] == read
        assert ["semantic" in h.signals for h in ranked] == [True] * sum(read) + [False] * (9 - sum(read))
        assert [h.chunk.id for h in ranked[sum(read) :]] == [h.chunk.id for h in found[sum(read) :]]


async def test_what_a_stores_own_ranker_has_judged_is_not_asked_again() -> None:
    """S1-07: unless one of the head was not: the scores of two rankers do not compare."""
    judged = [hit("a", semantic=0.2), hit("b", semantic=0.9), hit("c", content="oil")]
    assert [h.chunk.id for h in await rerank_hits("oil", judged, Down(), count=2)] == ["b", "a", "c"]
    assert [h.chunk.id for h in await rerank_hits("oil", judged, Down(), count=1)] == ["b", "a", "c"]
    asked = OverlapReranker()
    assert [h.chunk.id for h in await rerank_hits("oil", judged, asked, count=3)] == ["c", "a", "b"]
    assert len(asked.calls) == 1


def order(text: str, scores: list[float], prior: float, *hits: Hit) -> str:
    standings = compute_standings(hits)
    return "".join(h.chunk.id for h in blend_with_search_scores(text, hits, scores, standings, prior=prior))


LEGS = (hit("a", words=9, meaning=0.9), hit("b", words=3, meaning=0.5), hit("c", words=2, meaning=0.4))


def test_where_the_ranker_knows_nothing_the_search_decides() -> None:
    """Its best score is 0.003: that it is three times another says nothing."""
    assert order("oil", [0.001, 0.002, 0.003], 2, *LEGS) == "abc"
    assert order("oil", [0.001, 0.002, 0.003], 0, *LEGS) == "cba"


def test_where_the_ranker_is_sure_it_overrules_the_search() -> None:
    """Log odds of 6.9 against -4.6, and the search's first place is worth two standard deviations of 5.4, cut to 4."""
    assert order("oil", [0.01, 0.01, 0.999], 2, *LEGS) == "cab"


def test_what_a_difference_is_worth_depends_on_how_far_the_scores_lie_apart() -> None:
    """All are on the subject: 0.999 beside 0.99 is much among such, and little where others are at 0.001."""
    near = (hit("a", words=5, meaning=0.9), hit("b", words=4, meaning=0.8), hit("c", words=2, meaning=0.4))
    assert order("oil", [0.99, 0.999, 0.99], 2, *near) == "bac"
    assert order("oil", [0.99, 0.999, 0.0001], 2, *near) == "abc"


def test_a_standing_is_that_among_all_that_was_found() -> None:
    """Among a and b alone one would be at 0, whatever else the search found."""
    standings = compute_standings(LEGS)
    assert (standings["a"], standings["c"]) == (1.0, 0.0)
    assert standings["b"] == pytest.approx((1 / 7 + 0.2) / 2)


async def test_the_ranker_reads_the_title_of_a_passage_that_does_not_begin_with_it() -> None:
    asked = OverlapReranker()
    titled = chunk("a", "It pays half.", title="Standard plan")
    begun = chunk("b", "Plus plan\n\nIt pays all.", title="Plus plan")
    await rerank_hits("plan", [Hit(titled, 1.0), Hit(begun, 1.0)], asked, count=2)
    assert asked.calls == [["Standard plan\n\nIt pays half.", "Plus plan\n\nIt pays all."]]
    assert prepend_title(chunk("c", "It pays.", title="")) == "It pays."


def test_whatever_the_search_and_the_ranker_say_the_codes_of_the_question_come_first() -> None:
    """S1-13."""
    named = hit("z", content="P0700 is set", words=1, meaning=0.1)
    assert order("What is P0700?", [0.99, 0.9, 0.9, 0.01], 2, *LEGS, named) == "zabc"


async def test_a_ranked_head_is_joined_with_its_search() -> None:
    """The semantic signal stays the ranker's own."""
    found = [
        hit("a", content="oil", words=9, meaning=0.9),
        hit("b", content="oil of the gearbox", words=1, meaning=0.1),
    ]
    asked = "gearbox oil filter"
    assert [h.chunk.id for h in await rerank_hits(asked, found, OverlapReranker(), count=2)] == ["b", "a"]
    ranked = await rerank_hits(asked, found, OverlapReranker(), count=2, prior=2)
    assert [(h.chunk.id, round(h.signals["semantic"], 2)) for h in ranked] == [("a", 0.33), ("b", 0.67)]


async def test_the_order_of_a_stores_own_ranker_is_left_alone() -> None:
    """What its scores are worth against the search is the service's to know."""
    judged = [hit("a", words=9, meaning=0.9, semantic=0.5), hit("b", words=1, meaning=0.1, semantic=0.51)]
    assert [h.chunk.id for h in await rerank_hits("oil", judged, Down(), count=2, prior=2)] == ["b", "a"]
