from collections.abc import Sequence

import pytest

from rag_core.core.errors import Unavailable
from rag_core.core.index import Index
from rag_core.core.run import Run
from rag_core.pipelines import PIPELINES
from rag_core.retrieval import steps
from tests.fakes import Asleep, ConceptEmbedder, Down, DownStore, OverlapReranker, chunk, filled, kit, query

MANUAL = (
    chunk("a", "The gearbox is quiet. P0700 is set by the TCM when it finds a fault.", "P0700"),
    chunk("b", "A caliper holds the brake."),
    chunk("c", "A misfire of one cylinder sets P0300.", "P0300"),
)
standard = PIPELINES["standard"]


async def test_standard_searches_by_words_and_meaning_ranks_and_quotes() -> None:
    """S1-03, S1-06, S1-07: vector, keyword, semantic ranking and captions."""
    run = Run()
    result = await standard(query("What is P0700?", "standard"), kit(await filled(*MANUAL)), run)
    best = result.hits[0]
    assert best.chunk.id == "a"
    assert set(best.signals) == {"words", "meaning", "semantic"}
    assert best.captions[0].highlights == "<em>P0700</em> is set by the TCM when it finds a fault."
    assert [answer.text for answer in result.answers] == ["P0700 is set by the TCM when it finds a fault."]
    assert [asked.label for asked in result.variants] == ["original"]
    assert not result.reranked
    assert run.degraded == []


async def test_standard_asks_no_chat_model() -> None:
    """S1-07: expansion and reranking off."""
    run = Run()
    await standard(query("gearbox", "standard"), kit(await filled(*MANUAL), llm=Down()), run)  # type: ignore[arg-type]
    assert run.degraded == []
    assert set(run.timings) == {"embed", "search", "semantic", "quote"}


async def test_the_ranker_sees_the_head_and_top_k_is_what_is_returned() -> None:
    """C01, S1-44: what is searched, what is judged and what is returned are three numbers."""
    reranker = OverlapReranker()
    index = await filled(*(chunk(f"{n:02}", f"Gearbox {n}.") for n in range(30)))
    result = await standard(query("gearbox oil", "standard", top_k=7), kit(index, reranker=reranker), Run())
    assert len(result.hits) == 7
    assert sum(map(len, reranker.calls[:2])) == 10


class Unsure(OverlapReranker):
    """Knows next to nothing, and a little less of what comes first."""

    async def score_passages(self, text: str, passages: Sequence[str]) -> list[float]:
        return [0.001 * place for place in range(1, len(passages) + 1)]


async def test_what_the_ranker_knows_nothing_of_stays_in_the_order_of_the_search() -> None:
    """S1-07: unless the search is to count for nothing."""
    parts = kit(await filled(*MANUAL), reranker=Unsure())
    searched, ranked, without = [
        (await standard(query("gearbox fault of the TCM", "standard", **numbers), parts, Run())).hits[0].chunk.id
        for numbers in ({"semantic": 0}, {}, {"prior": 0})
    ]
    assert searched == ranked != without


async def test_equal_contents_are_given_once() -> None:
    """S1-04: of two documents with the same words the first found stands for both."""
    twins = [chunk(id, "A gearbox.", document=f"doc {id}", content_hash="same") for id in "ab"]
    result = await standard(query("gearbox", "standard"), kit(await filled(*twins)), Run())
    assert len(result.hits) == 1


async def test_without_an_embedder_words_are_searched_and_the_reply_says_so() -> None:
    """C25."""
    index = await filled(*MANUAL)
    run = Run()
    result = await standard(query("P0700", "standard"), kit(Index(index.store, Down())), run)  # type: ignore[arg-type]
    assert [h.chunk.id for h in result.hits] == ["a"]
    assert [(d.step, d.code, d.fallback) for d in run.degraded] == [("embed", "down", "lexical search only")]


async def test_without_a_word_index_meaning_is_searched_and_the_reply_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY 3.1: the lexical index is down."""

    def busy(*_: object) -> None:
        raise Unavailable("another process is writing", code="words_busy")

    monkeypatch.setattr("rag_core.stores.embedded.lexical_index.LexicalIndex.get_snapshot", busy)
    run, parts = Run(), kit(await filled(*MANUAL))
    result = await standard(query("Which gearbox?", "standard"), parts, run)
    assert set(result.hits[0].signals) == {"meaning", "semantic"}
    assert [(d.step, d.code, d.fallback) for d in run.degraded] == [("search", "words_busy", "vector search only")]
    with pytest.raises(Unavailable) as failure:
        await standard(query("Which gearbox?", "standard", search_type="keyword"), parts, Run())
    assert failure.value.code == "words_busy"


async def test_without_a_ranker_the_order_of_the_search_stands_and_captions_are_by_words() -> None:
    run = Run()
    result = await standard(
        query("Who sets P0700?", "standard"),
        kit(await filled(*MANUAL), reranker=Down()),  # type: ignore[arg-type]
        run,
    )
    assert result.hits[0].captions[0].text == "P0700 is set by the TCM when it finds a fault."
    assert result.answers == ()
    assert [d.step for d in run.degraded] == ["semantic", "quote"]


async def test_a_preset_of_no_captions_has_none() -> None:
    """They took half of the time of a question by words, and a preset of 0 leaves captions out."""
    result = await standard(query("Who sets P0700?", "standard", captions=0), kit(await filled(*MANUAL)), Run())
    assert [hit.captions for hit in result.hits] == [()] * len(MANUAL)


async def test_when_time_runs_out_what_was_found_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """C22: a ranker that never answers costs its budget, not the reply."""
    monkeypatch.setattr(steps, "RERANK_TIMEOUT_S", 0.05)
    run = Run()
    result = await standard(
        query("gearbox", "standard"),
        kit(await filled(*MANUAL), reranker=Asleep()),  # type: ignore[arg-type]
        run,
    )
    assert result.hits[0].chunk.id == "a"
    assert {(d.step, d.code) for d in run.degraded} == {(step, "deadline_exceeded") for step in ("semantic", "quote")}


async def test_a_store_that_is_down_is_an_error_and_no_empty_answer() -> None:
    with pytest.raises(Unavailable):
        await standard(query("x", "standard"), kit(Index(DownStore(), ConceptEmbedder())), Run())  # type: ignore[arg-type]


async def test_vector_search_without_an_embedder_is_an_error() -> None:
    """C25: there is no lesser answer to fall back on."""
    index = Index((await filled(*MANUAL)).store, Down())  # type: ignore[arg-type]
    with pytest.raises(Unavailable) as failure:
        await standard(query("gearbox", "standard", search_type="vector"), kit(index), Run())
    assert failure.value.code == "retrieval_unavailable"


@pytest.mark.parametrize(
    "text", ["the of and", "😀", "?!", "变速箱 故障", "x", '"*^:(){}~ NEAR AND NOT', "\u202egearbox"]
)
async def test_a_strange_question_is_only_a_question(text: str) -> None:
    """C09, C10 (RELIABILITY): signs are text."""
    run = Run()
    await standard(query(text, "standard"), kit(await filled(*MANUAL)), run)
    assert run.degraded == []
