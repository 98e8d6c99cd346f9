"""PDF by pypdf, page by page. Run it in the sandbox: no PDF parser is safe with a stranger's file (RELIABILITY F9)."""

from collections.abc import Iterator
from io import BytesIO
from typing import Any

from pypdf import PageObject, PdfReader
from pypdf.errors import FileNotDecryptedError, LimitReachedError, PyPdfError

from rag_core.errors import UnreadableDocument
from rag_core.ingestion.extract.extraction import Extraction, bounded, clean, paragraphs
from rag_core.model import Block

# besides its own errors pypdf lets these through on damaged files (RELIABILITY F11)
LEAKED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    OSError,
    RecursionError,
    StopIteration,
    TypeError,
    ValueError,
)
_NO_TEXT = "the pages hold pictures and no text: run text recognition (OCR) over the file first"


def read(data: bytes) -> Extraction:
    pages, hidden, notes = _pages(data)
    blocks = bounded(_blocks(pages))
    if not blocks and notes:
        raise _damaged()
    if not blocks:
        raise UnreadableDocument(_NO_TEXT, code="no_text_layer", details={"pages": len(pages)})
    empty = [number for number, lines in enumerate(pages, 1) if not any(lines)]
    if empty:
        notes.append(f"{_listed(empty)} of {len(pages)} without text")
    if hidden:
        notes.append(f"{_listed(hidden)} with invisible text, as a scan has or a trap")
    return Extraction(blocks, len(pages), "pdf (pypdf)", tuple(notes))


def _pages(data: bytes) -> tuple[list[list[str]], list[int], list[str]]:
    """The lines of each page; the numbers of pages with invisible text; notes."""
    pages: list[list[str]] = []
    hidden: list[int] = []
    notes: list[str] = []
    for number, page in enumerate(_opened(data), 1):
        try:
            lines, invisible = _lines(page)
        except (PyPdfError, *LEAKED):
            lines, invisible = [], False
            notes.append(f"page {number} is damaged and was left out")
        pages.append(lines)
        hidden += [number] if invisible else []
    return pages, hidden, notes


def _opened(data: bytes) -> list[PageObject]:
    try:
        reader = PdfReader(BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise _encrypted()
        return list(reader.pages)
    except FileNotDecryptedError as failure:
        raise _encrypted() from failure
    except LimitReachedError as failure:
        raise UnreadableDocument(
            "the PDF is nested too deeply or unpacks to too much: print it to a new PDF", code="document_too_complex"
        ) from failure
    except (PyPdfError, *LEAKED) as failure:
        raise _damaged() from failure


def _encrypted() -> UnreadableDocument:
    return UnreadableDocument("the PDF is password-protected: save it without a password", code="document_encrypted")


def _damaged() -> UnreadableDocument:
    message = "the PDF is damaged: open it in a viewer and save or print it again"
    return UnreadableDocument(message, code="document_damaged")


def _lines(page: PageObject) -> tuple[list[str], bool]:
    modes: set[int] = set()

    def watch(operator: bytes, operands: Any, *_: Any) -> None:
        if operator == b"Tr" and operands:
            modes.add(int(operands[0]))

    text = clean(page.extract_text(visitor_operand_before=watch))
    return [line.rstrip() for line in text.split("\n")], 3 in modes


def _blocks(pages: list[list[str]]) -> Iterator[Block]:
    line = 1
    for number, lines in enumerate(pages, 1):
        yield from paragraphs(lines, line, number)
        line += len(lines)


def _listed(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:10]))
    return f"pages {shown}{' and more' if len(numbers) > 10 else ''}" if len(numbers) > 1 else f"page {shown}"
