"""Whole tables and lists of a stored document, put together again from its chunks, each cell with its place."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag_core.core.model import Chunk
from rag_core.ingestion.tables import is_table_rule, read_row_cells
from rag_core.text.figures import has_digit, parse_figure, remove_dates
from rag_core.text.layout import make_part, remove_marks, split_cells
from rag_core.text.months import MONTH_PATTERN
from rag_core.text.table_rows import continues_header, join_heads
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
                key = (
                    span.page,
                    span.section or chunk.heading_path,
                    span.locator.partition("!")[0].rpartition("row ")[0],
                )
                placed = _PlacedLine(chunk, start, start + len(text), key)
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
    return "row" if is_next and kind == "row" and line.text.count(" | ") else ""


def _build_tables(lines: Sequence[_PlacedLine], kind: str, before: str) -> Iterator[StoredTable]:
    first = lines[0].chunk
    title, section = _name_document(first), " ".join(map(str, _read_section(lines[0])))
    if kind == "item":
        items = tuple(CitedRow(ln.chunk, ln.start, ln.end, (remove_marks(ln.text),)) for ln in lines)
        yield StoredTable(title, f"{section} {before}", (before,), items, is_list=True)
        return
    for part in _split_at_headers(lines):
        cells = [(line, tuple(split_cells(line.text))) for line in part if not is_table_rule(line.text)]
        has_rule = len(part) > 1 and is_table_rule(part[1].text)
        table = _build_table(cells, title, f"{section} {before}", has_rule=has_rule) if cells else None
        if table and table.rows:
            yield table


def _read_section(line: _PlacedLine) -> tuple[object, ...]:
    section = line.key[1]
    return section if isinstance(section, tuple) else ()


def _split_at_headers(lines: Sequence[_PlacedLine]) -> Iterator[list[_PlacedLine]]:
    """Split adjacent rows before the header of another table: above a rule, or without a label and without figures."""
    part: list[_PlacedLine] = []
    for n, line in enumerate(lines):
        is_above_rule = n + 1 < len(lines) and is_table_rule(lines[n + 1].text)
        if part and (is_above_rule or names_columns(split_cells(line.text))):
            yield part
            part = []
        part.append(line)
    yield part


def names_columns(cells: Sequence[str]) -> bool:
    """Return whether the cells of a row are the heads of columns: without a label and without figures but dates."""
    is_labelled = bool(cells[0]) and not cells[0].startswith("(")
    return len(cells) > 1 and not is_labelled and all(cells[1:]) and not has_digit(remove_dates(cells))


def _is_header(rows: Sequence[tuple[str, ...]]) -> bool:
    """Return whether the first row names columns: without digits, or without a figure above a column of figures."""
    first, *below = rows
    if not has_digit(remove_dates(first)):
        return True
    if any(map(parse_figure, first)) or not all(first[1:]) or len(set(first)) < len(first):
        return False
    columns = ([row[n] for row in below if n < len(row) and row[n]] for n in range(1, len(first)))
    return any(len(cells) > 1 and all(map(parse_figure, cells)) for cells in columns)


def _build_table(
    cells: Sequence[tuple[_PlacedLine, tuple[str, ...]]], title: str, section: str, *, has_rule: bool
) -> StoredTable:
    width = max(len(row) for _, row in cells)
    has_header = has_rule or (len(cells) > 1 and _is_header([row for _, row in cells]))
    columns: Sequence[str] = cells[0][1] if has_header else ("",) * width
    below = cells[1:] if has_header else cells
    if has_header and len(below) > 1 and continues_header(columns, below[0][1], make_part(below[1][0].text)):
        columns, below = join_heads(columns, below[0][1]), below[1:]
    rows, group = [], ""
    for line, row in below:
        if not any(row[1:]):
            group = row[0]
            continue
        padded = (*row, *[""] * (width - len(row)))
        rows.append(CitedRow(line.chunk, line.start, line.end, padded, group))
    is_whole = all(len(row) == len(columns) for _, row in cells)
    return StoredTable(title, section, (*columns, *[""] * (width - len(columns))), tuple(rows), False, is_whole)
