"""OpenDocument spreadsheet extraction: a block a row, with the names of its columns, as of other spreadsheets.

Formulas are read as the values stored with them. Hidden sheets, rows and columns are left out, with a note.
"""

from collections.abc import Iterator
from typing import Any

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract.extraction import MAX_BLOCKS, collect_blocks, make_document_too_long_error
from rag_core.ingestion.extract.opendocument import (
    MAX_REPEATS,
    OFFICE,
    TABLE,
    OpenDocument,
    iterate_paragraphs,
    iterate_rows,
    open_document,
    read_count,
)
from rag_core.ingestion.extract.sheet_rows import SheetCell, SheetRow, build_sheet_blocks
from rag_core.ingestion.extract.xlsx import quote_sheet_name
from rag_core.ingestion.tables import MAX_COLUMNS

_HIDDEN = ("collapse", "filter")
_NUMBER_TYPES = ("float", "currency", "percentage")
_MAX_ROWS = 10_000_000  # passed over: the empty ones to the end of a sheet are one that is repeated


def extract_ods(data: bytes) -> Extraction:
    """Extract the visible cells of a spreadsheet, sheet by sheet; a sheet counts as a page.

    Raises:
        UnreadableDocument: the file is damaged, unsafe, encrypted or too large.
    """
    with open_document(data, "spreadsheet", "LibreOffice") as document:
        sheets = list(document.body.iterchildren(f"{TABLE}table"))
        reader = _SheetReader(document)
        blocks = collect_blocks(reader.read(sheets))
    return Extraction(blocks, len(sheets), "ods (lxml)", tuple(reader.describe_hidden()), document.title)


class _SheetReader:
    """Reads the sheets of a document, and counts the hidden cells that it leaves out."""

    def __init__(self, document: OpenDocument) -> None:
        self._document = document
        self._hidden_sheets: list[str] = []
        self._hidden_cells = 0

    def read(self, sheets: list[Any]) -> Iterator[Block]:
        line = 1
        for number, sheet in enumerate(sheets, start=1):
            name = " ".join(sheet.get(f"{TABLE}name", "").split()) or f"Sheet{number}"
            if not self._document.get_style(sheet).is_shown:
                self._hidden_sheets.append(name)
                continue
            for block in build_sheet_blocks(self._read_rows(sheet), name, quote_sheet_name(name), number, line):
                yield block
                line = block.line_end + 1

    def describe_hidden(self) -> Iterator[str]:
        if self._hidden_sheets:
            yield f"hidden sheets were left out: {', '.join(self._hidden_sheets)}"
        if self._hidden_cells:
            yield f"cells of hidden rows and columns were left out: {self._hidden_cells}"

    def _read_rows(self, sheet: Any) -> list[SheetRow]:
        hidden_columns = _find_hidden_columns(sheet)
        rows: list[SheetRow] = []
        spanning: dict[int, tuple[int, SheetCell]] = {}
        number = 1
        for row in iterate_rows(sheet):
            cells = self._read_cells(row, hidden_columns, spanning)
            repeats = read_count(row, f"{TABLE}number-rows-repeated", MAX_REPEATS if cells else _MAX_ROWS)
            if cells and row.get(f"{TABLE}visibility") in _HIDDEN:
                self._hidden_cells += len(cells)
            elif cells:
                rows += [(number + n, cells) for n in range(repeats)]
            number += repeats
            if len(rows) > MAX_BLOCKS:
                raise make_document_too_long_error()
        return rows

    def _read_cells(
        self, row: Any, hidden_columns: frozenset[int], spanning: dict[int, tuple[int, SheetCell]]
    ) -> dict[int, SheetCell]:
        """Return the visible filled cells of a row by column; cells that are merged downwards all have the value.

        `spanning` has, by column, how many rows more a cell spans, and is carried from row to row.
        """
        cells: dict[int, SheetCell] = {}
        column, has_own = 1, False
        for element in row.iterchildren(f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
            repeats = read_count(element, f"{TABLE}number-columns-repeated")
            if element.tag == f"{TABLE}covered-table-cell":
                left, cell = spanning.pop(column, (0, SheetCell("")))
                spanning |= {column: (left - 1, cell)} if left > 1 else {}
            else:
                cell = self._make_cell(element)
                has_own |= bool(cell.text)
                height = read_count(element, f"{TABLE}number-rows-spanned")
                spanning |= {column: (height - 1, cell)} if height > 1 else {}
            if cell.text and len(cells) + repeats > MAX_COLUMNS:
                message = f"a row has more than {MAX_COLUMNS} columns: split the table"
                raise UnreadableDocument(message, code="table_too_wide")
            for n in range(column, column + repeats if cell.text else column):
                self._hidden_cells += n in hidden_columns
                cells |= {} if n in hidden_columns else {n: cell}
            column += repeats
        return cells if has_own else {}

    def _make_cell(self, element: Any) -> SheetCell:
        """Return a cell by its stored value where that is a number, a date or a truth value, else by its text."""
        kind = element.get(f"{OFFICE}value-type")
        if kind in _NUMBER_TYPES:
            return SheetCell(_format_number(element.get(f"{OFFICE}value", ""), kind))
        if kind == "date":
            return SheetCell(element.get(f"{OFFICE}date-value", "").removesuffix("T00:00:00").replace("T", " "))
        if kind == "boolean":
            return SheetCell(element.get(f"{OFFICE}boolean-value", "").upper())
        lines = (self._document.read_text(p, on_paper=False) for p in iterate_paragraphs(element))
        return SheetCell("\n".join(filter(None, lines)), is_text=True)


def _format_number(value: str, kind: str) -> str:
    number = float(value)
    return f"{number * 100:.10g}%" if kind == "percentage" else f"{number:.15g}"


def _find_hidden_columns(sheet: Any) -> frozenset[int]:
    hidden: set[int] = set()
    number = 1
    for column in sheet.iter(f"{TABLE}table-column"):
        repeats = read_count(column, f"{TABLE}number-columns-repeated")
        if column.get(f"{TABLE}visibility") in _HIDDEN:
            hidden.update(range(number, number + repeats))
        number += repeats
    return frozenset(hidden)
