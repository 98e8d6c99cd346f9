"""CSV extraction: one block a row, with the column names in each. Cells are kept unchanged, formulas too."""

import csv
import re
from collections.abc import Iterator, Sequence
from typing import Literal

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Extraction
from rag_core.ingestion.extract.extraction import MAX_BLOCKS, collect_blocks, make_document_too_long_error
from rag_core.ingestion.extract.text import decode_text
from rag_core.ingestion.tables import MAX_COLUMNS, block_from_cells, name_columns

MAX_CELL_CHARS = 1024 * 1024  # csv.field_size_limit counts characters
_CSV_DELIMITERS = ",;\t|"
_STATED_DELIMITER = re.compile(r'("?)sep=(\t|[^\w\s"])\1\s*')  # Excel's own first line

CsvRecord = tuple[int, int, list[str]]  # first and last line, cells


def extract_csv(data: bytes) -> Extraction:
    """Extract a table with a header row, in whatever encoding and with whatever delimiter it came."""
    text, encoding, hidden = decode_text(data)
    lines = text.split("\n")
    if stated := _STATED_DELIMITER.fullmatch(lines[0]):
        lines[0] = ""  # blank, so that the lines after it keep their numbers
    delimiter = stated[2] if stated else _detect_delimiter(lines)
    records, notes = _read_csv_records(lines, delimiter)
    extractor = f"csv ({encoding}, {'tab' if delimiter == chr(9) else delimiter})"
    if not records:
        return Extraction((), None, extractor, hidden)
    names = name_columns(records[0][2], max(len(cells) for _, _, cells in records))
    rows = (block_from_cells(names, cells, first, last) for first, last, cells in records[1:])
    return Extraction(collect_blocks(rows), None, extractor, (*hidden, *notes))


def _read_csv_records(lines: Sequence[str], delimiter: str) -> tuple[list[CsvRecord], tuple[str, ...]]:
    try:
        return list(_parse_csv_lines(lines, delimiter, quoted=True)), ()
    except csv.Error:
        note = "a quote is never closed or stands inside a cell: quotes were read as plain characters"
    try:
        return list(_parse_csv_lines(lines, delimiter, quoted=False)), (note,)
    except csv.Error as error:
        raise UnreadableDocument(
            f"a cell has more than {MAX_CELL_CHARS:,} characters: shorten it", code="table_cell_too_long"
        ) from error


def _parse_csv_lines(lines: Sequence[str], delimiter: str, *, quoted: bool) -> Iterator[CsvRecord]:
    csv.field_size_limit(MAX_CELL_CHARS)  # global to the process, but always set to the same value
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter, quoting=quoting, strict=quoted)
    last = 0
    for number, cells in enumerate(reader):
        if number > MAX_BLOCKS:
            raise make_document_too_long_error()
        first, last = last + 1, reader.line_num
        if any(cell.strip() for cell in cells):
            yield first, last, _check_column_count(cells)


def _check_column_count(cells: list[str]) -> list[str]:
    if len(cells) > MAX_COLUMNS:
        raise UnreadableDocument(f"a row has more than {MAX_COLUMNS} columns: split the table", code="table_too_wide")
    return cells


def _detect_delimiter(lines: Sequence[str]) -> str:
    """Return the delimiter that most of the first 20 lines have as often as the header; then the most frequent."""

    def agreement(delimiter: str) -> tuple[int, int]:
        widths = [line.count(delimiter) for line in lines[:20] if line.strip()]
        return (widths.count(widths[0]) if widths and widths[0] else 0, max(widths[:1], default=0))

    return max(_CSV_DELIMITERS, key=agreement)
