"""Amounts in the one notation in which they are compared."""

import pytest

from rag_core.answering.facts.notations import rewrite_amounts


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        ("between 135°C and 145 degrees Fahrenheit", "between 135 celsius and 145 Fahrenheit"),
        ("1 200 000 seats, 12'500 of them sold", "1200000 seats, 12500 of them sold"),
        ("a 12-week course, twice a year", "a 12 week course, 2 times a year"),
        ("2½ hours at half past six", "2.5 hours at 6:30"),
        ("two thirds of the votes", "0.6667 fraction of the votes"),
        ("half a year", "6 months"),
        ("a dozen eggs at 6 p.m.", "12 eggs at 6 pm"),
    ],
)
def test_an_amount_is_written_in_digits_and_units(text: str, rewritten: str) -> None:
    assert rewrite_amounts(text) == rewritten
