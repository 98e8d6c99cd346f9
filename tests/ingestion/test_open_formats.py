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


LEVEL = '<text:{tag} text:level="{level}" style:num-format="{format}" {more}/>'


def list_level(level: int, format: str = "1", tag: str = "list-level-style-number", **more: object) -> str:
    attributes = " ".join(f'{name.replace("_", ":", 1).replace("_", "-")}="{value}"' for name, value in more.items())
    return LEVEL.format(tag=tag, level=level, format=format, more=attributes)


CONTRACT_STYLES = f"""<o:styles xmlns:o="urn:oasis:names:tc:opendocument:xmlns:office:1.0" {made.OPEN_NAMES}>
<text:outline-style style:name="Outline">{list_level(1, "I", "outline-level-style", style_num_prefix="Annex ")}
{list_level(2, "1", "outline-level-style", text_display_levels=2)}{list_level(3, "", "outline-level-style")}
</text:outline-style>
<style:style style:name="plain" style:family="paragraph" style:list-style-name=""/>
<text:list-style style:name="clauses">{list_level(1, style_num_suffix=".", text_start_value=3)}
{list_level(2, text_display_levels=2)}{list_level(3, "a", style_num_prefix="(", style_num_suffix=")")}</text:list-style>
<text:list-style style:name="other">{list_level(1, "A", style_num_suffix=")")}</text:list-style></o:styles>"""


def items(*texts: str, style: str = "", **more: str) -> str:
    """A list whose items are these texts, or lists of their own."""
    attributes = "".join(f' {name.replace("_", ":", 1).replace("_", "-")}="{value}"' for name, value in more.items())
    named = f' text:style-name="{style}"' if style else ""
    inner = (f"<text:list-item>{text if text.startswith('<') else f'<text:p>{text}</text:p>'}" for text in texts)
    return f"<text:list{named}{attributes}>{''.join(f'{item}</text:list-item>' for item in inner)}</text:list>"


def read_lines(content: str) -> list[str]:
    data = made.make_open(content, "text", **{"styles.xml": CONTRACT_STYLES.encode()})
    return [block.text for block in extract_in_process(data, "a.odt").blocks]


def test_clauses_of_an_open_text_have_the_numbers_that_their_reader_sees() -> None:
    """Prefix, levels, letters and start; a list in an item counts anew, and deeper items need no item above them."""
    letters = items("<text:p>Of a part.</text:p>", "Of all.")
    clauses = f"<text:p>Notice</text:p>{items(f'<text:p>In writing</text:p>{letters}', 'In time')}"
    assert read_lines(items("Term", clauses, f"<text:p>Fees</text:p>{items('Due')}", style="clauses")) == [
        "3. Term",
        "4. Notice",
        "  4.1 In writing",
        "    (a) Of a part.",
        "    (b) Of all.",
        "  4.2 In time",
        "5. Fees",
        "  5.1 Due",
    ]


def test_a_list_of_an_open_text_goes_on_where_it_says_so() -> None:
    """By an earlier list's id, or as the last of its style; a level without a paragraph of its own counts nothing."""
    first = items("One", style="clauses", xml_id="l1")
    between = items("Else", style="other")
    deeper = items(items("Deep"), style="clauses", text_continue_numbering="true") * 2
    by_id = items("Two", style="clauses", text_continue_list="l1")
    anew = items("Anew", style="clauses")
    assert read_lines(first + between + deeper + by_id + anew) == [
        "3. One",
        "A) Else",
        "  3.1 Deep",
        "  3.2 Deep",
        "4. Two",
        "3. Anew",
    ]


def test_headings_of_an_open_text_have_the_numbers_of_the_outline() -> None:
    """In a list of the outline too; a heading that is taken out of it, or whose level has no number, has none."""
    heading = '<text:h text:outline-level="{}" {}>{}</text:h>'
    listed = items(items(heading.format(2, "", "Fuel")), style="Outline", text_continue_numbering="true")
    content = [
        heading.format(1, "", "Terms"),
        heading.format(2, "", "Scope"),
        listed,
        heading.format(3, "", "Note"),
        heading.format(1, 'text:style-name="plain"', "Preface"),
        heading.format(1, 'text:is-list-header="true"', "Unnumbered"),
        heading.format(1, "", "Prices"),
        heading.format(2, 'text:start-value="5"', "Later"),
    ]
    assert read_lines("".join(content)) == [
        "Annex I Terms",
        "I.1 Scope",
        "I.2 Fuel",
        "Note",
        "Preface",
        "Unnumbered",
        "Annex II Prices",
        "II.5 Later",
    ]


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
