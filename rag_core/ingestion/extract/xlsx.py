"""Spreadsheet extraction: a block a row, with the names of its columns.

Formulas are read as the values stored with them; macros and external links are never run. Hidden sheets, rows and
columns are left out, with a note.
"""

import datetime
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from openpyxl.utils import quote_sheetname, range_boundaries
from openpyxl.worksheet._reader import COL_TAG, ROW_TAG, VALUE_TAG
from openpyxl.xml.constants import SHEET_MAIN_NS

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract.extraction import MAX_BLOCKS, clean_text, collect_blocks, make_document_too_long_error
from rag_core.ingestion.extract.packages import open_package
from rag_core.ingestion.extract.sheet_rows import LAST_COLUMN, SheetCell, SheetRow, build_sheet_blocks
from rag_core.ingestion.extract.xlsx_workbook import OpenedWorkbook, iterate_elements, join_inline_runs, open_workbook
from rag_core.ingestion.tables import MAX_COLUMNS

_FORMULA_TAG, _MERGE_TAG = f"{{{SHEET_MAIN_NS}}}f", f"{{{SHEET_MAIN_NS}}}mergeCell"
_MAX_MERGED_CELLS = 200_000  # filled with the value of their first cell
_MIDNIGHT = datetime.time()

ParsedCell = Mapping[str, Any]  # as openpyxl has it: row, column, value, data_type, style_id


@dataclass(slots=True)
class _SheetFindings:
    """What the notes of an extraction report."""

    hidden_sheets: list[str] = field(default_factory=list)
    missing_sheets: list[str] = field(default_factory=list)
    cells_of_hidden_rows: int = 0
    cells_of_hidden_columns: int = 0
    formulas_without_value: int = 0


def extract_xlsx(data: bytes) -> Extraction:
    """Extract the visible cells of a workbook, sheet by sheet; a sheet counts as a page.

    Raises:
        UnreadableDocument: the file is damaged, unsafe or too large.
    """
    findings = _SheetFindings()
    with open_package(data, "xl/workbook.xml", "Excel") as package, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of parts of Excel that openpyxl does not read
        workbook = open_workbook(package)
        blocks = collect_blocks(_read_workbook(workbook, findings))
        title = " ".join(clean_text(workbook.title).split())
        has_macros = "xl/vbaProject.bin" in package.namelist()
    notes = tuple(_describe_findings(findings, has_macros))
    return Extraction(blocks, len(workbook.sheets), "xlsx (openpyxl)", notes, title)


def _describe_findings(findings: _SheetFindings, has_macros: bool) -> Iterator[str]:
    if findings.hidden_sheets:
        yield f"hidden sheets were left out: {', '.join(findings.hidden_sheets)}"
    if findings.missing_sheets:
        yield f"sheets that the file lacks: {', '.join(findings.missing_sheets)}"
    if findings.cells_of_hidden_rows:
        yield f"cells of hidden rows were left out: {findings.cells_of_hidden_rows}"
    if findings.cells_of_hidden_columns:
        yield f"cells of hidden columns were left out: {findings.cells_of_hidden_columns}"
    if findings.formulas_without_value:
        count = findings.formulas_without_value
        yield f"formulas without a stored value were left out: {count}; open the file in Excel and save it"
    if has_macros:
        yield "the file holds macros: they were neither run nor read"


def _read_workbook(workbook: OpenedWorkbook, findings: _SheetFindings) -> Iterator[Block]:
    line = 1
    for number, sheet in enumerate(workbook.sheets, start=1):
        name = " ".join(clean_text(sheet.name).split())
        if not sheet.is_visible:
            findings.hidden_sheets.append(name)
        elif not sheet.part:
            findings.missing_sheets.append(name)
        else:
            rows = _read_sheet_rows(workbook, sheet.part, findings)
            for block in build_sheet_blocks(rows, name, quote_sheet_name(name), number, line):
                yield block
                line = block.line_end + 1


def quote_sheet_name(name: str) -> str:
    """Return the name of a sheet as it stands before the mark of a reference: in quotes unless it is a plain word."""
    return name if name.isidentifier() else str(quote_sheetname(name))


def _read_sheet_rows(workbook: OpenedWorkbook, part: str, findings: _SheetFindings) -> Sequence[SheetRow]:
    """Return the rows of a sheet that have visible cells; cells that are merged downwards all have the value."""
    rows: dict[int, dict[int, SheetCell]] = {}
    merged: list[str] = []
    hidden_columns = 0  # a bit a column: thousands of ranges that overlap cost nothing
    with workbook.package.open(part) as source:
        parser = workbook.start_parser(source)
        for element in iterate_elements(source, COL_TAG, ROW_TAG, _MERGE_TAG):
            if element.tag == COL_TAG:
                hidden_columns |= _read_hidden_columns(element)
            elif element.tag == _MERGE_TAG and len(merged) < _MAX_MERGED_CELLS:
                merged.append(element.get("ref", ""))
            elif element.tag == ROW_TAG:
                findings.formulas_without_value += _count_formulas_without_value(element)
                join_inline_runs(element)
                number, parsed = parser.parse_row(element)
                visible = _select_visible_cells(parsed, element, hidden_columns, findings)
                cells = {cell["column"]: _make_cell(cell, workbook) for cell in visible}
                if filled := {column: cell for column, cell in cells.items() if cell.text}:
                    rows[number] = filled
                if len(rows) > MAX_BLOCKS:
                    raise make_document_too_long_error()
    _fill_merged_cells(rows, merged)
    return [(number, dict(sorted(rows[number].items()))) for number in sorted(rows)]


def _count_formulas_without_value(row: Any) -> int:
    return sum(cell.find(_FORMULA_TAG) is not None and not cell.findtext(VALUE_TAG) for cell in row)


def _select_visible_cells(
    parsed: Sequence[ParsedCell], row: Any, hidden_columns: int, findings: _SheetFindings
) -> Sequence[ParsedCell]:
    """Return the filled cells of a row that are shown, and count those that are not."""
    filled = [cell for cell in parsed if cell["value"] not in (None, "")]
    if row.get("hidden") in ("1", "true"):
        findings.cells_of_hidden_rows += len(filled)
        return ()
    visible = [cell for cell in filled if not hidden_columns >> cell["column"] & 1]
    findings.cells_of_hidden_columns += len(filled) - len(visible)
    if len(visible) > MAX_COLUMNS:
        raise UnreadableDocument(f"a row has more than {MAX_COLUMNS} columns: split the table", code="table_too_wide")
    return visible


def _read_hidden_columns(element: Any) -> int:
    """Return the columns that an element of a sheet's columns hides, as bits."""
    first, last = int(element.get("min")), min(int(element.get("max")), LAST_COLUMN)
    is_hidden = element.get("hidden") in ("1", "true") and 0 < first <= last
    return ((1 << (last - first + 1)) - 1) << first if is_hidden else 0


def _make_cell(cell: ParsedCell, workbook: OpenedWorkbook) -> SheetCell:
    value = cell["value"]
    if isinstance(value, str):
        return SheetCell(
            "\n".join(" ".join(line.split()) for line in clean_text(value).strip().split("\n")), is_text=True
        )
    if isinstance(value, bool):
        return SheetCell(str(value).upper())
    if isinstance(value, datetime.datetime):
        return SheetCell(value.date().isoformat() if value.time() == _MIDNIGHT else value.isoformat(" ", "seconds"))
    if isinstance(value, (int, float)):
        is_percentage = workbook.get_number_format(cell["style_id"]).split(";")[0].rstrip('"').endswith("%")
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
