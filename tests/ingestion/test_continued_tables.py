"""A table that goes on over the end of a page has the heads of the page before, and no other table has."""

from dataclasses import replace

import pytest

from evals.filing_pages import draw_filing, make_filings
from evals.table_cells import count_right_cells, read_table_cells
from rag_core.core.model import Extraction
from rag_core.ingestion.extract import extract_in_process
from rag_core.ingestion.extract.pdf.lines import enclose_boxes
from rag_core.ingestion.tables import split_table_rows
from tests.ingestion.pdf_files import lines, pdf, text

HEADS = ("Code", "Meaning", "Remedy")
FIRST = [("P0700", "Fault stored", "Read the other codes"), ("P0701", "Range", "Check the harness")]
REST = [("P0702", "Electrical", "Replace the module"), ("P0703", "Brake switch", "Adjust it")]


def grid(*rows: tuple[str, ...], step: float = 150, y: float = 780, font: str = "R") -> bytes:
    return b"".join(
        text(cell, 72 + step * x, y - 20 * n, font=font) for n, row in enumerate(rows) for x, cell in enumerate(row)
    )


def read(*pages: bytes) -> Extraction:
    return extract_in_process(pdf(*pages), "a.pdf")


def tables(extraction: Extraction) -> list[list[str]]:
    return [block.text.split("\n") for block in extraction.blocks if block.kind == "table"]


def test_the_rest_of_a_table_of_words_has_the_heads_of_the_page_before() -> None:
    extraction = read(grid(HEADS, *FIRST), grid(*REST))
    assert tables(extraction)[1] == [" | ".join(row) for row in (HEADS, *REST)]
    rest = extraction.blocks[-1]
    first, *rows = rest.boxes
    assert (rest.page, len(rows)) == (2, 2)
    assert first == enclose_boxes(rows)  # the heads stand on another page: their line has the whole table
    [row, _] = split_table_rows(rest)
    assert dict(row.fields) == dict(zip(HEADS, REST[0], strict=True))


def test_a_line_that_says_continued_may_stand_between() -> None:
    note = text("Fault codes (continued)", y=810)
    assert tables(read(grid(HEADS, *FIRST), note + grid(*REST)))[1][0] == "Code | Meaning | Remedy"


def test_a_running_line_at_the_edge_of_the_page_may_stand_between() -> None:
    """On two pages it is not known to repeat."""
    pages = (
        grid(HEADS, *FIRST, y=760) + text("Form 10-Q, page 6", y=30),
        text("Example Inc.", y=815) + grid(*REST, y=760),
    )
    assert tables(read(*pages))[1][0] == "Code | Meaning | Remedy"


def test_heads_go_on_over_a_third_page() -> None:
    last = [("P0704", "Clutch switch", "Adjust it"), ("P0705", "Range sensor", "Replace it")]
    assert tables(read(grid(HEADS, *FIRST), grid(*REST), grid(*last)))[2][0] == "Code | Meaning | Remedy"


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (grid(HEADS, *REST), "its heads are repeated"),
        (grid(("Part", "Price", "Stock"), ("Valve", "30", "7"), ("Seal", "12", "9")), "its heads stand over figures"),
        (grid(("Part", "Name", "Shelf"), y=800, font="B") + grid(*REST), "its heads are bold"),
        (grid(*[row[:2] for row in (*REST, *REST)]), "it has other columns"),
        (grid(*REST, step=110), "its columns stand elsewhere"),
        (lines("What follows has nothing to do with the page before.", y=810) + grid(*REST), "prose is between"),
        (lines("Spare parts", y=820, size=18, font="B") + grid(*REST), "a heading is between"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_another_table_keeps_its_first_row(after: bytes, why: str) -> None:
    lone, found = tables(read(grid(HEADS, *FIRST), after))
    assert lone[0] == "Code | Meaning | Remedy"
    assert sum(line == "Code | Meaning | Remedy" for line in found) == (why == "its heads are repeated")


def test_a_table_above_prose_ends_with_its_page() -> None:
    under = lines("This sentence ends the table, and the page on which it stands.", y=600)
    assert tables(read(grid(HEADS, *FIRST) + under, grid(*REST)))[1][0] == "P0702 | Electrical | Replace the module"


def test_the_rest_of_a_table_of_figures_has_the_heads_of_the_page_before() -> None:
    """Each of its figures stands in its row and column, and a title such as "Assets:" is a row of it."""
    known = read_cells = 0
    for table in make_filings(seed=11, count=16):
        rest = replace(table, heads=[("",) * len(table.heads[0])], caption="")
        read_table = read_table_cells(extract_in_process(draw_filing([[table], [rest]]), "a.pdf"))
        counts = count_right_cells([(2, *cell) for cell in table.list_cells()], [c for c in read_table if c[0] == 2])
        known, read_cells = known + counts.known, read_cells + counts.in_column
    assert (read_cells, known > 200) == (known, True)
