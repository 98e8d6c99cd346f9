"""Tables of figures are read with their rows and columns."""

from evals.filing_pages import SPANNED, FilingTable, TextTable, draw_filing, draw_pages
from evals.table_cells import count_double_cells, count_right_cells, measure_drawn_cells, read_table_cells
from rag_core.answering.statements import read_statements
from rag_core.ingestion.extract import extract_in_process

YEARS = (("", "Year ended June 30,", SPANNED), ("", "2025", "2024"))
ROWS = (
    ("Revenue", "$ 12,400", "$ 9,870"),
    ("Operating expenses:", "", ""),
    ("  Research", "(393)", "(247)"),
    ("  Impairment of goodwill and of\n  licences", "—", "(1,050)"),
    ("Net income", "$ 11,957", "$ 8,573"),
)
TABLE = FilingTable("Note 3. Results", YEARS, ROWS, marks=("(1)",))


def test_at_least_99_of_100_cells_of_drawn_filings_are_in_their_row_and_column() -> None:
    """With brackets, dashes, currency signs apart, heads over columns, narrow gaps, two tables a page."""
    counts, missed = measure_drawn_cells(16, seed=11)
    assert counts.known > 200
    assert counts.share >= 0.99, missed


def test_two_bracketed_figures_are_two_cells() -> None:
    extraction = extract_in_process(draw_filing([[TABLE]]), "a.pdf")
    assert count_double_cells(extraction) == (4, 0)
    (table,) = [block for block in extraction.blocks if block.kind == "table"]
    assert table.text.split("\n") == [
        "|  | Year ended June 30, 2025 | Year ended June 30, 2024 |",
        "Revenue (1) | $ 12,400 | $ 9,870",
        "| Operating expenses: |  |  |",
        "Research (1) | (393) | (247)",
        "Impairment of goodwill and of licences (1) | — | (1,050)",
        "Net income (1) | $ 11,957 | $ 8,573",
    ]
    assert len(table.boxes) == 6
    assert all(x0 < x1 and y0 < y1 for x0, y0, x1, y1 in table.boxes)


def test_a_year_by_itself_is_the_title_of_the_rows_below_it() -> None:
    """It is a figure, and in no column of the table: five of 28 annual reports could not be read for it."""
    heads = (("", "First", "Second", "Third"), ("", "Quarter", "Quarter", "Quarter"))
    rows = (("2025", "", "", ""), ("Revenue", "12,400", "9,870", "8,150"), ("Net income", "957", "573", "498"))
    (table,) = [
        block
        for block in extract_in_process(draw_filing([[FilingTable("Results", heads, rows)]]), "a.pdf").blocks
        if block.kind == "table"
    ]
    assert table.text.split("\n")[1:] == [
        "| 2025 |  |  |  |",
        "Revenue | 12,400 | 9,870 | 8,150",
        "Net income | 957 | 573 | 498",
    ]


def test_a_row_is_read_with_the_years_above_it() -> None:
    extraction = extract_in_process(draw_filing([[TABLE]]), "a.pdf")
    text = next(block.text for block in extraction.blocks if block.kind == "table")
    readings = [statement.reading.statement for statement in read_statements(text) if statement.reading]
    assert (
        "Operating expenses: Research (1); Year ended June 30, 2025: (393); Year ended June 30, 2024: (247)" in readings
    )
    assert "Net income (1); Year ended June 30, 2025: $ 11,957; Year ended June 30, 2024: $ 8,573" in readings


def test_a_cell_in_the_wrong_column_is_not_counted_as_right() -> None:
    known = [(1, *cell) for cell in TABLE.list_cells()]
    read = list(read_table_cells(extract_in_process(draw_filing([[TABLE]]), "a.pdf")))
    assert count_right_cells(known, read).in_column == len(known) == 8
    other = {"2025": "2024", "2024": "2025"}
    swapped = [(p, r, " ".join(other.get(word, word) for word in c.split()), v) for p, r, c, v in read]
    assert count_right_cells(known, swapped).in_column == 0


def test_the_heading_and_the_heads_of_the_next_table_are_no_rows_of_the_one_above_it() -> None:
    """Its heads stand over the figures of the table above, by which they could be cells of it."""
    notes = (("Part", "Maker", "Weight", "Price"), ("Cog", "Ames", "120", "£4"), ("Rod", "Bell", "95", "£7"))
    pages = draw_pages([[TABLE, TextTable("Spare parts", notes, lefts=(0, 90, 260, 330))]])
    blocks = extract_in_process(pages, "a.pdf").blocks
    above, below = (block for block in blocks if block.kind == "table")
    assert above.text.startswith("|  | Year ended June 30, 2025 |")
    assert "Spare parts" in [block.text for block in blocks]
    assert below.text == "Part | Maker | Weight | Price\nCog | Ames | 120 | £4\nRod | Bell | 95 | £7"
