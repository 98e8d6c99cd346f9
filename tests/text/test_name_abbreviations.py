"""Abbreviations in names of tables and columns, in full."""

import pytest

from rag_core.text.name_abbreviations import ABBREVIATIONS, expand_identifier


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cust_nm", "customer name"),
        ("ordDt", "order date"),
        ("DOB", "date of birth"),
        ("INV_NO", "invoice number"),
        ("eye_colour_id", "eye colour id"),
        ("st_min", "st min"),  # street, state or saint; the least or minutes
        ("", ""),
    ],
)
def test_parts_of_a_name_that_mean_one_thing_are_in_full(name: str, words: str) -> None:
    assert expand_identifier(name) == words


def test_no_meaning_is_abbreviated_itself() -> None:
    for short, meaning in ABBREVIATIONS.items():
        assert meaning == meaning.strip().casefold()
        assert not ABBREVIATIONS.keys() & set(meaning.split()), short
