"""The plain text of a mail: what it quotes of earlier mails stands below the line that says whose they are."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from rag_core.core.model import Block
from rag_core.ingestion.extract.extraction import split_paragraphs
from rag_core.ingestion.extract.placed_blocks import BlockMaker

MAX_QUOTE_DEPTH = 20
MAX_INTRODUCTION_CHARS = 200  # "On Thu, 5 Nov 2026 at 17:03, Priya Raman wrote:"
_QUOTE_MARKS = re.compile(rf"(?:> ?){{1,{MAX_QUOTE_DEPTH}}}")

_QuotedParagraph = tuple[int, str]  # how often it is quoted, 0 for the mail's own, and its text


def read_plain_text(text: str, maker: BlockMaker, prefix: str) -> Iterator[Block]:
    """Yield the paragraphs of a plain text, without the marks of quoted lines.

    A short paragraph before a quoted one that ends in a colon is the heading of what is quoted. `prefix` begins the
    locator of each.
    """
    paragraphs = list(_split_by_depth(text.split("\n")))
    for number, ((depth, paragraph), (next_depth, _)) in enumerate(pairwise([*paragraphs, (0, "")]), start=1):
        maker.end_headings(depth + 1)
        locator = f"{prefix}paragraph {number}"
        if next_depth > depth and paragraph.rstrip().endswith(":") and len(paragraph) <= MAX_INTRODUCTION_CHARS:
            yield maker.make_heading(" ".join(paragraph.split()), locator, depth + 1)
        else:
            yield maker.make(paragraph, locator)


def _split_by_depth(lines: Sequence[str]) -> Iterator[_QuotedParagraph]:
    for depth, group in groupby(map(_read_quote_marks, lines), key=lambda line: line[0]):
        yield from ((depth, paragraph.text) for paragraph in split_paragraphs([line for _, line in group]))


def _read_quote_marks(line: str) -> _QuotedParagraph:
    """Return how often a line is quoted, and the line without the marks."""
    marks = _QUOTE_MARKS.match(line)
    return (marks[0].count(">"), line[marks.end() :]) if marks else (0, line)
