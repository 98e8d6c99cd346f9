"""Pictures of text, scans and PDFs of which some pages are scans, drawn here: what they say is known to the letter."""

from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import Any

from PIL import ExifTags, Image, ImageDraw, ImageFont
from pypdf import PdfReader, PdfWriter

from tests.ingestion.pdf_files import pdf, text

SIZE = (992, 1403)  # A4 at 120 pixels an inch


def draw_page(*lines: str, size: tuple[int, int] = SIZE) -> Image.Image:
    """Return a page with these lines in black on white, the first 200 pixels from the top."""
    page = Image.new("L", size, 255)
    draw = ImageDraw.Draw(page)
    for number, line in enumerate(lines):
        draw.text((120, 200 + 80 * number), line, fill=0, font=ImageFont.load_default(34))
    return page


def make_picture(*lines: str, kind: str = "PNG") -> bytes:
    return save_pages([draw_page(*lines)], kind)


def save_pages(pages: Iterable[Image.Image], kind: str) -> bytes:
    """Return pages as a file of this kind: "TIFF" and "PDF" hold several."""
    first, *others = pages
    held = BytesIO()
    more: dict[str, Any] = {"save_all": True, "append_images": others} if kind in ("TIFF", "PDF") else {}
    first.save(held, kind, **more)
    return held.getvalue()


def photograph(page: Image.Image) -> bytes:
    """Return a page as a camera saves it that was held upright: the pixels lie on their side, and a mark says so."""
    held, marks = BytesIO(), Image.Exif()
    marks[ExifTags.Base.Orientation] = 6  # turn by 90 degrees clockwise to show it
    page.rotate(90, expand=True).save(held, "JPEG", quality=95, exif=marks)
    return held.getvalue()


def make_mixed_pdf(count: int, scans: Mapping[int, str]) -> tuple[bytes, dict[bytes, str]]:
    """Return a PDF of which the pages in `scans` are pictures of their text; the last of several has a stamp.

    With it come these pictures, as pypdf takes them out of the file.
    """
    writer = PdfWriter()
    for number in range(1, count + 1):
        page = pdf(text(f"The words of page {number} are letters."))
        if number in scans:
            page = save_pages([draw_page(scans[number])], "PDF")
        writer.append(BytesIO(page))
    if len(scans) > 1:
        stamp = PdfReader(BytesIO(pdf(text("Received on 4 March", y=20)))).pages[0]
        writer.pages[max(scans) - 1].merge_page(stamp)
    held = BytesIO()
    writer.write(held)
    pages = PdfReader(BytesIO(held.getvalue())).pages
    pictures = {number: max((image.data for image in pages[number - 1].images), key=len) for number in scans}
    return held.getvalue(), {pictures[number]: said for number, said in scans.items()}
