"""What Document Intelligence sees becomes blocks that know their page, lines and box."""

import threading
from hashlib import sha256
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from PIL import ExifTags, Image, ImageChops

from local_emulator.document_service import DocumentService
from local_emulator.search_service.serving import serve_wsgi
from rag_core.core.errors import UnreadableDocument, UnsupportedDocument
from rag_core.core.kit import NoLayoutReader
from rag_core.core.model import Block, Extraction
from rag_core.core.run import Run
from rag_core.ingestion.extract import document_intelligence, extract_in_process
from rag_core.ingestion.extract.document_intelligence import DocumentIntelligence, extraction_from_layout
from rag_core.ingestion.extract.image import load_frame, straighten_picture
from rag_core.ingestion.file_extraction import extract_file
from rag_core.run_reply import format_run
from tests.ingestion.office_files import make_zip
from tests.ingestion.pictures import draw_page, make_mixed_pdf, make_picture, photograph, save_pages

ROOT = Path(__file__).parents[2]
WORD = (ROOT / "examples" / "service-bulletin.docx").read_bytes()
SCAN = (ROOT / "tests" / "data" / "malformed" / "image_only.pdf").read_bytes()
PICTURE = make_picture("Torque of the drain plug")
SEEN = {
    sha256(PICTURE).hexdigest(): [["Torque of the drain plug", "30 Nm"]],
    sha256(SCAN).hexdigest(): [["First page"], ["Second page", "of the scan"]],
}


def span(offset: int, length: int) -> list[dict[str, int]]:
    return [{"offset": offset, "length": length}]


def region(page: int, *polygon: float) -> list[dict[str, Any]]:
    return [{"pageNumber": page, "polygon": polygon}]


# as the service answers, in small: a header, a page number, a heading, a paragraph of two lines, a table
RESULT: dict[str, Any] = {
    "pages": [
        {
            "pageNumber": 1,
            "width": 8.5,
            "height": 11,
            "unit": "inch",
            "lines": [
                {"content": "Manual", "spans": span(0, 6)},
                {"content": "7", "spans": span(7, 1)},
                {"content": "Harsh shifts", "spans": span(9, 12)},
                {"content": "first line", "spans": span(22, 10), "polygon": [1, 2, 7, 2, 7, 2.25, 1, 2.25]},
                {"content": "second line", "spans": span(33, 11), "polygon": [1, 2.25, 6, 2.25, 6, 2.5, 1, 2.5]},
            ],
        },
        {"pageNumber": 2, "width": 8.5, "height": 11, "unit": "inch", "lines": []},
    ],
    "paragraphs": [
        {"content": "Manual", "role": "pageHeader", "spans": span(0, 6), "boundingRegions": region(1, *[0] * 8)},
        {"content": "7", "role": "pageNumber", "spans": span(7, 1), "boundingRegions": region(1, *[0] * 8)},
        {
            "content": "Harsh shifts",
            "role": "sectionHeading",
            "spans": span(9, 12),
            "boundingRegions": region(1, 1, 1, 3, 1, 3, 1.5, 1, 1.5),
        },
        {
            "content": "first line second line",
            "spans": span(22, 22),
            "boundingRegions": region(1, 1, 2, 7.5, 2.05, 7.5, 2.5, 1, 2.45),
        },
        {"content": "Code", "spans": span(45, 4), "boundingRegions": region(2, 1, 1, 2, 1, 2, 2, 1, 2)},
    ],
    "tables": [
        {
            "rowCount": 2,
            "columnCount": 2,
            "cells": [
                {"rowIndex": 0, "columnIndex": 0, "kind": "columnHeader", "content": "Code"},
                {"rowIndex": 0, "columnIndex": 1, "kind": "columnHeader", "content": "Meaning"},
                {"rowIndex": 1, "columnIndex": 0, "content": "P0700"},
                {"rowIndex": 1, "columnIndex": 1, "content": "a\nfault"},
            ],
            "spans": span(45, 30),
            "boundingRegions": region(2, 1, 1, 4, 1, 4, 2, 1, 2),
        }
    ],
}


def test_paragraphs_and_tables_keep_their_place() -> None:
    """S1-21: page, lines and box in points; headings above; tables whole, and not once more as paragraphs."""
    seen = extraction_from_layout(RESULT, "scan")
    assert seen.pages == 2
    assert seen.extractor == "scan (Document Intelligence prebuilt-layout)"
    heading, paragraph, table = seen.blocks
    assert (heading.kind, heading.text, heading.page, heading.bbox) == (
        "heading",
        "Harsh shifts",
        1,
        (72, 72, 216, 108),
    )
    assert (paragraph.kind, paragraph.text) == ("paragraph", "first line\nsecond line")
    assert (paragraph.line_start, paragraph.line_end) == (2, 3)
    assert paragraph.bbox == (72, 144, 540, 180)
    assert paragraph.boxes == ((72, 144, 504, 162), (72, 162, 432, 180))
    assert paragraph.headings == ("Harsh shifts",)
    assert (table.kind, table.text, table.page) == ("table", "Code | Meaning\nP0700 | a fault", 2)
    assert (table.line_start, table.line_end) == (4, 5)


def test_without_the_polygon_of_every_line_there_is_none_a_line() -> None:
    """S3-06: never a box that the service did not give, nor one of another page."""
    first, *others = RESULT["pages"]
    lines = [
        {k: v for k, v in line.items() if k != "polygon"} if n == 4 else line for n, line in enumerate(first["lines"])
    ]
    on_other = RESULT | {"pages": [first | {"lines": first["lines"][:4]}, others[0] | {"lines": first["lines"][4:]}]}
    for result in (RESULT | {"pages": [first | {"lines": lines}, *others]}, on_other):
        paragraph = extraction_from_layout(result, "scan").blocks[1]
        assert (paragraph.text, paragraph.boxes) == ("first line\nsecond line", ())


def test_page_headers_footers_and_numbers_are_left_out() -> None:
    assert not {"Manual", "7"} & {block.text for block in extraction_from_layout(RESULT, "scan").blocks}


def test_a_word_file_gets_no_page_and_no_box() -> None:
    """C39: the service counts 3,000 characters of a Word file for a page, which no reader would find again."""
    pages = [{"pageNumber": 1, "lines": []}, {"pageNumber": 2, "lines": []}]
    plain = [{k: v for k, v in p.items() if k != "boundingRegions"} for p in RESULT["paragraphs"]]
    seen = extraction_from_layout({"pages": pages, "paragraphs": plain}, "docx")
    assert seen.pages is None
    assert {(block.page, block.bbox) for block in seen.blocks} == {(None, None)}


def test_a_picture_is_measured_in_its_own_dots() -> None:
    page = RESULT["pages"][0] | {"unit": "pixel", "width": 850, "height": 1100}
    result = RESULT | {"pages": [page], "tables": [], "paragraphs": RESULT["paragraphs"][2:4]}
    assert extraction_from_layout(result, "image").blocks[0].bbox == (1, 1, 3, 1.5)


async def asked(data: bytes, filename: str, *, keys: frozenset[str] = frozenset({"key"})) -> tuple[Extraction, Run]:
    run = Run()
    with serve_wsgi(DocumentService(keys=set(keys), picture_lines=SEEN)) as url:
        layout = DocumentIntelligence(url, "key")
        try:
            return await extract_file(data, filename, layout, run, timeout_s=30), run
        finally:
            await layout.close()


async def test_a_word_file_is_read_by_the_service_when_there_is_one() -> None:
    """S1-21, C39: and the document says which of the two produced it."""
    seen, run = await asked(WORD, "bulletin.docx")
    local = extract_in_process(WORD, "bulletin.docx")
    assert (seen.extractor, local.extractor) == ("docx (Document Intelligence prebuilt-layout)", "docx (local)")
    assert [(b.kind, b.text, b.line_start) for b in seen.blocks] == [
        (b.kind, b.text, b.line_start) for b in local.blocks
    ]
    assert run.degraded == []


async def test_a_scan_is_read_page_by_page() -> None:
    """S1-21: what the local parser refuses as `no_text_layer` goes to the service."""
    seen, _ = await asked(SCAN, "scan.pdf")
    assert [(block.text, block.page) for block in seen.blocks] == [
        ("First page", 1),
        ("Second page", 2),
        ("of the scan", 2),
    ]
    assert all(block.bbox for block in seen.blocks)


async def test_a_picture_is_read() -> None:
    """S1-21."""
    seen, _ = await asked(PICTURE, "plate.png")
    assert [block.text for block in seen.blocks] == ["Torque of the drain plug", "30 Nm"]


@pytest.mark.parametrize("kind", ["JPEG", "TIFF"])
async def test_a_picture_that_is_marked_as_turned_is_sent_upright_and_without_the_mark(kind: str) -> None:
    """The service may heed the mark or not: the places that it names are those of the page that is drawn."""
    pages = [draw_page(f"Page {number}", size=(300, 100)) for number in (1, 2)]
    data = photograph(pages[0])
    if kind == "TIFF":
        held, marks = BytesIO(), Image.Exif()
        marks[ExifTags.Base.Orientation] = 3
        turned = [page.rotate(180) for page in pages]
        turned[0].save(held, "TIFF", save_all=True, append_images=turned[1:], exif=marks)
        data = held.getvalue()
    upright = straighten_picture(data)
    assert upright is not None
    shown = [load_frame(upright, number)[0] for number in range(1, 2 + (kind == "TIFF"))]
    assert [picture.size for picture in shown] == [(300, 100)] * len(shown)
    differences = [ImageChops.difference(a, b).convert("L").getextrema()[1] for a, b in zip(shown, pages, strict=False)]
    assert max(differences) < 60
    assert straighten_picture(upright) is None
    SEEN[sha256(upright).hexdigest()] = [["The depot"]]
    seen, _ = await asked(data, f"photo.{kind.lower()}")
    assert [block.text for block in seen.blocks] == ["The depot"]


@pytest.mark.parametrize(("data", "filename"), [(PICTURE, "plate.pdf"), (b"no picture", "plate.png")])
async def test_a_picture_has_to_be_one_by_its_bytes_and_by_its_name(data: bytes, filename: str) -> None:
    with pytest.raises((UnsupportedDocument, UnreadableDocument)):
        await asked(data, filename)


async def test_without_the_service_scans_and_pictures_are_refused_as_before() -> None:
    """C39: with both ways to have them read, and never as an empty document."""
    for data, name in ((PICTURE, "plate.png"), (SCAN, "scan.pdf")):
        with pytest.raises(UnreadableDocument) as refused:
            await extract_file(data, name, NoLayoutReader(), Run(), timeout_s=30)
        assert refused.value.code == "no_text_layer"
        assert "AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT" in refused.value.message
        assert "apt install tesseract-ocr" in refused.value.message


async def test_of_a_mixed_pdf_only_the_scanned_pages_are_sent_and_paid_for() -> None:
    """Ten pages, of which the third and the seventh are pictures, the seventh with a stamp: two are sent."""
    data, images = make_mixed_pdf(10, {3: "Torque of the drain plug", 7: "Torque of the filter cap"})
    lines = {sha256(image).hexdigest(): [[text, "in Nm"]] for image, text in images.items()}
    service, run = DocumentService(keys={"key"}, picture_lines=lines), Run()
    with serve_wsgi(service) as url:
        layout = DocumentIntelligence(url, "key")
        seen = await extract_file(data, "mixed.pdf", layout, run, timeout_s=30)
        await layout.close()
    assert service.analysed_pages == run.layout_pages == 2
    assert run.cost_usd == pytest.approx(0.02)
    assert [warning.message for warning in run.warnings] == [
        "2 pages were sent to Document Intelligence, which costs about 0.02 USD"
    ]
    texts = [(block.page, block.text) for block in seen.blocks]
    assert [page for page, _ in texts] == sorted(page for page, _ in texts)
    assert {page for page, _ in texts} == set(range(1, 11))
    assert (3, "Torque of the drain plug") in texts
    assert [text for page, text in texts if page == 7] == ["Torque of the filter cap", "in Nm"]
    assert (4, "The words of page 4 are letters.") in texts
    assert all(before.line_end + 1 == after.line_start for before, after in pairwise(seen.blocks))
    assert seen.extractor == "pdf (pdfium), pages 3, 7 by Document Intelligence prebuilt-layout"
    assert format_run(run)["usage"]["layout_pages"] == 2


async def test_of_a_mixed_pdf_the_pages_that_cannot_be_recognised_are_named() -> None:
    """The other pages are read, and the run or a note says which are not."""
    data, _ = make_mixed_pdf(3, {2: "Torque of the drain plug"})
    seen, run = await asked(data, "mixed.pdf", keys=frozenset())
    assert {block.page for block in seen.blocks} == {1, 3}
    assert [(d.code, d.fallback) for d in run.degraded] == [
        ("layout_unavailable", "page 2 of 3 left out: they hold pictures only")
    ]
    alone = await extract_file(data, "mixed.pdf", NoLayoutReader(), Run(), timeout_s=30)
    assert alone.notes[-1].startswith("page 2 of 3 hold pictures whose text was not read: to have it recognised, set")


class FirstPageReader:
    """Reads the first page of what it is sent and no other, as a free tier reads two."""

    name, kinds, usd_per_page = "a free tier", frozenset({"scan"}), 0.0

    async def read(self, data: bytes, kind: str) -> Extraction:
        return Extraction((Block("Torque of the drain plug", "paragraph", 1, 1, 1),), 1, kind)

    async def close(self) -> None: ...


async def test_pages_that_the_service_has_left_out_without_a_word_are_named() -> None:
    """What stands in letters on such a page is not lost with it."""
    data, _ = make_mixed_pdf(10, {3: "Torque of the drain plug", 7: "Torque of the filter cap"})
    scanned = save_pages([draw_page("Page 1"), draw_page("Page 2")], "PDF")
    local, seen, scan = [
        await extract_file(one, "a.pdf", reader, Run(), timeout_s=30)
        for one, reader in ((data, NoLayoutReader()), (data, FirstPageReader()), (scanned, FirstPageReader()))
    ]
    assert (3, "Torque of the drain plug") in [(block.page, block.text) for block in seen.blocks]
    stamps = [[block.text for block in read.blocks if block.page == 7] for read in (local, seen)]
    assert stamps[0] == stamps[1] != []
    assert "page 7 of 10 was not read: a free tier gave nothing of it" in seen.notes
    assert seen.extractor == "pdf (pdfium), page 3 by a free tier"
    assert "page 2 of 2 was not read: a free tier gave nothing of it" in scan.notes


async def test_an_office_file_that_our_reader_finds_damaged_is_sent() -> None:
    """And the place is the slide that the service counts; without the service the refusal stands."""
    damaged = make_zip({"ppt/presentation.xml": b"<damaged"})
    given = {sha256(damaged).hexdigest(): [["The depot grew."], ["It opens at six."]]}
    run = Run()
    with serve_wsgi(DocumentService(keys={"key"}, picture_lines=given)) as url:
        layout = DocumentIntelligence(url, "key")
        seen = await extract_file(damaged, "a.pptx", layout, run, timeout_s=30)
        await layout.close()
    assert [block.text for block in seen.blocks] == ["The depot grew.", "It opens at six."]
    assert [d.code for d in run.degraded] == ["document_damaged"]
    with pytest.raises(UnreadableDocument, match="damaged"):
        await extract_file(damaged, "a.pptx", NoLayoutReader(), Run(), timeout_s=30)


def test_a_part_of_a_presentation_is_placed_by_the_offsets_of_its_slides() -> None:
    pages = [{"pageNumber": n + 1, "spans": span(at, 40)} for n, at in enumerate((0, 40))]
    plain = [{k: v for k, v in p.items() if k != "boundingRegions"} for p in RESULT["paragraphs"][2:]]
    seen = extraction_from_layout({"pages": pages, "paragraphs": plain}, "pptx")
    assert [(block.page, block.locator) for block in seen.blocks] == [(1, "slide 1"), (1, "slide 1"), (2, "slide 2")]


async def test_a_pdf_with_text_is_not_sent() -> None:
    manual = (ROOT / "examples" / "tcm-diagnostic-manual.pdf").read_bytes()
    seen, _ = await asked(manual, "manual.pdf", keys=frozenset())
    assert seen.extractor == "pdf (pdfium)"


async def test_a_long_result_is_read_beside_the_requests_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """C22: reading thousands of lines holds the event loop up for nobody."""
    seen: list[int] = []

    def noted(result: Any, kind: str) -> Extraction:
        seen.append(threading.get_ident())
        return extraction_from_layout(result, kind)

    monkeypatch.setattr(document_intelligence, "extraction_from_layout", noted)
    with serve_wsgi(DocumentService(keys={"key"}, picture_lines=SEEN)) as url:
        layout = DocumentIntelligence(url, "key")
        assert (await layout.read(PICTURE, "image")).blocks
        await layout.close()
    assert seen != [threading.get_ident()]
