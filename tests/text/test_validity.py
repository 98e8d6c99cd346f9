"""Marks of pages that are no longer valid, and the sentences that amend, limit or override others."""

import pytest

from rag_core.text.validity import (
    Amendment,
    asks_for_current,
    asks_for_former,
    is_marked_superseded,
    overrides,
    points_to_exception,
    read_amendment,
    read_clause_number,
)


@pytest.mark.parametrize(
    ("heading", "text"),
    [
        ("Rev. 5 (2022) — SUPERSEDED, do not use", ""),
        ("Old tariff (superseded)", ""),
        ("Tariff 2019 - withdrawn", ""),
        ("Tariff 2019: no longer valid", ""),
        ("Fassung 2021 (aufgehoben)", ""),
        ("Tariff", "Adults pay 4.\n\nSUPERSEDED"),
    ],
)
def test_a_marked_page_is_told(heading: str, text: str) -> None:
    assert is_marked_superseded([heading], text)


@pytest.mark.parametrize(
    ("heading", "text"),
    [
        ("Withdrawn products", ""),
        ("OBSOLETE PARTS", ""),
        ("Handling of superseded documents", ""),
        ("Tariff", "This tariff supersedes that of 2019. The old one was withdrawn."),
        ("SUPERSEDED", "The next page, below what a reader took for a heading."),
    ],
)
def test_a_subject_is_no_mark_nor_is_the_watermark_of_a_page_before(heading: str, text: str) -> None:
    assert not is_marked_superseded([heading], text)


@pytest.mark.parametrize(
    ("question", "is_former"),
    [
        ("What was the limit?", True),
        ("What is the limit in rev. 5?", True),
        ("What is the previous limit?", True),
        ("What is the limit?", False),
        ("What is the limit in rev. 6?", False),
        ("How old must one be?", False),
    ],
)
def test_a_question_about_what_was_is_told(question: str, is_former: bool) -> None:
    assert asks_for_former(question, "Rev. 5 — SUPERSEDED") is is_former


def test_a_question_about_what_holds_now_is_told() -> None:
    assert asks_for_current("What is the limit now?")
    assert not asks_for_current("What is the limit?")
    assert not asks_for_current("What was the limit, and what is it now?")


@pytest.mark.parametrize(
    ("sentence", "amendment"),
    [
        ("Clause 4.2 is replaced by: “Invoices are due at once.”", Amendment("4.2", True)),
        ("Section 7.2.1 is hereby deleted.", Amendment("7.2.1", True)),
        ("In clause 2.1 the number 15 is replaced by 13.", Amendment("2.1", False)),
        ("Clause 4.2 is amended to read: “Invoices are due.”", Amendment("4.2", True)),
        ("Clause 4.2 applies to all invoices.", None),
        ("Clause 4.2 was replaced in 2019.", None),
        ("Parts named in clause 4.2 are replaced yearly.", None),
        ("The pump of 4.2 kW is replaced by one of 5 kW.", None),
    ],
)
def test_an_amendment_names_its_clause(sentence: str, amendment: Amendment | None) -> None:
    assert read_amendment(sentence) == amendment


def test_a_clause_begins_with_its_number() -> None:
    numbers = map(read_clause_number, ("4.2 Invoices are due.", "Clause 4.2 Invoices.", "4. Invoices", "Due in 4.2 h"))
    assert list(numbers) == ["4.2", "4.2", "", ""]


def test_what_limits_the_sentence_before_is_told() -> None:
    assert all(map(points_to_exception, ("See 3.5 for the exception.", "This rule does not apply to eggs.")))
    assert not any(map(points_to_exception, ("See 3.5.", "The lid is exceptional.", "Unless agreed, it is 4.")))


def test_an_override_is_of_what_speaks_of_the_same_thing() -> None:
    exception = "Notwithstanding 3.2, a bare box is accepted in a sealed bag."
    assert overrides(exception, "A bare box is rejected.")
    assert not overrides(exception, "The lid is red.")
    assert not overrides("A bare box is accepted.", "A bare box is rejected.")
