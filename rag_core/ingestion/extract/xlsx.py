"""Spreadsheet extraction: a block a row, with the names of its columns.

Formulas are read as the values stored with them; macros and external links are never run. Hidden sheets, rows and
columns are left out, with a note.
"""

import datetime
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from defusedxml.ElementTree import iterparse
from openpyxl import load_workbook
from openpyxl.cell.read_only import ReadOnlyCell
from openpyxl.utils import quote_sheetname, range_boundaries
from openpyxl.worksheet._reader import COL_TAG, ROW_TAG, VALUE_TAG, WorkSheetParser
from openpyxl.xml.constants import SHEET_MAIN_NS

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract.extraction import MAX_BLOCKS, clean_text, collect_blocks, make_document_too_long_error
from rag_core.ingestion.extract.packages import open_package
from rag_core.ingestion.extract.sheet_rows import SheetCell, SheetRow, build_sheet_blocks
from rag_core.ingestion.tables import MAX_COLUMNS

_FORMULA_TAG, _MERGE_TAG = f"{{{SHEET_MAIN_NS}}}f", f"{{{SHEET_MAIN_NS}}}mergeCell"
_MAX_MERGED_CELLS = 200_000  # filled with the value of their first cell
_LAST_COLUMN = 16_384  # of a sheet in Excel
_MIDNIGHT = datetime.time()


@dataclass(slots=True)
class _SheetFindings:
    """What the notes of an extraction report."""

    hidden_sheets: list[str] = field(default_factory=list)
    hidden_parts: Counter[str] = field(default_factory=Counter)
    formulas_without_value: int = 0


def extract_xlsx(data: bytes) -> Extraction:
    """Extract the visible cells of a workbook, sheet by sheet; a sheet counts as a page.

    Raises:
        UnreadableDocument: the file is damaged, unsafe or too large.
    """
    findings = _SheetFindings()
    with open_package(data, "xl/workbook.xml", "Excel") as package, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of parts of Excel that openpyxl does not read
        workbook = load_workbook(package.fp, read_only=True, data_only=True, keep_links=False)
        blocks = collect_blocks(_read_workbook(workbook, findings))
        title = " ".join(clean_text(workbook.properties.title or "").split())
        sheet_count = len(workbook.worksheets)
        has_macros = "xl/vbaProject.bin" in package.namelist()
    return Extraction(blocks, sheet_count, "xlsx (openpyxl)", tuple(_describe_findings(findings, has_macros)), title)


def _describe_findings(findings: _SheetFindings, has_macros: bool) -> Iterator[str]:
    if findings.hidden_sheets:
        yield f"hidden sheets were left out: {', '.join(findings.hidden_sheets)}"
    if findings.hidden_parts:
        counts = ", ".join(f"{count} {name}" for name, count in sorted(findings.hidden_parts.items()))
        yield f"cells of hidden rows or columns were left out: {counts}"
    if findings.formulas_without_value:
        count = findings.formulas_without_value
        yield f"formulas without a stored value were left out: {count}; open the file in Excel and save it"
    if has_macros:
        yield "the file holds macros: they were neither run nor read"


def _read_workbook(workbook: Any, findings: _SheetFindings) -> Iterator[Block]:
    line = 1
    for number, sheet in enumerate(workbook.worksheets, start=1):
        name = " ".join(clean_text(sheet.title).split())
        if sheet.sheet_state != "visible":
            findings.hidden_sheets.append(name)
            continue
        for block in build_sheet_blocks(_read_sheet_rows(sheet, findings), name, quote_sheet_name(name), number, line):
            yield block
            line = block.line_end + 1


def quote_sheet_name(name: str) -> str:
    """Return the name of a sheet as it stands before the mark of a reference: in quotes unless it is a plain word."""
    return name if name.isidentifier() else str(quote_sheetname(name))


def _read_sheet_rows(sheet: Any, findings: _SheetFindings) -> Sequence[SheetRow]:
    """Return the rows of a sheet that have visible cells; merged cells all have the value of the first."""
    workbook = sheet.parent
    rows: dict[int, dict[int, SheetCell]] = {}
    merged: list[str] = []
    hidden_columns: set[int] = set()
    with sheet._get_source() as source:  # openpyxl 3.1: no public way leads to hidden rows of a stream
        parser = WorkSheetParser(
            source, sheet._shared_strings, data_only=True, epoch=workbook.epoch, date_formats=workbook._date_formats,
            timedelta_formats=workbook._timedelta_formats,
        )  # fmt: skip
        for _, element in iterparse(source):
            if element.tag == COL_TAG:
                hidden_columns.update(_list_hidden_columns(element))
            elif element.tag == _MERGE_TAG and len(merged) < _MAX_MERGED_CELLS:
                merged.append(element.get("ref", ""))
            elif element.tag == ROW_TAG:
                number, cells = _read_row(parser, sheet, element, hidden_columns, findings)
                element.clear()
                if cells:
                    rows[number] = cells
                if len(rows) > MAX_BLOCKS:
                    raise make_document_too_long_error()
    _fill_merged_cells(rows, merged)
    return [(number, dict(sorted(rows[number].items()))) for number in sorted(rows)]


def _read_row(
    parser: WorkSheetParser, sheet: Any, element: Any, hidden_columns: set[int], findings: _SheetFindings
) -> tuple[int, dict[int, SheetCell]]:
    findings.formulas_without_value += sum(
        cell.find(_FORMULA_TAG) is not None and not cell.findtext(VALUE_TAG) for cell in element
    )
    number, parsed = parser.parse_row(element)
    filled = [cell for cell in parsed if cell["value"] not in (None, "")]
    visible = [cell for cell in filled if cell["column"] not in hidden_columns]
    if element.get("hidden") in ("1", "true"):
        visible = []
        findings.hidden_parts["in rows"] += len(filled)
    else:
        findings.hidden_parts["in columns"] += len(filled) - len(visible)
    findings.hidden_parts = +findings.hidden_parts
    if len(visible) > MAX_COLUMNS:
        raise UnreadableDocument(f"a row has more than {MAX_COLUMNS} columns: split the table", code="table_too_wide")
    cells = {cell["column"]: _make_cell(ReadOnlyCell(sheet, **cell)) for cell in visible}
    return number, {column: cell for column, cell in cells.items() if cell.text}


def _list_hidden_columns(element: Any) -> Sequence[int]:
    """Return the numbers of the columns that an element of a sheet's columns describes, if it hides them."""
    if element.get("hidden") not in ("1", "true"):
        return ()
    return range(int(element.get("min")), min(int(element.get("max")), _LAST_COLUMN) + 1)


def _make_cell(cell: ReadOnlyCell) -> SheetCell:
    value = cell.value
    if isinstance(value, str):
        return SheetCell(
            "\n".join(" ".join(line.split()) for line in clean_text(value).strip().split("\n")), is_text=True
        )
    if isinstance(value, bool):
        return SheetCell(str(value).upper())
    if isinstance(value, datetime.datetime):
        return SheetCell(value.date().isoformat() if value.time() == _MIDNIGHT else value.isoformat(" ", "seconds"))
    if isinstance(value, (int, float)):
        is_percentage = str(cell.number_format).split(";")[0].rstrip('"').endswith("%")
        return SheetCell(
            f"{value * 100:.10g}%" if is_percentage else f"{value:.15g}" if isinstance(value, float) else str(value)
        )
    return SheetCell(str(value))


def _fill_merged_cells(rows: dict[int, dict[int, SheetCell]], references: Sequence[str]) -> None:
    """Give every row of a cell that is merged downwards the cell's value: a category stands beside all of its rows."""
    remaining = _MAX_MERGED_CELLS
    for reference in references:
        column, first, _, last = range_boundaries(reference)
        value = rows.get(first, {}).get(column)
        if value is None:
            continue
        for number in range(first + 1, min(last, first + remaining) + 1):
            remaining -= 1
            if number in rows:
                rows[number].setdefault(column, value)
