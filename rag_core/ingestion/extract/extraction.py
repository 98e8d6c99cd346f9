"""Common parts of the extractors: clean text, paragraphs, and the limit on the size of an extraction."""

import re
from collections.abc import Iterable, Iterator, Sequence

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Block, Extraction

MAX_BLOCKS = 100_000
MAX_TEXT_CHARS = 100_000_000  # characters: a table repeats its header in every row

TEXT_RECOGNITION_ADVICE = (
    "to have it recognised, set AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT, or install tesseract (apt install tesseract-ocr)"
)
_MAX_LISTED_PAGES = 10  # in a note
_LINE_END = re.compile(r"\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE_CHARACTERS = re.compile(
    r"\x1b\[[0-9;]{0,20}[A-Za-z]"  # terminal colours
    r"|[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]"  # control characters
    r"|[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"  # zero width, direction, tags
    r"|[\ud800-\udfff]"  # lone surrogates, which cannot be encoded
    r"|\xad(?=[\xad\w])"  # soft hyphens, except at the end of a line, where they are visible
)
_DECEPTIVE_CHARACTER = re.compile("[\u202d\u202e\U000e0020-\U000e007e]")  # direction overrides; invisible tag letters
_FLAG_EMOJI = re.compile("\U0001f3f4[\U000e0061-\U000e007a]{2,6}\U000e007f")  # such as that of England
_ZERO_WIDTH = re.compile("[\u200b\u2060-\u2064\ufeff]")
_TOLERATED_ZERO_WIDTH_CHARS = 16  # a text pasted from a web page has some
_TOLERATED_ZERO_WIDTH_SHARE = 0.01


def collect_blocks(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Collect blocks into a tuple, counting them as they are made.

    Raises:
        UnreadableDocument: they exceed `MAX_BLOCKS` or `MAX_TEXT_CHARS`; raised before they fill the memory.
    """
    collected: list[Block] = []
    size = 0
    for block in blocks:
        size += len(block.text)
        if len(collected) == MAX_BLOCKS or size > MAX_TEXT_CHARS:
            raise make_document_too_long_error()
        collected.append(block)
    return tuple(collected)


def make_document_too_long_error() -> UnreadableDocument:
    return UnreadableDocument(
        f"the document has more than {MAX_BLOCKS:,} rows or paragraphs, or {MAX_TEXT_CHARS:,} characters: split it",
        code="document_too_complex",
        details={"blocks": MAX_BLOCKS, "characters": MAX_TEXT_CHARS},
    )


def make_no_text_layer_error(pages: int) -> UnreadableDocument:
    """Return the refusal of a file whose text stands in pictures alone."""
    message = f"the file holds pictures and no text: {TEXT_RECOGNITION_ADVICE}"
    return UnreadableDocument(message, code="no_text_layer", details={"pages": pages})


def make_no_text_found_error(detail: str = "") -> UnreadableDocument:
    """Return the refusal of a picture that was looked at and has no text, as a logo: nothing of it was lost."""
    message = "; ".join(filter(None, ("there is no text in it", detail)))
    return UnreadableDocument(message, code="no_text_found")


def list_pages(numbers: Sequence[int]) -> str:
    """Return "page 3", or "pages 3, 7 and more" for more pages than a reader wants to see."""
    listed = ", ".join(map(str, numbers[:_MAX_LISTED_PAGES]))
    more = " and more" if len(numbers) > _MAX_LISTED_PAGES else ""
    return f"pages {listed}{more}" if len(numbers) > 1 else f"page {listed}"


def describe_picture_pages(extraction: Extraction) -> Iterator[str]:
    """Yield a note on the pages whose text is in pictures and was not read."""
    if extraction.picture_pages:
        held = f"{list_pages(extraction.picture_pages)} of {extraction.pages}"
        yield f"{held} hold pictures whose text was not read: {TEXT_RECOGNITION_ADVICE}"


def clean_text(text: str) -> str:
    """Return the text with `\\n` for every kind of line end and without characters that a reader cannot see."""
    return _INVISIBLE_CHARACTERS.sub("", _LINE_END.sub("\n", text))


def note_hidden_text(text: str) -> tuple[str, ...]:
    """Return a note on the hidden characters that `clean_text` removes; () when they are too few to matter.

    Deceptive characters always count; zero-width ones only above a small number and share of the text.
    """
    deceptive = len(_DECEPTIVE_CHARACTER.findall(_FLAG_EMOJI.sub("", text)))
    zero_width = len(_ZERO_WIDTH.findall(text, 1))  # the first may be the byte order mark
    count = deceptive + (
        zero_width if zero_width > max(_TOLERATED_ZERO_WIDTH_CHARS, _TOLERATED_ZERO_WIDTH_SHARE * len(text)) else 0
    )
    return (f"hidden text was left out: {count:,} characters",) if count else ()


def split_paragraphs(lines: Sequence[str]) -> Iterator[Block]:
    """Yield the paragraphs between blank lines, with the numbers of their lines."""
    start = None
    for number, line in enumerate([*lines, ""]):
        if line.strip():
            start = number if start is None else start
        elif start is not None:
            text = "\n".join(lines[start:number])
            yield Block(text, "paragraph", start + 1, number)
            start = None
