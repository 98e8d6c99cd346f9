"""A chat model that judges as models do, through the front door: nothing malformed is a verdict, and it is said."""

from unittest.mock import ANY

import pytest

from local_emulator.chat_stub import ANSWERING_STYLES
from tests.nasty_model import OWN_WORDS, QUESTION, ask, opened

SAID_IN_OWN_WORDS = {"answers": {QUESTION: [OWN_WORDS]}}
TWO_SENTENCES = {"answers": {QUESTION: [OWN_WORDS, "An interval of 90 days applies to all of the signing keys."]}}


@pytest.mark.parametrize("style", ANSWERING_STYLES)
async def test_a_competent_judge_verifies_the_model_s_answer_in_every_style(style: str) -> None:
    async with opened(answering=style) as rag:
        answer, _ = await ask(rag)
    assert answer.origin == "model"
    assert [claim for claim in answer.claims if claim.verdict == "verified" and "90" in claim.text]


async def test_a_paraphrase_that_a_competent_judge_supports_is_verified_and_cites_the_words() -> None:
    async with opened(**SAID_IN_OWN_WORDS) as rag:
        answer, run = await ask(rag)
    (claim,) = answer.claims
    assert (answer.origin, answer.text, claim.verdict) == ("model", OWN_WORDS, "verified")
    assert claim.citations[0].chunk_id == "keys"
    assert run.degraded == []
    assert run.techniques["judge"] == "chat model openai gpt-4o-mini"


async def test_the_judge_s_tokens_are_counted_and_priced_in_the_reply() -> None:
    async with opened(**SAID_IN_OWN_WORDS, has_judge=False) as rag:
        _, unjudged = await ask(rag)
    async with opened(**SAID_IN_OWN_WORDS) as rag:
        _, judged = await ask(rag)
    assert judged.input_tokens > unjudged.input_tokens + 400
    assert judged.output_tokens > unjudged.output_tokens + 20
    assert judged.cost_usd == pytest.approx((judged.input_tokens * 0.15 + judged.output_tokens * 0.60) / 1_000_000)


@pytest.mark.parametrize(
    "style", ["malformed", "by position", "prose", "doubled", "unknown ids", "invented words", "silent"]
)
async def test_an_unusable_reply_is_named_and_is_no_verdict(style: str) -> None:
    async with opened(**SAID_IN_OWN_WORDS, judging=style) as rag:
        answer, run = await ask(rag)
    assert ("judge", "llm_output_invalid") in [(told.step, told.code) for told in run.degraded]
    assert OWN_WORDS not in [claim.text for claim in answer.claims if claim.verdict == "verified"]
    assert answer.status == "answered"
    assert "90 days" in answer.text


async def test_a_claim_that_a_short_reply_leaves_out_is_named_and_is_no_verdict() -> None:
    async with opened(**TWO_SENTENCES, judging="short") as rag:
        answer, run = await ask(rag)
    assert [claim.verdict for claim in answer.claims][:1] == ["verified"]
    assert [claim.verdict for claim in answer.claims][1:] in ([], ["partial"])
    assert [(told.step, told.code) for told in run.degraded] == [
        ("judge", "judgement_missing"),
        *[ANY] * (len(run.degraded) - 1),
    ]


async def test_no_judge_verifies_the_opposite_of_what_a_passage_says_in_the_same_words() -> None:
    """The facts overrule a judge that says yes to all."""
    false = "The signing keys are not rotated every 90 days by the platform team."
    async with opened(answers={QUESTION: [OWN_WORDS, false]}, judging="always supported") as rag:
        answer, _ = await ask(rag)
    assert false not in [claim.text for claim in answer.claims if claim.verdict == "verified"]


@pytest.mark.parametrize("style", ["always supported", "shifted"])
async def test_no_judge_verifies_a_changed_number(style: str) -> None:
    """The facts overrule it: a judge that says yes to all, and one whose verdicts have slipped by one claim."""
    false = "An interval of 30 days applies whenever the signing keys get rotated."
    async with opened(answers={QUESTION: [OWN_WORDS, false]}, judging=style) as rag:
        answer, _ = await ask(rag)
    assert false not in [claim.text for claim in answer.claims if claim.verdict == "verified"]
    assert "30" not in answer.text


async def test_an_answer_in_another_language_is_judged_in_it() -> None:
    async with opened(answering="german") as rag:
        answer, run = await ask(rag)
    (claim,) = answer.claims
    assert (answer.origin, claim.verdict) == ("model", "verified")
    assert "alle 90 Tage" in answer.text
    assert run.degraded == []


async def test_what_the_judge_finds_contradicted_is_not_said() -> None:
    async with opened(answering="contradicts") as rag:
        answer, _ = await ask(rag)
    assert "not rotated" not in answer.text
    assert "every 90 days" in answer.text


async def test_a_sentence_in_another_language_is_kept_and_said_to_be_unjudged_where_only_facts_judge() -> None:
    """Issue 14, part 5: before, no sentence of an answer in German was left, and it was replaced by quotes."""
    german = "Die Schlüssel werden alle 90 Tage durch das Team ersetzt."
    async with opened(answers={QUESTION: [german]}, has_judge=False) as rag:
        answer, _ = await ask(rag)
    (claim,) = answer.claims
    assert (answer.origin, claim.text, claim.verdict) == ("model", german, "partial")
    assert claim.reasons == ("language: in another language than the passages, so not judged",)
    assert claim.citations
