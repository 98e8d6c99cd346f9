"""CSV extraction: one block a row, with the column names in each. Cells are kept unchanged, formulas too."""

import csv
from collections.abc import Iterator, Sequence
from typing import Literal

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Extraction
from rag_core.ingestion.extract.extraction import MAX_BLOCKS, bounded, too_much
from rag_core.ingestion.extract.text import decode
from rag_core.ingestion.tables import MAX_COLUMNS, names_of, row

MAX_CELL = 1024 * 1024  # csv.field_size_limit counts characters
_DELIMITERS = ",;\t|"

Record = tuple[int, int, list[str]]  # first and last line, cells


def extract_csv(data: bytes) -> Extraction:
    """Extract a table with a header row, in whatever encoding and with whatever delimiter it came."""
    text, encoding, hidden = decode(data)
    lines = text.split("\n")
    delimiter = _delimiter(lines)
    records, notes = _records(lines, delimiter)
    extractor = f"csv ({encoding}, {'tab' if delimiter == chr(9) else delimiter})"
    if not records:
        return Extraction((), None, extractor, hidden)
    names = names_of(records[0][2], max(len(cells) for _, _, cells in records))
    rows = (row(names, cells, first, last) for first, last, cells in records[1:])
    return Extraction(bounded(rows), None, extractor, (*hidden, *notes))


def _records(lines: Sequence[str], delimiter: str) -> tuple[list[Record], tuple[str, ...]]:
    try:
        return list(_parse(lines, delimiter, quoted=True)), ()
    except csv.Error:
        note = "a quote is never closed or stands inside a cell: quotes were read as plain characters"
    try:
        return list(_parse(lines, delimiter, quoted=False)), (note,)
    except csv.Error as error:
        raise UnreadableDocument(
            f"a cell has more than {MAX_CELL:,} characters: shorten it", code="table_cell_too_long"
        ) from error


def _parse(lines: Sequence[str], delimiter: str, *, quoted: bool) -> Iterator[Record]:
    csv.field_size_limit(MAX_CELL)  # global to the process, but always set to the same value
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter, quoting=quoting, strict=quoted)
    last = 0
    for number, cells in enumerate(reader):
        if number > MAX_BLOCKS:
            raise too_much()
        first, last = last + 1, reader.line_num
        if any(cell.strip() for cell in cells):
            yield first, last, _within_limits(cells)


def _within_limits(cells: list[str]) -> list[str]:
    if len(cells) > MAX_COLUMNS:
        raise UnreadableDocument(f"a row has more than {MAX_COLUMNS} columns: split the table", code="table_too_wide")
    return cells


def _delimiter(lines: Sequence[str]) -> str:
    """Return the delimiter that most of the first 20 lines have as often as the header; then the most frequent."""

    def agreement(delimiter: str) -> tuple[int, int]:
        widths = [line.count(delimiter) for line in lines[:20] if line.strip()]
        return (widths.count(widths[0]) if widths and widths[0] else 0, max(widths[:1], default=0))

    return max(_DELIMITERS, key=agreement)
