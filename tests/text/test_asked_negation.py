"""A question for what is not, and a sentence that says what is not."""

import pytest

from rag_core.text.asked_negation import asks_for_what_is_not, says_what_is_not


@pytest.mark.parametrize(
    "question",
    [
        "What is not covered?",
        "What doesn’t the plan pay for?",
        "Name something that the plan won't reimburse.",
        "Which projects does the fund refuse to finance?",
        "What does the warranty exclude?",
    ],
)
def test_a_question_whose_verb_is_negated_asks_for_what_is_not(question: str) -> None:
    assert asks_for_what_is_not(question)


@pytest.mark.parametrize(
    "question",
    [
        "What is covered?",
        "Is dental care not covered?",
        "Why is it not covered?",
        "What happens if I don't pay?",
        "What is the fee for not paying?",
        "Which test did recruits take who couldn't read?",
        "Which number do I call without giving my name?",
        "What must I do not to lose data?",
        "not",
        "",
    ],
)
def test_another_negation_or_none_does_not(question: str) -> None:
    assert not asks_for_what_is_not(question)


def test_including_but_not_limited_to_denies_nothing() -> None:
    assert says_what_is_not("Glasses aren't covered.")
    assert says_what_is_not("The plan excludes glasses.")
    assert not says_what_is_not("It pays for many things, including but not limited to:")
    assert not says_what_is_not("It is not only cheap, but also good.")
