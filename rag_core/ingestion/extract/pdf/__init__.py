"""PDF extraction by PDFium, page by page, with the place of every line.

Run it in the sandbox: no PDF parser is safe with untrusted files, and PDFium aborts its process when memory runs out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pypdfium2 import PdfDocument, PdfiumError
from pypdfium2.raw import FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY, FPDF_PAGEOBJ_IMAGE

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Extraction
from rag_core.ingestion.extract.extraction import bounded, clean, too_much
from rag_core.ingestion.extract.pdf import hidden, structure
from rag_core.ingestion.extract.pdf.glyphs import glyphs
from rag_core.ingestion.extract.pdf.lines import strips
from rag_core.ingestion.extract.pdf.structure import Outline, Page

MAX_PAGES = 20_000
_LISTED = 10  # named in a note
_NO_TEXT = "the pages hold pictures and no text: run text recognition (OCR) over the file first"
_BLANK = "the PDF's pages are blank or damaged: open it in a viewer and print it again"


@dataclass(slots=True)
class _Found:
    """The findings that the notes of an extraction report, by page number."""

    damaged: list[int] = field(default_factory=list)
    empty: list[int] = field(default_factory=list)
    scanned: list[int] = field(default_factory=list)
    hidden: dict[int, int] = field(default_factory=dict)
    pictures: bool = False


def read(data: bytes) -> Extraction:
    """Extract the visible text in reading order; boxes are in points of the page as it is shown (`model.Box`).

    Raises:
        UnreadableDocument: the PDF is encrypted, damaged or too complex, or has no text: then the code is
            "no_text_layer" where it has pictures.
    """
    document = _opened(data)
    findings = _Found()
    pages = list(_pages(document, findings))
    repeated = structure.furniture(pages)
    outline = _outline(document)
    parts = [part for page in pages for part in structure.parts(page, repeated, outline)]
    if not parts:
        raise _without_text(findings, len(document))
    title = structure.title(clean(document.get_metadata_value("Title")).strip(), parts)
    notes = _notes(findings, len(document), bool(repeated))
    return Extraction(bounded(structure.blocks(parts)), len(document), "pdf (pdfium)", tuple(notes), title)


def _opened(data: bytes) -> Any:
    try:
        document = PdfDocument(data)
    except PdfiumError as error:
        if error.err_code in (FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY):
            message = "the PDF is password-protected: save it without a password"
            raise UnreadableDocument(message, code="document_encrypted") from error
        raise _damaged() from error
    if len(document) > MAX_PAGES:
        raise too_much()
    return document


def _damaged() -> UnreadableDocument:
    message = "the PDF is damaged: open it in a viewer and save or print it again"
    return UnreadableDocument(message, code="document_damaged")


def _without_text(met: _Found, pages: int) -> UnreadableDocument:
    if met.damaged:
        return _damaged()
    if met.pictures:
        return UnreadableDocument(_NO_TEXT, code="no_text_layer", details={"pages": pages})
    return UnreadableDocument(_BLANK, code="document_empty", details={"pages": pages})


def _pages(document: Any, met: _Found) -> Iterator[Page]:
    for number in range(1, len(document) + 1):
        try:
            yield _page(document, number, met)
        except (PdfiumError, ValueError):  # ValueError by pypdfium2: a crop box outside of the page
            met.damaged.append(number)


def _page(document: Any, number: int, met: _Found) -> Page:
    page = document[number - 1]
    text = page.get_textpage()
    visible, hidden_chars, is_scan = hidden.parted(page, text, list(glyphs(page, text)))
    if hidden_chars:
        met.hidden[number] = hidden_chars
    if is_scan:
        met.scanned.append(number)
    if not visible:
        met.empty.append(number)
        met.pictures |= any(True for _ in page.get_objects(filter=(FPDF_PAGEOBJ_IMAGE,)))
    label = clean(document.get_page_label(number - 1))
    result = Page(number, page.get_height(), strips(visible), label if label not in ("", str(number)) else None)
    text.close()
    page.close()
    return result


def _outline(document: Any) -> Outline:
    """Return the outline level of each title, by page; of equal titles the first counts."""
    levels: dict[int, dict[str, int]] = {}
    for entry in document.get_toc():
        target = entry.get_dest()
        page = target.get_index() if target else None
        if page is not None and (key := structure.plain(entry.get_title())):
            levels.setdefault(page + 1, {}).setdefault(key, entry.level)
    return levels


def _notes(met: _Found, pages: int, repeated: bool) -> Iterator[str]:
    for number in met.damaged:
        yield f"page {number} is damaged and was left out"
    if met.empty:
        yield f"{_listed(met.empty)} of {pages} without text"
    if met.scanned:
        yield f"{_listed(met.scanned)} of {pages} with text recognised under a picture"
    for number, chars in list(met.hidden.items())[:_LISTED]:
        yield f"page {number}: {chars} characters of hidden text were left out"
    if further := list(met.hidden.values())[_LISTED:]:
        yield f"{len(further)} more pages: {sum(further)} characters of hidden text were left out"
    if repeated:
        yield "headers, footers and page numbers that stand on most pages were left out"


def _listed(numbers: Sequence[int]) -> str:
    listed = ", ".join(map(str, numbers[:_LISTED]))
    return f"pages {listed}{' and more' if len(numbers) > _LISTED else ''}" if len(numbers) > 1 else f"page {listed}"
