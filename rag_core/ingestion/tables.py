"""Table rows as blocks: one line a cell, each with the name of its column."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rag_core.core.model import Block, Scalar
from rag_core.ingestion.member_lines import find_member_lines

TABLE_HEAD_FIELD = "table_head"  # of the metadata of a chunk that begins within a table
MAX_COLUMN_NAME_CHARS = 128  # of a column's name
MAX_COLUMNS = 1000
_CELL_SEPARATOR = re.compile(r"(?<!\\)\|")  # in Markdown, a bar inside a cell is written \|


def name_columns(header: Sequence[str], width: int) -> list[str]:
    """Return a unique name for each of `width` columns; a missing or repeated name gets the number of its column."""
    names: dict[str, None] = {}
    for number in range(1, width + 1):
        name = header[number - 1].strip()[:MAX_COLUMN_NAME_CHARS] if number <= len(header) else ""
        names[make_unique_name(name, number, names)] = None
    return list(names)


def make_unique_name(name: str, number: int, taken: Collection[str]) -> str:
    """Return the name of a column, by its number where it has none or one that is taken."""
    name = name or f"column {number}"
    while name in taken:
        name = f"{name} {number}"
    return name


def join_header_rows(rows: Sequence[Sequence[str]]) -> list[str]:
    """Join the rows of a header, all of one width, to a name a column: "2024 Revenue" where 2024 spans two columns."""
    spread = [*(_spread_spanning_heads(row) for row in rows[:-1]), *rows[-1:]]
    return [" ".join(dict.fromkeys(filter(None, heads))) for heads in zip(*spread, strict=True)]


def _spread_spanning_heads(row: Sequence[str]) -> list[str]:
    """Fill the gaps of a header's row with the head before them."""
    filled: list[str] = []
    for head in row:
        filled.append(head or (filled[-1] if filled else ""))
    return filled


def format_table(rows: Sequence[Sequence[str]]) -> str:
    """Return the text of a table block: a line a row."""
    return "\n".join(map(format_table_row, rows))


def format_table_row(cells: Sequence[str]) -> str:
    """Return a row with bars between the cells, whose own bars are escaped.

    Bars stand around it where an outer cell is empty: else the first filled cell would be read as the first.
    """
    row = " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells)
    return row if cells and cells[0].strip() and cells[-1].strip() else f"| {row} |"


def block_from_cells(names: Sequence[str], cells: Sequence[str], line_start: int, line_end: int) -> Block:
    """Return a table row as a block with "name: value" lines and with fields; empty cells are left out of both."""
    fields = {name: cell for name, cell in zip(names, cells, strict=False) if cell.strip()}
    text = "\n".join(f"{name}: {cell}" for name, cell in fields.items())
    return Block(text, "row", line_start, line_end, fields=fields)


def read_row_cells(content: str, fields: Mapping[str, Scalar]) -> dict[str, str]:
    """Return the cells of a passage that `block_from_cells` wrote, by column; empty for a passage that is no row.

    Columns are known by `fields`. The further lines of a cell belong to it.
    """
    cells: dict[str, str] = {}
    column = ""
    for line in content.split("\n"):
        name, mark, cell = line.partition(": ")
        if mark and name in fields:
            column, line = name, cell
        if not column:
            return {}
        cells[column] = f"{cells[column]}\n{line}" if column in cells else line
    return cells


def is_table_rule(line: str) -> bool:
    """Return True for the line of dashes between the header and the rows of a Markdown table."""
    return "-" in line and set(line) <= set(" \t|:-")


def split_table_rows(block: Block) -> Iterator[Block]:
    """Yield the rows below the header of a table block, each with its line and box; yield any other block unchanged."""
    lines = block.text.split("\n") if block.kind == "table" else []
    table = [
        (number, _split_markdown_cells(line))
        for number, line in enumerate(lines)
        if line.strip() and not is_table_rule(line)
    ]
    width = max((len(cells) for _, cells in table), default=0)
    if len(table) < 2 or not 2 <= len(table[0][1]) <= width <= MAX_COLUMNS:
        yield block
        return
    names, located = name_columns(table[0][1], width), find_line_locator(block)
    for number, cells in table[1:]:
        line = block.line_start + number
        box = block.boxes[number] if block.boxes else block.bbox
        yield replace(
            block_from_cells(names, cells, line, line),
            page=block.page,
            page_label=block.page_label,
            bbox=box,
            headings=block.headings,
            locator=located.locate(number) if located else block.locator,
        )


@dataclass(frozen=True, slots=True)
class LineLocator:
    """What the lines of a block are located by: the words before their numbers, and the number of the first."""

    words: str
    first: int

    def locate(self, number: int) -> str:
        """Return the locator of a line, counted from 0."""
        return f"{self.words}{self.first + number}"


def find_line_locator(block: Block) -> LineLocator | None:
    """Return how the lines of a block are located; None where they have no locators of their own. Reads the whole text.

    A line of a table is a row, the first of which is row 1. In a file within a zip or mail that has lines, a line of
    any block is the line of that file.
    """
    if found := find_member_lines(block):
        member, first = found
        return LineLocator(f"{member}, line ", first)
    return LineLocator(f"{block.locator}, row ", 1) if block.locator and block.kind == "table" else None


def _split_markdown_cells(line: str) -> list[str]:
    """Return the cells of a line "a | b" or "| a | b |"."""
    return [cell.strip() for cell in _CELL_SEPARATOR.split(line.strip().removeprefix("|").removesuffix("|"))]
