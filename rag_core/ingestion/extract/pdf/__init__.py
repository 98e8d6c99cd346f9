"""PDF extraction by PDFium, page by page, with the place of every line.

Run it in the sandbox: no PDF parser is safe with untrusted files, and PDFium aborts its process when memory runs out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pypdfium2 import PdfiumError
from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Extraction
from rag_core.ingestion.extract.extraction import clean_text, collect_blocks, list_pages, make_no_text_layer_error
from rag_core.ingestion.extract.pdf import hidden_text, structure
from rag_core.ingestion.extract.pdf.continued_lists import carry_lead_ins
from rag_core.ingestion.extract.pdf.continued_tables import carry_heads
from rag_core.ingestion.extract.pdf.glyphs import read_glyphs
from rag_core.ingestion.extract.pdf.lines import build_strips
from rag_core.ingestion.extract.pdf.opening import make_damaged_pdf_error, open_pdf
from rag_core.ingestion.extract.pdf.picture_pages import is_picture_page
from rag_core.ingestion.extract.pdf.structure import Outline, PdfPage
from rag_core.ingestion.extract.reading_time import report_pages

_CUT_OFF_NOTE = "the end of the file is missing: its pages were read as far as they are there"
_BLANK_PAGES_MESSAGE = "the PDF's pages are blank or damaged: open it in a viewer and print it again"


@dataclass(slots=True)
class _PageFindings:
    """The findings that the notes of an extraction report, by page number."""

    is_cut_off: bool
    damaged_pages: list[int] = field(default_factory=list)
    empty_pages: list[int] = field(default_factory=list)
    picture_pages: list[int] = field(default_factory=list)
    scanned_pages: list[int] = field(default_factory=list)
    undrawn_pages: list[int] = field(default_factory=list)
    hidden_chars_by_page: dict[int, int] = field(default_factory=dict)
    has_pictures: bool = False


def extract_pdf(data: bytes) -> Extraction:
    """Extract the visible text in reading order; boxes are in points of the page as it is shown (`model.Box`).

    Raises:
        UnreadableDocument: the PDF is encrypted, damaged or too complex, or has no text: then the code is
            "no_text_layer" where it has pictures.
    """
    document, is_cut_off = open_pdf(data)
    report_pages(len(document))
    findings = _PageFindings(is_cut_off)
    pages = list(_read_pdf_pages(document, findings))
    repeated = structure.find_page_furniture(pages)
    outline = _read_outline(document)
    laid_out = [part for page in pages for part in structure.split_page_parts(page, repeated, outline)]
    parts = list(carry_lead_ins(carry_heads(laid_out)))
    if not parts or len(findings.picture_pages) == len(document):
        raise _make_no_text_error(findings, len(document))
    title = structure.choose_pdf_title(clean_text(document.get_metadata_value("Title")).strip(), parts)
    notes = _describe_findings(findings, len(document), bool(repeated))
    return Extraction(
        collect_blocks(structure.build_pdf_blocks(parts)),
        len(document),
        "pdf (pdfium)",
        tuple(notes),
        title,
        tuple(findings.picture_pages),
    )


def _make_no_text_error(findings: _PageFindings, page_count: int) -> UnreadableDocument:
    if findings.damaged_pages:
        return make_damaged_pdf_error()
    if findings.has_pictures:
        return make_no_text_layer_error(page_count)
    return UnreadableDocument(_BLANK_PAGES_MESSAGE, code="document_empty", details={"pages": page_count})


def _read_pdf_pages(document: Any, findings: _PageFindings) -> Iterator[PdfPage]:
    for number in range(1, len(document) + 1):
        try:
            yield _read_pdf_page(document, number, findings)
        except (PdfiumError, ValueError):  # ValueError by pypdfium2: a crop box outside of the page
            findings.damaged_pages.append(number)


def _read_pdf_page(document: Any, number: int, findings: _PageFindings) -> PdfPage:
    page = document[number - 1]
    text = page.get_textpage()
    visible, hidden_chars, is_scan = hidden_text.separate_hidden_text(page, text, list(read_glyphs(page, text)))
    if hidden_chars:
        findings.hidden_chars_by_page[number] = hidden_chars
    if not all(glyph.has_outline for glyph in visible):
        findings.undrawn_pages.append(number)
    if is_scan:
        findings.scanned_pages.append(number)
    if is_picture_page(page, visible, is_recognised=is_scan):
        findings.picture_pages.append(number)
        findings.has_pictures = True
    elif not visible:
        findings.empty_pages.append(number)
        findings.has_pictures |= any(True for _ in page.get_objects(filter=(FPDF_PAGEOBJ_IMAGE,)))
    label = clean_text(document.get_page_label(number - 1))
    result = PdfPage(
        number, page.get_height(), build_strips(visible), label if label not in ("", str(number)) else None
    )
    text.close()
    page.close()
    return result


def _read_outline(document: Any) -> Outline:
    """Return the outline level of each title, by page; of equal titles the first counts."""
    levels: dict[int, dict[str, int]] = {}
    for entry in document.get_toc():
        target = entry.get_dest()
        page = target.get_index() if target else None
        if page is not None and (key := structure.normalize_title(entry.get_title())):
            levels.setdefault(page + 1, {}).setdefault(key, entry.level)
    return levels


def _describe_findings(findings: _PageFindings, page_count: int, has_furniture: bool) -> Iterator[str]:
    if findings.is_cut_off:
        yield _CUT_OFF_NOTE
    if findings.damaged_pages:
        yield f"{list_pages(findings.damaged_pages)} of {page_count} damaged and left out"
    if findings.empty_pages:
        yield f"{list_pages(findings.empty_pages)} of {page_count} without text"
    if findings.scanned_pages:
        yield f"{list_pages(findings.scanned_pages)} of {page_count} with text recognised under a picture"
    if findings.undrawn_pages:
        pages = list_pages(findings.undrawn_pages)
        yield f"{pages} of {page_count} in a font that the file does not hold: covered text cannot be told there"
    if hidden := findings.hidden_chars_by_page:
        yield f"{list_pages(list(hidden))}: {sum(hidden.values())} characters of hidden text were left out"
    if has_furniture:
        yield "headers, footers and page numbers that stand on most pages were left out"
