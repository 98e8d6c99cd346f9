"""The items of a list that goes on over the end of a page stand below its lead-in, and nothing else does."""

import pytest

from rag_core.core.model import Block
from rag_core.ingestion.extract import extract_in_process
from tests.ingestion.pdf_files import lines, pdf, text

LEAD_IN = "The following are counted each morning:"
FIRST = lines("Counting is done twice.", LEAD_IN, "- life jackets", "- ropes of", y=150, step=20)


def read(*pages: bytes) -> dict[str, Block]:
    return {block.text: block for block in extract_in_process(pdf(*pages), "a.pdf").blocks}


def test_items_on_the_next_pages_stand_below_the_lead_in() -> None:
    """The rest of a cut item as well; what comes after the list does not."""
    second = lines("the second deck", "- flares", "- boats", y=760, step=20)
    third = lines("- buoys", y=760) + lines("The list is signed.", "- no item of it", y=700, step=20)
    found = read(FIRST, second, third)
    below = [words for words, block in found.items() if block.headings[-1:] == (LEAD_IN,)]
    assert below == ["the second deck", "- flares", "- boats", "- buoys"]
    assert found["- life jackets"].headings == ()


def test_a_running_line_may_stand_between_and_a_lead_in_may_end_its_page() -> None:
    first = lines(LEAD_IN, y=150) + text("Form 10-Q, page 6", y=30)
    found = read(first, text("Example Inc.", y=815) + lines("- flares", "- boats", y=740, step=20))
    assert found["- boats"].headings == (LEAD_IN,)
    assert found["Example Inc."].headings == ()


@pytest.mark.parametrize("between", ["Who signs the list is said below.", "Signing"])
def test_a_list_without_its_lead_in_right_before_it_is_another(between: str) -> None:
    second = lines(between, y=760, font="B" if between == "Signing" else "R") + lines("- flares", "- boats", y=720)
    found = read(FIRST, second)
    assert {"- flares", "- boats"} <= found.keys()
    assert all(LEAD_IN not in block.headings for block in found.values())
