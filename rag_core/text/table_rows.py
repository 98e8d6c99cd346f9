"""Detection of table rows, which are left out of passages for models: they read them as sentences (S4-45)."""

import re

# the columns of a GRADE evidence profile: handbook of the GRADE working group, chapter 5
GRADE_DOMAINS = r"(?:risk of bias|inconsistency|indirectness|imprecision|publication bias|other considerations)"
TABLE_ROW_PATTERN = re.compile(
    rf"""
    ^\s*\|.*\||\|.*\|                              # at least two bars
  | [⊕⨁][⊕⨁◯○⊝⊖O]{{2,}}                            # GRADE certainty as circles
  | (?:\b(?:not|very)?\s?serious\b\W{{1,3}}){{3}}    # cells of GRADE domains
  | ^(?:.*?{GRADE_DOMAINS}){{3}}[^.]*$                   # header row of the domains: no full stop
  | ^\W*(?:certainty|quality)\ assessment\b[^.]*$
    """,
    re.IGNORECASE | re.VERBOSE,
)


def find_prose_ranges(text: str) -> list[tuple[int, int]]:
    """Return the character ranges of consecutive lines that are not table rows; empty for a text that is a table."""
    ranges: list[tuple[int, int]] = []
    at = 0
    for line in text.splitlines(keepends=True):
        start, at = at, at + len(line)
        if TABLE_ROW_PATTERN.search(line):
            continue
        if ranges and ranges[-1][1] == start:
            ranges[-1] = ranges[-1][0], at
        else:
            ranges.append((start, at))
    return [(start, end) for start, end in ranges if text[start:end].strip()]
