"""Pictures and scans in mails and zips are read as those in a folder are: with their place, price and failures."""

from hashlib import sha256
from itertools import pairwise

import pytest

from local_emulator.document_service import DocumentService
from local_emulator.search_service.serving import serve_wsgi
from rag_core.core.errors import UnreadableDocument
from rag_core.core.kit import NoLayoutReader
from rag_core.core.model import Extraction
from rag_core.core.run import Run
from rag_core.ingestion.extract import extract_in_process, members
from rag_core.ingestion.extract.document_intelligence import DocumentIntelligence
from rag_core.ingestion.extract.tesseract import Tesseract, find_tesseract
from rag_core.ingestion.file_extraction import extract_file
from tests.ingestion.office_files import make_eml, make_zip
from tests.ingestion.pictures import draw_page, make_mixed_pdf, make_picture, save_pages

PLATE = make_picture("Torque of the drain plug")
LOGO = make_picture()
PIXEL = save_pages([draw_page(size=(1, 1))], "PNG")
MIXED, SCANNED = make_mixed_pdf(2, {2: "The filter cap"})
LINES = {
    sha256(PLATE).hexdigest(): [["Torque of the drain plug", "30 Nm"]],
    sha256(LOGO).hexdigest(): [[]],
    **{sha256(image).hexdigest(): [["The filter cap"]] for image in SCANNED},
}
MAIL = make_eml({"plate.png": PLATE, "logo.png": LOGO, "pixel.png": PIXEL, "scan.pdf": MIXED})


async def read(data: bytes, name: str, key: str = "key", budget_usd: float = 5.0) -> tuple[Extraction, Run, int]:
    """Return what is read over the service, its run, and how many pages were paid for."""
    service, run = DocumentService(keys={"key"}, picture_lines=LINES), Run()
    with serve_wsgi(service) as url:
        layout = DocumentIntelligence(url, key)
        try:
            return (
                await extract_file(data, name, layout, run, timeout_s=30, budget_usd=budget_usd),
                run,
                service.analysed_pages,
            )
        finally:
            await layout.close()


def placed(extraction: Extraction) -> list[tuple[str, str, int | None]]:
    return [(block.locator, block.text, block.page) for block in extraction.blocks]


async def test_the_pictures_of_a_mail_are_read_in_their_place_and_their_price_is_one_sum() -> None:
    """The logo is paid for as well, since only looking at it tells; what counts openings is not."""
    seen, run, paid = await read(MAIL, "a.eml")
    assert placed(seen)[4:] == [
        ("plate.png, p. 1, line 1", "Torque of the drain plug", 2),
        ("plate.png, p. 1, line 2", "30 Nm", 2),
        ("scan.pdf, p. 1, line 1", "The words of page 1 are letters.", 4),
        ("scan.pdf, p. 2, line 2", "The filter cap", 5),
    ]
    assert all(before.line_end + 1 == after.line_start for before, after in pairwise(seen.blocks))
    assert seen.blocks[4].headings == ("plate.png",)
    assert seen.picture_members == ()
    assert seen.notes[-1] == "files that were left out: logo.png (there is no text in it)"
    assert any("pixel.png (there is no text in it; it has 1 pixels" in note for note in seen.notes)
    assert (paid, run.layout_pages, run.degraded) == (3, 3, [])
    assert [warning.message for warning in run.warnings] == [
        "3 pages of pictures in the file were sent to the layout service, which costs about 0.03 USD"
    ]


async def test_a_picture_that_is_there_twice_is_paid_for_once() -> None:
    """Also deeper: in a mail in a zip."""
    mail = make_eml({"plate.png": PLATE})
    seen, _, paid = await read(make_zip({"photos/p.png": PLATE, "note.txt": b"Hi.", "m.eml": mail}), "a.zip")
    places = [place for place, text, _ in placed(seen) if text == "30 Nm"]
    assert (places, paid) == (["photos/p.png, p. 1, line 2", "m.eml, plate.png, p. 1, line 2"], 1)
    assert seen.blocks[-1].headings == ("m.eml", "plate.png")


async def test_without_a_reader_they_are_named_with_what_would_read_them() -> None:
    seen = await extract_file(MAIL, "a.eml", NoLayoutReader(), Run(), timeout_s=30)
    assert [block.text for block in seen.blocks][4:] == ["The words of page 1 are letters."]
    assert any("scan.pdf: page 2 of 2 hold pictures" in note for note in seen.notes)
    assert "plate.png (the file holds pictures and no text: to have it recognised, set AZURE_DOC" in seen.notes[-1]
    with pytest.raises(UnreadableDocument, match=r"no file that can be read; p\.png: .*apt install tesseract-ocr"):
        await extract_file(make_zip({"p.png": PLATE}), "a.zip", NoLayoutReader(), Run(), timeout_s=30)


async def test_a_service_that_does_not_answer_is_a_failure_and_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    reading = DocumentIntelligence.read

    async def noted(self: DocumentIntelligence, data: bytes, kind: str) -> Extraction:
        asked.append(kind)
        return await reading(self, data, kind)

    monkeypatch.setattr(DocumentIntelligence, "read", noted)
    seen, run, _ = await read(make_eml({"plate.png": PLATE, "logo.png": LOGO}), "a.eml", key="wrong")
    assert (len(seen.blocks), asked) == (4, ["image"])
    assert [(d.code, d.fallback) for d in run.degraded] == [
        ("layout_unavailable", "plate.png was left out"),
        ("layout_unavailable", "logo.png was left out"),
    ]
    with pytest.raises(UnreadableDocument) as refused:
        await read(make_zip({"p.png": PLATE}), "a.zip", key="wrong")
    assert refused.value.code == "layout_unavailable"


async def test_a_mail_of_pictures_costs_no_more_than_an_upload_may() -> None:
    """Each picture was a call of its own, and nothing added them up: the price of a zip had no ceiling."""
    _, run, paid = await read(MAIL, "a.eml", budget_usd=0.02)
    assert (paid, run.layout_pages, round(run.cost_usd or 0, 2)) == (2, 2, 0.02)
    assert [d.code for d in run.degraded] == ["layout_budget"]
    assert "for 1 page, and 0.00 USD is left of the 0.02 USD that one upload may cost" in run.degraded[0].reason
    assert "scan.pdf" in run.degraded[0].fallback


async def test_a_picture_above_the_ceiling_is_refused_with_its_price_and_not_sent() -> None:
    with pytest.raises(
        UnreadableDocument, match=r"about 0\.01 USD for 1 page.*RAG_LAYOUT_BUDGET_USD.*not sent"
    ) as refused:
        await read(PLATE, "plate.png", budget_usd=0.0)
    assert refused.value.details["reason"] == "layout_budget"


async def test_a_zip_of_logos_has_no_text_and_is_no_failure() -> None:
    with pytest.raises(UnreadableDocument) as refused:
        await read(make_zip({"a.png": LOGO, "b.png": LOGO}), "a.zip")
    assert (refused.value.code, refused.value.message[:23]) == ("no_text_found", "there is no text in it;")


async def test_more_pictures_than_leave_the_sandbox_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child of the sandbox has its own limit: this is asked of the extractor in this process."""
    monkeypatch.setattr(members, "MAX_PICTURE_BYTES", len(PLATE))
    seen = extract_in_process(make_eml({"plate.png": PLATE, "logo.png": LOGO}), "a.eml")
    assert [member.names for member in seen.picture_members] == [("plate.png",)]
    assert "logo.png (the pictures have more than" in seen.notes[-1]


@pytest.mark.skipif(find_tesseract() is None, reason="needs tesseract: apt install tesseract-ocr")
async def test_tesseract_reads_them_too() -> None:
    reader = Tesseract(find_tesseract() or "", "eng", 30)
    mail = make_eml({"plate.png": save_pages([draw_page("Drain plug 30 Nm", size=(600, 400))], "PNG")})
    seen = await extract_file(mail, "a.eml", reader, Run(), timeout_s=30)
    assert placed(seen)[-1] == ("plate.png, p. 1, line 1", "Drain plug 30 Nm", 2)
    assert seen.notes[-1].startswith("plate.png: the text was recognised in a picture by tesseract")
