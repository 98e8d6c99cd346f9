"""Codes in a text, such as P0700 or 04E906016, which match in full or not at all (S1-13).

A period such as FY2022 or 2Q23 is none: it has other spellings.
"""

import re

from rag_core.text.periods import is_period
from rag_core.text.raised_marks import mask_footnote_marks

# letters and digits in one word; not a number with a unit or an ending, such as 10mm, 2nd or 1990s
_CODE_PATTERN = re.compile(
    r"(?<![^\W_])(?!\d+[^\W\d_]{1,3}(?![^\W_]))(?=[^\W\d_]*\d)(?=\d*[^\W\d_])[^\W_]{3,}(?![^\W_])"
)


def find_codes(text: str) -> frozenset[str]:
    """Return the distinct codes of a text, case-folded."""
    return frozenset(
        code.casefold() for code in _CODE_PATTERN.findall(mask_footnote_marks(text)) if not is_period(code)
    )


def compute_code_share(wanted: frozenset[str], text: str) -> float:
    """Return the share of the wanted codes that occur in a text, 0..1; 1 when `wanted` is empty."""
    if not wanted:
        return 1.0
    folded = text.casefold()
    if not any(code in folded for code in wanted):  # the pattern takes thirty times as long
        return 0.0
    return len(wanted & find_codes(text)) / len(wanted)
