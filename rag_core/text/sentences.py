"""Sentence boundaries, computed offline, texts cut at a word, and the repair of overlong character references."""

import re
from collections.abc import Iterator
from itertools import pairwise

# characters that sentencex reads at once: it takes the square of them for a paragraph of quotes or brackets, 25 ms at
# worst for these, and no paragraph of prose is longer
_WINDOW_CHARS = 8_000
_WINDOW_MARGIN = 400  # characters before a window's end in which a sentence's end depends on what comes after
_CHARACTER_REFERENCE = re.compile(r"&#(?>0*(?=[0-9]))([0-9]{1,8}+)[0-9]*+")
# an item of a list, or a row of a table with " | " between cells
_LIST_ITEM = re.compile(r"\n(?=(?:[ \t]{0,20}(?:[-*•▪◦●‣|#]|\d{1,3}[.)])|[^\n|]{1,80}[ \t]\|)\s)")
# the mark of a list item: sentencex misses all sentence ends after the last mark, and takes "1." for a sentence
_LIST_MARKER = re.compile(r"^([ \t]{0,20})([-*•▪◦●‣]|\d{1,3}[.)])(?=\s)", re.MULTILINE)
# whole words that sentencex takes for abbreviations before a title such as "Dr."; "No. 5" and "Ill. Rev." are such
_WHOLE_WORDS = ("May", "me", "no", "ill", "miss", "ore")
_WHOLE_WORD = re.compile(rf"\b(?:{'|'.join(_WHOLE_WORDS)})(?=\. [A-Z])")
# a numbered title on its own line, as in PDF text, is not part of the sentence below
_NUMBERED_TITLE = re.compile(
    r"^\d{1,2}(?:\.\d{1,2}){0,3}\.?[ \t]{1,9}[A-Z][^\n.!?;:]{0,70}\n(?=[A-Z0-9])", re.MULTILINE
)


def find_sentences(text: str) -> list[tuple[int, int]]:
    """Return start and end of each sentence, list item and title, in order, without surrounding white space.

    Time is linear in the text. A paragraph of more than 8,000 characters is read in parts that begin with a sentence;
    a longer sentence is cut after a line or word, and a quotation or bracket ends with its part.
    """
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


def _find_sentence_boundaries(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each sentence as sentencex sees them, with other letters for what it would misread."""
    from sentencex import get_sentence_boundaries

    unmarked = _LIST_MARKER.sub(lambda mark: mark[1] + "I" * len(mark[2]), text)
    if any(f"{word}. " in unmarked for word in _WHOLE_WORDS):  # a tenth of the time of the pattern
        unmarked = _WHOLE_WORD.sub(lambda word: "x" * len(word[0]), unmarked)
    start = 0
    while start < len(text):
        window_end = _find_window_end(unmarked, start)
        ends = [start + part["end_index"] for part in get_sentence_boundaries("en", unmarked[start:window_end])]
        if window_end == start + _WINDOW_CHARS < len(text):  # no paragraph ends here: its last sentence is read again
            settled = [end for end in ends if end <= window_end - _WINDOW_MARGIN]
            ends = settled or [_find_line_or_word_end(unmarked, start, window_end)]
        yield from pairwise([start, *ends])
        start = ends[-1] if ends else window_end


def _find_window_end(text: str, start: int) -> int:
    """Return where sentencex may stop: the end of the text, else of the last paragraph in reach, else of the reach."""
    reach = start + _WINDOW_CHARS
    if reach >= len(text):
        return len(text)
    paragraph_end = text.rfind("\n\n", start + 1, reach)
    return reach if paragraph_end < 0 else paragraph_end + 2


def _find_line_or_word_end(text: str, start: int, end: int) -> int:
    """Return the place after the last line break in a range's second half, else after its last space, else its end."""
    line_break = text.rfind("\n", (start + end) // 2, end)
    return (line_break if line_break >= 0 else text.rfind(" ", start + 1, end)) + 1 or end


def _split_list_items(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Split a range at list items, table rows and numbered titles, which are lines of their own."""
    if "\n" not in text[start:end].rstrip():
        return [(start, end)]
    items = [item.end() for item in _LIST_ITEM.finditer(text, start, end)]
    titles = [edge for title in _NUMBERED_TITLE.finditer(text, start, end) for edge in title.span()]
    return list(pairwise(sorted([start, *items, *titles, end])))


def shorten_at_word(text: str, max_chars: int) -> str:
    """Return a text of at most `max_chars` characters: a longer one is cut after a word and ends in an ellipsis."""
    if len(text) <= max_chars:
        return text
    kept = text[: max_chars - 1]
    words, space, _ = kept.rpartition(" ")
    return f"{words} …" if space else f"{kept}…"


def shorten_character_references(text: str) -> str:
    """Shorten numeric character references such as "&#38;" to eight digits, which keeps the meaning of HTML.

    Python raises ValueError for the number of a very long one, and no character has a number of eight digits.
    """
    return _CHARACTER_REFERENCE.sub(r"&#\1", text)
