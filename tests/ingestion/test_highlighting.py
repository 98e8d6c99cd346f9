"""Cited pages taken out of PDFs, with the cited lines highlighted."""

from io import BytesIO
from pathlib import Path

import pypdfium2
import pytest
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DictionaryObject, NameObject, TextStringObject

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Box
from rag_core.ingestion.highlighting import CitedPages, extract_cited_pages
from rag_core.ingestion.sandbox_view import extract_cited_pages_in_sandbox

ROOT = Path(__file__).parents[2]
MANUAL = (ROOT / "examples" / "tcm-diagnostic-manual.pdf").read_bytes()
WORDS = "P0700 means that the transmission control module has asked"


def rotated(angle: int) -> bytes:
    """The manual with each page turned, and its visible part moved from the corner."""
    writer = PdfWriter(clone_from=BytesIO(MANUAL))
    for page in writer.pages:
        page.cropbox.lower_left = (20, 30)
        page.rotate(angle)
    buffer = BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def find_box(data: bytes) -> Box:
    """The box of WORDS on page 2 of a file that is not turned, from the top left of what is seen of the page."""
    page = pypdfium2.PdfDocument(data)[1]
    text = page.get_textpage()
    found = text.search(WORDS).get_next()
    assert found
    assert text.count_rects(*found) == 1
    (x0, y0, x1, y1), (left, _, _, top) = text.get_rect(0), page.get_cropbox()
    return (x0 - left, top - y1, x1 - left, top - y0)


def read_under_highlights(data: bytes) -> str:
    """The text below the highlights of the first page, read by another library than the one that wrote them."""
    document = pypdfium2.PdfDocument(data)
    [*annotations] = PdfReader(BytesIO(data)).pages[0]["/Annots"]  # type: ignore[misc]
    rects = [note.get_object()["/Rect"] for note in annotations if note.get_object()["/Subtype"] == "/Highlight"]
    text = document[0].get_textpage()
    return " ".join(text.get_text_bounded(*(float(edge) for edge in rect)) for rect in rects)


@pytest.mark.parametrize("angle", [0, 90, 180, 270])
def test_the_highlight_lies_on_the_cited_line_however_the_page_is_turned(angle: int) -> None:
    data = rotated(angle)
    box = turn_box(find_box(rotated(0)), angle)
    pdf, count = extract_cited_pages([CitedPages("Manual", data, {2: [box]})])
    assert count == 1
    assert WORDS.split()[0] in read_under_highlights(pdf)
    assert "3.1" not in read_under_highlights(pdf)


def turn_box(box: Box, angle: int) -> Box:
    """The box on the page turned clockwise, from the box on the page as it stands; both from the top left."""
    page = PdfReader(BytesIO(rotated(0))).pages[1]
    width, height = float(page.cropbox.width), float(page.cropbox.height)
    x0, y0, x1, y1 = box
    return {
        0: box,
        90: (height - y1, x0, height - y0, x1),
        180: (width - x1, height - y1, width - x0, height - y0),
        270: (y0, width - x1, y1, width - x0),
    }[angle]


def test_pages_of_several_files_come_in_one_with_a_bookmark_each() -> None:
    box = find_box(MANUAL)
    files = [CitedPages("One", MANUAL, {3: [box], 2: [box]}), CitedPages("Two", MANUAL, {2: [box, box]})]
    pdf, count = extract_cited_pages(files)
    assert count == 3
    outline = PdfReader(BytesIO(pdf)).outline
    assert [item.title for item in outline] == ["One, page 2", "One, page 3", "Two, page 2"]  # type: ignore[union-attr]


def test_nothing_that_a_viewer_would_run_comes_along() -> None:
    writer = PdfWriter(clone_from=BytesIO(MANUAL))
    script = DictionaryObject(
        {NameObject("/S"): NameObject("/JavaScript"), NameObject("/JS"): TextStringObject("app.alert(1)")}
    )
    writer.pages[1][NameObject("/AA")] = DictionaryObject({NameObject("/O"): script})
    writer.root_object[NameObject("/OpenAction")] = script
    buffer = BytesIO()
    writer.write(buffer)
    pdf, _ = extract_cited_pages([CitedPages("Manual", buffer.getvalue(), {2: [(1, 1, 9, 9)]})])
    assert buffer.getvalue().count(b"/JavaScript") == 2
    assert b"/JavaScript" not in pdf


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7\n%%EOF", MANUAL[: len(MANUAL) // 2], b"<html>"])
def test_a_broken_file_is_unreadable_and_named(data: bytes) -> None:
    with pytest.raises(UnreadableDocument, match="Manual"):
        extract_cited_pages([CitedPages("Manual", data, {2: [(1, 1, 9, 9)]})])


async def test_it_is_done_in_the_sandbox() -> None:
    pdf = await extract_cited_pages_in_sandbox([("Manual", MANUAL, {2: [find_box(MANUAL)]})], timeout_s=30)
    assert WORDS.split()[0] in read_under_highlights(pdf)
    with pytest.raises(UnreadableDocument):
        await extract_cited_pages_in_sandbox([("Manual", MANUAL, {99: [(1, 1, 9, 9)]})], timeout_s=30)
