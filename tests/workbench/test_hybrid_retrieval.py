from collections.abc import Mapping
from typing import Any

import pytest

from rag_core.core.errors import Unavailable
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.presets import Query
from rag_core.core.rankings import fuse_by_reciprocal_rank
from rag_core.core.run import Run
from rag_core.workbench.hybrid_retrieval import RetrievedRankings, retrieve_with_embeddings
from tests.fakes import ConceptEmbedder, Down, OverlapReranker, chunk, filled, kit, query

MANUAL = (
    chunk("a", "The gearbox is quiet. P0700 is set by the TCM."),
    chunk("b", "A caliper holds the brake."),
    chunk("c", "A misfire of one cylinder sets P0300."),
    chunk("d", "Hot oil shortens the life of seals."),
)
MINE = {"original": "gearbox", "expanded1": "caliper of the brake", "hyde": "hot oil"}


async def vectors(**texts: str) -> Mapping[str, Any]:
    return {label: await ConceptEmbedder().embed_query(text) for label, text in (texts or MINE).items()}


async def found(asked: Query, parts: Kit, run: Run | None = None, **fields: Any) -> RetrievedRankings:
    given = {"entities": (), "intent": "", **fields}
    return await retrieve_with_embeddings(asked, await vectors(), parts, run or Run(), **given)


def workbench(text: str = "P0700", **numbers: object) -> Query:
    return query(text, "workbench", **numbers)


async def test_each_embedding_is_searched_by_and_a_chunk_has_its_best_score_of_all() -> None:
    """S0-44, S0-45, C04: max pooling over the original, the other wordings and the imagined answer."""
    best = await found(workbench(), kit(await filled(*MANUAL)))
    by_id = {hit.chunk.id: hit for hit in best.vector}
    assert [round(by_id[id].signals["meaning"], 2) for id in "abd"] == [1.0, 1.0, 1.0]
    assert by_id["c"].signals["meaning"] < 0.2
    assert [set(by_id[id].found_by) for id in "ac"] == [set(MINE), set(MINE)]


async def test_words_are_searched_in_the_contents_by_the_question_itself() -> None:
    """S0-46, C43: BM25 here."""
    best = await found(workbench("P0300"), kit(await filled(*MANUAL)))
    assert [hit.chunk.id for hit in best.lexical] == ["c"]


async def test_the_legs_are_fused_by_reciprocal_rank() -> None:
    """S0-47, C03: score(c) = sum of 1 / (60 + rank) over the dense and the lexical ranks."""
    best = await found(workbench("seals"), kit(await filled(*MANUAL)))
    ranks = [[hit.chunk.id for hit in leg] for leg in (best.vector, best.lexical)]
    expected = {id: sum(1 / (61 + leg.index(id)) for leg in ranks if id in leg) for id in "abcd"}
    assert {hit.chunk.id: hit.score for hit in best.fused} == pytest.approx(expected)
    assert [h.chunk.id for h in best.fused] == [h.chunk.id for h in fuse_by_reciprocal_rank(best.vector, best.lexical)]


async def test_the_cross_encoder_orders_the_head_and_the_boosts_move_it() -> None:
    """S0-48, S0-49, S0-50."""
    ranker = OverlapReranker()
    parts = kit(await filled(*MANUAL), reranker=ranker)
    plain = await found(workbench("gearbox oil"), parts)
    assert {hit.chunk.id for hit in plain.hits[:2]} == {"a", "d"}
    assert len(ranker.calls[0]) == 4
    moved = [
        (await found(workbench("gearbox oil"), parts, entities=[name])).hits[0].chunk.id for name in ("TCM", "seals")
    ]
    assert moved == ["a", "d"]
    wanted = await found(workbench("gearbox oil"), parts, intent="CAUSE")
    assert wanted.hits[0].signals["intent_boost"] == 0


async def test_no_more_than_the_best_are_kept() -> None:
    """S0-51."""
    assert len((await found(workbench(top_k=2), kit(await filled(*MANUAL)))).hits) == 2


async def test_what_the_ranker_does_not_see_follows_in_the_order_of_the_fusion() -> None:
    best = await found(workbench("seals", semantic=1), kit(await filled(*MANUAL)))
    assert [h.chunk.id for h in best.hits[1:]] == [
        h.chunk.id for h in best.fused if h.chunk.id != best.hits[0].chunk.id
    ]


async def test_without_vectors_words_alone_are_searched_and_none_of_the_two_is_an_error() -> None:
    """S0-44: the fallbacks of the pipelines."""
    index = await filled(*MANUAL)
    search = index.store.search

    async def by_words(probes: Any, *args: Any, **fields: Any) -> Any:
        if any(probe.vector is not None for probe in probes):
            raise Unavailable("no vectors today", code="store_busy")
        return await search(probes, *args, **fields)

    index.store.search = by_words  # type: ignore[method-assign]
    run = Run()
    best = await found(workbench(), kit(index), run)
    assert [hit.chunk.id for hit in best.hits] == ["a"]
    assert [(told.step, told.fallback) for told in run.degraded] == [("search", "lexical search only")]
    index.store.search = Down().search  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        await found(workbench(), kit(index))


async def test_nothing_is_embedded() -> None:
    """S0-53."""
    index = await filled(*MANUAL)
    silent = Index(index.store, replace_embedder())
    assert (await found(workbench(), kit(silent))).vector


def replace_embedder() -> Any:
    """One that knows the space and makes no vector."""

    class Silent(Down):
        space = ConceptEmbedder.space

    return Silent()
