"""OpenDocument files, rich text and Outlook's mails become blocks with their places, without what is hidden in them."""

from pathlib import Path

import pytest
from aspose.email_foss import msg
from compressed_rtf import compress

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Extraction
from rag_core.ingestion.extract import extract_in_process
from rag_core.ingestion.sandbox import extract_in_sandbox
from tests.ingestion import office_files as made

LOCKED = {"META-INF/manifest.xml": b"<m:encryption-data/>"}
REAL_MAIL = Path(__file__).parents[1] / "data" / "outlook.msg"


def placed(extraction: Extraction) -> list[tuple[str, str]]:
    return [(block.locator, block.text) for block in extraction.blocks]


def test_an_open_text_keeps_headings_lists_tables_and_notes() -> None:
    extraction = extract_in_process(made.make_open(made.HANDBOOK, "text"), "a.odt")
    assert placed(extraction) == [
        ("paragraph 1", "Handbook"),
        ("paragraph 2", "The depot opens  at six. [1]"),
        ("note 1", "[1] On Mondays at eight."),
        ("paragraph 3", "Torques"),
        ("paragraph 4", "1. Warm the engine."),
        ("paragraph 5", "  - To 40 C."),
        ("paragraph 6", "2. Use the wrench."),
        ("table 1", "Part | Torque\nDrain plug | 30 Nm"),
        ("paragraph 7", "See below."),
        ("paragraph 8", "In a box."),
    ]
    assert extraction.blocks[7].headings == ("Handbook", "Torques")
    assert (extraction.title, extraction.notes) == ("Depot handbook", ("1 runs of hidden text were left out",))


def test_white_text_of_an_open_text_is_hidden_and_on_a_dark_ground_it_is_not() -> None:
    white = '<text:p><text:span text:style-name="white">{}</text:span>.</text:p>'
    cell = f"<table:table-row><table:table-cell>{white.format('seen')}</table:table-cell></table:table-row>"
    extraction = extract_in_process(
        made.make_open(f"{white.format('unseen')}<table:table>{cell}</table:table>", "text"), "a.odt"
    )
    assert [block.text for block in extraction.blocks] == [".", "seen."]


def test_an_open_sheet_has_its_cells_and_none_that_is_hidden() -> None:
    extraction = extract_in_process(made.make_open(made.STAFF, "spreadsheet"), "a.ods")
    assert placed(extraction) == [
        ("'Depot 1'!A20002:C20002", "Shift: Early\nShare: 98.5%"),
        ("'Depot 1'!A20003:C20003", "Shift: Early\nShare: 2024-03-04"),
    ]
    assert (extraction.pages, extraction.notes) == (
        2,
        ("hidden sheets were left out: Secret", "cells of hidden rows and columns were left out: 2"),
    )


def test_an_open_presentation_is_read_slide_by_slide() -> None:
    extraction = extract_in_process(made.make_open(made.REVIEW, "presentation"), "a.odp")
    assert placed(extraction) == [
        ("slide 1", "Depot review"),
        ("slide 1", "The depot grew.\nIt opens at six."),
        ("slide 1, table 1", "Part | Torque\nDrain plug | 30 Nm"),
        ("slide 1, notes", "Say that the roof leaks."),
    ]
    assert (extraction.pages, extraction.notes) == (2, ("hidden slides were left out: 2",))


def test_a_rich_text_keeps_headings_tables_notes_and_its_letters() -> None:
    extraction = extract_in_process(made.RICH_TEXT, "a.rtf")
    assert placed(extraction) == [
        ("paragraph 1", "Handbook"),
        ("paragraph 2", "The depot opens at six… [1]"),
        ("paragraph 3", "[1] On Mondays at eight."),
        ("paragraph 4", "при €😀"),
        ("paragraph 5", "Torques"),
        ("paragraph 6", "1.\tUse the wrench."),
        ("table 1", "Part | Torque\nDrain plug | 30 Nm"),
        ("paragraph 7", "the linkseen"),
    ]
    assert extraction.blocks[6].headings == ("Handbook", "Torques")
    assert (extraction.title, extraction.notes) == ("Depot handbook", ("2 runs of hidden text were left out",))


def test_a_mail_of_outlook_has_its_heading_text_and_attachments() -> None:
    inner = msg.MapiMessage.create("Roof", "The roof leaks.")
    data = made.make_msg(attachments={"n.txt": b"Hi.", "Übersicht.xlsx": made.make_xlsx()}, mails=[inner])
    places = placed(extract_in_process(data, "a.msg"))
    assert places[0] == (
        "mail header",
        "From: Ann (ann@example.org)\nTo: Bob (bob@example.org)\nDate: Mon, 04 Mar 2024 08:00:00 +0000\n"
        "Subject: Die Übergabe am Montag",
    )
    assert places[1:4] == [
        ("part 1, paragraph 1", "Dear Bob,"),
        ("part 1, paragraph 2", "the depot key is in box 12."),
        ("part 2, paragraph 1", "The roof leaks."),
    ]
    assert ("n.txt, line 1", "Hi.") in places
    assert any(place == "Übersicht.xlsx, 'Depot 1'!A5:E5" for place, _ in places)


def test_a_mail_of_outlook_without_plain_text_is_read_from_its_html_or_its_rich_text() -> None:
    html = made.make_msg("", properties={0x1013: b"<p>The key is in <b>box 12</b>.</p><p hidden>unseen</p>"})
    rich = made.make_msg(
        "", properties={0x1009: compress(rb"{\rtf1\ansi The key is in {\b box 12}.\par{\*\x unseen}}")}
    )
    for data in (html, rich):
        assert placed(extract_in_process(data, "a.msg"))[1:] == [("text, paragraph 1", "The key is in box 12.")]


def test_a_mail_that_outlook_itself_has_saved_is_read() -> None:
    """tests/data/outlook.msg is message.msg of scanny/python-oxmsg (MIT): the stand-ins are written by one library."""
    extraction = extract_in_process(REAL_MAIL.read_bytes(), "a.msg")
    assert extraction.blocks[0].text.startswith("From: bedfortest at TEST (bedfortest@tutanota.de)\nTo: Arne Möhle\n")
    assert ("text, paragraph 1", "asdfasdf") in placed(extraction)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (made.make_open(made.HANDBOOK, "text"), "a.odt"),
        (made.make_open(made.STAFF, "spreadsheet"), "a.ods"),
        (made.make_open(made.REVIEW, "presentation"), "a.odp"),
        (made.RICH_TEXT, "a.rtf"),
        (
            made.make_msg(attachments={"a.ods": made.make_open(made.STAFF, "spreadsheet"), "a.rtf": made.RICH_TEXT}),
            "a.msg",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_the_sandbox_reads_what_this_process_reads(data: bytes, name: str) -> None:
    """No module or file is missing once the child has locked itself; and without an extension the kind is known."""
    extraction = extract_in_process(data, name)
    assert await extract_in_sandbox(data, name, timeout_s=30) == extraction
    assert extract_in_process(data, "upload").extractor == extraction.extractor


@pytest.mark.parametrize(
    ("data", "name", "code", "word"),
    [
        (made.make_open("", "text"), "a.odt", "document_empty", "no text"),
        (made.make_open(made.STAFF, "spreadsheet"), "a.odt", "document_damaged", "another kind"),
        (made.make_zip({"a.txt": b"x"}), "a.odt", "document_damaged", "LibreOffice"),
        (made.make_open("x", "text", **LOCKED), "a.odt", "document_encrypted", "password"),
        (b"{\\rtf1 " + b"{" * 5_000, "a.rtf", "document_too_complex", "groups"),
        (b"{\\rtf1 {\\pict 00}}", "a.rtf", "document_empty", "no text"),
        (b"words", "a.rtf", "extension_mismatch", "holds text"),
        (b"\xd0\xcf\x11\xe0" + bytes(2_000), "a.msg", "document_damaged", "Outlook"),
        (made.make_msg()[:5_000], "a.msg", "document_damaged", "Outlook"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_is_wrong(data: bytes, name: str, code: str, word: str) -> None:
    with pytest.raises(UnreadableDocument) as refusal:
        extract_in_process(data, name)
    assert (refusal.value.code, word in refusal.value.message) == (code, True), refusal.value.message
