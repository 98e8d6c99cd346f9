"""Questions that say by themselves what they are about, and those that lean on what was said before."""

import pytest

from rag_core.text.anaphora import stands_alone


@pytest.mark.parametrize(
    "question",
    ["Is flood covered?", "What was refused in the delivery?", "Who signs the list?", "How many tickets are there?"],
)
def test_a_question_with_its_own_subject_stands_alone(question: str) -> None:
    assert stands_alone(question)


@pytest.mark.parametrize(
    "question",
    [
        "And in winter?",
        "How often is it changed?",
        "What about the price?",
        "Why?",
        "Who signs that?",
        "How much do the others cost?",
        "Which one is cheaper?",
        "How much?",
    ],
)
def test_a_question_that_points_back_does_not_stand_alone(question: str) -> None:
    assert not stands_alone(question)
