"""Opening of a PDF file by PDFium, also of one that lost its end."""

import re
from typing import Any

from pypdfium2 import PdfDocument, PdfiumError
from pypdfium2.raw import FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY

from rag_core.core.errors import UnreadableDocument

MAX_PAGES = 20_000
_END_MARK, _END_BYTES = b"%%EOF", 1024  # the mark stands somewhere in the last bytes of a whole file
_OBJECT_HEAD = re.compile(rb"(\d{1,10})\s{1,2}(\d{1,5})\s{1,2}obj\Z")
_MAX_OBJECT_HEAD_BYTES = 22  # that this pattern matches
_ENCRYPTION_MARK = re.compile(rb"/Filter ?/(?:Standard|Adobe\.PubSec)\b")  # what an encryption dictionary has


def open_pdf(data: bytes) -> tuple[Any, bool]:
    """Return the document, as PDFium has it, and whether the end of the file is missing.

    Raises:
        UnreadableDocument: it is encrypted or damaged, or has more than `MAX_PAGES` pages.
    """
    try:
        document, is_cut_off = PdfDocument(data), False
    except PdfiumError as error:
        if error.err_code in (FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY):
            message = "the PDF is password-protected: save it without a password"
            raise UnreadableDocument(message, code="document_encrypted") from error
        document, is_cut_off = _open_cut_off_pdf(data), True
    if len(document) > MAX_PAGES:
        message = f"the PDF has {len(document):,} pages, more than {MAX_PAGES:,}: split it"
        raise UnreadableDocument(message, code="document_too_complex", details={"pages": MAX_PAGES})
    return document, is_cut_off


def _open_cut_off_pdf(data: bytes) -> Any:
    """Open a PDF that lost its end with a trailer that names its catalog, by which PDFium finds what is left.

    The trailer said whether it is encrypted: where a dictionary says so, it is refused, for its text would be garbled.
    """
    end = data.rfind(b"obj", 0, max(0, data.rfind(b"/Catalog"))) + len(b"obj")
    head = _OBJECT_HEAD.search(data[max(0, end - _MAX_OBJECT_HEAD_BYTES) : end])
    if not head or _END_MARK in data[-_END_BYTES:] or _ENCRYPTION_MARK.search(data):
        raise make_damaged_pdf_error()
    trailer = b"\nendstream\nendobj\ntrailer<</Root %s %s R>>\nstartxref\n0\n%%%%EOF" % head.groups()
    try:
        return PdfDocument(data + trailer)
    except PdfiumError as error:
        raise make_damaged_pdf_error() from error


def make_damaged_pdf_error() -> UnreadableDocument:
    message = "the PDF is damaged: open it in a viewer and save or print it again"
    return UnreadableDocument(message, code="document_damaged")
