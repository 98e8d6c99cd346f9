"""The layout of a text: its headings, list items, table rows, code and sentences, and its words without Markdown."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from rag_core.text.framing import is_title
from rag_core.text.sentences import find_sentences, trim_range

PartKind = Literal["sentence", "item", "row", "heading", "rule", "code"]

BOLD_HEADING_LEVEL = 7  # below the six levels of "#"
MAX_WRAPPED_ITEM_CHARS = 40  # a list item of a longer line may go on in the next
MAX_LINE_CHARS = 70  # of a list without marks
MAX_TITLE_GAP_CHARS = 100  # after a title, in which the text below begins
_RULE_SIGNS = frozenset("-*_=|:+~#• \t")
_FENCES = ("```", "~~~")
_TABLE_ROW = re.compile(r"\|[^\n|]{0,2000}\||[^\n|]{1,80}[ \t]\|\s")
_HEADING = re.compile(r"(#{1,6})[ \t]{1,20}\S")
_ITEM = re.compile(r"(?:[-*+•▪◦●‣]|\d{1,3}[.)]|\(?[a-z]\))[ \t]{1,20}\S")
_INNER_END = re.compile(r"[.!?…。！？][\"'”’)\]*_]{0,3}\s")
_END_MARK = re.compile(r"[.!?:;,…][\"'”’)\]*_]{0,3}$")
_FIELD = re.compile(r":\s|,[^\s\d]")
_LINE_END = re.compile(r"\n")
_BLANK_LINE = re.compile(r"[ \t\r]{0,20}\n[ \t\r]{0,20}\n")
_CITATION = (  # "[1]", "[e1, e2]", "[^3]", "(e1)", "【4:0†source】", "[Source: Page 3, Lines 1-2]"
    r"\[\^?e?\d{1,3}(?:[ \t]?[,;–-][ \t]?\^?e?\d{1,3}){0,9}\]|\(e\d{1,3}(?:,[ \t]?e\d{1,3}){0,9}\)"
    r"|【[^】\n]{0,80}】|\[Source\b[^\]\n]{0,80}\]"
)
_CITATION_MARK = re.compile(rf"[ \t]?(?:{_CITATION})")
_CITATION_MARKS = re.compile(rf"(?:[ \t]?(?:{_CITATION})){{0,20}}")
_LEADING_MARK = re.compile(
    r"[ \t]{0,20}(?:(?:>|#{1,6}(?=[ \t])|[-*+•▪◦●‣](?=[ \t])|\d{1,3}[.)](?=[ \t])"
    r"|\(?[a-z]\)(?=[ \t])|\([ivxlc]{2,6}\)(?=[ \t])|\[[ xX]\])[ \t]{1,20}){1,4}"
)
_CLAUSE_NUMBER = re.compile(r"\d{1,3}(?:\.\d{1,3}){1,5}\.?[ \t]{1,20}(?=[^\W\d_])")
_LINK = re.compile(r"!?\[([^\[\]\n]{1,120})\]\([^()\s]{0,200}\)")
_LINE_BREAK = re.compile(r"<br[ \t]?/?>", re.IGNORECASE)
_EMPHASIS = re.compile(r"\*\*|__(?=\S)|(?<=\S)__|~~|`|(?<![\w*])[*_](?=[^\s*_])|(?<=[^\s*_])[*_](?![\w*])")
_ANY_MARK = re.compile(r"[\[(【<*_~`\\]")
_CELL_BORDER = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text as it is shown, from character `start` on; `indent` is the number of spaces before its line.

    `level` is that of a heading, from 1. `inner` says that it goes on with the list item before.
    """

    text: str
    kind: PartKind = "sentence"
    start: int = 0
    indent: int = 0
    level: int = 0
    inner: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def split_into_parts(text: str) -> list[Part]:
    """Split a text into its parts, in order; time is linear in the text."""
    parts: list[Part] = []
    for kind, start, end in _find_blocks(text):
        in_list = bool(parts) and (parts[-1].kind == "item" or parts[-1].inner)
        parts += _split_block(text, kind, start, end, in_list=in_list)
    return parts


def make_part(line: str) -> Part:
    """Return a text on one line as a single part."""
    kind, level = _classify_line(line)
    return Part(line, kind or "sentence", level=level)


def remove_marks(text: str) -> str:
    """Return the words of a part of a text on one line, without Markdown and without citation marks."""
    text = text[mark.end() :] if (mark := _LEADING_MARK.match(text)) else text
    if not _ANY_MARK.search(text):
        return " ".join(text.split())
    text = _LINK.sub(r"\1", _CITATION_MARK.sub("", text))
    return " ".join(_EMPHASIS.sub("", _LINE_BREAK.sub(" ", text)).replace("\\|", "|").split())


def remove_clause_number(words: str) -> str:
    """Return words without the number of a clause before them, as "4.2"; it may as well be a figure: "4.2 million"."""
    number = _CLAUSE_NUMBER.match(words)
    return words[number.end() :] if number else words


def split_cells(row: str) -> list[str]:
    """Return the words of each cell of a table row, "" for an empty cell."""
    inner = row.strip()
    inner = inner.removeprefix("|")
    inner = inner.removesuffix("|") if not inner.endswith("\\|") else inner
    return [remove_marks(cell.strip()) for cell in _CELL_BORDER.split(inner)]


def is_key_value_list(text: str) -> bool:
    """Return whether a text is two lines or more that each have a name and its value: "name: value"."""
    lines = text.splitlines()
    return len(lines) > 1 and all(": " in line for line in lines)


def goes_on_with_table(line: str) -> bool:
    """Return whether a line below a row of a table is one too, whose label may be longer than that of a first row."""
    return " | " in line


def is_header_rule(part: Part) -> bool:
    """Return whether a part is the line between the header of a Markdown table and its rows."""
    return part.kind == "rule" and "|" in part.text and "-" in part.text


def _find_blocks(text: str) -> Iterator[tuple[PartKind, int, int]]:
    """Yield kind, start and end of each heading, rule, row, list item and fenced code, and of the prose between."""
    kind: PartKind | None = None
    new: PartKind | None = None
    start = at = last = 0
    for line in text.split("\n"):
        here, at = at, at + len(line) + 1
        stripped = line.strip()
        is_fence = stripped.startswith(_FENCES)
        if kind == "code":
            if is_fence:
                yield "code", start, at - 1
                kind = None
            continue
        is_below_row = new == "row"
        new = "code" if is_fence else _classify_line(stripped)[0] if stripped else None
        new = "row" if is_below_row and new in ("sentence", "item") and goes_on_with_table(line) else new
        if kind == "item" and (not stripped or (new == "sentence" and not _continues(text[last : here - 1], line))):
            yield kind, start, here - 1
            kind = None
        if new and not (new == "sentence" and kind and not _is_bold_line(stripped)):
            if kind:
                yield kind, start, here - 1
            kind, start = new, here
        last = here
        if kind in ("heading", "rule", "row") or (kind and _is_bold_line(stripped)):
            yield kind, start, at - 1
            kind = None
    if kind:
        yield kind, start, len(text)


def _continues(item_line: str, line: str) -> bool:
    """Return whether a line goes on with the list item of the line before."""
    first = line.lstrip()[:1]
    if first.islower() or (line[:1].isspace() and not first.isupper()):
        return True
    return (line[:1].isspace() and not is_title(remove_marks(item_line))) or (
        len(item_line) >= MAX_WRAPPED_ITEM_CHARS and item_line.rstrip()[-1:] not in ".!?"
    )


def _classify_line(line: str) -> tuple[PartKind | None, int]:
    """Return the kind of a line by its marks, and the level of a heading; None for an empty line."""
    line = line.strip()
    if not line:
        return None, 0
    if _RULE_SIGNS.issuperset(line):
        return "rule", 0
    if line.startswith(_FENCES):
        return "code", 0
    if heading := _HEADING.match(line):
        return "heading" if is_title(remove_marks(line)) else "sentence", len(heading[1])
    if _is_bold_line(line):
        return ("heading", BOLD_HEADING_LEVEL) if is_title(remove_marks(line)) else ("sentence", 0)
    if _ITEM.match(line):
        return "item", 0
    return ("row" if _TABLE_ROW.match(line) else "sentence"), 0


def _is_bold_line(line: str) -> bool:
    """Return whether all of a line is bold, or it is a "#" heading: it is then no part of the text below."""
    line = line.rstrip(":")
    return bool(_HEADING.match(line)) or any(
        line.startswith(mark) and line.endswith(mark) and len(line) > 4 and mark not in line[2:-2]
        for mark in ("**", "__")
    )


def _split_block(text: str, kind: PartKind, start: int, end: int, *, in_list: bool) -> Iterator[Part]:
    trimmed = trim_range(text, start, end)
    if trimmed is None:
        return
    at, block = trimmed[0], text[trimmed[0] : trimmed[1]]
    if kind not in ("item", "sentence"):
        yield Part(block, kind, at, level=_classify_line(block)[1] if kind == "heading" else 0)
        return
    indent = at - start
    is_whole = "\n" not in block and not _INNER_END.search(block)
    ranges = [(0, len(block))] if is_whole else _join_citation_marks(block, find_sentences(block))
    lines = [line for first, last in ranges for line in _split_unmarked_list(block, first, last)]
    for n, (first, last) in enumerate(lines):
        inner = (n > 0) if kind == "item" else (in_list and indent > 0)
        part = Part(block[first:last], "sentence" if n else kind, at + first, 0 if n else indent, inner=inner)
        yield _read_title(text, part)


def _split_unmarked_list(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the lines of a sentence that is a list without marks, as a slide has it; another one whole.

    A list has three lines or more of two words or more, short ones, and each begins with a capital and ends without an
    end mark. A record, as in "Name: Acme", is no list, nor are codes above what they mean.
    """
    if text.count("\n", start, end) < 2:
        return [(start, end)]
    edges = [start, *(line_break.start() for line_break in _LINE_END.finditer(text, start, end)), end]
    ranges = [trimmed for first, last in pairwise(edges) if (trimmed := trim_range(text, first, last))]
    lines = [text[first:last] for first, last in ranges]
    is_list = len(lines) > 2 and not any(_FIELD.search(line) or _END_MARK.search(line) for line in lines)
    is_list = is_list and all(line[:1].isupper() and " " in line and len(line) <= MAX_LINE_CHARS for line in lines)
    return ranges if is_list else [(start, end)]


def _read_title(text: str, part: Part) -> Part:
    """Return a short line without end mark above a blank line or a list as a heading; any other part as it is."""
    if part.kind != "sentence" or part.inner or not is_title(part.text, plain=True):
        return part
    below = text[part.end : part.end + MAX_TITLE_GAP_CHARS]
    following = below.lstrip("\n").split("\n")[0]
    is_above_list = _classify_line(following)[0] in ("item", "row") or following.startswith(("---", "==="))
    if not below.strip() or "\n" in part.text or not (_BLANK_LINE.match(below) or is_above_list):
        return part
    return replace(part, kind="heading", level=BOLD_HEADING_LEVEL)


def _join_citation_marks(text: str, ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Move the citation marks with which a sentence begins to the end of the sentence before."""
    joined: list[tuple[int, int]] = []
    for start, end in ranges:
        marks = _CITATION_MARKS.match(text, start, end) if joined else None
        if marks and marks.end() > start:
            joined[-1] = joined[-1][0], marks.end()
            start = marks.end()
        if trimmed := trim_range(text, start, end):
            joined.append(trimmed)
    return joined
