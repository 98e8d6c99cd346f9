"""The classical pipeline from the question to the account of it: what each step adds, and what stands in for it."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from threading import Event
from typing import Any

import pytest

from evals.answer_fit import LabelledJudge
from rag_core.core.errors import DeadlineExceeded, InvalidRequest, Unavailable
from rag_core.core.index import Index
from rag_core.core.kit import Kit, NoRedactor
from rag_core.core.model import Answer, Chunk, PiiSpan, Ranking, Scope, Span
from rag_core.core.ports import LLM, ChunkStore, Embedder, Probe, Prompt, Reranker, WebResult, WebSearch
from rag_core.core.preset_choice import choose_preset
from rag_core.core.presets import resolve_preset
from rag_core.core.run import Run
from rag_core.core.settings import load_settings
from rag_core.guard.classical import CLASSICAL_GENERATION, NO_RESULTS_TEXT, WEB_CONFIDENCE_FACTOR
from rag_core.guard.redaction import RuleBasedRedactor
from rag_core.pipelines import answer_with_pipeline as ask
from rag_core.pipelines import search_with_pipeline as consult
from rag_core.providers.embedded_cache import EmbeddedCache
from rag_core.providers.local_techniques import LocalTechniques
from rag_core.providers.null_models import NoReranker
from rag_core.replies import AnswerReply
from rag_core.stores.archive import ArchiveDatabase, SqlQueryLog
from rag_core.text.abbreviations import load_packaged_glossary
from tests.fakes import (
    SCOPE,
    Asleep,
    ConceptEmbedder,
    Down,
    OverlapReranker,
    ScriptedLLM,
    chunk,
    filled,
    query,
)

QUESTION = "At what temperature does the gearbox overheat?"
FACT = "The gearbox overheats at a temperature of 140 degrees."
MANUAL = (
    chunk("a", f"This is the manual. {FACT} A lamp is lit then.", "P0700", heading_path=("Care", "Gearbox")),
    chunk("b", "A caliper holds the brake. It never overheats.", ordinal=1),
    chunk("c", "The engine misfires when a cylinder is wet.", ordinal=2),
)


class Spying:
    """The store of an index, with one leg down if so wished, and what it was asked."""

    def __init__(self, store: ChunkStore, down: str = "") -> None:
        self._store, self._down = store, down
        self.asked: list[tuple[Probe, int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def search(self, probes: Sequence[Probe], scope: Scope, *, limit: int, **how: Any) -> Sequence[Ranking]:
        self.asked += [(probe, limit) for probe in probes]
        if self._down and any(probe.lexical_query if self._down == "words" else probe.vector for probe in probes):
            raise Unavailable(f"{self._down} are down", code=f"{self._down}_down")
        return await self._store.search(probes, scope, limit=limit, **how)


class Listed:
    """A search engine that lists one page."""

    name = "listed"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def search(self, text: str, limit: int) -> Sequence[WebResult]:
        self.asked.append(text)
        return [WebResult("Saxophones", "https://sax.example/1840", "Adolphe Sax invented the saxophone in 1840.")]

    async def close(self) -> None: ...


def said(*sentences: tuple[str, list[str]]) -> str:
    return json.dumps({"answerable": True, "sentences": [{"text": t, "evidence": e} for t, e in sentences]})


async def parts(
    *chunks: Chunk,
    llm: LLM | None = None,
    reranker: Reranker | None = None,
    embedder: Embedder | None = None,
    down: str = "",
    web: WebSearch | None = None,
) -> Kit:
    """Real parts over these chunks: a cache, a log and a redactor; without a model, quotes."""
    index = await filled(*(chunks or MANUAL))
    ranker = reranker or OverlapReranker()
    store: Any = Spying(index.store, down)
    kit = Kit(
        Index(store, embedder or index.embedder),
        llm or LocalTechniques(ranker, lambda *_: []),
        ranker,
        redactor=RuleBasedRedactor(),
        cache=EmbeddedCache(None, b"secret"),
        query_log=SqlQueryLog(ArchiveDatabase(None)),
        glossary=load_packaged_glossary(),
    )
    return replace(kit, web=web) if web else kit


async def asked(kit: Kit, text: str = QUESTION, run: Run | None = None, **numbers: object) -> Answer:
    return await ask(query(text, "classical", **numbers), kit, run or Run(), pipeline="classical")


def spied(kit: Kit) -> Spying:
    store: Any = kit.index.store
    return store


def chunks_of(answer: Answer) -> list[dict[str, Any]]:
    preset = resolve_preset("classical")
    return [
        dict(chunk)
        for chunk in AnswerReply(answer, preset.build_query("?", SCOPE), preset, Run(), {}).to_json()["chunks"]
    ]


# from the question to the legs


async def test_what_tells_of_a_person_goes_nowhere() -> None:
    """S4-01, S4-31, C30: not the store, embedder, model or log; and the caller is told where it stood."""
    llm, embedder, run = ScriptedLLM(answer=said((FACT, ["e1"]))), ConceptEmbedder(), Run()
    kit = await parts(llm=llm, embedder=embedder)
    await asked(kit, f"{QUESTION} Tell jane.doe@example.com", run)
    (entry,) = await kit.query_log.list_latest(5)
    seen = [
        *embedder.asked,
        *(p.lexical_query for p, _ in spied(kit).asked),
        *(p.user for p in llm.prompts),
        entry["query"],
    ]
    assert not any("jane" in text for text in seen)
    assert [text for text in seen if "[EMAIL]" in text] == [entry["query"]]
    told = run.warnings[0]
    assert (told.code, told.message) == ("personal_data_redacted", "redacted in the question: EMAIL at 52 to 72")


async def test_without_a_redactor_nothing_is_asked_of_anyone() -> None:
    """S4-01: fails closed."""
    kit = replace(await parts(), redactor=NoRedactor())
    with pytest.raises(Unavailable) as failure:
        await asked(kit)
    assert failure.value.code == "redaction_failed"
    assert spied(kit).asked == []


async def test_a_question_of_the_shape_of_an_attack_is_refused_and_put_on_record() -> None:
    """S4-02, S4-31: before anything is looked up."""
    kit = await parts()
    with pytest.raises(InvalidRequest) as refused:
        await asked(kit, "'; DROP TABLE documents; --")
    (entry,) = await kit.query_log.list_latest(5)
    assert (refused.value.code, entry["status"], spied(kit).asked) == ("suspicious_input", "suspicious_input", [])
    with pytest.raises(InvalidRequest):
        await consult(query("'; DROP TABLE documents; --", "classical"), kit, Run(), pipeline="classical")


async def test_abbreviations_are_searched_for_in_both_spellings_and_asked_in_that_of_the_passage() -> None:
    """S4-03, C28: folded for the words, expanded for both legs; codes as they were, and the log has the original."""
    llm, embedder = ScriptedLLM(answer=said((FACT, ["e1"]))), ConceptEmbedder()
    kit = await parts(chunk("h", "A myocardial infarction damages the heart."), llm=llm, embedder=embedder)
    await asked(kit, "Is MI damage P0700?")
    assert embedder.asked[-1] == "Is MI (myocardial infarction) damage P0700?"
    assert [p.lexical_query for p, _ in spied(kit).asked if p.lexical_query] == [
        "is mi (myocardial infarction) damage P0700?"
    ]
    assert llm.prompts[0].inputs["question"] == "Is myocardial infarction damage P0700?"
    assert [entry["query"] for entry in await kit.query_log.list_latest(5)] == ["Is MI damage P0700?"]


async def test_each_leg_is_asked_for_ten() -> None:
    """S4-10, S4-12, S4-13: words by BM25, meaning by cosine."""
    kit = await parts()
    await asked(kit)
    assert sorted((bool(p.lexical_query), p.vector is not None, n) for p, n in spied(kit).asked) == [
        (False, True, 10),
        (True, False, 10),
    ]


async def test_the_fused_score_is_the_documents_sum_and_each_chunk_stands_once() -> None:
    """S4-11, S4-14, S4-15, S4-51: by hand from the two legs; who found it is told."""
    kit = await parts()
    found = (await consult(query("gearbox brake", "classical"), kit, Run(), pipeline="classical")).hits
    by_id = {hit.chunk.id: hit for hit in found}
    best = max(hit.signals.get("words", 0.0) for hit in found)
    assert len(by_id) == len(found)
    for hit in found:
        expected = 0.4 * hit.signals.get("words", 0.0) / best + 0.6 * hit.signals.get("meaning", 0.0)
        assert hit.score == pytest.approx(expected, abs=1e-6)


async def test_the_fused_list_goes_to_the_ranker_in_one_batch_by_excerpts_and_three_come_back() -> None:
    """S4-16, S4-17, S4-19: what two legs of ten find, 3 of it or `max_results` (top_k: C01); the ranker is named."""
    ranker, run = OverlapReranker(), Run()
    many = [chunk(f"g{n}", f"The gearbox overheats, says page {n}. {'Noise. ' * 100}", ordinal=n) for n in range(30)]
    kit = await parts(*many, reranker=ranker)
    three = await consult(query(QUESTION, "classical"), kit, run, pipeline="classical")
    five = await consult(query(QUESTION, "classical", top_k=5), kit, Run(), pipeline="classical")
    assert (len(three.hits), len(five.hits)) == (3, 5)
    assert run.techniques["ranker"] == "overlap"
    assert 10 <= len(ranker.calls[0]) <= 20
    assert all(len(text) <= 400 + len("The manual: ") for text in ranker.calls[0])


async def test_the_boost_decides_where_there_is_no_ranker() -> None:
    """S4-40: of two passages of the same meaning, the one that names what the question names comes first."""
    twins = [chunk("x", "The brake is heavy."), chunk("y", "The brake is held by the ECU.", ordinal=1)]
    kit = await parts(*twins, reranker=NoReranker("none"))
    named = query("Does the ECU hold the brake?", "classical", search_type="vector")
    hits = (await consult(named, kit, Run(), pipeline="classical")).hits
    assert hits[0].signals["meaning"] == hits[1].signals["meaning"]
    assert [hit.chunk.id for hit in hits] == ["y", "x"]


async def test_other_wordings_are_asked_only_where_they_are_switched_on() -> None:
    """S4-39: MULTI_QUERY_ENABLED=1; off by default."""
    llm = ScriptedLLM(query_expansion='{"queries": ["When is the transmission too hot?"]}', answer=said((FACT, ["e1"])))
    kit = await parts(llm=llm)
    off, _ = choose_preset(preset="classical", preset_overrides=load_settings({}).preset_overrides)
    on, _ = choose_preset(
        preset="classical", preset_overrides=load_settings({"MULTI_QUERY_ENABLED": "1"}).preset_overrides
    )
    await consult(off.build_query(QUESTION, SCOPE), kit, Run(), pipeline="classical")
    assert len(spied(kit).asked) == 2
    await consult(on.build_query(QUESTION, SCOPE), kit, Run(), pipeline="classical")
    assert [p.lexical_query for p, _ in spied(kit).asked if p.lexical_query][-1] == "when is the transmission too hot?"


async def test_the_passages_beside_are_read_only_where_that_is_switched_on() -> None:
    """S4-41: SKIP_CONTEXT_EXPANSION=0; 1 is the default."""
    kit = await parts()
    off, _ = choose_preset(preset="classical", top_k=1, preset_overrides=load_settings({}).preset_overrides)
    on, _ = choose_preset(
        preset="classical", top_k=1, preset_overrides=load_settings({"SKIP_CONTEXT_EXPANSION": "0"}).preset_overrides
    )
    alone = await ask(off.build_query(QUESTION, SCOPE), kit, Run(), pipeline="classical")
    beside = await ask(on.build_query(QUESTION, SCOPE), kit, Run(), pipeline="classical")
    assert [p.hit.chunk.id for p in alone.evidence] == ["a"]
    assert [p.hit.chunk.id for p in beside.evidence] == ["a", "b"]


# from the passages to the answer


async def test_a_model_is_given_the_relevant_excerpts_without_tables_and_no_more() -> None:
    """S4-21, S4-28, S4-45: at most 400 characters each; what is below MIN_CHUNK_RELEVANCE is kept from it."""
    llm = ScriptedLLM(answer=said((FACT, ["e1"])))
    long = chunk("long", f"{FACT}\n| gearbox | 999 |\n{'The gearbox is heavy. ' * 60}")
    kit = await parts(long, chunk("other", "The gearbox is blue.", ordinal=1), llm=llm)
    answer = await asked(kit)
    given: Any = llm.prompts[0].inputs["evidence"]
    assert [(g["id"], g["text"]) for g in given] == [("e1", FACT)]
    assert [p.hit.chunk.id for p in answer.evidence] == ["long"]
    llm.prompts.clear()
    lenient, _ = choose_preset(
        preset="classical", preset_overrides=load_settings({"MIN_CHUNK_RELEVANCE": "0.1"}).preset_overrides
    )
    await ask(lenient.build_query(QUESTION, SCOPE), kit, Run(), pipeline="classical")
    given = llm.prompts[0].inputs["evidence"]
    assert len(given) == 2
    assert all(len(g["text"]) <= 400 for g in given)


async def test_a_row_reaches_the_model_as_a_sentence_and_is_cited_where_it_stands() -> None:
    """S4-45: no bar and no GRADE table in the prompt; the claim cites the line of the row."""
    doses = "| Part | Limit |\n| --- | --- |\n| Axle | 90 degrees |\n| Gearbox | 140 degrees |"
    grade = "| Gearbox | Certainty of evidence |\n| --- | --- |\n| Limit of 140 degrees | low ⊕⊕⊖⊖ |"
    content = f"{grade}\n\n{doses}"
    table = replace(chunk("a", content), spans=(Span(0, len(content), 3, 21, 28),))
    said_by_model = "The limit of the gearbox is 140 degrees."
    llm, judge = ScriptedLLM(answer=said((said_by_model, ["e1"]))), LabelledJudge([(said_by_model, "supported")])
    answer = await asked(replace(await parts(table, llm=llm), judge=judge), "What is the limit of the gearbox?")
    assert "Part: Axle; Limit: 90 degrees\\nPart: Gearbox; Limit: 140 degrees" in llm.prompts[0].user
    assert not {"|", "⊕"} & set(llm.prompts[0].user)
    assert "ertainty" not in llm.prompts[0].user
    assert answer.origin == "model"
    [citation] = answer.claims[0].citations
    assert "| Gearbox | 140 degrees |" in citation.quote
    assert citation.place
    assert (citation.place.page, citation.place.line_end) == (3, 28)


async def test_the_model_is_asked_with_the_documents_numbers() -> None:
    """S4-24, S4-23: temperature 0, 200 tokens, top_p 0.9, two minutes."""
    llm = ScriptedLLM(answer=said((FACT, ["e1"])))
    await asked(await parts(llm=llm))
    prompt: Prompt = llm.prompts[0]
    assert (prompt.temperature, prompt.max_tokens, prompt.top_p, CLASSICAL_GENERATION.within_s) == (
        0.0,
        200,
        0.9,
        120.0,
    )


async def test_an_answer_of_enough_confidence_is_the_models_and_cited_in_line() -> None:
    """S4-22, S4-25, S4-26, S4-32: answer, citations and chunks; [Document Name, Section X]."""
    answer = await asked(await parts(llm=ScriptedLLM(answer=said((FACT, ["e1"])))), "gearbox temperature overheats")
    preset = resolve_preset("classical")
    body = AnswerReply(answer, preset.build_query(QUESTION, SCOPE), preset, Run(), {}).to_json()
    assert (body["origin"], body["answer"]) == ("model", FACT)
    assert body["confidence"]["value"] >= 0.7
    assert body["confidence"]["inputs"]["asserted"] == 1
    assert body["cited_answer"] == f"{FACT} [The manual, Section Gearbox]"
    assert [c["chunk_id"] for c in body["citations"]] == [c["chunk_id"] for c in body["chunks"]][:1] == ["a"]


async def test_below_the_threshold_the_documents_speak_and_it_is_said() -> None:
    """S4-26, S4-42: a hedged answer has no certainty; key sentences stand in, and no model's word is left."""
    run = Run()
    hedged = "The gearbox probably overheats at a temperature of 140 degrees."
    answer = await asked(await parts(llm=ScriptedLLM(answer=said((hedged, ["e1"])))), "gearbox temperature", run)
    assert (answer.origin, answer.text) == ("extractive", FACT)
    assert [w.code for w in run.warnings] == ["low_confidence"]


async def test_where_two_documents_differ_both_are_shown() -> None:
    """S4-42: key sentences of the documents, of each that is as relevant as the best."""
    said_of = "threshold of votes by which the large house may pass a new constitutional proposal"
    guide = chunk("old", f"The {said_of} quickly is 4.5 percent.", document="guide")
    law = chunk("new", f"The {said_of} is half of the votes.", document="law")  # a little less relevant: 0.9
    answer = await asked(await parts(guide, law), f"Which is the {said_of} quickly?")
    assert {c.document_id for claim in answer.claims for c in claim.citations} == {"guide", "law"}
    assert "4.5 percent" in answer.text
    assert "half of the votes" in answer.text
    assert all(answer.text[claim.start : claim.end] == claim.text for claim in answer.claims)


async def test_a_citation_that_does_not_exist_is_found_out() -> None:
    """S4-27."""
    run = Run()
    answer = await asked(await parts(llm=ScriptedLLM(answer=said((FACT, ["e9"])))), "gearbox temperature", run)
    assert "citation_unverified" in [d.code for d in run.degraded]
    assert {c.chunk_id for claim in answer.claims for c in claim.citations} == {"a"}


async def test_the_answer_and_what_it_cites_are_looked_through_again() -> None:
    """S4-29, C30: what a document tells of a person is not passed on; the place of the quote stays."""
    run, line = Run(), "The gearbox expert is reached at jane.doe@example.com today."
    kit = await parts(chunk("p", f"First.\n{line}\nLast.", summary="jane.doe@example.com", content_hash="1"))
    answer = await asked(kit, "How is the gearbox expert reached?", run)
    assert answer.text == "The gearbox expert is reached at [EMAIL] today."
    assert answer.text == answer.text[answer.claims[0].start : answer.claims[0].end]
    assert "jane" not in repr(answer)
    place = answer.claims[0].citations[0].place
    assert place
    assert (place.line_start, place.line_end) == (2, 2)
    assert "redacted in the answer: EMAIL at 33 to 53" in [w.message for w in run.warnings]


# what takes time

_STEP: ContextVar[str] = ContextVar("step", default="")


class WatchedRun(Run):
    """A run that tells, to whatever part is called, in which step that is."""

    async def step(self, name: str, awaitable: Awaitable[Any], *, within_s: float | None = None) -> Any:
        token = _STEP.set(name)
        try:
            return await super().step(name, awaitable, within_s=within_s)
        finally:
            _STEP.reset(token)


class Watched:
    """A part, and for each of its calls: the method, the step in which it was called, and the arguments."""

    def __init__(self, part: object) -> None:
        self._part, self.calls = part, list[tuple[str, str, tuple[Any, ...]]]()

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._part, name)
        if not callable(member):
            return member

        async def call(*given: Any, **named: Any) -> Any:
            self.calls.append((name, _STEP.get(), given))
            return await member(*given, **named)

        return call

    def list_steps(self, method: str) -> list[str]:
        return sorted(step for name, step, _ in self.calls if name == method)


async def test_each_part_is_called_once_in_the_step_that_has_its_time_budget() -> None:
    """S4-09, S4-18, S4-33..38: the question is embedded by one call, at most 20 excerpts are reranked by one call, and
    the time of each is on record under its step's name; a cached answer calls none of them.
    """
    many = [chunk(f"g{n}", f"The gearbox overheats at 140 degrees, says page {n}.", ordinal=n) for n in range(30)]
    made = await parts(*many, llm=ScriptedLLM(answer=said(("The gearbox overheats at 140 degrees.", ["e1"]))))
    embedder, store, reranker, llm, cache = (
        Watched(part) for part in (made.index.embedder, made.index.store, made.reranker, made.llm, made.cache)
    )
    watched: Any = {"reranker": reranker, "llm": llm, "cache": cache}
    index: Any = {"embedder": embedder, "store": store}
    kit = replace(made, index=Index(**index), **watched)
    first, second = WatchedRun(), WatchedRun()

    answer = await asked(kit, run=first)
    assert embedder.list_steps("embed_query") == ["embed"]
    assert store.list_steps("search") == ["meaning", "words"]
    reranked = [given for name, step, given in reranker.calls if step == "rerank"]
    assert len(reranked) == 1
    assert 10 <= len(reranked[0][1]) <= 20
    assert llm.list_steps("complete") == ["answer"]
    assert {"cache", "embed", "words", "meaning", "rerank", "answer"} <= set(first.timings)

    calls = [len(part.calls) for part in (embedder, reranker, llm)]
    assert await asked(kit, run=second) == answer
    assert [len(part.calls) for part in (embedder, reranker, llm)] == calls
    assert store.list_steps("search") == ["meaning", "words"]
    assert "cache" in second.timings
    assert not {"embed", "words", "meaning", "rerank", "answer"} & set(second.timings)


# what is remembered


async def test_the_same_question_is_answered_from_memory() -> None:
    """S4-04, S4-05, S4-30, C24: case and blanks do not count; who answered is still told, and the log has both."""
    llm, run = ScriptedLLM(answer=said((FACT, ["e1"]))), Run()
    kit = await parts(llm=llm)
    first = await asked(kit)
    again = await asked(kit, f"  {QUESTION.upper()} ", run)
    assert (again, len(llm.prompts)) == (first, 1)
    assert set(run.timings) == {"redact", "cache", "audit"}
    assert run.techniques["cache"] == "answered before, kept by embedded"
    assert run.techniques["answer"] == "scripted-1"
    assert [entry["metrics"]["cached"] for entry in await kit.query_log.list_latest(5)] == [True, False]


async def test_every_repeated_question_is_a_hit() -> None:
    """S4-06: a target of 70 % is met by any traffic that repeats itself as often, as the log tells."""
    kit = await parts()
    for spelling in (str, str.upper, str.lower, "  {} ".format):
        for text in ("gearbox temperature", "brake caliper", "engine misfire"):
            await asked(kit, spelling(text))
    hits = [entry["metrics"]["cached"] for entry in await kit.query_log.list_latest(100)]
    assert (sum(hits), len(hits)) == (9, 12)


async def test_a_changed_document_or_another_scope_or_number_is_asked_anew() -> None:
    """S4-05, C23: the key holds the scope, the numbers and the version of the documents."""
    llm = ScriptedLLM(answer=said((FACT, ["e1"])))
    kit = await parts(llm=llm)
    await asked(kit)
    await asked(kit, top_k=2)
    await ask(
        resolve_preset("classical").build_query(QUESTION, Scope("garage", "ann")), kit, Run(), pipeline="classical"
    )
    assert len(llm.prompts) == 3
    await kit.index.store.delete("manual", SCOPE)
    assert (await asked(kit)).status == "unknown"


async def test_what_leaned_on_a_fallback_is_not_remembered() -> None:
    """S4-30: nor is what another model said."""
    kit = await parts(llm=ScriptedLLM(answer=Unavailable("down", code="llm_unavailable")))
    await asked(kit)
    better = ScriptedLLM(answer=said((FACT, ["e1"])))
    assert (await asked(replace(kit, llm=better))).text == FACT
    assert len(better.prompts) == 1


async def test_every_answer_is_put_on_record() -> None:
    """S4-31: with its status, confidence, timings and passages; a log that is down spoils no answer."""
    kit = await parts()
    answer = await asked(kit, "gearbox temperature", run := Run())
    (entry,) = await kit.query_log.list_latest(5)
    assert (entry["preset"], entry["status"], entry["workflow_id"]) == ("classical", "answered", "garage")
    assert entry["confidence"] == answer.confidence.value
    assert entry["metrics"]["chunks"] == ["a"]
    assert {"embed", "words", "meaning", "rerank"} <= set(entry["timings"])
    assert entry["metrics"]["run_id"] == run.id

    class Full(SqlQueryLog):
        async def record(self, entry: object) -> None:
            raise Unavailable("the disk is full", code="audit_deferred")

    late = Run()
    assert (
        await asked(replace(kit, query_log=Full(ArchiveDatabase(None))), "gearbox temperature", late)
    ).text == answer.text
    assert [d.code for d in late.degraded] == ["audit_deferred"]


async def test_an_answer_does_not_wait_for_a_log_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """S4-31: the request has an hour left when it is answered."""
    monkeypatch.setattr(sys.modules["rag_core.guard.classical"], "LOG_TIMEOUT_S", 0.01)

    class Hanging(SqlQueryLog):
        async def record(self, entry: object) -> None:
            await asyncio.Event().wait()

    kit, run = replace(await parts(), query_log=Hanging(ArchiveDatabase(None))), Run(within_s=3600)
    async with asyncio.timeout(60):
        assert (await asked(kit, "gearbox temperature", run)).status == "answered"
    assert [(d.step, d.code) for d in run.degraded] == [("audit", "deadline_exceeded")]


# what can fail


async def test_without_vectors_in_the_store_words_alone_answer() -> None:
    """S4-46, S4-51: and count whole."""
    run = Run()
    answer = await asked(await parts(down="meaning"), "gearbox temperature", run)
    assert [(d.step, d.fallback) for d in run.degraded] == [("meaning", "the hits of the other leg")]
    assert answer.status == "answered"
    assert answer.evidence[0].hit.score == 1.0
    assert {c["source"] for c in chunks_of(answer)} == {"bm25"}


async def test_without_words_meaning_alone_answers_and_without_both_there_is_no_answer() -> None:
    run = Run()
    answer = await asked(await parts(down="words"), "gearbox temperature", run)
    assert {c["source"] for c in chunks_of(answer)} == {"vector"}
    kit = await parts(down="words")
    with pytest.raises(Unavailable) as failure:
        await asked(kit, "gearbox temperature", search_type="keyword")
    assert failure.value.code == "retrieval_unavailable"


async def test_a_model_that_is_down_leaves_snippets() -> None:
    """S4-47."""
    run = Run()
    answer = await asked(await parts(llm=Down()), "gearbox temperature", run)  # type: ignore[arg-type]
    assert (answer.origin, answer.text) == ("extractive", FACT)
    assert [(d.step, d.fallback) for d in run.degraded] == [("answer", "the documents' own sentences")]


async def test_a_model_that_is_late_leaves_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """S4-49: partial results, and why."""
    module = sys.modules["rag_core.guard.classical"]  # the package's attribute of that name is the pipeline
    monkeypatch.setattr(module, "CLASSICAL_GENERATION", replace(CLASSICAL_GENERATION, within_s=0.01))
    run = Run()
    answer = await asked(await parts(llm=Asleep()), "gearbox temperature", run)  # type: ignore[arg-type]
    assert answer.text == FACT
    assert [(d.step, d.code) for d in run.degraded] == [("answer", DeadlineExceeded.code)]


async def test_an_answer_whose_redaction_outlasts_the_deadline_is_an_error() -> None:
    """C45: the redaction of an answer has the time of the request as well, and nothing is shown without it."""
    ended = Event()

    class Stuck(RuleBasedRedactor):
        def find_pii_spans(self, text: str) -> Sequence[PiiSpan]:
            assert FACT not in text or ended.wait(timeout=60)
            return ()

    try:
        async with asyncio.timeout(60):
            with pytest.raises(DeadlineExceeded, match="redact_answer"):  # which a paused machine reaches in time, too
                await asked(replace(await parts(), redactor=Stuck()), "gearbox temperature", Run(within_s=6))
    finally:
        ended.set()


async def test_a_question_that_cannot_be_embedded_is_an_error_with_no_confidence() -> None:
    """S4-50, C25: unlike in other pipelines, where words would stand in."""
    kit = await parts(embedder=Down())  # type: ignore[arg-type]
    with pytest.raises(Unavailable) as failure:
        await asked(kit)
    assert failure.value.details == {"confidence": 0.0}
    assert "could not be embedded" in failure.value.message
    (entry,) = await kit.query_log.list_latest(5)
    assert (entry["status"], entry["confidence"]) == (failure.value.code, 0.0)


async def test_nothing_found_is_said_and_the_web_is_not_asked_unless_it_is_switched_on() -> None:
    """S4-48."""
    llm = ScriptedLLM()
    answer = await asked(await parts(llm=llm), "Who invented the saxophone in 1840?")
    assert (answer.text, answer.status, answer.confidence.value) == (NO_RESULTS_TEXT, "unknown", 0)
    assert answer.text.startswith("No relevant results")
    assert llm.prompts == []


async def test_the_web_answers_by_quotes_at_half_the_confidence_and_is_not_remembered() -> None:
    """S4-43, S4-48, S4-51, C26: marked as a fallback, with the factor among the inputs, asked without personal data."""
    web, run = Listed(), Run()
    kit = await parts(web=web)
    answer = await asked(kit, "Who invented the saxophone in 1840? jane.doe@example.com", run)
    assert answer.text == "Adolphe Sax invented the saxophone in 1840."
    assert answer.confidence.inputs["web"] == WEB_CONFIDENCE_FACTOR
    assert 0 < answer.confidence.value <= WEB_CONFIDENCE_FACTOR
    assert [(c["source"], c["document_name"]) for c in chunks_of(answer)] == [("fallback", "Saxophones")]
    assert [c.source for claim in answer.claims for c in claim.citations] == ["https://sax.example/1840"]
    assert [d.fallback for d in run.degraded] == ["results of a web search"]
    assert web.asked == ["Who invented the saxophone in 1840?"]
    await asked(kit, "Who invented the saxophone in 1840? jane.doe@example.com")
    assert len(web.asked) == 2


async def test_a_search_engine_that_is_down_leaves_the_message() -> None:
    """S4-48."""
    run = Run()
    web: Any = Down()
    answer = await asked(await parts(web=web), "Who invented the saxophone in 1840?", run)
    assert answer.text == NO_RESULTS_TEXT
    assert [d.step for d in run.degraded] == ["web_search"]


async def test_a_chunk_names_its_file_and_what_found_it() -> None:
    """S4-44, S4-51, S4-52: the name is the document's own, not its id."""
    answer = await asked(await parts(), "gearbox temperature")
    (found,) = chunks_of(answer)
    assert (found["document_id"], found["document_name"], found["source"]) == ("manual", "manual.txt", "hybrid")


async def test_a_keyword_search_asks_no_embedder() -> None:
    embedder = ConceptEmbedder()
    kit = await parts(embedder=embedder)
    before = len(embedder.asked)
    answer = await asked(kit, "gearbox temperature", search_type="keyword")
    assert (answer.status, len(embedder.asked)) == ("answered", before)


async def test_twenty_at_once_are_answered_alike() -> None:
    kit = await parts()
    answers = await asyncio.gather(*(asked(kit) for _ in range(20)))
    assert len({answer.text for answer in answers}) == 1
