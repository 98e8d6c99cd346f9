"""Rows of tables, which a model reads as sentences: left out of what it is given (S4-45)."""

import re

# the columns of a GRADE evidence profile: handbook of the GRADE working group, chapter 5
DOMAINS = r"(?:risk of bias|inconsistency|indirectness|imprecision|publication bias|other considerations)"
NOISE = re.compile(
    rf"""
    ^\s*\|.*\||\|.*\|                              # two bars at least
  | [⊕⨁][⊕⨁◯○⊝⊖O]{{2,}}                            # certainty in circles
  | (?:\b(?:not|very)?\s?serious\b\W{{1,3}}){{3}}    # cells of the domains
  | ^(?:.*?{DOMAINS}){{3}}[^.]*$                   # their heads; a sentence has a full stop
  | ^\W*(?:certainty|quality)\ assessment\b[^.]*$
    """,
    re.IGNORECASE | re.VERBOSE,
)


def prose(text: str) -> list[tuple[int, int]]:
    """The runs of lines, as character ranges, that are no rows of a table; none of a text that is a table."""
    runs: list[tuple[int, int]] = []
    at = 0
    for line in text.splitlines(keepends=True):
        start, at = at, at + len(line)
        if NOISE.search(line):
            continue
        if runs and runs[-1][1] == start:
            runs[-1] = runs[-1][0], at
        else:
            runs.append((start, at))
    return [(start, end) for start, end in runs if text[start:end].strip()]
