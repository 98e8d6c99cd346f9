"""Answers of a chat model that writes as models do, through the front door: none is lost by its form alone."""

import pytest

from local_emulator.chat_stub import ANSWERING_STYLES
from rag_core.prompts.screening import screen_text
from tests.fakes import SCOPE
from tests.nasty_model import FACT, QUESTION, ask, opened


@pytest.mark.parametrize("pipeline", ["standard", "classical"])
@pytest.mark.parametrize("style", ANSWERING_STYLES)
async def test_the_answer_is_there_in_whatever_style_the_model_writes(style: str, pipeline: str) -> None:
    """By the model, or in the documents' own words; and nothing that is not in the documents is verified."""
    async with opened(answering=style) as rag:
        answer, run = await ask(rag, pipeline)
    assert answer.status == "answered"
    assert "90" in answer.text
    assert all(claim.text == answer.text[claim.start : claim.end] for claim in answer.claims)
    verified = [claim for claim in answer.claims if claim.verdict == "verified"]
    assert all(claim.citations for claim in verified)
    assert not any("not rotated" in claim.text for claim in verified)
    assert all(reason.code != "internal_error" for reason in run.degraded)
    assert screen_text(answer.text, [FACT])[1] == ()


async def test_an_invented_citation_is_named() -> None:
    """C43 (RELIABILITY): the sentence cites what supports it."""
    async with opened(answering="wrong ids") as rag:
        answer, run = await ask(rag)
    assert ("verify", "citation_unverified") in [(told.step, told.code) for told in run.degraded]
    assert {citation.chunk_id for claim in answer.claims for citation in claim.citations} == {"keys"}


async def test_of_a_sentence_and_its_opposite_only_the_first_is_said() -> None:
    async with opened(answering="contradicts") as rag:
        answer, run = await ask(rag)
    assert answer.text == FACT
    assert ("verify", "citation_unverified") in [(told.step, told.code) for told in run.degraded]


async def test_a_search_through_the_same_door_is_graded_by_id_and_paid_for() -> None:
    async with opened() as rag:
        run = rag.start_run()
        reply = await rag.search(QUESTION, scope=SCOPE, pipeline="rerank", run=run)
    assert reply.result.reranked
    assert [hit.chunk.id for hit in reply.result.hits] == ["keys", "lamps"]
    assert run.degraded == []
    assert run.cost_usd == pytest.approx((run.input_tokens * 0.15 + run.output_tokens * 0.60) / 1_000_000)
    assert run.input_tokens > 200
