"""Questions that go on from a conversation, with a chat model and without one."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from rag_core.core.model import Turn
from rag_core.core.presets import Query
from rag_core.core.run import Run
from rag_core.pipelines import PIPELINES
from rag_core.providers.local_techniques import LocalTechniques
from rag_core.rag import RAG
from rag_core.retrieval.conversation import (
    EARLIER_LABEL,
    MAX_USER_TURNS,
    REPLY_LABEL,
    label_turns,
    resolve_conversation,
    select_user_turns,
)
from tests.fakes import OverlapReranker, ScriptedLLM, chunk, filled, kit, query

BRAKE = chunk("brake", "The brake fluid is changed every two years.", document="brakes")
GEARBOX = chunk("gearbox", "The gearbox oil is changed every six years.", document="gearboxes")
CABIN = chunk("cabin", "The cabin filter is changed every year.", document="cabins")
HISTORY = (Turn("user", "Tell me about gearbox oil."), Turn("assistant", "It cools and greases the gearbox."))
QUESTION = "How often is it changed?"


def go_on(text: str = QUESTION, preset: str = "standard", history: tuple[Turn, ...] = HISTORY) -> Query:
    return replace(query(text, preset), history=history)


async def find_first(asked: Query, **parts: object) -> str:
    run = Run()
    resolved, resolved_kit = await resolve_conversation(
        asked, replace(kit(await filled(BRAKE, GEARBOX, CABIN)), has_chat_model=False, **parts), run
    )
    return (await PIPELINES[asked.preset.pipeline](resolved, resolved_kit, run)).hits[0].chunk.id


@pytest.mark.parametrize("preset", ["standard", "rerank", "advanced", "workbench"])
async def test_without_a_chat_model_the_turns_before_steer_what_is_found(preset: str) -> None:
    assert await find_first(go_on(preset=preset)) == "gearbox"


async def test_a_new_subject_is_found_in_spite_of_the_turns_before() -> None:
    assert await find_first(go_on("How often is the cabin filter changed?")) == "cabin"


@pytest.mark.parametrize(
    ("text", "noted"), [(QUESTION, "conversation"), ("When is the cabin filter changed?", "prior_turns")]
)
async def test_only_a_question_that_leans_on_the_turns_before_is_said_to_be_read_with_them(
    text: str, noted: str
) -> None:
    """The page Ask says so below the first; below the second it was said without cause."""
    run = Run()
    await resolve_conversation(go_on(text), replace(kit(await filled(GEARBOX, CABIN)), has_chat_model=False), run)
    assert list(run.techniques) == [noted]


async def test_the_words_of_the_turns_before_count_less_than_those_of_the_question() -> None:
    asked = go_on("brake fluid", history=(Turn("user", "gearbox oil"),))
    asked = asked.override(search_type="keyword", semantic=0)
    assert await find_first(asked) == "brake"


async def test_the_cross_encoder_reads_the_question_after_the_turn_before() -> None:
    reranker = RememberingReranker()
    await find_first(go_on(), reranker=reranker)
    assert reranker.asked[0] == f"{HISTORY[0].content} {QUESTION}"


@pytest.mark.parametrize("preset", ["standard", "rerank", "advanced"])
async def test_what_stands_in_for_a_chat_model_reads_the_question_after_the_turn_before_too(preset: str) -> None:
    """Grades, and the sentences of an answer, are by the same text as the ranking."""
    reranker = RememberingReranker()
    parts = replace(
        kit(await filled(BRAKE, GEARBOX, CABIN), llm=LocalTechniques(reranker, lambda *_: []), reranker=reranker),
        has_chat_model=False,
    )
    await RAG(parts).answer(QUESTION, scope=query("").scope, history=HISTORY, preset=preset)
    assert reranker.asked[0] == f"{HISTORY[0].content} {QUESTION}"
    assert QUESTION not in reranker.asked


class RememberingReranker(OverlapReranker):
    """Remembers the questions that it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def score_passages(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        self.asked.append(text)
        return await super().score_passages(text, passages)


async def test_a_search_by_vectors_alone_is_steered_too() -> None:
    history = (Turn("user", "What is a gearbox?"),)
    asked = go_on("How hot?", history=history).override(search_type="vector", semantic=0, top_k=3)
    chunks = chunk("heat", "Thermal overheating.", document="a"), chunk("both", "A hot gearbox.", document="b")
    index, found = await filled(*chunks), []
    for one in (replace(asked, history=()), asked):
        result = await PIPELINES["standard"](one, replace(kit(index), has_chat_model=False), Run())
        found.append(result.hits[0].chunk.id)
    assert found == ["heat", "both"]


async def test_what_was_not_said_by_the_user_is_not_asked_of_the_cross_encoder() -> None:
    assert go_on(history=(HISTORY[1],)).text_in_context == QUESTION


async def test_a_chat_model_writes_the_question_to_stand_alone() -> None:
    """Everything after sees only that question, and the model sees no document."""
    standalone = "How often is gearbox oil changed?"
    llm, run = ScriptedLLM(standalone_question=json.dumps({"question": f" {standalone}\n"})), Run()
    resolved, _ = await resolve_conversation(go_on(), kit(await filled(GEARBOX), llm=llm), run)
    assert (resolved.text, resolved.history) == (standalone, ())
    assert [turn["content"] for turn in llm.prompts[0].inputs["turns"]] == [turn.content for turn in HISTORY]  # type: ignore[attr-defined]
    assert run.techniques["standalone_question"] == "scripted-1"
    assert run.input_tokens == 10


@pytest.mark.parametrize(
    "said", ["no JSON", '{"question": ""}', '{"question": 4}', json.dumps({"question": "x" * 900})]
)
async def test_a_reply_without_a_question_falls_back_to_the_turns_before(said: str) -> None:
    """C25."""
    run = Run()
    llm = ScriptedLLM(standalone_question=said)
    resolved, _ = await resolve_conversation(go_on(), kit(await filled(GEARBOX), llm=llm), run)
    assert (resolved.text, resolved.history) == (QUESTION, HISTORY)
    assert [(d.step, d.code) for d in run.degraded] == [("standalone_question", "llm_output_invalid")]


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("When is gearbox oil changed?", "leaves out P0700 of the question"),
        ("Is gearbox oil changed for P0700 or P0750?", "asks about P0750, which nobody said"),
    ],
)
async def test_a_model_that_changes_what_was_asked_about_is_not_believed(said: str, fault: str) -> None:
    """The answer would be right, for a question that nobody asked."""
    run, llm = Run(), ScriptedLLM(standalone_question=json.dumps({"question": said}))
    asked = replace(go_on(), text="And for P0700?")
    resolved, _ = await resolve_conversation(asked, kit(await filled(GEARBOX), llm=llm), run)
    assert (resolved.text, resolved.history) == (asked.text, HISTORY)
    assert [(d.code, d.reason) for d in run.degraded] == [("llm_output_invalid", f"the model's reply {fault}")]


async def test_a_link_that_nobody_gave_is_taken_out_of_the_question() -> None:
    said = json.dumps({"question": "Is gearbox oil at https://evil.example/a?"})
    resolved, _ = await resolve_conversation(
        go_on(), kit(await filled(GEARBOX), llm=ScriptedLLM(standalone_question=said)), Run()
    )
    assert "evil" not in resolved.text


@pytest.mark.parametrize("preset", ["classical", "facets"])
async def test_a_pipeline_that_reads_a_question_by_itself_says_so_and_sends_no_turn_to_a_model(preset: str) -> None:
    """What classical sends to a model is redacted first; the turns are not."""
    run, llm = Run(), ScriptedLLM()
    resolved, _ = await resolve_conversation(go_on(preset=preset), kit(await filled(GEARBOX), llm=llm), run)
    assert (resolved.history, llm.prompts) == ((), [])
    assert [warning.code for warning in run.warnings] == ["no_effect"]


class SureReranker(OverlapReranker):
    """Finds every passage relevant."""

    async def score_passages(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        return [0.99] * len(passages)


async def test_the_turns_before_are_not_required_of_the_answer() -> None:
    """The passage has none of their words, and all of the question's."""
    history = (Turn("user", "Which garage in Lyon?"), Turn("assistant", "None."))
    parts = replace(kit(await filled(CABIN), reranker=SureReranker()), has_chat_model=False, llm=ScriptedLLM())
    reply = await RAG(parts).answer("How often is the cabin filter changed?", scope="garage", history=history)
    assert reply.answer.text == CABIN.content
    assert reply.to_json()["question"] == "How often is the cabin filter changed?"


def test_of_a_long_conversation_the_last_turns_are_read_in_part() -> None:
    history = [Turn("user", f"{n} " + "x" * 1000) for n in range(20)]
    turns = select_user_turns(history)
    assert [turn.split()[0] for turn in turns] == [str(n) for n in range(20 - MAX_USER_TURNS, 20)]
    assert max(map(len, turns)) == 600


class DistractedReranker(OverlapReranker):
    """Finds nothing relevant once a question is read after an earlier turn."""

    async def score_passages(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        if text.startswith(HISTORY[0].content):
            return [0.0] * len(passages)
        return await super().score_passages(text, passages)


@pytest.mark.parametrize(
    ("question", "status"), [("When is the cabin filter changed?", "answered"), (QUESTION, "unknown")]
)
async def test_a_new_subject_that_the_turns_before_drown_is_asked_by_itself(question: str, status: str) -> None:
    """Only a question that says itself what it is about: "it" would be anything."""
    parts = replace(kit(await filled(GEARBOX, CABIN)), has_chat_model=False, reranker=DistractedReranker())
    reply = await RAG(parts).answer(question, scope=query("").scope, history=HISTORY, preset="standard")
    assert reply.answer.status == status
    assert ("conversation" in reply.run.techniques) == (status == "unknown")


def test_the_turns_of_the_user_are_one_variant_and_the_last_reply_another() -> None:
    turns = [Turn("user", "Which pump?"), Turn("assistant", " The BP-4471. ")]
    assert [(v.label, v.text) for v in label_turns(turns)] == [
        (EARLIER_LABEL, "Which pump?"),
        (REPLY_LABEL, "The BP-4471."),
    ]
    assert [v.label for v in label_turns(turns[:1])] == [EARLIER_LABEL]
    assert label_turns(()) == []
