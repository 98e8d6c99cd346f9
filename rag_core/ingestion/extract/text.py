"""Plain text extraction; the encoding is detected and stated in the extractor's name."""

import codecs
from collections.abc import Iterator, Sequence

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Extraction
from rag_core.ingestion.extract.extraction import bounded, clean, paragraphs, unseen

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is a prefix of this one
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 256 * 1024  # read to guess an encoding
_FEW = 16  # below that, the commonest Latin encoding is a better guess than a detected one
_MOST_CONTROLS = 0.05  # of characters, above which a file is no text
_LINES, _CHARACTERS = 10_000, 2_000_000  # of one view of a text


def extract_text(data: bytes) -> Extraction:
    """Extract the paragraphs of a plain text in whatever encoding it came."""
    text, encoding, notes = decode(data)
    return Extraction(bounded(paragraphs(text.split("\n"))), None, f"text ({encoding})", notes)


def shown(data: bytes, first: int) -> tuple[list[str], int]:
    """Return the lines from `first_line` (from 1) on, as many as one view may have, and the number of all lines.

    Line numbers are those that the extractors of text, Markdown and CSV give.
    """
    lines = decode(data)[0].split("\n")
    return list(_window(lines[first - 1 : first - 1 + _LINES])), len(lines)


def _window(lines: Sequence[str]) -> Iterator[str]:
    remaining_chars = _CHARACTERS
    for line in lines:
        if remaining_chars > 0:
            yield line[:remaining_chars]
        remaining_chars -= len(line)


def decode(data: bytes) -> tuple[str, str, tuple[str, ...]]:
    """Return the clean text, its encoding, and notes on hidden text. Bytes that cannot be decoded become U+FFFD.

    Raises:
        UnreadableDocument: the bytes are no text (code "document_binary").
    """
    encoding = _encoding(data)
    text = data.decode(encoding, errors="windows" if encoding == "utf-8" else "replace")
    controls = sum(text.count(chr(code)) for code in (*range(9), *range(14, 27), *range(28, 32)))
    if controls > _MOST_CONTROLS * len(text):
        raise UnreadableDocument(
            "the file holds binary data, not text: send pdf, docx, txt, md or csv", code="document_binary"
        )
    return clean(text), encoding, unseen(text)


def _encoding(data: bytes) -> str:
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), None)
    if encoding:
        return encoding
    sample = data[:_SAMPLE]
    return _utf16(sample) or _utf8(data) or _guess(sample)


def _utf16(sample: bytes) -> str | None:
    """Detect UTF-16 without a byte order mark, by zero bytes (as in spaces and digits) at one end of the pairs only."""
    at_even, at_odd = sample[::2].count(0), sample[1::2].count(0)
    if len(sample) % 2 or not (at_even or at_odd) or (at_even and at_odd):
        return None
    name = "utf-16-be" if at_even else "utf-16-le"
    return name if sample.decode(name, errors="replace").count("\ufffd") == 0 and _wide(sample) else None


def _wide(sample: bytes) -> bool:
    """Return True when one end of the byte pairs has few values, because a text keeps to one or two alphabets."""
    return min(len(set(sample[::2])), len(set(sample[1::2]))) <= 4


def _utf8(data: bytes) -> str | None:
    """Detect UTF-8, also when some of it is damaged or pasted in from another encoding."""
    text = data.decode("utf-8", errors="replace")
    damaged = text.count("\ufffd")
    return "utf-8" if damaged <= sum(char > "\x7f" for char in text) - damaged else None


def _guess(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    match = from_bytes(sample).best()
    few_non_ascii = sum(byte > 127 for byte in sample) < _FEW
    return match.encoding if match and not (few_non_ascii and _is_latin(str(match))) else "cp1252"


def _is_latin(text: str) -> bool:
    return not any(char.isalpha() and char > "\u024f" for char in text)


def _as_windows(failure: UnicodeError) -> tuple[str, int]:
    """Decode a byte that is no UTF-8 as Windows-1252: most files in two encodings mix these two.

    A handler for `codecs.register_error`.
    """
    if not isinstance(failure, UnicodeDecodeError):
        raise failure
    return failure.object[failure.start : failure.end].decode("cp1252", errors="replace"), failure.end


codecs.register_error("windows", _as_windows)
