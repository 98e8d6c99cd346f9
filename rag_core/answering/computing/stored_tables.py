"""Whole tables and lists of a stored document, put together again from its chunks, each cell with its place."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag_core.core.model import Chunk
from rag_core.ingestion.tables import read_row_cells
from rag_core.text.figures import has_digit, parse_figure
from rag_core.text.layout import goes_on_with_table, make_part, remove_marks
from rag_core.text.months import MONTH_PATTERN
from rag_core.text.tables import TableRow, read_tables
from rag_core.text.terms import extract_terms

MIN_BARE_SHARE = 0.8  # of the cells of a column
MIN_DIFFERENT_SHARE = 0.8  # of the words that name rows: a group may meet twice
_DATE = re.compile(
    rf"\b(?:{MONTH_PATTERN})\b|\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b|(?<=\d)(?:st|nd|rd|th)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class CitedRow:
    """A row or list item as it is cited: characters `start` to `end` of a chunk, and its cells, "" for an empty one.

    `group` is the title of the rows below which it stands, "" for none. `name_at` is the cell that names it.
    """

    chunk: Chunk
    start: int
    end: int
    cells: tuple[str, ...]
    group: str = ""
    name_at: int = 0

    @property
    def label(self) -> str:
        return self.cells[self.name_at]

    @property
    def quote(self) -> str:
        return self.chunk.content[self.start : self.end]


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table with the names of its columns, or a list, which has one column named by its lead-in.

    `about` is what is said above it: its section. `is_whole` is False where a row lost a part.
    """

    title: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[CitedRow, ...]
    is_list: bool = False
    is_whole: bool = True

    @property
    def name_at(self) -> int:
        """The column that names the rows."""
        return self.rows[0].name_at if self.rows else 0

    @property
    def subject(self) -> frozenset[str]:
        """The terms of what the rows are."""
        return extract_terms(f"{self.columns[0]} {self.columns[self.name_at]} {self.about} {self.title}")


@dataclass(frozen=True, slots=True)
class _PlacedLine:
    chunk: Chunk
    start: int
    end: int
    section: tuple[str, ...]
    key: tuple[object, ...]

    @property
    def text(self) -> str:
        return self.chunk.content[self.start : self.end]


def read_stored_tables(chunks: Sequence[Chunk]) -> list[StoredTable]:
    """Return the tables and lists of a document; `chunks` are all that it has."""
    ordered = sorted(chunks, key=lambda chunk: chunk.ordinal)
    return list(map(name_rows, (*_read_row_tables(ordered), *_read_line_tables(ordered))))


def name_rows(table: StoredTable) -> StoredTable:
    """Let the rows be named by the first column of words that tells them apart where the first column has none.

    A place in a race or a date names a row only where nothing else does.
    """
    if table.is_list or not _is_bare([row.cells[0] for row in table.rows]):
        return table
    at = next((n for n in range(1, len(table.columns)) if _tells_apart([row.cells[n] for row in table.rows])), 0)
    return replace(table, rows=tuple(replace(row, name_at=at) for row in table.rows)) if at else table


def _is_bare(cells: Sequence[str]) -> bool:
    """Return whether most cells are figures or dates."""
    return sum(parse_figure(cell) is not None or _is_date(cell) for cell in cells) >= MIN_BARE_SHARE * len(cells)


def _tells_apart(cells: Sequence[str]) -> bool:
    """Return whether nearly all cells are words, and different ones."""
    words = [cell for cell in cells if any(map(str.isalpha, cell)) and not parse_figure(cell) and not _is_date(cell)]
    return len(words) >= MIN_BARE_SHARE * len(cells) and len(set(words)) >= MIN_DIFFERENT_SHARE * len(words)


def _is_date(cell: str) -> bool:
    return bool(cell) and not any(map(str.isalpha, _DATE.sub("", cell))) and has_digit([cell])


def _read_row_tables(chunks: Sequence[Chunk]) -> Iterator[StoredTable]:
    """Yield the tables whose rows are chunks of their own: those of sheets and of delimited text."""
    groups: dict[tuple[object, ...], list[tuple[Chunk, dict[str, str]]]] = {}
    for chunk in chunks:
        cells = read_row_cells(chunk.content, chunk.metadata)
        if cells:
            groups.setdefault((chunk.page, chunk.heading_path), []).append((chunk, cells))
    for rows in groups.values():
        columns = tuple(dict.fromkeys(name for _, cells in rows for name in cells))
        cited = tuple(
            CitedRow(chunk, 0, len(chunk.content), tuple(cells.get(name, "") for name in columns))
            for chunk, cells in rows
        )
        places = [(row.chunk.spans[0].line_start, row.chunk.spans[0].page) for row in cited if row.chunk.spans]
        first = rows[0][0]
        is_whole = len(set(places)) == len(places)  # else a row was cut into several chunks
        yield StoredTable(_name_document(first), " ".join(first.heading_path), columns, cited, False, is_whole)


def _name_document(chunk: Chunk) -> str:
    """Return the title and the source of a document, the words of file names apart."""
    return f"{chunk.title} {chunk.source}".replace("_", " ")


def _read_line_tables(chunks: Sequence[Chunk]) -> Iterator[StoredTable]:
    """Yield the tables and lists that are lines of a text, in order."""
    lines = _place_lines(chunks)
    run: list[_PlacedLine] = []
    kind, before, last = "", "", 0
    for number in sorted(lines):
        line = lines[number]
        found = _classify(line, kind, is_next=number == last + 1 and bool(run) and run[-1].key == line.key)
        is_blank_list_gap = kind == "item" and found == "item" and run and run[-1].key == line.key
        if run and (found != kind or not (is_blank_list_gap or (number == last + 1 and run[-1].key == line.key))):
            yield from _build_tables(run, kind, before)
            run = []
        if found:
            run.append(line)
        else:
            before = line.text
        kind, last = found, number
    if run:
        yield from _build_tables(run, kind, before)


def _place_lines(chunks: Sequence[Chunk]) -> dict[int, _PlacedLine]:
    """Return the lines of a document by number; of a line in several chunks, which may overlap, the longest."""
    lines: dict[int, _PlacedLine] = {}
    for chunk in chunks:
        if read_row_cells(chunk.content, chunk.metadata):
            continue
        for span in chunk.spans:
            texts = chunk.content[span.start : span.end].split("\n")
            if len(texts) != span.line_end - span.line_start + 1:
                continue
            start = span.start
            for number, text in enumerate(texts, span.line_start):
                section, row = span.section or chunk.heading_path, span.locator.partition("!")[0].rpartition("row ")[0]
                placed = _PlacedLine(chunk, start, start + len(text), section, (span.page, section, row))
                if text.strip() and (number not in lines or len(text) > len(lines[number].text)):
                    lines[number] = placed
                start += len(text) + 1
    return lines


def _classify(line: _PlacedLine, kind: str, *, is_next: bool) -> str:
    """Return "row" or "item", "" for any other line; the label of a row further down may be long."""
    found = make_part(line.text).kind
    if found in ("row", "rule") and "|" in line.text:
        return "row"
    if found == "item":
        return "item"
    return "row" if is_next and kind == "row" and goes_on_with_table(line.text) else ""


def _build_tables(lines: Sequence[_PlacedLine], kind: str, before: str) -> Iterator[StoredTable]:
    first = lines[0].chunk
    title, about = _name_document(first), f"{' '.join(lines[0].section)} {before}"
    if kind == "item":
        items = tuple(CitedRow(ln.chunk, ln.start, ln.end, (remove_marks(ln.text),)) for ln in lines)
        yield StoredTable(title, about, (before,), items, is_list=True)
        return
    parts = [
        replace(part, kind="rule" if part.kind == "rule" else "row") for part in (make_part(n.text) for n in lines)
    ]
    for table in read_tables(parts, words_name_columns=True):
        width = max(len(cells) for cells in (table.heads, *(row.cells for row in table.rows)))
        rows = tuple(_cite_row(row, lines[row.number], width) for row in table.rows if any(row.cells[1:]))
        if rows:
            columns = (*table.heads, *[""] * (width - len(table.heads)))
            is_whole = all(len(row.cells) == (len(table.heads) or width) for row in table.rows)
            yield StoredTable(title, about, columns, rows, False, is_whole)


def _cite_row(row: TableRow, line: _PlacedLine, width: int) -> CitedRow:
    return CitedRow(line.chunk, line.start, line.end, (*row.cells, *[""] * (width - len(row.cells))), row.title)
