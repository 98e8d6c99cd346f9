"""PostgreSQL beside the embedded store on the same chunks: they differ only as docs/reference/stores.md says."""

import random
from collections.abc import AsyncIterator

import pytest

from rag_core.core.model import Ranking
from rag_core.core.ports import ChunkStore
from rag_core.stores.embedded import InMemoryVectorStore
from tests.postgres import empty_store
from tests.stores.sample import find, ids, put

SUBJECTS = ["gearbox", "clutch", "brake", "pump", "filter", "valve", "sensor", "caliper"]
ACTIONS = ["replace", "bleed", "inspect", "tighten", "measure", "clean"]
PLACES = ["front", "rear", "left", "right", "upper", "lower"]
QUERIES = (
    "replace the front brake",
    "P0705",
    "clean upper filter valve",
    "measure the rear sensor when code P0712 is stored",
    "caliper",
)


@pytest.fixture
async def both() -> AsyncIterator[tuple[ChunkStore, ChunkStore]]:
    draw = random.Random(3)
    postgres, embedded = empty_store(), InMemoryVectorStore()
    for name in "abc":
        texts = [
            f"{draw.choice(ACTIONS)} the {draw.choice(PLACES)} {draw.choice(SUBJECTS)} and the {draw.choice(SUBJECTS)} "
            f"when code P07{draw.randrange(20):02} is stored"
            for _ in range(20)
        ]
        for store in (postgres, embedded):
            await put(store, name, texts)
    yield postgres, embedded
    await postgres.close()
    await embedded.close()


async def ask_both(both: tuple[ChunkStore, ChunkStore], query: str, how: str) -> tuple[Ranking, Ranking]:
    postgres, embedded = both
    return await find(postgres, query, how=how, limit=60), await find(embedded, query, how=how, limit=60)


@pytest.mark.parametrize("query", QUERIES)
async def test_by_meaning_the_order_and_the_scores_are_the_same(
    both: tuple[ChunkStore, ChunkStore], query: str
) -> None:
    """Save for what lies so near that numbers of 32 bits do not tell it apart."""
    here, there = await ask_both(both, query, "meaning")
    assert [hit.score for hit in here] == pytest.approx([hit.score for hit in there], abs=2e-6)
    known = {hit.chunk.id: hit.score for hit in there}
    assert {hit.chunk.id: hit.score for hit in here} == pytest.approx(known, abs=2e-6)


@pytest.mark.parametrize("how", ["words", "both"])
@pytest.mark.parametrize("query", QUERIES)
async def test_the_same_chunks_are_found(both: tuple[ChunkStore, ChunkStore], query: str, how: str) -> None:
    """In another order: `ts_rank` weighs no rare words, and PostgreSQL fuses by ranks."""
    here, there = await ask_both(both, query, how)
    assert set(ids(here)) == set(ids(there))
    assert here


@pytest.mark.parametrize("how", ["words", "both"])
async def test_what_has_every_word_of_the_question_comes_first(both: tuple[ChunkStore, ChunkStore], how: str) -> None:
    for store in both:
        await put(store, "d", ["bleed the caliper at the pedal"])
    for ranking in await ask_both(both, "bleed caliper pedal", how):
        assert ids(ranking)[0] == "d:000"
