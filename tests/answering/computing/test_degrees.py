"""Columns that adjectives and verbs ask for."""

import pytest

from rag_core.answering.computing.degrees import PRICE_TERMS, Scale, is_measured_by


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
