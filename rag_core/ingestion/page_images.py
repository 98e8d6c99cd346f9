"""Rendering of pages of PDFs and pictures with the cited boxes marked. They are untrusted: run this in the sandbox."""

from collections.abc import Sequence
from io import BytesIO

from PIL import Image, ImageChops, ImageDraw
from pypdfium2 import PdfiumError

from rag_core.core.errors import NotFound, UnreadableDocument
from rag_core.core.model import Box, PageImage
from rag_core.ingestion.extract.image import load_frame
from rag_core.ingestion.extract.pdf.opening import open_pdf

_MAX_PICTURE_PIXELS = 16_000_000  # whatever the page's size
_MARKER_COLOUR, _MARKER_EDGE_COLOUR = (
    "#ffec80",
    "#d67800",
)  # multiplied with the page, so that text stays as dark as it was
_MARKER_MARGIN_PT = 1.5  # between the ink and the box drawn around it


def render_page(data: bytes, page: int, *, boxes: Sequence[Box] = (), scale: float = 1.5) -> PageImage:
    """Render a page of a PDF, counted from 1, with boxes marked on it.

    `scale` is in pixels a point; it is reduced for a page that would have too many pixels.

    Raises:
        NotFound: the PDF has no such page (page_not_found).
        UnreadableDocument: the PDF or the page cannot be rendered.
    """
    document, _ = open_pdf(data)
    try:
        pages = len(document)
        if not 1 <= page <= pages:
            raise NotFound(f"the document has {pages} pages, counted from 1", code="page_not_found", field="page")
        sheet = document[page - 1]
        width, height = sheet.get_size()
        scale = min(scale, (_MAX_PICTURE_PIXELS / max(1.0, width * height)) ** 0.5)
        image = sheet.render(scale=scale, rev_byteorder=True).to_pil().convert("RGB")
    except PdfiumError as error:
        raise UnreadableDocument("the page cannot be drawn", code="document_damaged") from error
    return PageImage(page, pages, width, height, _encode_png(_mark(image, boxes, scale)))


def render_frame(data: bytes, page: int, *, boxes: Sequence[Box] = ()) -> PageImage:
    """Render a page of a picture, counted from 1, with boxes marked on it; a pixel of the picture is a point.

    Raises:
        NotFound: the picture has no such page (page_not_found).
        UnreadableDocument: the picture cannot be drawn.
    """
    image, pages = load_frame(data, page)
    width, height = image.size
    scale = min(1.0, (_MAX_PICTURE_PIXELS / (width * height)) ** 0.5)
    if scale < 1:
        image = image.resize((max(1, round(scale * width)), max(1, round(scale * height))))
    return PageImage(page, pages, width, height, _encode_png(_mark(image, boxes, scale)))


def _mark(image: Image.Image, boxes: Sequence[Box], scale: float) -> Image.Image:
    if not boxes:
        return image
    return ImageChops.multiply(image.convert("RGB"), _draw_markers(image.size, boxes, scale))


def _draw_markers(size: tuple[int, int], boxes: Sequence[Box], scale: float) -> Image.Image:
    sheet = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(sheet)
    for x0, y0, x1, y1 in boxes:
        corners = (x0 - _MARKER_MARGIN_PT, y0 - _MARKER_MARGIN_PT, x1 + _MARKER_MARGIN_PT, y1 + _MARKER_MARGIN_PT)
        draw.rounded_rectangle(
            [scale * corner for corner in corners], radius=2 * scale, fill=_MARKER_COLOUR, outline=_MARKER_EDGE_COLOUR
        )
    return sheet


def _encode_png(image: Image.Image) -> bytes:
    buffer = BytesIO()
    image.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
