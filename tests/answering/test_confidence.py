"""The confidence of an answer follows from its sentences' support and from what of the question its passages have."""

import pytest

from rag_core.answering.confidence import compute_confidence, compute_coverage, find_missing_words
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


def test_it_is_certainty_times_support_times_the_mean_of_relevance_and_coverage() -> None:
    """S4-25: from retrieval scores and the model's certainty, 0 to 1."""
    made = compute_confidence("When do Honda brakes rust?", 0.5, [claim(0.9), claim(0.7)], evidence(relevance=0.8))
    assert made.inputs == {"certainty": 0.5, "support": 0.8, "relevance": 0.8, "coverage": 0.6667}
    assert made.value == pytest.approx(0.5 * 0.8 * (0.8 + 2 / 3) / 2, abs=1e-4)


def test_without_a_cross_encoder_the_coverage_stands_alone() -> None:
    made = compute_confidence("When do Honda brakes squeal?", 1.0, [claim(0.9)], evidence())
    assert (made.value, set(made.inputs)) == (0.9, {"certainty", "support", "coverage"})


def test_a_refusal_has_none() -> None:
    assert compute_confidence("When?", 1.0, [], evidence()).value == 0.0


def test_the_words_of_a_question_that_the_passages_lack_are_named() -> None:
    assert find_missing_words("When do Volvo brakes squeal in Winter, and a Volvo pad?", evidence()) == (
        "Volvo",
        "Winter",
    )
    assert find_missing_words("When do Honda brakes squeal?", evidence()) == ()
