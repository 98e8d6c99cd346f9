"""The parts of a text."""

import pytest

from rag_core.text.layout import split_into_parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Regions\n\nNordics grew by 14 percent\nGermany shrank\nUK flat", 4),  # a slide
        ("Nordics grew by 14 percent\nGermany shrank", 1),  # two lines may be one title
        ("The pump of Harbour Hospital\nRuns at night\nAnd stops by day.", 1),  # a sentence that wraps
        ("Name: Acme\nCity: Malmo\nSold by: Ann", 1),
        ("P0562,GENERIC,System Voltage Low\nP0563,GENERIC,System Voltage High\nP0564,OPEL,Cruise Control", 1),
        ("P0562\nSystem Voltage Low\nP0563\nSystem Voltage High", 1),
    ],
)
def test_lines_of_a_list_without_marks_are_parts_and_those_of_a_sentence_or_record_are_not(
    text: str, parts: int
) -> None:
    assert len(split_into_parts(text)) == parts


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("- Check the oil.\nThe pump is new.", ["item", "sentence"]),
        ("- Check the oil\n  of the pump", ["item"]),
        ("- Check the oil of the pump that stands beside the door and\nof the other.", ["item"]),
    ],
)
def test_a_list_item_goes_on_in_the_next_line_unless_a_sentence_begins(text: str, kinds: list[str]) -> None:
    assert [part.kind for part in split_into_parts(text)] == kinds
