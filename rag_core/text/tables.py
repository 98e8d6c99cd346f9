"""Tables as they stand in a text, read in one way for all: heads, rows with their groups, the scale of the figures."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from rag_core.text.figures import has_digit, is_period, names_scale, parse_figure, remove_dates
from rag_core.text.layout import Part, is_header_rule, split_cells, split_into_parts
from rag_core.text.request_memory import remember_in_request

MAX_GROUP_CHARS = 60  # of the name of a group of rows; a longer cell alone in its row is a note
MAX_COLUMN_CHARS, MAX_NAMED_COLUMNS = 60, 30  # of heads, which are said again with each row
MAX_READ_TEXTS = 64
_RESULT = re.compile(r"net \(?(?:income|loss|earnings|profit)\b", re.IGNORECASE)
_NOTE = re.compile(r"\([^()\n]{1,200}\)")


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row below the heads of a table, which is the part `number` of its text, with its cells, "" for an empty one.

    `group` is the name of the rows that it stands among, "" for none, and `title` the last row without values above it,
    which may be such a name. A row with `names_group` is the name itself.
    """

    part: Part
    number: int
    cells: tuple[str, ...]
    group: str = ""
    title: str = ""
    names_group: bool = False


@dataclass(slots=True)
class TextTable:
    """A table from character `start` on; `heads` are empty if its first row names no columns, but is one of `rows`.

    `short_heads` are said again with each row. `head_lines` are the lines of the heads and the rules below them.
    `scale` is what says in the text above, or in a head, by what the figures are multiplied: "(In millions)".
    """

    start: int
    scale: str = ""
    heads: tuple[str, ...] = ()
    short_heads: tuple[str, ...] = ()
    head_lines: tuple[str, ...] = ()
    rows: list[TableRow] = field(default_factory=list)
    is_open: bool = True  # while it has at most names of rows, below which its heads may stand

    @property
    def end(self) -> int:
        return self.rows[-1].part.end if self.rows else self.start

    def add_heads(self, cells: Sequence[str], line: str) -> None:
        """Add a line of heads to those above it: "May 31," and "2015" are "May 31, 2015"."""
        above = self.heads or ("",) * len(cells)
        self.heads = tuple(f"{head} {cell}".strip() for head, cell in zip(above, cells, strict=True))
        self.short_heads = tuple(head[:MAX_COLUMN_CHARS] for head in self.heads[:MAX_NAMED_COLUMNS])
        self.head_lines, self.is_open = (*self.head_lines, line), False
        self.scale = next(filter(None, map(_find_scale, cells)), self.scale)

    def add_row(self, part: Part, number: int, cells: Sequence[str]) -> None:
        """Add a row to the group that is open above it; a total ends the group, and the result of all is in none."""
        before = self.rows[-1] if self.rows else None
        title = "" if before is None else before.title if any(before.cells[1:]) else before.cells[0]
        group = before.group if before and not _ends_group(before.cells) else ""
        group = name_group(before.cells) if before and before.names_group else group
        named = bool(name_group(cells))
        group = "" if named or _RESULT.match(cells[0]) else group
        self.rows.append(TableRow(part, number, tuple(cells), group, title, named))
        self.is_open = self.is_open and named
        if _is_alone(cells):
            self.scale = _find_scale(part.text) or self.scale


@remember_in_request(MAX_READ_TEXTS)
def read_text_tables(text: str) -> tuple[TextTable, ...]:
    """Return the tables of a text, which may be a passage that is compared with each claim of a request."""
    return tuple(read_tables(split_into_parts(text))) if "|" in text else ()


def read_tables(parts: Sequence[Part], *, words_name_columns: bool = False) -> list[TextTable]:
    """Return the tables of a text by its parts, in order; time is linear in the text.

    A row is one of heads above a rule, or above figures where it has none itself, dates apart. With
    `words_name_columns` the first row is as well where no other tells of columns, as in a whole table of words.
    """
    tables: list[TextTable] = []
    table: TextTable | None = None
    after_rule, scale = False, ""
    for number, (part, below) in enumerate(zip(parts, _list_rows_below(parts), strict=True)):
        if part.kind == "rule":
            after_rule = is_header_rule(part)
            if after_rule and table and not table.rows:
                table.head_lines = (*table.head_lines, part.text)
            continue
        if part.kind != "row":
            scale = _find_scale(part.text) or ("" if table else scale)  # it is that of the tables directly below
            table, after_rule = None, False
            continue
        cells = split_cells(part.text)
        is_in_grid = bool(table and table.heads) and after_rule  # between two rules, as every row of some tables
        after_rule, is_first = False, table is None or table.is_open
        if table and table.heads and not table.rows and _continues_header(table.heads, cells, below):
            table.add_heads(cells, part.text)
        elif not is_in_grid and (
            _is_header(cells, below, is_first=is_first)
            or (
                is_first
                and words_name_columns
                and below
                and _heads_words(cells, map(parts.__getitem__, range(number + 1, len(parts))))
            )
        ):
            table = TextTable(part.start, scale)
            table.add_heads(cells, part.text)
            tables.append(table)
        else:
            if table is None:
                tables.append(table := TextTable(part.start, scale))
            table.add_row(part, number, cells)
        scale = table.scale if table else scale
    return tables


def _is_header(cells: Sequence[str], below: Part | None, *, is_first: bool) -> bool:
    """Return whether a row begins a table with its heads: above a rule, or above figures where it has none itself.

    Dates are no digits of a head: the columns of an annual report are years. `below` is by `_list_rows_below`.
    """
    if below is None or below.kind not in ("row", "rule"):
        return False
    if below.kind == "rule":
        return is_header_rule(below)
    can_be = is_first or _names_columns_alone(cells)
    return can_be and not _is_alone(cells) and _is_above_figures(cells, below)


def _is_above_figures(cells: Sequence[str], below: Part) -> bool:
    values = split_cells(below.text)
    return len(values) == len(cells) and has_digit(values) and not has_digit(remove_dates(cells))


def _names_columns_alone(cells: Sequence[str]) -> bool:
    """Return whether a row further down is one of heads by itself: without a label, and with a head for each column."""
    return len(cells) > 1 and (not cells[0] or cells[0].startswith("(")) and all(cells[1:])


def _heads_words(cells: Sequence[str], below: Iterator[Part]) -> bool:
    """Return whether the first row of a table has no digits, or no figure above a column of figures."""
    if not has_digit(remove_dates(cells)):
        return next(below).kind == "row"
    if any(map(parse_figure, cells)) or not all(cells[1:]) or len(set(cells)) < len(cells):
        return False
    table = takewhile(lambda part: part.kind in ("row", "rule"), below)
    rows = [split_cells(part.text) for part in table if part.kind == "row"]
    columns = ([row[n] for row in rows if n < len(row) and row[n]] for n in range(1, len(cells)))
    return any(len(column) > 1 and all(map(parse_figure, column)) for column in columns)


def _continues_header(heads: Sequence[str], cells: Sequence[str], below: Part | None) -> bool:
    """Return whether the row below a header is its second line: "In millions | 2015 | 2014" below "| May 31, |".

    Its first cell is empty or says the scale of the figures, and the others have no digits but those of dates; or
    all others are periods, below heads that have no label.
    """
    if len(cells) != len(heads) or not any(cells[1:]) or _is_alone(cells):
        return False
    if cells[0] and not names_scale(cells[0]) and (heads[0] or not all(map(is_period, cells[1:]))):
        return False
    heads_alone = ["", *cells[1:]]
    return not has_digit(remove_dates(heads_alone)) and _is_header(heads_alone, below, is_first=True)


def _find_scale(text: str) -> str:
    """Return what a text says of the scale of figures below it, in brackets or as a short last line, "" for none."""
    found = next((note for note in _NOTE.finditer(text) if names_scale(note[0])), None)
    last = text.rpartition("\n")[2]
    return found[0] if found else last if names_scale(last) and len(last) <= MAX_GROUP_CHARS else ""


def _list_rows_below(parts: Sequence[Part]) -> list[Part | None]:
    """Return what stands below each part: the next one, but not a row of one cell above another row.

    "Current assets:" tells nothing of the columns, and stands between the years and the first figures.
    """
    below: list[Part | None] = [None] * len(parts)
    for n in range(len(parts) - 2, -1, -1):
        next_part, after_next = parts[n + 1], below[n + 1]
        is_passed = next_part.kind == "row" and after_next and after_next.kind == "row"
        below[n] = after_next if is_passed and _is_alone(split_cells(next_part.text)) else next_part
    return below


def name_group(cells: Sequence[str]) -> str:
    """Return the name of the rows below it that a row is, such as "Current assets:" or "ASSETS", "" for any other row.

    A name alone in its row may also be a row without values, so that it must end with a colon or have no small letter.
    """
    if not _is_alone(cells) or not cells[0] or len(cells[0]) > MAX_GROUP_CHARS:
        return ""
    return cells[0].removesuffix(":").strip() if cells[0].endswith(":") or cells[0].isupper() else ""


def _ends_group(cells: Sequence[str]) -> bool:
    """Return whether a row is the last one of its group: the total, or what has no name."""
    return not cells[0] or cells[0].casefold().startswith("total")


def _is_alone(cells: Sequence[str]) -> bool:
    """Return whether only one of several cells has words."""
    return len(cells) > 1 and sum(map(bool, cells)) == 1
