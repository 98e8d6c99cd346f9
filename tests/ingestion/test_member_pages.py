"""A file within a zip or mail is cited where it would be cited by itself: page, box and line, and drawn there."""

import email.policy
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Sequence
from email.message import EmailMessage
from io import BytesIO
from typing import Any

import pypdf
import pytest

from rag_core.core.errors import NotFound
from rag_core.core.kit import Kit
from rag_core.core.model import Chunk
from rag_core.core.run import Run
from rag_core.ingestion import sandbox_view, source_view
from rag_core.ingestion.chunking import Chunking, split_into_chunks
from rag_core.ingestion.extract import eml, extract_in_process
from rag_core.ingestion.extract import zip as zip_format
from rag_core.ingestion.member_pages import MemberPage, take_member_pages
from tests.ingestion import office_files as made
from tests.ingestion.pdf_files import lines, pdf
from tests.ingestion.test_source_view import ANN, LIMITS, indexed, kit, page, refused, view

__all__ = ["kit"]

SIGNS = [
    ["The boiler is red.", "Its valve opens at 7 bar."],
    ["The pump is blue.", "It turns 900 times."],
    ["Ends here."],
]
MANUAL = pdf(*(lines(*sign) for sign in SIGNS))
NOTE = "The depot opens at six.\n\nIt closes\nat nine in the evening.\n"
Place = tuple[str, str, tuple[object, ...]]


def place_lines(chunks: Sequence[Chunk], page_offset: int = 0) -> list[Place]:
    """Each line of each passage with its locator, and its page and box."""
    return [
        (chunk.content[span.start : span.end], span.locator, ((span.page or 0) - page_offset, span.bbox))
        for chunk in chunks
        for span in chunk.spans
    ]


@pytest.mark.parametrize(
    ("name", "data", "prefix", "before"),
    [
        ("a.zip", made.make_zip({"note.txt": NOTE.encode(), "docs/manual.pdf": MANUAL}), "docs/manual.pdf", 1),
        ("a.eml", made.make_eml({"manual.pdf": MANUAL}), "manual.pdf", 1),
        ("a.zip", made.make_zip({"m.eml": made.make_eml({"manual.pdf": MANUAL})}), "m.eml, manual.pdf", 1),
        ("a.zip", made.make_zip({"b.pptx": made.make_pptx(), "manual.pdf": MANUAL}), "manual.pdf", 3),
    ],
)
async def test_a_pdf_within_a_file_has_the_places_of_the_pdf_alone(
    kit: Kit, name: str, data: bytes, prefix: str, before: int
) -> None:
    """A passage lies on one page, each line has its box, and its page is drawn as that of the PDF."""
    await indexed(kit, document_id="alone", data=MANUAL, filename="manual.pdf")
    alone = await source_view.view_document("alone", ANN, kit, Run(), LIMITS)
    await indexed(kit, data=data, filename=name)
    held = await view(kit)
    of_manual = [chunk for chunk in held.chunks if chunk.spans[0].locator.startswith(f"{prefix}, p. ")]
    assert len(of_manual) == len(alone.chunks) == len(SIGNS)
    expected = [
        (text, f"{prefix}, p. {number}, line {line}", place)
        for (text, _, place), (number, line) in zip(
            place_lines(alone.chunks), [(1, 1), (1, 2), (2, 3), (2, 4), (3, 5)], strict=True
        )
    ]
    assert place_lines(of_manual, before) == expected
    assert held.document.pages == before + len(SIGNS)
    for number in range(1, 4):
        drawn = await page(kit, before + number)
        own = await source_view.view_page("alone", number, ANN, kit, Run(), LIMITS)
        assert (drawn.png, drawn.page, drawn.pages) == (own.png, before + number, before + len(SIGNS))
    assert await refused(kit, 1) == "page_not_found"
    assert await refused(kit, before + len(SIGNS) + 1) == "page_not_found"


async def test_the_cited_pages_of_a_pdf_within_a_file_are_taken_out_with_their_boxes(kit: Kit) -> None:
    await indexed(kit, data=made.make_zip({"note.txt": NOTE.encode(), "manual.pdf": MANUAL}), filename="a.zip")
    (chunk,) = [chunk for chunk in (await view(kit)).chunks if "pump" in chunk.content]
    boxes = chunk.locate_boxes(0, len(chunk.content))
    evidence = await source_view.extract_cited_pages({"d1": {chunk.page or 0: boxes}}, ANN, kit, Run(), LIMITS)
    taken = pypdf.PdfReader(BytesIO(evidence))
    assert len(taken.pages) == 1
    assert "The pump is blue." in taken.pages[0].extract_text()
    assert len(taken.pages[0]["/Annots"]) == 2  # type: ignore[arg-type]


def test_other_files_within_a_file_keep_their_own_places() -> None:
    """Sheet and range, slide, line and part; no passage goes over two slides."""
    files = {"n.txt": NOTE.encode(), "b.xlsx": made.make_xlsx(), "s.pptx": made.make_pptx(), "m.eml": made.make_eml()}
    held = list(split_into_chunks(extract_in_process(made.make_zip(files), "a.zip").blocks, Chunking()))
    for name, data in files.items():
        alone = list(split_into_chunks(extract_in_process(data, name).blocks, Chunking()))
        inside = [draft for draft in held if draft.heading_path[0] == name]
        assert [draft.content for draft in inside] == [draft.content for draft in alone]
        for one, other in zip(inside, alone, strict=True):
            locators = [span.locator.removeprefix(f"{name}, ") for span in one.spans]
            if name == "n.txt":
                assert locators == ["line 1", "line 3", "line 4"]
            else:
                assert locators == [span.locator for span in other.spans]
    note = Chunk("1", "d", 0, held[0].content, "t", "s", "h", held[0].spans)
    start = note.content.index("It closes")
    place, whole = note.locate(start, len(note.content)), note.place
    assert place
    assert whole
    assert (place.locator, whole.locator) == ("n.txt, lines 3-4", "n.txt, lines 1-4")


def take_one(data: bytes, place: str) -> MemberPage | None:
    (taken,) = take_member_pages(data, "zip", [place])
    return taken


NAMES = [
    "docs/a.pdf", "../../a.pdf", "a..pdf", "C:\\docs\\a.pdf", "a#page=3.pdf", "a%20b?c=d&e.pdf", "Übergabe 東京 🚗.pdf",
    "e\u0301.pdf", "\u202egpj.pdf", "a\"b'c`.pdf", "<b>a</b>.pdf", "a\nb.pdf", "  a .pdf", "x" * 300 + ".pdf",
    "東" * 300 + ".pdf", "a, p. 2.pdf", "a, p. 1, line 3.pdf", ", , .pdf", "note.txt, a.pdf", "a (2).pdf",
    "a.pdf, p. 9.pdf",
]  # fmt: skip


def hold_twice(name: str, one: bytes, other: bytes) -> dict[str, bytes]:
    """An archive and a mail that hold two files of one name."""
    mail = EmailMessage()
    mail["Subject"] = "s"
    mail.set_content("seen")
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w") as package, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile's, of two files of one name
        for data in (one, other):
            package.writestr(name, data)
            mail.add_attachment(data, maintype="application", subtype="pdf", filename=" ".join(name.split("\n")))
    return {"zip": archive.getvalue(), "eml": mail.as_bytes()}


@pytest.mark.parametrize("name", NAMES)
def test_a_page_of_a_file_of_any_name_within_a_zip_or_mail_is_the_right_one(name: str) -> None:
    other, right = pdf(lines("Other words."), lines("Wrong page.")), pdf(lines("One."), lines("The right page."))
    for kind, data in hold_twice(name, other, right).items():
        places = [block.locator for block in extract_in_process(data, f"a.{kind}").blocks if "right" in block.text]
        (taken,) = take_member_pages(data, kind, places)
        assert taken
        assert (taken.data, taken.page) == (right, 2)


async def test_a_page_that_two_files_are_cited_by_is_not_drawn_and_the_reply_says_why(kit: Kit) -> None:
    """A file whose name is that of a mail and its attachment: the page of either would be a guess."""
    mail = made.make_eml({"a.pdf": pdf(lines("In the mail."))})
    await indexed(kit, data=made.make_zip({"m.eml": mail, "m.eml, a.pdf": pdf(lines("Beside it."))}), filename="a.zip")
    for chunk in (await view(kit)).chunks:
        if chunk.spans[0].bbox:
            with pytest.raises(NotFound, match="two files in it are cited by the same words"):
                await page(kit, chunk.page or 0)


async def test_attachments_of_a_mail_within_a_mail_are_opened(kit: Kit) -> None:
    inner = email.message_from_bytes(made.make_eml({"manual.pdf": MANUAL}), policy=email.policy.default)
    for depth in range(3):
        outer = EmailMessage()
        outer["Subject"] = f"level {depth}"
        outer.set_content("seen")
        outer.add_attachment(
            pdf(lines(f"Beside {depth}.")), maintype="application", subtype="pdf", filename="manual.pdf"
        )
        outer.add_attachment(inner)
        inner = outer
    for data, filename in ((inner.as_bytes(), "a.eml"), (made.make_zip({"m.eml": inner.as_bytes()}), "a.zip")):
        await indexed(kit, data=data, filename=filename)
        (chunk,) = [chunk for chunk in (await view(kit)).chunks if "The pump is blue." in chunk.content]
        await indexed(kit, document_id="alone", data=MANUAL, filename="manual.pdf")
        own = await source_view.view_page("alone", 2, ANN, kit, Run(), LIMITS)
        assert (await page(kit, chunk.page or 0)).png == own.png


async def test_the_cited_pages_of_a_zip_are_taken_out_by_reading_it_once(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was read anew, in a child process, for each page."""
    files = {"a, b, c, m.eml": made.make_eml({"x, y, manual.pdf": MANUAL}), "manual.pdf": MANUAL}
    await indexed(kit, data=made.make_zip(files), filename="a.zip")
    boxes = {chunk.page or 0: chunk.locate_boxes(0, 9) for chunk in (await view(kit)).chunks if chunk.spans[0].bbox}
    assert len(boxes) == 2 * len(SIGNS)
    asked: list[str] = []
    call = sandbox_view.call_child

    async def count_call(module: str, request: str, *more: Any, **options: Any) -> Any:
        asked.append(request)
        return await call(module, request, *more, **options)

    monkeypatch.setattr(sandbox_view, "call_child", count_call)
    evidence = await source_view.extract_cited_pages({"d1": boxes}, ANN, kit, Run(), LIMITS)
    assert asked == ["members:0", "highlight:0"]
    texts = [taken.extract_text() for taken in pypdf.PdfReader(BytesIO(evidence)).pages]
    assert [sign[0] in text for sign, text in zip(2 * SIGNS, texts, strict=True)] == [True] * len(texts)


def test_a_container_and_each_file_in_it_is_read_once_for_all_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was read anew for each comma of a name."""
    read = Counter[str]()
    for module, name in ((eml, "_parse_mail"), (zip_format, "open_package")):
        whole = getattr(module, name)

        def count_reading(*given: Any, name: str = name, whole: Any = whole) -> Any:
            read[name] += 1
            return whole(*given)

        monkeypatch.setattr(module, name, count_reading)
    data = made.make_zip({"a, b, c, m.eml": made.make_eml({"x, y, z.pdf": MANUAL})})
    taken = take_member_pages(data, "zip", [f"a, b, c, m.eml, x, y, z.pdf, p. {n}, line 1" for n in (1, 2, 3)] * 2)
    assert [found and found.page for found in taken] == [1, 2, 3, 1, 2, 3]
    assert read == {"_parse_mail": 1, "open_package": 1}


async def test_the_pages_that_the_export_leaves_out_are_told(kit: Kit) -> None:
    await indexed(kit, data=made.make_zip({"note.txt": NOTE.encode(), "manual.pdf": MANUAL}), filename="a.zip")
    run, box = Run(), (1.0, 1.0, 2.0, 2.0)
    await source_view.extract_cited_pages({"d1": {1: [box], 2: [box]}}, ANN, kit, run, LIMITS)
    assert [warning.message for warning in run.warnings] == ["page 1 of document d1 is left out: it is of no PDF"]


def test_two_files_of_one_name_are_told_apart_and_each_is_found() -> None:
    first, second = pdf(lines("First.")), pdf(lines("Second."))
    mail = made.make_eml({"1.pdf": first, "2.pdf": second})
    for number in (b'"1.pdf"', b'"2.pdf"'):
        mail = mail.replace(number, b'"a, b.pdf"')
    blocks = extract_in_process(made.make_zip({"m, n.eml": mail}), "a.zip").blocks
    places = {block.text: block.locator for block in blocks if block.page != 1}
    assert places == {"First.": "m, n.eml, a, b.pdf, p. 1, line 1", "Second.": "m, n.eml, a, b.pdf (2), p. 1, line 1"}
    for words, data in (("First.", first), ("Second.", second)):
        taken = take_one(made.make_zip({"m, n.eml": mail}), places[words])
        assert taken
        assert (taken.kind, taken.data, taken.page) == ("pdf", data, 1)
    for wrong in ("a, b.pdf, p. 1", "m, n.eml, p. 1", "m, n.eml, c.pdf, p. 1", "m, n.eml, a, b.pdf", ""):
        assert take_one(made.make_zip({"m, n.eml": mail}), wrong) is None


def test_a_long_text_within_a_zip_is_cut_about_as_quickly_as_by_itself() -> None:
    """Its lines were counted anew for each of them: a log of 1.2 MB took 45 s of CPU, by itself 4."""
    log = "\n".join(f"line {n} of the log" for n in range(25_000)).encode()

    def measure_cutting_s(data: bytes, name: str) -> float:
        blocks = extract_in_process(data, name).blocks
        began = time.process_time()
        assert len(list(split_into_chunks(blocks, Chunking("tokens", 800, 0)))) > 1
        return time.process_time() - began

    measure_cutting_s(log[:50_000], "log.txt")  # what is loaded once
    alone_s = measure_cutting_s(log, "log.txt")
    assert measure_cutting_s(made.make_zip({"log.txt": log}), "a.zip") < 3 * alone_s
