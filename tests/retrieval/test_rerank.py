from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from rag_core.core.index import Index
from rag_core.core.model import Ranking
from rag_core.core.ports import Probe
from rag_core.core.run import Run
from rag_core.pipelines import PIPELINES
from rag_core.stores.embedded import EmbeddedStore
from tests.fakes import ConceptEmbedder, ScriptedLLM, chunk, filled, grades, kit, query

rerank = PIPELINES["rerank"]
MANY = [chunk(f"{n:02}", f"Gearbox {n}.", ordinal=n) for n in range(40)]


class Watched(EmbeddedStore):
    """The store, remembering how much it was asked for."""

    asked: int = 0

    async def search(self, probes: Sequence[Probe], *args: Any, **fields: Any) -> Sequence[Ranking]:
        self.asked = fields["limit"]
        return await super().search(probes, *args, **fields)


def backwards(count: int) -> str:
    return grades(*(10 * n / count for n in range(count)))


async def test_three_times_top_k_is_asked_of_the_store_and_the_graded_best_are_returned() -> None:
    """S1-08, C09: 100 results are chosen from 300."""
    store = Watched(None)
    index = Index(store, ConceptEmbedder())
    await rerank(query("gearbox", "rerank"), kit(index, llm=ScriptedLLM(rerank=backwards(20))), Run())
    assert store.asked == 300


async def test_twenty_are_graded_and_the_tail_follows_in_the_order_it_was_found() -> None:
    """S1-08, S1-14, C09."""
    index = await filled(*MANY)
    llm = ScriptedLLM(rerank=backwards(20))
    result = await rerank(query("gearbox", "rerank"), kit(index, llm=llm), Run())
    plain = await rerank(query("gearbox", "rerank", rerank=0), kit(index), Run())
    found = [h.chunk.id for h in plain.hits]
    assert len(llm.prompts[0].inputs["passages"]) == 20  # type: ignore[arg-type]
    assert [h.chunk.id for h in result.hits] == [*reversed(found[:20]), *found[20:]]
    assert [h.signals.get("grade") is None for h in result.hits] == [False] * 20 + [True] * 20
    assert result.reranked
    assert not plain.reranked


async def test_a_stand_in_for_a_chat_model_grades_what_the_ranker_reads() -> None:
    """The same model gains nothing by ten more (docs/decisions/0055-what-a-judge-is-worth.md)."""
    llm = ScriptedLLM(rerank=backwards(10))
    parts = replace(kit(await filled(*MANY), llm=llm), has_chat_model=False)
    result = await rerank(query("gearbox", "rerank"), parts, Run())
    assert len(llm.prompts[0].inputs["passages"]) == 10  # type: ignore[arg-type]
    assert [h.signals.get("grade") is None for h in result.hits] == [False] * 10 + [True] * 30


async def test_only_top_k_are_returned_after_grading() -> None:
    """S1-05: take the top k by grade."""
    llm = ScriptedLLM(rerank=backwards(20))
    result = await rerank(query("gearbox", "rerank", top_k=3), kit(await filled(*MANY), llm=llm), Run())
    assert [h.signals["grade"] for h in result.hits] == [9.5, 9.0, 8.5]


async def test_rerank_has_all_that_standard_has() -> None:
    """S1-08: semantic ranking and captions besides grades."""
    llm = ScriptedLLM(rerank=grades(9))
    result = await rerank(query("gearbox", "rerank"), kit(await filled(MANY[0]), llm=llm), Run())
    assert set(result.hits[0].signals) == {"words", "meaning", "semantic", "grade"}
    assert result.hits[0].captions
    assert result.answers


@pytest.mark.parametrize(
    ("llm", "code"), [(ScriptedLLM(), "unavailable"), (ScriptedLLM(rerank="Sure! 9, 8, 7"), "llm_output_invalid")]
)
async def test_without_grades_the_order_of_the_search_stands_and_the_reply_says_so(llm: ScriptedLLM, code: str) -> None:
    """C44: a model that is down, and one that answers nonsense."""
    run = Run()
    result = await rerank(query("gearbox", "rerank"), kit(await filled(*MANY), llm=llm), run)
    assert len(result.hits) == 40
    assert not result.reranked
    assert [(d.step, d.code, d.fallback) for d in run.degraded] == [("rerank", code, "the order of the search")]


async def test_a_passage_without_a_grade_is_not_passed_over_in_silence() -> None:
    """C45 (RELIABILITY): one grade for twenty passages is no clean rerank."""
    index = await filled(*MANY)
    run, plain = Run(), await rerank(query("gearbox", "rerank", rerank=0), kit(index), Run())
    result = await rerank(query("gearbox", "rerank"), kit(index, llm=ScriptedLLM(rerank=grades(None, 0))), run)
    first, second, *others = [h.chunk.id for h in plain.hits]
    assert [h.chunk.id for h in result.hits] == [second, first, *others]
    (told,) = run.degraded
    assert (told.step, told.code) == ("rerank", "grade_missing")
    assert told.reason == "the model's reply has no grade for 19 of 20 passages"
