import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag_core.answering.summaries import summarize_document as summarize
from rag_core.answering.text_citation import cite_text as cite
from rag_core.core.errors import InvalidRequest, NotFound
from rag_core.core.index import Index
from rag_core.core.model import Document, Entity, Filter, Scope
from rag_core.core.ports import Completion, Prompt
from rag_core.core.run import Run
from rag_core.pipelines import MAX_NAMED_FIELDS
from rag_core.pipelines import search_with_pipeline as consult
from rag_core.rag import RAG
from tests.fakes import SCOPE, Down, ScriptedLLM, chunk, filled, grades, kit, query

MANUAL = (
    chunk("a", "The gearbox is quiet. P0700 is set by the TCM when it finds a fault.", "P0700"),
    chunk("b", "A caliper holds the brake. It never sets P0700.", "P0700", ordinal=1),
)


async def test_a_question_goes_to_the_pipeline_of_its_name_and_advanced_is_the_default() -> None:
    """S1-34, S1-46."""
    parts = kit(await filled(*MANUAL))
    runs = {name: Run() for name in ("standard", "rerank", "advanced")}
    for name, run in runs.items():
        await consult(query("P0700", name), parts, run, pipeline=name)
    default = Run()
    await consult(query("P0700"), parts, default)
    assert set(default.timings) == set(runs["advanced"].timings)
    assert len({frozenset(run.timings) for run in runs.values()}) == 3


async def test_an_unknown_pipeline_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidRequest, match="pipeline must be one of standard, rerank, advanced, facets"):
        await consult(query("x"), kit(await filled(*MANUAL)), Run(), pipeline="magic")


@pytest.mark.parametrize("said", ["", " \n", 5, None])
async def test_the_front_door_refuses_what_is_no_question_whichever_entrance_it_comes_by(said: Any) -> None:
    rag = RAG(kit(await filled(*MANUAL)))
    for asked, field in ((rag.search, "query"), (rag.answer, "query"), (rag.link_schema, "query"), (rag.cite, "text")):
        with pytest.raises(InvalidRequest, match="must be a text that is not blank") as refused:
            await asked(said)
        assert refused.value.field == field


async def test_the_front_door_names_an_option_and_a_file_that_do_not_exist(tmp_path: Path) -> None:
    rag, misspelt = RAG(kit(await filled(*MANUAL))), {"topk": 2}
    with pytest.raises(InvalidRequest, match=r"topk is no option; did you mean top_k\?; there are pipeline, "):
        await rag.search("P0700", **misspelt)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="source must be a file: there is none at "):
        await rag.index(tmp_path / "manual.pdf")


async def test_the_diary_says_who_did_a_step_and_what_it_cost() -> None:
    run = Run()
    llm = ScriptedLLM(query_expansion='{"queries": ["one", "two"], "hyde": "imagined"}', rerank=grades(1, 2))
    await consult(query("P0700"), kit(await filled(*MANUAL), llm=llm), run)
    assert run.techniques == {
        "query_expansion": "scripted-1",
        "rerank": "scripted-1",
        "ranker": "overlap",
    }
    assert (run.input_tokens, run.output_tokens, run.cost_usd) == (20, 4, pytest.approx(0.002))


async def test_a_step_that_nobody_did_has_no_technique() -> None:
    run = Run()
    await consult(query("P0700"), kit(await filled(*MANUAL), reranker=Down()), run)  # type: ignore[arg-type]
    assert run.techniques == {}


async def test_documents_can_come_with_facets() -> None:
    question = replace(query("P0700", "standard"), facets=("dtc",))
    result = await consult(question, kit(await filled(*MANUAL)), Run(), pipeline="standard")
    assert result.hits
    assert [(f.field, f.total) for f in result.facets] == [("dtc", 1)]


async def test_nothing_found_is_said_to_be_nothing() -> None:
    """C09 (RELIABILITY): an empty ranking with a reason."""
    run = Run()
    result = await consult(query("xylophone", "standard", search_type="keyword"), kit(await filled(*MANUAL)), run)
    assert list(result.hits) == []
    assert [w.code for w in run.warnings] == ["no_results"]


async def test_an_empty_workflow_and_an_unknown_field_are_told_apart_from_words_that_match_nothing() -> None:
    """C09 (RELIABILITY)."""
    run, parts, asked = Run(), kit(await filled(*MANUAL)), query("P0700", "standard")
    await consult(replace(asked, scope=Scope("empty")), parts, run, pipeline="standard")
    await consult(replace(asked, filters=(Filter("metadata.nope", "eq", 1),)), parts, run, pipeline="standard")
    assert [w.code for w in run.warnings] == ["nothing_indexed", "unknown_filter_field"]
    assert "metadata.nope" in run.warnings[1].message
    assert "entity_codes" in run.warnings[1].message


async def test_of_many_fields_those_that_are_not_named_are_counted() -> None:
    table = chunk("1", "a row", metadata={f"column_{n}": n for n in range(MAX_NAMED_FIELDS)})
    run, parts = Run(), kit(await filled(table))
    asked = replace(query("row", "standard"), filters=(Filter("metadata.nope", "eq", 1),))
    await consult(asked, parts, run, pipeline="standard")
    assert re.search(r"metadata\.column_\d+, \d+ more$", run.warnings[0].message)


async def test_another_workflow_sees_nothing() -> None:
    """S1-25: the workflow is a wall, also for summaries and citations."""
    parts, other = kit(await filled(*MANUAL)), Scope("other")
    result = await consult(replace(query("P0700", "standard"), scope=other), parts, Run(), pipeline="standard")
    assert list(result.hits) == []
    assert [c.verdict for c in await cite(MANUAL[0].content, other, parts, Run())] == ["unsupported"] * 2
    with pytest.raises(NotFound):
        await summarize("manual", other, parts, Run())


async def test_a_summary_is_made_once_and_then_stored() -> None:
    """S1-58: get or generate; refresh makes a new one."""
    llm = ScriptedLLM(summary=lambda prompt: f"{prompt.inputs['title']} in {len(llm.prompts)} sentences.")
    parts = kit(await filled(*MANUAL), llm=llm)
    first = await summarize("manual", SCOPE, parts, Run())
    again = await summarize("manual", SCOPE, parts, Run())
    fresh = await summarize("manual", SCOPE, parts, Run(), refresh=True)
    assert [(s.text, s.origin) for s in (first, again, fresh)] == [
        ("The manual in 1 sentences.", "model"),
        ("The manual in 1 sentences.", "stored"),
        ("The manual in 2 sentences.", "model"),
    ]
    assert llm.prompts[0].inputs["passages"] == [c.content for c in MANUAL]
    assert (first.entities, first.chunks, first.document.id) == ((Entity("dtc", "P0700"),), 2, "manual")


async def test_a_summary_of_a_version_that_was_replaced_meanwhile_is_not_kept() -> None:
    """S1-58: the new version is not described by the old one's summary."""
    index = await filled(*MANUAL)
    known = await index.store.load_document("manual", SCOPE)
    assert known is not None

    class Slow(ScriptedLLM):
        async def complete(self, prompt: Prompt) -> Completion:
            await index.add_document(replace(known, content_hash="another"), MANUAL[:1], SCOPE)
            return await super().complete(prompt)

    assert (await summarize("manual", SCOPE, kit(index, llm=Slow(summary="Of the old.")), Run())).text == "Of the old."
    assert await index.store.load_document("manual", SCOPE) == replace(known, content_hash="another")


async def test_without_a_model_a_summary_is_the_document_s_own_sentences_and_is_not_kept() -> None:
    """S1-58: what only stands in for a model's summary is made again when there is one."""
    parts, run = kit(await filled(*MANUAL)), Run()
    summary = await summarize("manual", SCOPE, parts, run)
    assert summary.origin == "extractive"
    assert "P0700" in summary.text
    assert [(d.step, d.fallback) for d in run.degraded] == [("summary", "the document's key sentences, not stored")]
    assert (await summarize("manual", SCOPE, parts, Run())).origin == "extractive"


async def test_a_long_document_is_summarized_from_its_beginning_and_that_is_said() -> None:
    """C49 (RELIABILITY)."""
    llm, run = ScriptedLLM(summary="Long."), Run()
    long = [chunk(f"{n}", f"{n} " + "word " * 10_000, ordinal=n) for n in range(4)]
    await summarize("manual", SCOPE, kit(await filled(*long), llm=llm), run)
    assert llm.prompts[0].inputs["passages"] == [long[0].content]
    assert [w.message for w in run.warnings] == ["made from the first 1 of 4 chunks"]


async def test_an_unknown_document_is_not_found() -> None:
    """S1-58."""
    with pytest.raises(NotFound) as failure:
        await summarize("nothing", SCOPE, kit(await filled(*MANUAL)), Run())
    assert failure.value.field == "document_id"


async def test_another_user_s_document_is_not_found() -> None:
    """S1-58: not told apart from one that is not there."""
    mine, index = Scope("garage", user_id="ada"), await filled()
    own = Document("own", "garage", "t", "s", "h", "test", user_id="ada")
    await index.add_document(own, [chunk("a", "A gearbox.", document="own")], mine)
    assert (await summarize("own", mine, kit(index), Run())).document == own
    with pytest.raises(NotFound):
        await summarize("own", replace(mine, user_id="bob"), kit(index), Run())


async def test_each_sentence_is_cited() -> None:
    """S1-59: verified with its passage, or unsupported without."""
    said = "P0700 is set by the TCM when it finds a fault. Bananas are yellow."
    run = Run()
    first, second = await cite(said, SCOPE, kit(await filled(*MANUAL)), run)
    assert (first.verdict, first.citations[0].chunk_id) == ("verified", "a")
    assert (second.verdict, second.citations) == ("unsupported", ())
    assert said[second.start : second.end] == "Bananas are yellow."
    assert run.degraded == []


async def test_a_text_of_more_sentences_than_can_be_paid_for_is_refused() -> None:
    """RELIABILITY: each would be a call of its own to a hosted embedder, all at once."""
    with pytest.raises(InvalidRequest, match="1000 sentences"):
        await cite("- a\n" * 1001, SCOPE, kit(await filled(*MANUAL)), Run())


async def test_without_a_ranker_copied_words_are_verified_and_shared_ones_never() -> None:
    """S1-59: the deployed app has no cross-encoder, and verifies what a passage says word by word."""
    run = Run()
    parts = kit(await filled(*MANUAL), reranker=Down())  # type: ignore[arg-type]
    copied = "P0700 is set by the TCM when it finds a fault."
    shared = "A fault finds the TCM when P0700 is set by it."
    claims = await cite(f"{copied} {shared}", SCOPE, parts, run)
    assert [claim.verdict for claim in claims] == ["verified", "unsupported"]
    fallback = "citations by the words of the passages alone"
    assert [(d.step, d.fallback) for d in run.degraded] == [("cite", fallback)]


async def test_the_rule_is_left_alone_while_the_ranker_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes seconds for a long text."""
    monkeypatch.delattr("rag_core.answering.citations.verify_by_rule")
    [claim] = await cite("P0700 is set by the TCM when it finds a fault.", SCOPE, kit(await filled(*MANUAL)), Run())
    assert claim.verdict == "verified"


async def test_a_text_without_sentences_has_no_claims() -> None:
    assert await cite("  \n", SCOPE, kit(await filled(*MANUAL)), Run()) == ()


async def test_without_an_embedder_citations_are_found_by_words() -> None:
    run = Run()
    index = Index((await filled(*MANUAL)).store, Down())  # type: ignore[arg-type]
    [claim] = await cite("P0700 is set by the TCM when it finds a fault.", SCOPE, kit(index), run)
    assert claim.verdict == "verified"
    assert [d.step for d in run.degraded] == ["embed"]
