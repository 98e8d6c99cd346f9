"""Sentence boundaries, computed offline, and the repair of character references that are too long to parse."""

import re
from itertools import pairwise

_CHARACTER_REFERENCE = re.compile(r"&#0*([0-9]{1,8})[0-9]*")
# an item of a list, or a row of a table with " | " between cells
_LIST_ITEM = re.compile(r"\n(?=(?:[ \t]{0,20}(?:[-*•▪◦●‣|#]|\d{1,3}[.)])|[^\n|]{1,80}[ \t]\|)\s)")
# the mark of a list item: sentencex misses all sentence ends after the last mark, and takes "1." for a sentence
_LIST_MARKER = re.compile(r"^([ \t]{0,20})([-*•▪◦●‣]|\d{1,3}[.)])(?=\s)", re.MULTILINE)
# a numbered title on its own line, as in PDF text, is not part of the sentence below
_NUMBERED_TITLE = re.compile(
    r"^\d{1,2}(?:\.\d{1,2}){0,3}\.?[ \t]{1,9}[A-Z][^\n.!?;:]{0,70}\n(?=[A-Z0-9])", re.MULTILINE
)


def find_sentences(text: str) -> list[tuple[int, int]]:
    """Return start and end of each sentence, list item and title, in order, without surrounding white space."""
    ranges = (part for boundary in _find_sentence_boundaries(text) for part in _split_list_items(text, *boundary))
    return [trimmed for start, end in ranges if (trimmed := trim_range(text, start, end))]


def trim_range(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the range without white space at its ends; None when it is all white space."""
    part = text[start:end]
    inner = part.strip()
    if not inner:
        return None
    start += len(part) - len(part.lstrip())
    return start, start + len(inner)


def _find_sentence_boundaries(text: str) -> list[tuple[int, int]]:
    """Return start and end of each sentence as sentencex sees them, with list marks replaced by letters."""
    from sentencex import get_sentence_boundaries

    unmarked = _LIST_MARKER.sub(lambda mark: mark[1] + "I" * len(mark[2]), text)
    return [(sentence["start_index"], sentence["end_index"]) for sentence in get_sentence_boundaries("en", unmarked)]


def _split_list_items(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Split a range at list items, table rows and numbered titles."""
    items = [item.end() for item in _LIST_ITEM.finditer(text, start, end)]
    titles = [edge for title in _NUMBERED_TITLE.finditer(text, start, end) for edge in title.span()]
    return list(pairwise(sorted([start, *items, *titles, end])))


def shorten_character_references(text: str) -> str:
    """Shorten numeric character references such as "&#38;" to eight digits, which keeps the meaning of HTML.

    Python raises ValueError for the number of a very long one, and no character has a number of eight digits.
    """
    return _CHARACTER_REFERENCE.sub(r"&#\1", text)
