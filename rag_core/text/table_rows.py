"""Rows of tables: their heads, what a row states with these, and which rows are kept from models (S4-45)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from rag_core.text.figures import has_digit, names_scale, remove_dates
from rag_core.text.layout import Part, is_header_rule, split_cells, split_into_parts

MAX_COLUMN_CHARS, MAX_NAMED_COLUMNS = 60, 30  # of heads, which are said again with each row
MAX_GROUP_CHARS = 60  # of the name of a group of rows; a longer cell alone in its row is a note
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
_RESULT = re.compile(r"net \(?(?:income|loss|earnings|profit)\b", re.IGNORECASE)
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
    rows: list[tuple[Part, Sequence[str], str]] = field(default_factory=list)  # with the group of each

    @property
    def end(self) -> int:
        return max((part.end for part, *_ in self.rows), default=self.start)


def is_header_row(cells: Sequence[str], below: Part | None, *, is_first: bool) -> bool:
    """Return whether a row is the header of a table: above a rule, or the first, without the digits of the next.

    Dates are no such digits: the columns of an annual report are years. `below` is by `list_rows_below`.
    """
    if below is None or below.kind not in ("row", "rule"):
        return False
    if below.kind == "rule":
        return is_header_rule(below)
    values = split_cells(below.text)
    is_above_figures = is_first and len(values) == len(cells) and has_digit(values)
    return is_above_figures and not _is_alone(cells) and not has_digit(remove_dates(cells))


def continues_header(heads: Sequence[str], cells: Sequence[str], below: Part | None) -> bool:
    """Return whether the row below a header is its second line: "In millions | 2015 | 2014" below "| May 31, |".

    Its first cell is empty or says the scale of the figures, and the others have no digits but those of dates.
    """
    if len(cells) != len(heads) or not any(cells[1:]) or _is_alone(cells) or (cells[0] and not names_scale(cells[0])):
        return False
    return not has_digit(remove_dates(["", *cells[1:]])) and is_header_row(["", *cells[1:]], below, is_first=True)


def list_rows_below(parts: Sequence[Part]) -> list[Part | None]:
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


def ends_group(cells: Sequence[str]) -> bool:
    """Return whether a row is the last one of its group: the total, or what has no name."""
    return not cells[0] or cells[0].casefold().startswith("total")


def is_result(cells: Sequence[str]) -> bool:
    """Return whether a row is what a whole statement comes to, such as "Net income", and so of no group."""
    return _RESULT.match(cells[0]) is not None


def _is_alone(cells: Sequence[str]) -> bool:
    """Return whether only one of several cells has words."""
    return len(cells) > 1 and sum(map(bool, cells)) == 1


def join_heads(heads: Sequence[str], cells: Sequence[str]) -> list[str]:
    """Return the heads of a header of two lines: "May 31, 2015"."""
    return cut_heads([f"{head} {cell}".strip() for head, cell in zip(heads, cells, strict=True)])


def cut_heads(cells: Sequence[str]) -> list[str]:
    """Return the cells of a header as they are said with each row: the first ones, and the beginning of each."""
    return [cell[:MAX_COLUMN_CHARS] for cell in cells[:MAX_NAMED_COLUMNS]]


def state_row(heads: Sequence[str], cells: Sequence[str], group: str = "") -> str:
    """Return what a row states with its heads: "Drug: aspirin; Dose: 75 mg"; cells without a head stand alone.

    The group that the row stands in comes first: "Japan: Net sales; 2020: $ 21,418".
    """
    named = zip_longest(heads[: len(cells)], cells, fillvalue="")
    stated = "; ".join(f"{head}: {cell}" if head else cell for head, cell in named if cell)
    return f"{group}: {stated}" if group and stated else stated


def find_stated_rows(text: str) -> list[list[StatedRow]]:
    """Return the rows of each table that has heads, as sentences without bars; GRADE evidence tables are left out."""
    tables = (table for table in _find_tables(text) if table.heads and not _is_grade_table(table))
    stated = ([_state_part(table, *row) for row in table.rows] for table in tables)
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
    after_rule, group = False, ""
    parts = split_into_parts(text) if "|" in text else []
    for part, below in zip(parts, list_rows_below(parts), strict=True):
        if part.kind == "rule":
            after_rule = is_header_rule(part)
            continue
        if part.kind != "row":
            if table:
                yield table
            table, after_rule, group = None, False, ""
            continue
        cells = split_cells(part.text)
        is_in_grid = bool(table and table.heads) and after_rule  # between two rules, as every row of some tables
        after_rule = False
        if not is_in_grid and is_header_row(cells, below, is_first=table is None):
            if table:
                yield table
            table, group = _Table(part.start, cut_heads(cells)), ""
            continue
        if table and not table.rows and continues_header(table.heads, cells, below):
            table = replace(table, heads=join_heads(table.heads, cells))
            continue
        table = table or _Table(part.start, ())
        named, group = name_group(cells), "" if is_result(cells) else group
        table.rows.append((part, cells, "" if named else group))
        group = named or ("" if ends_group(cells) else group)
    if table:
        yield table


def _is_grade_table(table: _Table) -> bool:
    """Return whether a table is one of evidence: by its heads, also in a second line of these, or by a row."""
    first = table.rows[0][1] if table.rows else ()
    if any(map(GRADE_HEAD_PATTERN.search, (*table.heads, *first))):
        return True
    if any(GRADE_ROW_PATTERN.search(part.text) for part, *_ in table.rows):
        return True
    graded = [n for n, head in enumerate(table.heads) if GRADED_HEAD_PATTERN.fullmatch(head)]
    cells = [[cells[n] for _, cells, _ in table.rows if n < len(cells) and cells[n]] for n in graded]
    return any(column and all(map(GRADE_PATTERN.fullmatch, column)) for column in cells)


def _state_part(table: _Table, part: Part, cells: Sequence[str], group: str) -> StatedRow:
    return StatedRow(table.start, part.start, part.end, state_row(table.heads, cells, group).replace("|", "/"))
