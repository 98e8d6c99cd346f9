"""Unicode's normal forms in linear time: Python sorts a run of combining marks in the square of its length."""

import re
from itertools import pairwise
from typing import Literal
from unicodedata import normalize

# all combining marks are of these (the last two once they are normalized), and signs that compose with nothing, such as
# emoji; words of no language have a run of 30 marks (UAX #15, "Stream-Safe Text Format")
_LONG_RUN = re.compile("(?:[^\\w\\s\x00-\u02ff]|[\uff9e\uff9f]){30}")


def normalize_unicode(form: Literal["NFKC", "NFKD"], text: str) -> str:
    """Return the normal form of a text; after 30 combining marks in a row, the next are taken as if by themselves."""
    if text.isascii():
        return text
    cuts = [0, *(run.end() for run in _LONG_RUN.finditer(text)), len(text)]
    return "".join(normalize(form, text[start:end]) for start, end in pairwise(cuts))
