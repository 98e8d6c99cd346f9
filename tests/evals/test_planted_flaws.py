"""A flaw planted in each part of what checks an answer is caught: by a figure of the gate, or by a test of the part.

`pytest -rP tests/evals/test_planted_flaws.py` prints a row for each.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import pytest

from evals import hand_made_gate
from evals.environments import ExampleReply, find_differences
from evals.hand_made_gate import YesJudge, build_words_only_kit, find_failures
from rag_core.answering import answer, chat_judge, confidence, statements, verification
from rag_core.answering.facts import comparison
from rag_core.core.kit import Kit
from rag_core.prompts.completions import index_by_id
from rag_core.retrieval import grading
from tests import test_ask
from tests.answering import test_chat_judge, test_statements
from tests.guard import test_clinic
from tests.retrieval import test_grading

Measure = Callable[[Kit], Awaitable[Mapping[str, float]]]


async def hold(measure: Measure) -> None:
    """Assert that the figures are within their bounds, as CI does."""
    assert find_failures(await measure(build_words_only_kit())) == []


def shift_ids(items: Any, id_field: str, ids: Any) -> dict[str, Mapping[str, Any]]:
    """Give each id the entry of the one after it."""
    by_id = index_by_id(items, id_field, ids)
    order = [id for id in ids if id in by_id]
    return {id: by_id[after] for id, after in zip(order, [*order[1:], *order[:1]], strict=True)}


def forget_left_out(*given: Any, left_out: object, **named: Any) -> Any:
    return confidence.compute_confidence(*given, **named)


async def read_frames() -> None:
    for text in test_statements.ONLY_FRAMES:
        test_statements.test_what_only_frames_a_text_is_no_claim(text)


async def remove_placeholders() -> None:
    test_clinic.test_a_placeholder_goes_with_what_announces_it("Who calls [PERSON]? By phone?", "Who calls? By phone?")


FLAWS: Mapping[str, tuple[object, str, object, Callable[[], Awaitable[None]]]] = {
    "a judge that always says supported": (
        hand_made_gate,
        "LabelledJudge",
        lambda _: YesJudge(),
        partial(hold, hand_made_gate.measure_claims_by_labels),
    ),
    "a veto switched off": (
        verification,
        "overrule_by_facts",
        lambda claim, passages, judgement, question: judgement,
        partial(hold, hand_made_gate.measure_veto),
    ),
    "numbers are no facts": (
        comparison,
        "compare_amounts",
        lambda claim, passage, context_forms: (),
        partial(hold, hand_made_gate.measure_veto),
    ),
    "grades shifted by one": (
        grading,
        "index_by_id",
        shift_ids,
        test_grading.test_grades_are_read_by_id_and_never_by_position,
    ),
    "verdicts shifted by one": (
        chat_judge,
        "index_by_id",
        shift_ids,
        test_chat_judge.test_a_claim_gets_the_verdict_that_has_its_id_in_whatever_order,
    ),
    "a confidence that ignores polarity": (
        answer,
        "is_opposite_of_asked",
        lambda question, statement: False,
        test_ask.test_what_is_covered_is_no_answer_to_what_is_not,
    ),
    "a confidence that ignores sentences that were left out": (
        answer,
        "compute_confidence",
        forget_left_out,
        partial(hold, hand_made_gate.measure_answers),
    ),
    "a condition that is ignored": (
        answer,
        "find_unmet_conditions",
        lambda question, cited: (),
        test_ask.test_passages_on_the_subject_without_the_condition_of_the_question_are_no_answer,
    ),
    "headings are claims": (statements, "is_framing", lambda text: False, read_frames),
    "placeholders of personal data stay in the question": (
        test_clinic,
        "remove_placeholders",
        lambda text: text,
        remove_placeholders,
    ),
}


@pytest.mark.parametrize("flaw", FLAWS)
async def test_a_planted_flaw_is_caught(flaw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 14: one a part. Without it the same checks hold: `test_hand_made_gate.py`, and the tests themselves."""
    owner, name, planted, check = FLAWS[flaw]
    monkeypatch.setattr(owner, name, planted)
    with pytest.raises(AssertionError) as caught:
        await check()
    what = check.args[0].__name__ if isinstance(check, partial) else getattr(check, "__name__", "")
    print(f"| {flaw} | {what} | {str(caught.value).splitlines()[0][:160]} |")


def test_an_environment_with_another_verdict_is_told() -> None:
    verified, partly = (ExampleReply("answered", (("A.", verdict),), 0.9, ()) for verdict in ("verified", "partial"))
    assert find_differences({"laptop": {"Q?": verified}, "deployed": {"Q?": verified}}) == []
    (told,) = find_differences({"laptop": {"Q?": verified}, "deployed": {"Q?": partly}})
    assert told.startswith("deployed: 'Q?' is ('answered', ['partial'])")
