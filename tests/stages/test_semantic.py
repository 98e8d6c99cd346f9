import pytest

from rag_core.errors import Unavailable
from rag_core.stages.semantic import semantic
from tests.fakes import Down, OverlapReranker, hit

FOUND = [hit("a", content="brakes"), hit("b", content="gearbox oil"), hit("c", content="oil"), hit("d", content="oil")]


async def test_the_head_is_ordered_by_relevance_and_the_tail_follows() -> None:
    """S1-03, S1-07, S1-13."""
    ranked = await semantic("gearbox oil", FOUND, OverlapReranker(), count=3)
    assert [h.chunk.id for h in ranked] == ["b", "c", "a", "d"]
    assert [h.signals.get("semantic") for h in ranked] == [1.0, 0.5, 0.0, None]


async def test_a_count_of_zero_asks_nobody() -> None:
    assert await semantic("oil", FOUND, Down(), count=0) == FOUND


async def test_without_a_ranker_it_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        await semantic("oil", FOUND, Down(), count=3)


async def test_what_a_stores_own_ranker_has_judged_is_not_asked_again() -> None:
    """S1-07: unless one of the head was not: the scores of two rankers do not compare."""
    judged = [hit("a", semantic=0.2), hit("b", semantic=0.9), hit("c", content="oil")]
    assert [h.chunk.id for h in await semantic("oil", judged, Down(), count=2)] == ["b", "a", "c"]
    asked = OverlapReranker()
    assert [h.chunk.id for h in await semantic("oil", judged, asked, count=3)] == ["c", "a", "b"]
    assert len(asked.calls) == 1
