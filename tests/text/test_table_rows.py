"""Rows of tables are told from sentences."""

import pytest

from rag_core.text.table_rows import find_prose_ranges

GRADE = """Certainty assessment № of patients Effect
№ of studies Study design Risk of bias Inconsistency Indirectness Imprecision
4 randomised trials not serious serious not serious not serious none
⊕⊕⊕◯ MODERATE"""


@pytest.mark.parametrize(
    "line",
    [
        "| Drug | Dose |",
        "| --- | --- |",
        "Aspirin | 75 mg | daily",
        *GRADE.split("\n"),
        "⨁⨁⨁⨁ High",
    ],
)
def test_a_row_of_a_table_is_noise(line: str) -> None:
    """S4-45: pipe-delimited rows and GRADE evidence tables."""
    assert find_prose_ranges(line) == []


@pytest.mark.parametrize(
    "line",
    [
        "The risk of bias, the inconsistency and the imprecision were judged by two readers.",
        "P(A|B), with one bar, is the chance of A given B.",
        "A serious illness is not always a serious danger.",
        "The quality assessment was done twice.",
    ],
)
def test_a_sentence_about_tables_is_not(line: str) -> None:
    assert find_prose_ranges(line) == [(0, len(line))]


def test_what_stands_around_a_table_is_kept_in_its_place() -> None:
    """S4-45: the offsets still point into the passage, so that a citation can be shown."""
    text = f"Before it.\nStill before.\n{GRADE}\nAfter it."
    assert [text[start:end].strip() for start, end in find_prose_ranges(text)] == [
        "Before it.\nStill before.",
        "After it.",
    ]
