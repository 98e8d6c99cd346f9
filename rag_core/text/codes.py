"""Codes in a text, such as P0700 or 04E906016: they are the same to the letter or not the same at all (S1-13, C28)."""

import re

# A run of letters and digits, both in it; not a number with a unit or an ending, such as 10mm, 2nd or 1990s.
_CODE = re.compile(r"(?<![^\W_])(?!\d+[^\W\d_]{1,3}(?![^\W_]))(?=[^\W\d_]*\d)(?=\d*[^\W\d_])[^\W_]{3,}(?![^\W_])")


def codes(text: str) -> frozenset[str]:
    """The distinct codes of a text, folded to one case."""
    return frozenset(code.casefold() for code in _CODE.findall(text))


def share(wanted: frozenset[str], text: str) -> float:
    """Which share of the wanted codes stands in a text, 0..1; 1 when none is wanted."""
    if not wanted:
        return 1.0
    folded = text.casefold()
    if not any(code in folded for code in wanted):  # the pattern takes thirty times as long, and most texts have none
        return 0.0
    return len(wanted & codes(text)) / len(wanted)
