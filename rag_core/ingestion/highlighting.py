"""Cited pages taken out of PDFs, the cited boxes highlighted. PDFs are untrusted: run this in the sandbox."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from pypdf import PageObject, PdfReader, PdfWriter
from pypdf.annotations import Highlight
from pypdf.errors import DependencyError, PyPdfError
from pypdf.generic import ArrayObject, DictionaryObject, FloatObject, NameObject, TextStringObject

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Box

HIGHLIGHT_COLOUR = "ffd54a"
PARSER_ERRORS = (  # what a damaged file makes of a parser in Python; any other ends the child, which is told as well
    PyPdfError,
    DependencyError,
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    zlib.error,
)
ACTIONS = ("/A", "/AA")  # of a page or an annotation: scripts, and addresses that a viewer opens


@dataclass(frozen=True, slots=True)
class CitedPages:
    """A PDF with its title, and the boxes that are cited on each of its pages, which count from 1.

    Boxes are in points from the top left of the page as it is shown.
    """

    title: str
    data: bytes
    boxes: Mapping[int, Sequence[Box]]


def extract_cited_pages(files: Sequence[CitedPages]) -> tuple[bytes, int]:
    """Return one PDF with the cited pages of all files, marked and with a bookmark for each, and their number.

    Raises:
        UnreadableDocument: a file cannot be read, or lacks a cited page.
    """
    writer = PdfWriter()
    for file in files:
        try:
            _add_cited_pages(writer, file)
        except PARSER_ERRORS as error:
            message = f"the pages of “{file.title}” cannot be taken out: open the document instead"
            raise UnreadableDocument(message, code="document_damaged") from error
    buffer = BytesIO()
    writer.write(buffer)
    return buffer.getvalue(), len(writer.pages)


def _add_cited_pages(writer: PdfWriter, file: CitedPages) -> None:
    reader = PdfReader(BytesIO(file.data))
    if reader.is_encrypted:
        reader.decrypt("")
    for number, boxes in sorted(file.boxes.items()):
        page = writer.add_page(reader.pages[number - 1])
        _remove_actions(page)
        for box in boxes:
            writer.add_annotation(page, _make_highlight(page, box))
        writer.add_outline_item(title=f"{file.title}, page {number}", page_number=len(writer.pages) - 1)


def _remove_actions(page: PageObject) -> None:
    """Remove what a viewer would run or open by itself; what is seen stays."""
    annotations: Any = page.get("/Annots")
    for part in (page, *(entry.get_object() for entry in (annotations.get_object() if annotations else ()))):
        if isinstance(part, DictionaryObject):
            for name in ACTIONS:
                part.pop(name, None)


def _make_highlight(page: PageObject, box: Box) -> Highlight:
    x0, y0, x1, y1 = box
    corners = [_to_page_point(page, x, y) for x, y in ((x0, y0), (x1, y0), (x0, y1), (x1, y1))]
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    quad = ArrayObject(FloatObject(coordinate) for corner in corners for coordinate in corner)
    highlight = Highlight(
        rect=(min(xs), min(ys), max(xs), max(ys)), quad_points=quad, highlight_color=HIGHLIGHT_COLOUR, printing=True
    )
    highlight[NameObject("/T")] = TextStringObject("azure-rag")
    return highlight


def _to_page_point(page: PageObject, x: float, y: float) -> tuple[float, float]:
    """Return a point of the page as it is shown, from its top left, in the page's own coordinates."""
    crop = page.cropbox
    left, bottom, right, top = (float(edge) for edge in (crop.left, crop.bottom, crop.right, crop.top))
    match page.rotation % 360:
        case 90:
            return left + y, bottom + x
        case 180:
            return right - x, bottom + y
        case 270:
            return right - y, top - x
        case _:
            return left + x, top - y
