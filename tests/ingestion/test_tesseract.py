"""tesseract reads scans and pictures on this machine; each line has its box, and the text is said to be recognised."""

import pytest

from rag_core.core.errors import Unavailable, UnreadableDocument
from rag_core.core.model import Box
from rag_core.core.run import Run
from rag_core.ingestion.extract import tesseract
from rag_core.ingestion.extract.tesseract import Tesseract, find_tesseract
from rag_core.ingestion.file_extraction import extract_file
from rag_core.ingestion.page_images import render_frame
from tests.ingestion.pictures import SIZE, draw_page, make_mixed_pdf, photograph, save_pages

PROGRAM = find_tesseract()
needs_tesseract = pytest.mark.skipif(PROGRAM is None, reason="needs tesseract: apt install tesseract-ocr")
TORQUE, HOURS = draw_page("Drain plug torque 30 Nm", "Filter cap torque 25 Nm"), draw_page("The depot opens at six.")


def reader(page_timeout_s: float = 30) -> Tesseract:
    return Tesseract(PROGRAM or "", "eng", page_timeout_s)


def is_about(box: Box, other: Box, error: float = 12) -> bool:
    return all(abs(edge - known) <= error for edge, known in zip(box, other, strict=True))


@needs_tesseract
async def test_a_picture_of_two_pages_is_read_with_the_box_of_each_line() -> None:
    """The boxes are in pixels of the picture, which the page viewer draws; a turned page is read as well."""
    seen = await extract_file(
        save_pages([HOURS, TORQUE.rotate(90, expand=True)], "TIFF"), "a.tif", reader(), Run(), timeout_s=30
    )
    lines = [(block.page, line) for block in seen.blocks for line in block.text.split("\n")]
    assert lines == [(1, "The depot opens at six."), (2, "Drain plug torque 30 Nm"), (2, "Filter cap torque 25 Nm")]
    boxes = [box for block in seen.blocks for box in block.boxes]
    assert is_about(boxes[0], (124, 208, 465, 240)), boxes
    assert is_about(boxes[1], (208, 497, 240, 870)), boxes
    assert (seen.pages, seen.extractor) == (2, "image (tesseract)")
    assert seen.notes[0].startswith("the text was recognised in a picture by tesseract, its words with 9")


@needs_tesseract
async def test_a_photograph_that_lies_on_its_side_is_read_where_it_is_drawn() -> None:
    data = photograph(HOURS)
    seen = await extract_file(data, "a.jpg", reader(), Run(), timeout_s=30)
    [block] = seen.blocks
    assert block.text == "The depot opens at six."
    assert is_about(block.boxes[0], (124, 208, 465, 240)), block.boxes
    drawn = render_frame(data, 1)
    assert (drawn.width, drawn.height) == SIZE


@needs_tesseract
async def test_the_scanned_page_of_a_mixed_pdf_is_read_in_points_of_the_page() -> None:
    data, _ = make_mixed_pdf(2, {2: "Drain plug torque 30 Nm"})
    seen = await extract_file(data, "a.pdf", reader(), Run(), timeout_s=30)
    [block] = [block for block in seen.blocks if block.page == 2 and "torque" in block.text]
    assert "Drain plug torque 30 Nm" in block.text
    assert seen.extractor == "pdf (pdfium), page 2 by tesseract"
    assert any("recognised in a picture" in note for note in seen.notes)


@needs_tesseract
async def test_a_page_over_its_limit_is_named_and_the_others_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter([save_pages([HOURS], "PNG"), b"no picture that tesseract reads"])
    rendering = tesseract.render_for_recognition

    async def rendered(data: bytes, kind: str, page: int, *, timeout_s: float) -> tesseract.PageImage:
        found = await rendering(data, kind, page, timeout_s=timeout_s)
        return tesseract.PageImage(found.page, found.pages, found.width, found.height, next(drawn))

    monkeypatch.setattr(tesseract, "render_for_recognition", rendered)
    seen = await reader().read(save_pages([HOURS, TORQUE], "TIFF"), "image")
    assert [block.page for block in seen.blocks] == [1]
    assert seen.notes[-1].startswith("page 2 of 2 were not recognised: the parser crashed")


@needs_tesseract
async def test_marks_that_may_be_words_are_never_left_out_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of handwriting is not the same as a logo."""
    monkeypatch.setattr(tesseract, "MIN_WORD_CONFIDENCE", 99.9)
    with pytest.raises(UnreadableDocument, match="5 marks for words with less than 100 % confidence") as refused:
        await extract_file(save_pages([HOURS], "PNG"), "a.png", reader(), Run(), timeout_s=30)
    assert refused.value.code == "no_text_found"


@needs_tesseract
async def test_a_page_that_failed_beside_one_without_text_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter([save_pages([draw_page(size=(200, 200))], "PNG"), b"no picture that tesseract reads"])
    rendering = tesseract.render_for_recognition

    async def rendered(data: bytes, kind: str, page: int, *, timeout_s: float) -> tesseract.PageImage:
        found = await rendering(data, kind, page, timeout_s=timeout_s)
        return tesseract.PageImage(found.page, found.pages, found.width, found.height, next(drawn))

    monkeypatch.setattr(tesseract, "render_for_recognition", rendered)
    with pytest.raises(Unavailable, match="did not read page 2: the parser crashed"):
        await reader().read(save_pages([HOURS, HOURS], "TIFF"), "image")


@needs_tesseract
async def test_a_picture_without_a_word_is_refused_as_having_none() -> None:
    """Never an empty document, and no failure: it was looked at."""
    with pytest.raises(UnreadableDocument) as refused:
        await extract_file(save_pages([draw_page()], "PNG"), "a.png", reader(), Run(), timeout_s=30)
    assert (refused.value.code, refused.value.message) == ("no_text_found", "there is no text in it")


def test_a_page_of_a_picture_is_drawn_with_its_boxes() -> None:
    plain, marked = (render_frame(save_pages([HOURS], "PNG"), 1, boxes=boxes) for boxes in ((), [(124, 208, 480, 240)]))
    assert (plain.width, plain.height, plain.pages) == (*SIZE, 1)
    assert plain.png != marked.png
