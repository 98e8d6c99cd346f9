"""The confidence of an answer follows from its sentences' support and from what of the question its passages have."""

import pytest

from rag_core.answering.confidence import (
    MIN_QUOTE_CONFIDENCE,
    compute_confidence,
    compute_coverage,
    find_missing_words,
)
from rag_core.core.model import Chunk, Citation, Claim, Evidence, Hit, Judgement

PASSAGE = "Honda brakes squeal when dust gets between pad and disc."


def evidence(text: str = PASSAGE, *, title: str = "Manual", **signals: float) -> tuple[Evidence, ...]:
    return (Evidence("e1", Hit(Chunk("c1", "d1", 0, text, title, "", "c1"), 1.0, signals=signals), 0, len(text)),)


def claim(support: float) -> Claim:
    citation = Citation("c1", "d1", "Manual", "", PASSAGE, 1.0)
    return Claim("s", 0, 1, "verified", (citation,), judgement=Judgement("supported", support))


def test_coverage_is_the_share_of_the_questions_terms_in_evidence_and_titles() -> None:
    assert compute_coverage("When do Honda brakes squeal?", evidence()) == 1.0
    assert compute_coverage("When do Honda brakes rust?", evidence()) == pytest.approx(2 / 3)
    assert compute_coverage("When do Volvo brakes squeal?", evidence(title="Volvo")) == 1.0


def test_of_a_models_answer_it_is_certainty_times_support_times_the_mean_of_relevance_and_coverage() -> None:
    """S4-25: from retrieval scores and the model's certainty, 0 to 1."""
    claims, cited = [claim(0.9), claim(0.7)], evidence(relevance=0.8)
    made = compute_confidence("When do Honda brakes rust?", 0.5, claims, cited, quoted=False)
    assert made.inputs == {"certainty": 0.5, "support": 0.8, "relevance": 0.8, "coverage": 0.6667}
    assert made.value == pytest.approx(0.5 * 0.8 * (0.8 + 2 / 3) / 2, abs=1e-4)


def test_without_a_cross_encoder_the_coverage_stands_alone() -> None:
    made = compute_confidence("When do Honda brakes squeal?", 1.0, [claim(0.9)], evidence(), quoted=False)
    assert (made.value, set(made.inputs)) == (0.9, {"certainty", "support", "coverage"})


@pytest.mark.parametrize("signals", [{"relevance": 0.99}, {}])
def test_quotes_are_trusted_less_without_the_name_or_the_kind_of_thing_that_was_asked_for(
    signals: dict[str, float],
) -> None:
    def trust(question: str, cited: tuple[Evidence, ...]) -> float:
        return compute_confidence(question, 1.0, [claim(0.98)], cited, quoted=True).value

    cited = evidence(**signals)
    whole = trust("Do Honda brakes squeal?", cited)
    assert whole > MIN_QUOTE_CONFIDENCE
    assert trust("Do Volvo brakes squeal?", cited) < whole
    assert trust("How many Honda brakes squeal?", cited) < MIN_QUOTE_CONFIDENCE
    assert trust("Do Honda brakes squeal?", evidence(relevance=0.01)) < MIN_QUOTE_CONFIDENCE


@pytest.mark.parametrize("quoted", [True, False])
def test_a_refusal_has_none(quoted: bool) -> None:
    assert compute_confidence("When?", 1.0, [], evidence(), quoted=quoted).value == 0.0


def test_the_words_of_a_question_that_the_passages_lack_are_named() -> None:
    assert find_missing_words("When do Volvo brakes squeal in Winter, and a Volvo pad?", evidence()) == (
        "Volvo",
        "Winter",
    )
    assert find_missing_words("When do Honda brakes squeal?", evidence()) == ()
