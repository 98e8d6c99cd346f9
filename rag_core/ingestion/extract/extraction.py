"""What every extractor gives, and what they share: clean lines and the paragraphs they form."""

import re
from collections.abc import Iterable, Iterator, Sequence

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Block, Extraction

__all__ = ["MAX_BLOCKS", "Extraction", "bounded", "clean", "paragraphs", "too_much", "unseen"]

MAX_BLOCKS = 100_000
MAX_TEXT = 100_000_000  # characters: a table repeats its header in every row

_LINE_END = re.compile(r"\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_UNSEEN = re.compile(
    r"\x1b\[[0-9;]{0,20}[A-Za-z]"  # terminal colours
    r"|[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]"  # controls
    r"|[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"  # zero width, direction, tags
    r"|[\ud800-\udfff]"  # halves of a character, which no encoder would take
    r"|\xad(?=[\xad\w])"  # a place where a word may be broken; at a line's end it is seen, and stays
)
_DECEIVES = re.compile("[\u202d\u202e\U000e0020-\U000e007e]")  # turns the reading around; letters that nobody sees
_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a]{2,6}\U000e007f")  # of England and the like: an emoji
_ZERO_WIDTH = re.compile("[\u200b\u2060-\u2064\ufeff]")
_FEW = 16  # characters of no width: a text pasted from a web page has some
_SHARE = 0.01


def bounded(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """The blocks, as they are made.

    Raises:
        UnreadableDocument: more than `MAX_BLOCKS` or `MAX_TEXT`, found out before they fill the memory.
    """
    kept: list[Block] = []
    size = 0
    for block in blocks:
        size += len(block.text)
        if len(kept) == MAX_BLOCKS or size > MAX_TEXT:
            raise too_much()
        kept.append(block)
    return tuple(kept)


def too_much() -> UnreadableDocument:
    return UnreadableDocument(
        f"the document has more than {MAX_BLOCKS:,} rows or paragraphs, or {MAX_TEXT:,} characters: split it",
        code="document_too_complex",
        details={"blocks": MAX_BLOCKS, "characters": MAX_TEXT},
    )


def clean(text: str) -> str:
    """The text with `\\n` for every kind of line end and without characters that a reader cannot see."""
    return _UNSEEN.sub("", _LINE_END.sub("\n", text))


def unseen(text: str) -> tuple[str, ...]:
    """A note on what `clean` leaves out of a text, where it is more than typesetting needs or meant to deceive."""
    deceiving = len(_DECEIVES.findall(_FLAG.sub("", text)))
    blank = len(_ZERO_WIDTH.findall(text, 1))  # the first may be the byte order mark
    count = deceiving + (blank if blank > max(_FEW, _SHARE * len(text)) else 0)
    return (f"hidden text was left out: {count:,} characters",) if count else ()


def paragraphs(lines: Sequence[str], first_line: int = 1, page: int | None = None) -> Iterator[Block]:
    """What stands between blank lines; `first_line` is the number of the first of these lines in the document."""
    began = None
    for number, line in enumerate([*lines, ""]):
        if line.strip():
            began = number if began is None else began
        elif began is not None:
            text = "\n".join(lines[began:number])
            yield Block(text, "paragraph", first_line + began, first_line + number - 1, page)
            began = None
