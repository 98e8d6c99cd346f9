"""Why a sentence is not verified, in the words that people read."""

import pytest

from rag_core.answering.entailment import check_entailment
from rag_core.answering.explanations import MAX_LISTED_WORDS, explain_verdict
from rag_core.answering.facts.comparison import find_fact_conflicts
from rag_core.core.model import Claim, Judgement


def explained(claim: str, *reasons: str, words: str = "", judge: str = "facts") -> str:
    """The explanation of a claim with these reasons, whose nearest words are `words`."""
    judgement = Judgement("unclear", 0.4, None, words, reasons, judge)
    return explain_verdict(Claim(claim, 0, len(claim), "partial", (), reasons, judgement))


@pytest.mark.parametrize(
    ("claim", "passage", "explanation"),
    [
        ("The pump runs at 75 Hz.", "The pump runs at 50 Hz.", "says 75 Hz; the passage says 50 Hz"),
        ("It lasts 5 minutes.", "It lasts 5 seconds.", "says 5 minutes; the passage says 5 seconds"),
        ("It costs $2.5 million.", "It costs $3 million.", "says $2.5 million; the passage says $3 million"),
        ("It rained in May 2024.", "It rained in March 2024.", "says May; the passage says March"),
        ("Sales rose.", "Sales fell.", "says “rose”; the passage says “fell”"),
        ("All users log in.", "Some users log in.", "says “All”; the passage says “Some”"),
        ("Staff may not fly.", "Staff may fly.", "the passage does not say “not”"),
        ("Staff may fly.", "Staff may not fly.", "leaves out “not”, which the passage says"),
        ("It is in Paris.", "It is in Lyon.", "says “Paris”; the passage says “Lyon”"),
        (
            "The audit preceded the merger.",
            "The merger preceded the audit.",
            "the passage has the two sides of “preceded” the other way round",
        ),
    ],
)
def test_a_fact_that_differs_is_said_with_both_words(claim: str, passage: str, explanation: str) -> None:
    reasons = (conflict.reason for conflict in find_fact_conflicts(claim, passage))
    assert explained(claim, *reasons, words=passage) == explanation


@pytest.mark.parametrize(
    ("claim", "passage", "explanation"),
    [
        ("It opens.", "It opens unless it is hot.", "leaves out “unless …”, which the passage says"),
        ("Staff may fly.", "Staff may never fly.", "leaves out “never”, which the passage says"),
        ("Red pumps always run.", "The pumps run.", "the passage does not say “Red” or “always”"),
        ("- - -", "The pumps run.", "has no words that can be compared"),
        ("x " * 400, "y " * 400, "too long to be compared with a passage, 400 words"),
    ],
)
def test_words_that_differ_are_said_by_who_has_them(claim: str, passage: str, explanation: str) -> None:
    assert explained(claim, *check_entailment(claim, passage).reasons, words=passage) == explanation


def test_a_word_that_both_have_is_not_said_to_be_missing() -> None:
    said = explained("It must not run.", "negation: not", words="It does not need to run, and must not stop.")
    assert said == "the passage says “not” in another place"


def test_many_missing_words_are_not_all_listed() -> None:
    reasons = [f"word: w{letter}" for letter in "abcdefgh"]
    said = explained("wa wb wc wd we wf wg wh", *reasons)
    assert said.startswith("the passage does not say “wa”, “wb”")
    assert said.endswith(f"and {len(reasons) - MAX_LISTED_WORDS} more")


def test_reasons_of_several_kinds_are_all_said_and_a_redacted_one_as_it_is() -> None:
    said = explained("It runs {} at 75.", "number: 75 (the passage: 50)", "relevance: low", "[EMAIL] {}")
    assert said == (
        "says 75; the passage says 50; also has the words of a passage that seems to be about something else; "
        "also [EMAIL] {}"
    )


def test_the_model_that_judged_is_named_and_so_is_one_that_was_overruled() -> None:
    assert explained("It runs.", "contradicted: the passage says otherwise", judge="chat model m") == (
        "the passage says otherwise (judged by chat model m)"
    )
    assert explained(
        "It runs at 75.", "number: 75 (the passage: 50)", "overruled: chat model m found it supported"
    ) == ("says 75; the passage says 50 (chat model m found it supported, and is overruled)")


def test_a_verified_claim_needs_no_reason() -> None:
    assert explain_verdict(Claim("It runs.", 0, 8, "verified", judgement=Judgement("supported", 0.9, judge="m"))) == ""
