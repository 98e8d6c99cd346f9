"""Where a text has the words of a quote, apart from case and what lies between them."""

import re
from bisect import bisect_right
from itertools import accumulate

_UNSPACED = re.compile(r"\S+")


def find_words(words: str, text: str, token: re.Pattern[str] = _UNSPACED) -> tuple[int, int] | None:
    """Return where a text has these words one after another, whatever is between its tokens; None for nowhere.

    The first and the last may be parts of tokens. The time is that of `str.find`: a text that repeats itself adds none.
    """
    wanted = " ".join(map(_fold_case, token.findall(words)))
    places = [match.span() for match in token.finditer(text)]
    starts = [0, *accumulate(end - start + 1 for start, end in places)]  # of each token in the text with single spaces
    at = " ".join(_fold_case(text[start:end]) for start, end in places).find(wanted) if wanted else -1
    if at < 0:
        return None
    first, last = (bisect_right(starts, n) - 1 for n in (at, at + len(wanted) - 1))
    return places[first][0] + at - starts[first], places[last][0] + at + len(wanted) - starts[last]


def _fold_case(token: str) -> str:
    """Return a token in lower case, unless its length would change: places in it are counted."""
    lower = token.lower()
    return lower if len(lower) == len(token) else token
