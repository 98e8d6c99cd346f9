"""The confidence of an answer follows from its sentences' support and from what of the question its passages have."""

import math

import pytest

from rag_core.answering.confidence import (
    WITH_CROSS_ENCODER,
    compute_confidence,
    compute_coverage,
    explain_low_confidence,
    find_missing_words,
)
from rag_core.core.model import Chunk, Citation, Claim, Confidence, Evidence, Finding, Hit, Judgement

PASSAGE = "Honda brakes squeal when dust gets between pad and disc."


def evidence(text: str = PASSAGE, *, title: str = "Manual", **signals: float) -> tuple[Evidence, ...]:
    return (Evidence("e1", Hit(Chunk("c1", "d1", 0, text, title, "", "c1"), 1.0, signals=signals), 0, len(text)),)


def claim(support: float, finding: Finding = "supported") -> Claim:
    citation = Citation("c1", "d1", "Manual", "", PASSAGE, 1.0)
    return Claim("s", 0, 1, "verified", (citation,), judgement=Judgement(finding, support))


def test_coverage_is_the_share_of_the_questions_terms_in_evidence_and_titles() -> None:
    assert compute_coverage("When do Honda brakes squeal?", evidence()) == 1.0
    assert compute_coverage("When do Honda brakes rust?", evidence()) == pytest.approx(2 / 3)
    assert compute_coverage("When do Volvo brakes squeal?", evidence(title="Volvo")) == 1.0


def test_of_a_models_answer_it_is_certainty_times_support_times_how_well_it_fits() -> None:
    """S4-25: from retrieval scores and the model's certainty, 0 to 1."""
    claims, cited = [claim(0.9), claim(0.7)], evidence(relevance=0.8)
    made = compute_confidence("Do Honda brakes rust?", 0.5, claims, cited, quoted=False)
    assert made.inputs == {
        "certainty": 0.5,
        "support": 0.8,
        "relevance": 0.8,
        "coverage": 0.6667,
        "names": 1.0,
        "kind": 1.0,
        "asserted": 1.0,
    }
    odds = math.exp(-3.39 + 0.34 * math.log(0.8 / 0.2) + 1.27 + 1.32 + 4.0)
    assert made.value == pytest.approx(0.5 * 0.8 * odds / (1 + odds), abs=1e-4)


def test_without_a_cross_encoder_the_coverage_takes_the_place_of_the_relevance() -> None:
    made = compute_confidence("Do Honda brakes squeal?", 1.0, [claim(0.9)], evidence(), quoted=False)
    odds = math.exp(-3.98 + 2.74 + 1.39 + 1.40 + 4.0)
    assert (made.value, "relevance" in made.inputs) == (pytest.approx(0.9 * odds / (1 + odds), abs=1e-4), False)


def test_a_sentence_that_nothing_supports_lowers_the_confidence_in_the_others_too() -> None:
    """A model that says what its evidence does not is trusted less in the rest."""

    def trust(*left_out: Claim) -> float:
        said, cited = [claim(0.95)], evidence(relevance=0.9)
        return compute_confidence("Do brakes squeal?", 1.0, said, cited, quoted=False, left_out=left_out).value

    assert trust(claim(0.05)) == pytest.approx(trust() * (0.95 + 0.05) / 2 / 0.95, abs=1e-3)


def test_an_answer_is_no_surer_than_a_sentence_of_it_that_is_contradicted() -> None:
    """Five right sentences hid a wrong one: 0.64 for answers that contradict themselves."""
    claims, cited = [claim(0.96)] * 5, evidence(relevance=0.9)

    def trust(finding: Finding) -> float:
        return compute_confidence("Do brakes squeal?", 1.0, [*claims, claim(0.02, finding)], cited, quoted=False).value

    assert trust("contradicted") <= 0.02
    assert trust("not_stated") > 0.7


def test_a_right_paraphrase_is_trusted_more_than_quotes_that_are_not_what_was_asked_for() -> None:
    """The formula is the same; only a judge's yes to every sentence makes a model's answer as sure as this."""

    def trust(support: float, relevance: float, *, quoted: bool, question: str = "Do Honda brakes squeal?") -> float:
        return compute_confidence(question, 1.0, [claim(support)], evidence(relevance=relevance), quoted=quoted).value

    right, unjudged = (trust(support, 0.9, quoted=False) for support in (0.95, 0.4))
    wrong_quote = trust(0.98, 0.9, quoted=True, question="Do Volvo brakes squeal?")
    assert right > 0.9 > trust(0.98, 0.9, quoted=True) > 0.45 > wrong_quote
    assert unjudged < WITH_CROSS_ENCODER.least
    assert trust(0.95, 0.01, quoted=False) > 0.7  # in another language than the passages, say


@pytest.mark.parametrize("signals", [{"relevance": 0.99}, {}])
def test_quotes_are_trusted_less_without_the_name_or_the_kind_of_thing_that_was_asked_for(
    signals: dict[str, float],
) -> None:
    def trust(question: str, cited: tuple[Evidence, ...]) -> float:
        return compute_confidence(question, 1.0, [claim(0.98)], cited, quoted=True).value

    cited = evidence(**signals)
    whole = trust("Do Honda brakes squeal?", cited)
    assert whole > WITH_CROSS_ENCODER.least
    assert trust("Do Volvo brakes squeal?", cited) < whole
    assert trust("How many Honda brakes squeal?", cited) < WITH_CROSS_ENCODER.least
    assert trust("Do Honda brakes squeal?", evidence(relevance=0.01)) < WITH_CROSS_ENCODER.least


def compute_with_margin(margin: float | None, *, relevance: float = 0.9, answered: float = 0.6) -> Confidence:
    cited, asked = evidence(relevance=relevance), "Do Honda brakes squeal?"
    return compute_confidence(asked, 1.0, [claim(0.98)], cited, quoted=True, answered=answered, margin=margin)


def test_a_quote_is_trusted_more_the_further_it_is_above_the_best_sentence_of_another_passage() -> None:
    level, above = compute_with_margin(0.0), compute_with_margin(4.0)
    assert level.value < above.value - 0.2
    assert level.inputs["margin"] == 0.5
    assert "margin" not in compute_with_margin(None).inputs


def test_a_margin_gives_no_answer_and_refuses_none() -> None:
    """Where documents say the same in other words, the right quote has a small margin; its confidence is lower."""
    small, without = compute_with_margin(-3.0), compute_with_margin(None)
    assert small.value < 0.5 < without.value
    assert not explain_low_confidence(small)
    weak = [compute_with_margin(margin, relevance=0.3, answered=0.3) for margin in (None, 0.0, 8.0)]
    assert weak[2].value > 0.5
    refused = "the quotes that were found reached 0.34 of 0.50, so no answer is given"
    assert [explain_low_confidence(confidence) for confidence in weak] == [refused] * 3


@pytest.mark.parametrize("quoted", [True, False])
def test_a_refusal_has_none(quoted: bool) -> None:
    assert compute_confidence("When?", 1.0, [], evidence(), quoted=quoted).value == 0.0


def test_the_words_of_a_question_that_the_passages_lack_are_named() -> None:
    assert find_missing_words("When do Volvo brakes squeal in Winter, and a Volvo pad?", evidence()) == (
        "Volvo",
        "Winter",
    )
    assert find_missing_words("When do Honda brakes squeal?", evidence()) == ()
    assert find_missing_words("How much do Honda brakes squeal?", evidence()) == ()
    assert find_missing_words("Wie hoch ist der Umsatz mit Honda brakes?", evidence()) == ("Umsatz",)
