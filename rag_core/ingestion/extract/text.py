"""Plain text extraction; the encoding is detected and stated in the extractor's name."""

import codecs
from collections.abc import Iterator, Sequence

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Extraction
from rag_core.ingestion.extract.extraction import clean_text, collect_blocks, note_hidden_text, split_paragraphs
from rag_core.ingestion.extract.kinds import ACCEPTED_KINDS_TEXT

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is a prefix of this one
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE_BYTES = 256 * 1024  # read to guess an encoding
_MIN_NON_ASCII_BYTES = 16  # below that, the commonest Latin encoding is a better guess than a detected one
_MAX_CONTROL_SHARE = 0.05  # of characters, above which a file is no text
_MAX_WINDOW_LINES, _MAX_WINDOW_CHARS = 10_000, 2_000_000  # of one view of a text


def extract_text(data: bytes) -> Extraction:
    """Extract the paragraphs of a plain text in whatever encoding it came."""
    text, encoding, notes = decode_text(data)
    return Extraction(collect_blocks(split_paragraphs(text.split("\n"))), None, f"text ({encoding})", notes)


def read_line_window(data: bytes, first_line: int) -> tuple[list[str], int]:
    """Return the lines from `first_line` (from 1) on, as many as one view may have, and the number of all lines.

    Line numbers are those that the extractors of text, Markdown and CSV give.
    """
    lines = decode_text(data)[0].split("\n")
    return list(_limit_line_chars(lines[first_line - 1 : first_line - 1 + _MAX_WINDOW_LINES])), len(lines)


def _limit_line_chars(lines: Sequence[str]) -> Iterator[str]:
    remaining_chars = _MAX_WINDOW_CHARS
    for line in lines:
        if remaining_chars > 0:
            yield line[:remaining_chars]
        remaining_chars -= len(line)


def decode_text(data: bytes) -> tuple[str, str, tuple[str, ...]]:
    """Return the clean text, its encoding, and notes on hidden text. Bytes that cannot be decoded become U+FFFD.

    Raises:
        UnreadableDocument: the bytes are no text (code "document_binary").
    """
    encoding = _detect_encoding(data)
    text = data.decode(encoding, errors="windows" if encoding == "utf-8" else "replace")
    controls = sum(text.count(chr(code)) for code in (*range(9), *range(14, 27), *range(28, 32)))
    if controls > _MAX_CONTROL_SHARE * len(text):
        raise UnreadableDocument(
            f"the file holds binary data, not text: send {ACCEPTED_KINDS_TEXT}", code="document_binary"
        )
    return clean_text(text), encoding, note_hidden_text(text)


def _detect_encoding(data: bytes) -> str:
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), None)
    if encoding:
        return encoding
    sample = data[:_SAMPLE_BYTES]
    return _detect_utf16(sample) or _detect_utf8(data) or _guess_encoding(sample)


def _detect_utf16(sample: bytes) -> str | None:
    """Detect UTF-16 without a byte order mark, by zero bytes (as in spaces and digits) at one end of the pairs only."""
    at_even, at_odd = sample[::2].count(0), sample[1::2].count(0)
    if len(sample) % 2 or not (at_even or at_odd) or (at_even and at_odd):
        return None
    name = "utf-16-be" if at_even else "utf-16-le"
    return (
        name if sample.decode(name, errors="replace").count("\ufffd") == 0 and _has_two_byte_pattern(sample) else None
    )


def _has_two_byte_pattern(sample: bytes) -> bool:
    """Return True when one end of the byte pairs has few values, because a text keeps to one or two alphabets."""
    return min(len(set(sample[::2])), len(set(sample[1::2]))) <= 4


def _detect_utf8(data: bytes) -> str | None:
    """Detect UTF-8, also when some of it is damaged or pasted in from another encoding."""
    text = data.decode("utf-8", errors="replace")
    damaged = text.count("\ufffd")
    return "utf-8" if damaged <= sum(char > "\x7f" for char in text) - damaged else None


def _guess_encoding(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    match = from_bytes(sample).best()
    few_non_ascii = sum(byte > 127 for byte in sample) < _MIN_NON_ASCII_BYTES
    return match.encoding if match and not (few_non_ascii and _is_latin_text(str(match))) else "cp1252"


def _is_latin_text(text: str) -> bool:
    return not any(char.isalpha() and char > "\u024f" for char in text)


def _decode_as_windows_1252(error: UnicodeError) -> tuple[str, int]:
    """Decode a byte that is no UTF-8 as Windows-1252: most files in two encodings mix these two.

    A handler for `codecs.register_error`.
    """
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", errors="replace"), error.end


codecs.register_error("windows", _decode_as_windows_1252)
