"""Rows of tables: their heads, what a row states with these, and which rows are kept from models (S4-45)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from rag_core.text.figures import has_digit, remove_dates
from rag_core.text.layout import Part, is_header_rule, split_cells, split_into_parts

MAX_COLUMN_CHARS, MAX_NAMED_COLUMNS = 60, 30  # of heads, which are said again with each row
# the columns of a GRADE evidence profile: handbook of the GRADE working group, chapter 5
GRADE_DOMAINS = r"(?:risk of bias|inconsistency|indirectness|imprecision|publication bias|other considerations)"
GRADE_ROW_PATTERN = re.compile(
    rf"""
    [⊕⨁][⊕⨁◯○⊝⊖O]{{2,}}                            # GRADE certainty as circles
  | (?:\b(?:not|very)?\s?serious\b\W{{1,3}}){{3}}    # cells of GRADE domains
  | ^(?:.*?{GRADE_DOMAINS}){{3}}[^.]*$                   # header row of the domains: no full stop
  | ^\W*(?:certainty|quality)\ assessment\b[^.]*$
    """,
    re.IGNORECASE | re.VERBOSE,
)
GRADE_HEAD_PATTERN = re.compile(
    r"(?:certainty|quality) (?:of|in) (?:the )?(?:body of )?evidence|(?:certainty|quality) assessment|"
    r"(?:№|no\.?|numbers?) of (?:included )?(?:studies|trials)|participants \((?:no\.? of )?(?:studies|trials)\)|"
    r"risk of bias|indirectness|imprecision|publication bias",
    re.IGNORECASE,
)
GRADED_HEAD_PATTERN = re.compile(r"(?:grade|(?:overall )?(?:certainty|quality))\W*", re.IGNORECASE)
GRADE_PATTERN = re.compile(r"(?:very low|low|moderate|high)\b.{0,20}", re.IGNORECASE)
BARRED_LINE_PATTERN = re.compile(r"^\s*\|.*\||\|.*\|")  # at least two bars


@dataclass(frozen=True, slots=True)
class StatedRow:
    """A row at characters `start` to `end` of a text, as a sentence with its heads, which begin at `head_start`."""

    head_start: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class _Table:
    """A table from its first row on; `heads` are empty if that names no columns, but is one of `rows`."""

    start: int
    heads: Sequence[str]
    rows: list[tuple[Part, Sequence[str]]] = field(default_factory=list)

    @property
    def end(self) -> int:
        return max((part.end for part, _ in self.rows), default=self.start)


def is_header_row(cells: Sequence[str], after: Part | None, *, is_first: bool) -> bool:
    """Return whether a row is the header of a table: above a rule, or the first, without the digits of the next.

    Dates are no such digits: the columns of an annual report are years.
    """
    if after is None or after.kind not in ("row", "rule"):
        return False
    if after.kind == "rule":
        return is_header_rule(after)
    values = split_cells(after.text)
    return is_first and len(values) == len(cells) and not has_digit(remove_dates(cells)) and has_digit(values)


def cut_heads(cells: Sequence[str]) -> list[str]:
    """Return the cells of a header as they are said with each row: the first ones, and the beginning of each."""
    return [cell[:MAX_COLUMN_CHARS] for cell in cells[:MAX_NAMED_COLUMNS]]


def state_row(heads: Sequence[str], cells: Sequence[str]) -> str:
    """Return what a row states with its heads: "Drug: aspirin; Dose: 75 mg"; cells without a head stand alone."""
    named = zip_longest(heads[: len(cells)], cells, fillvalue="")
    return "; ".join(f"{head}: {cell}" if head else cell for head, cell in named if cell)


def find_stated_rows(text: str) -> list[list[StatedRow]]:
    """Return the rows of each table that has heads, as sentences without bars; GRADE evidence tables are left out."""
    tables = (table for table in _find_tables(text) if table.heads and not _is_grade_table(table))
    stated = ([_state_part(table, part, cells) for part, cells in table.rows] for table in tables)
    return [kept for rows in stated if (kept := [row for row in rows if any(map(str.isalnum, row.text))])]


def find_prose_ranges(text: str) -> list[tuple[int, int]]:
    """Return the character ranges of consecutive lines that are not table rows; empty for a text that is a table."""
    tables = [(table.start, table.end) for table in _find_tables(text) if table.heads]
    ranges: list[tuple[int, int]] = []
    at = 0
    for line in text.splitlines(keepends=True):
        start, at = at, at + len(line)
        while tables and tables[0][1] <= start:
            tables.pop(0)
        if (tables and tables[0][0] < at) or BARRED_LINE_PATTERN.search(line) or GRADE_ROW_PATTERN.search(line):
            continue
        if ranges and ranges[-1][1] == start:
            ranges[-1] = ranges[-1][0], at
        else:
            ranges.append((start, at))
    return [(start, end) for start, end in ranges if text[start:end].strip()]


def _find_tables(text: str) -> Iterator[_Table]:
    """Yield the tables of a text in order; one without heads is that of its first row."""
    table: _Table | None = None
    after_rule = False
    parts = split_into_parts(text) if "|" in text else []
    for part, after in zip_longest(parts, parts[1:]):
        if part.kind == "rule":
            after_rule = is_header_rule(part)
            continue
        if part.kind != "row":
            if table:
                yield table
            table, after_rule = None, False
            continue
        cells = split_cells(part.text)
        is_in_grid = bool(table and table.heads) and after_rule  # between two rules, as every row of some tables
        after_rule = False
        if not is_in_grid and is_header_row(cells, after, is_first=table is None):
            if table:
                yield table
            table = _Table(part.start, cut_heads(cells))
            continue
        table = table or _Table(part.start, ())
        table.rows.append((part, cells))
    if table:
        yield table


def _is_grade_table(table: _Table) -> bool:
    """Return whether a table is one of evidence: by its heads, also in a second line of these, or by a row."""
    first = table.rows[0][1] if table.rows else ()
    if any(map(GRADE_HEAD_PATTERN.search, (*table.heads, *first))):
        return True
    if any(GRADE_ROW_PATTERN.search(part.text) for part, _ in table.rows):
        return True
    graded = [n for n, head in enumerate(table.heads) if GRADED_HEAD_PATTERN.fullmatch(head)]
    cells = [[cells[n] for _, cells in table.rows if n < len(cells) and cells[n]] for n in graded]
    return any(column and all(map(GRADE_PATTERN.fullmatch, column)) for column in cells)


def _state_part(table: _Table, part: Part, cells: Sequence[str]) -> StatedRow:
    return StatedRow(table.start, part.start, part.end, state_row(table.heads, cells).replace("|", "/"))
