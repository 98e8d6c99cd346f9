"""Columns that adjectives and verbs ask for."""

import pytest

from rag_core.answering.computing.degrees import PRICE_TERMS, Scale, find_degrees, is_measured_by


@pytest.mark.parametrize(
    ("column", "is_price"),
    [
        ("Price EUR", True),
        ("Unit price (€) per box", True),
        ("Cost, usd", True),
        ("Price limit EUR", False),
        ("Weight kg", False),
        ("EUR", False),
    ],
)
def test_the_noun_before_the_unit_of_a_head_says_what_it_measures(column: str, is_price: bool) -> None:
    assert is_measured_by(column, Scale(True, PRICE_TERMS)) is is_price


@pytest.mark.parametrize(
    ("text", "found", "is_high"),
    [
        ("the largest room", "largest", True),
        ("the heaviest crate", "heaviest", True),
        ("the bigger hall", "bigger", True),
        ("the less expensive one", "less expensive", False),
        ("the Least heavy crate", "Least heavy", False),
        ("the least cheap one", "least cheap", True),
    ],
)
def test_a_form_of_an_adjective_says_which_end_of_a_measure_is_meant(text: str, found: str, is_high: bool) -> None:
    [(words, [scale])] = find_degrees(text)
    assert (words, scale.is_high) == (found, is_high)
