"""What a row of a table states with its heads, and which rows are kept from models (S4-45)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rag_core.text.tables import TextTable, read_text_tables

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


def state_row(heads: Sequence[str], cells: Sequence[str], group: str = "") -> str:
    """Return what a row states with its heads: "Drug: aspirin; Dose: 75 mg"; cells without a head stand alone.

    The group that the row stands in comes first: "Japan: Net sales; 2020: $ 21,418".
    """
    named = zip_longest(heads[: len(cells)], cells, fillvalue="")
    stated = "; ".join(f"{head}: {cell}" if head else cell for head, cell in named if cell)
    return f"{group}: {stated}" if group and stated else stated


def find_stated_rows(text: str) -> list[list[StatedRow]]:
    """Return the rows of each table that has heads, as sentences without bars; GRADE evidence tables are left out."""
    tables = (table for table in read_text_tables(text) if table.heads and not _is_grade_table(table))
    stated = (_state_rows(table) for table in tables)
    return [kept for rows in stated if (kept := [row for row in rows if any(map(str.isalnum, row.text))])]


def find_prose_ranges(text: str) -> list[tuple[int, int]]:
    """Return the character ranges of consecutive lines that are not table rows; empty for a text that is a table."""
    tables = [(table.start, table.end) for table in read_text_tables(text) if table.heads]
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


def _is_grade_table(table: TextTable) -> bool:
    """Return whether a table is one of evidence: by its heads, also in a second line of these, or by a row."""
    first = table.rows[0].cells if table.rows else ()
    if any(map(GRADE_HEAD_PATTERN.search, (*table.heads, *first))):
        return True
    if any(GRADE_ROW_PATTERN.search(row.part.text) for row in table.rows):
        return True
    graded = [n for n, head in enumerate(table.heads) if GRADED_HEAD_PATTERN.fullmatch(head)]
    cells = [[row.cells[n] for row in table.rows if n < len(row.cells) and row.cells[n]] for n in graded]
    return any(column and all(map(GRADE_PATTERN.fullmatch, column)) for column in cells)


def _state_rows(table: TextTable) -> list[StatedRow]:
    stated = ((row, state_row(table.short_heads, row.cells, row.group).replace("|", "/")) for row in table.rows)
    return [StatedRow(table.start, row.part.start, row.part.end, text) for row, text in stated]
