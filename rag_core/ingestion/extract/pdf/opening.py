"""Opening of a PDF file by PDFium, also of one that lost its end."""

import re
import zlib
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Any

from pypdfium2 import PdfDocument, PdfiumError
from pypdfium2.raw import FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY

from rag_core.core.errors import UnreadableDocument

MAX_PAGES = 20_000
_END_MARK, _END_BYTES = b"%%EOF", 1024  # the mark stands somewhere in the last bytes of a whole file
_OBJECT_HEAD = re.compile(rb"(\d{1,10})\s{1,2}(\d{1,5})\s{1,2}obj\Z")
_MAX_OBJECT_HEAD_BYTES = 22  # that this pattern matches
_PAGE_HEAD = re.compile(rb"(?<!\d)(\d{1,10})\s{1,2}(\d{1,5})\s{1,2}obj\b")
_PAGE_TYPE = re.compile(rb"/Type\s{0,9}/Page(?![A-Za-z])")
_MAX_OBJECTS = 200_000  # looked at
_MAX_PAGE_BYTES = 4096  # of a page's dictionary
_OBJECT_STREAM = re.compile(rb"/Type\s{0,9}/ObjStm(?![A-Za-z])")
_FIRST_OBJECT = re.compile(rb"/First\s{1,9}(\d{1,9})")
_STREAM_START = re.compile(rb"stream\r?\n")
_MAX_COMPRESSED_BYTES = 64_000_000  # of all compressed objects, once inflated
_TREE_NUMBER, _CATALOG_NUMBER = b"8388606", b"8388605"  # of objects: the last that PDFium takes are free in any file
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
    if _END_MARK in data[-_END_BYTES:] or _ENCRYPTION_MARK.search(data):
        raise make_damaged_pdf_error()
    data += b"\nendstream\nendobj\n"
    data = b"".join((data, *_inflate_objects(data)))
    end = data.rfind(b"obj", 0, max(0, data.rfind(b"/Catalog"))) + len(b"obj")
    head = _OBJECT_HEAD.search(data[max(0, end - _MAX_OBJECT_HEAD_BYTES) : end])
    catalog = b"" if head else _write_catalog(data)
    if not head and not catalog:
        raise make_damaged_pdf_error()
    number, generation = head.groups() if head else (_CATALOG_NUMBER, b"0")
    trailer = b"trailer<</Root %s %s R>>\nstartxref\n0\n%%%%EOF" % (number, generation)
    try:
        return PdfDocument(b"".join((data, catalog, trailer)))
    except PdfiumError as error:
        raise make_damaged_pdf_error() from error


def _inflate_objects(data: bytes) -> Iterator[bytes]:
    """Yield the objects that stand compressed in what is left of a file, each as one that stands by itself.

    PDFium finds such objects by the table at the end alone (ISO 32000-1, 7.5.7 and 7.5.8).
    """
    end, left = 0, _MAX_COMPRESSED_BYTES
    while left > 0 and (found := _OBJECT_STREAM.search(data, end)):
        end = found.end()
        head = data[max(0, end - _MAX_PAGE_BYTES) : end + _MAX_PAGE_BYTES]
        dictionary = head[head.rfind(b"obj", 0, min(end, _MAX_PAGE_BYTES)) :].split(b"stream", 1)[0]
        body, first = _STREAM_START.search(data, end, end + _MAX_PAGE_BYTES), _FIRST_OBJECT.search(dictionary)
        if body and first:
            end = max(body.end(), data.find(b"endstream", body.end()))
            inflated = _inflate(data[body.end() : end], left)
            left -= len(inflated)
            yield from _split_objects(inflated, int(first[1]))


def _inflate(data: bytes, max_bytes: int) -> bytes:
    """Return what a stream holds, as far as it can be read; b"" where it is not Flate."""
    try:
        return zlib.decompressobj().decompress(data, max_bytes)
    except zlib.error:
        return b""


def _split_objects(stream: bytes, first: int) -> Iterator[bytes]:
    """Yield the objects of a stream whose head names the number and place of each, of which the last may be cut."""
    numbers = stream[:first].split()
    places = [first + int(place) for place in numbers[1::2] if place.isdigit()]
    for number, (start, end) in zip(numbers[::2], pairwise([*places, len(stream)]), strict=False):
        if start < end and number.isdigit():
            yield b"%s 0 obj\n%s\nendobj\n" % (number, stream[start:end])


def _write_catalog(data: bytes) -> bytes:
    """Return a catalog of the pages that stand in what is left of a file, in their order; b"" where there is none."""
    pages = [
        b"%s %s R" % head.groups()
        for head in islice(_PAGE_HEAD.finditer(data), _MAX_OBJECTS)
        if _PAGE_TYPE.search(data, head.end(), _find_object_end(data, head.end()))
    ]
    if not pages:
        return b""
    del pages[MAX_PAGES:]
    tree = b"%s 0 obj<</Type/Pages/Kids[%s]/Count %d>>endobj\n" % (_TREE_NUMBER, b" ".join(pages), len(pages))
    return tree + b"%s 0 obj<</Type/Catalog/Pages %s 0 R>>endobj\n" % (_CATALOG_NUMBER, _TREE_NUMBER)


def _find_object_end(data: bytes, start: int) -> int:
    """Return where an object's dictionary can end at the latest: at its stream or end, and within 4 kB."""
    window = data[start : start + _MAX_PAGE_BYTES]
    ends = [at for at in (window.find(b"endobj"), window.find(b"stream")) if at >= 0]
    return start + min(ends, default=len(window))


def make_damaged_pdf_error() -> UnreadableDocument:
    message = "the PDF is damaged: open it in a viewer and save or print it again"
    return UnreadableDocument(message, code="document_damaged")
