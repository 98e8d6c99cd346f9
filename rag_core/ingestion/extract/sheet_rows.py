"""Rows of a sheet as blocks: which row names the columns, what stands above a table, and the reference of each row."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from openpyxl.utils import get_column_letter

from rag_core.core.model import Block
from rag_core.ingestion.tables import MAX_COLUMNS, block_from_cells, join_header_rows, make_unique_name, name_columns

_MAX_HEADER_ROWS = 3
LAST_COLUMN = 16_384  # of a sheet in Excel


@dataclass(frozen=True, slots=True)
class SheetCell:
    """The text of a cell as its reader sees it; `is_text` tells words from numbers, dates and truth values."""

    text: str
    is_text: bool = False


@dataclass(slots=True)
class _ColumnNames:
    """The names of a table's columns; one that no header names is named by its number when a cell stands in it."""

    by_column: dict[int, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    first: int = LAST_COLUMN

    @classmethod
    def from_header(cls, header: Sequence[Mapping[int, SheetCell]]) -> "_ColumnNames":
        """Name the columns by the header's rows joined, and those in narrow gaps by their numbers."""
        numbers = sorted({column for row in header for column in row})
        span = range(numbers[0], numbers[-1] + 1)
        columns = span if len(span) <= MAX_COLUMNS else numbers
        heads = join_header_rows([[row[c].text if c in row else "" for c in columns] for row in header])
        names = name_columns([" ".join(head.split()) for head in heads], len(columns))
        return cls(dict(zip(columns, names, strict=True)), set(names), numbers[0])

    def list_names(self, columns: Collection[int]) -> list[str]:
        """Return the names of columns."""
        self.first = min(self.first, *columns)
        for column in columns:
            if column not in self.by_column:
                self.by_column[column] = name = make_unique_name("", column - self.first + 1, self.taken)
                self.taken.add(name)
        return [self.by_column[column] for column in columns]


SheetRow = tuple[int, Mapping[int, SheetCell]]  # its number, and its filled cells by column, both from 1


def build_sheet_blocks(rows: Sequence[SheetRow], name: str, reference: str, page: int, line: int) -> Iterator[Block]:
    """Yield the rows of a sheet: those of a table with the names of its columns, a lone text as a heading or paragraph.

    `reference` is the sheet's name as it stands in a reference; lines are counted from `line`.
    """
    names = _ColumnNames()
    headings: tuple[str, ...] = (name,)
    at = 0
    while at < len(rows):
        number, cells = rows[at]
        begins_region = at == 0 or number > rows[at - 1][0] + 1
        header_rows = (
            _count_header_rows(rows[at : at + _MAX_HEADER_ROWS + 1], names.by_column)
            if begins_region or not names.by_column
            else 0
        )
        if header_rows:
            names = _ColumnNames.from_header([cells for _, cells in rows[at : at + header_rows]])
            at += header_rows
            continue
        at += 1
        locator = f"{reference}!{_format_cell_range(number, min(cells), max(cells))}"
        if len(cells) == 1 and (begins_region or not names.by_column):
            (cell,) = cells.values()
            is_heading = cell.is_text and at < len(rows) and "\n" not in cell.text
            block = Block(cell.text, "heading" if is_heading else "paragraph", line, line + cell.text.count("\n"))
            names = _ColumnNames()
            yield replace(block, page=page, headings=(name,), locator=locator)
            headings = (name, cell.text) if is_heading else headings
        else:
            block = block_from_cells(names.list_names(cells.keys()), [cell.text for cell in cells.values()], line, line)
            yield replace(block, page=page, headings=headings, locator=locator)
        line = block.line_end + 1


def _count_header_rows(rows: Sequence[SheetRow], names: Mapping[int, str]) -> int:
    """Return how many of the first rows name the columns of a table that follows them; 0 for none.

    They are words only, without a gap between them and the table. A row below the table of the same columns is of that
    table, unless it stands above values that are no words.
    """
    adjacent = 1 + next((n for n, (above, row) in enumerate(pairwise(rows)) if row[0] != above[0] + 1), len(rows) - 1)
    cells = [row for _, row in rows[:adjacent]]
    worded = next((n for n, row in enumerate(cells) if not all(cell.is_text for cell in row.values())), len(cells))
    if worded == 0 or adjacent < 2 or len(cells[0]) < 2:
        return 0
    if names and cells[0].keys() <= names.keys() and worded == len(cells):
        return 0
    count = 1
    while count < min(worded, len(cells) - 1) and _continues_header(cells[count - 1], cells[count]):
        count += 1
    return count


def _continues_header(above: Mapping[int, SheetCell], below: Mapping[int, SheetCell]) -> bool:
    """Return True where a row of words divides columns of the one above it: it stands under gaps of that one."""
    first = min(above)
    return any(column >= first and column not in above for column in below) and len(below) > len(above)


def _format_cell_range(row: int, first_column: int, last_column: int) -> str:
    """Return "A7:D7", or "A7" for a single cell."""
    first, last = f"{get_column_letter(first_column)}{row}", f"{get_column_letter(last_column)}{row}"
    return first if first == last else f"{first}:{last}"
