"""The passages beside the best ones."""

from rag_core.core.model import Hit
from rag_core.retrieval.neighbours import add_neighbouring_chunks
from tests.fakes import SCOPE, chunk, filled

PAGES = [chunk(f"p{n}", f"Page {n} of the gearbox.", ordinal=n) for n in range(6)]


async def test_each_hit_is_followed_by_those_beside_it_each_once() -> None:
    """S4-41."""
    store = (await filled(*PAGES)).store
    hits = [Hit(PAGES[3], 0.9, {"words": 2.0}), Hit(PAGES[1], 0.5)]
    found = await add_neighbouring_chunks(hits, SCOPE, store, count=1)
    assert [(h.chunk.id, h.score) for h in found] == [("p3", 0.9), ("p2", 0.9), ("p4", 0.9), ("p1", 0.5), ("p0", 0.5)]
    assert found[1].signals == {"words": 2.0}


async def test_a_hit_beside_another_stays_a_hit() -> None:
    store = (await filled(*PAGES)).store
    found = await add_neighbouring_chunks([Hit(PAGES[0], 0.9), Hit(PAGES[1], 0.5)], SCOPE, store, count=1)
    assert [(h.chunk.id, h.score) for h in found] == [("p0", 0.9), ("p1", 0.5), ("p2", 0.5)]
