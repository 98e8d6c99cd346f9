"""A page is drawn as a viewer shows it, with what is cited marked on it."""

from io import BytesIO

import pytest
from PIL import Image, ImageChops

from rag_core.core.errors import NotFound, UnreadableDocument
from rag_core.core.model import PageImage
from rag_core.ingestion.extract import extract_in_process
from rag_core.ingestion.page_images import render_page
from tests.ingestion.pdf_files import lines, pdf

TWO = pdf(lines("Not cited"), lines("Not cited", "Cited", "Not cited"))


def drawn(picture: PageImage) -> Image.Image:
    return Image.open(BytesIO(picture.png))


def marker(image: Image.Image) -> Image.Image:
    """White where a marker's colour is."""
    red, _, blue = image.split()
    return ImageChops.subtract(red, blue).point(lambda more: 255 * (more > 100))


def test_the_cited_line_is_marked_and_no_other() -> None:
    """C38: the box of a line, on the page that it was found on."""
    line = extract_in_process(TWO, "two.pdf").blocks[1]
    assert line.text.split("\n")[1] == "Cited"
    (x0, y0, x1, y1), found = (
        line.boxes[1],
        marker(drawn(render_page(TWO, 2, boxes=[line.boxes[1]], scale=1))).getbbox(),
    )
    assert found == pytest.approx((x0 - 1.5, y0 - 1.5, x1 + 1.5, y1 + 1.5), abs=1.5)


def test_a_page_without_marks_is_the_page() -> None:
    image = drawn(render_page(TWO, 1, scale=2))
    assert image.size == (1190, 1684)
    assert marker(image).getbbox() is None


def test_a_turned_page_is_marked_where_it_shows_the_words() -> None:
    turned = pdf(lines("Cited"), page=b"/Rotate 90")
    (block,) = extract_in_process(turned, "turned.pdf").blocks
    plain, pen = (drawn(render_page(turned, 1, boxes=boxes, scale=1)) for boxes in ((), block.boxes))
    x0, y0, x1, y1 = block.boxes[0]
    ink = plain.convert("L").point(lambda shade: 255 * (shade < 128)).getbbox()
    assert ink is not None
    assert (x0 - 1 <= ink[0], y0 - 1 <= ink[1], ink[2] <= x1 + 1, ink[3] <= y1 + 1) == (True,) * 4
    assert marker(pen).getbbox()


def test_a_page_of_the_size_of_a_house_is_drawn_small() -> None:
    """C22: a picture has its limit."""
    huge = pdf(lines("Plan")).replace(b"[0 0 595 842]", b"[0 0 14400 14400]")
    assert drawn(render_page(huge, 1, scale=4)).size == (4000, 4000)


@pytest.mark.parametrize("page", [0, 3])
def test_a_page_that_is_not_there_is_not_found(page: int) -> None:
    with pytest.raises(NotFound):
        render_page(TWO, page)


def test_what_is_no_pdf_cannot_be_drawn() -> None:
    with pytest.raises(UnreadableDocument):
        render_page(b"%PDF-1.7 and nothing else", 1)
