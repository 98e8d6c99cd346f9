"""Spreadsheets, slides, web pages, mails, JSON and archives: their text, and the place of each in words."""

import json
from collections.abc import Sequence
from email.message import EmailMessage
from io import BytesIO

import pytest
from openpyxl import Workbook
from pptx import Presentation

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Block, Extraction
from rag_core.ingestion.chunking import Chunking, split_into_chunks
from rag_core.ingestion.extract import extract_in_process
from rag_core.ingestion.sandbox import extract_in_sandbox
from tests.ingestion import office_files as made

DEPOT = ("Depot 1", "Budget of the depot")


def placed(extraction: Extraction) -> list[tuple[str, str]]:
    return [(block.locator, block.text) for block in extraction.blocks]


def sheet(*rows: Sequence[object]) -> list[Block]:
    book = Workbook()
    for row in rows:
        book.active.append(row)
    held = BytesIO()
    book.save(held)
    return list(extract_in_process(held.getvalue(), "a.xlsx").blocks)


def test_a_row_of_a_sheet_has_its_header_of_two_lines_and_its_cells() -> None:
    extraction = extract_in_process(made.make_xlsx(), "a.xlsx")
    title, fluid, tyres, ann, bob, late = extraction.blocks
    assert (title.kind, title.locator, title.text) == ("heading", "'Depot 1'!A1", "Budget of the depot")
    assert (fluid.kind, fluid.locator, fluid.page, fluid.headings) == ("row", "'Depot 1'!A5:E5", 1, DEPOT)
    assert fluid.text == (
        "Item: Brake fluid\n2023 Planned: 1200\n2023 Spent: 1180.5\n2024 Planned: 1300\n2024 Spent: 1275.25"
    )
    assert (tyres.fields["2023 Spent"], tyres.fields["2024 Spent"]) == ("-350", "98.5%")
    assert (ann.text, ann.locator, ann.page) == ("Shift: Early\nName: Ann", "Staff!A2:B2", 2)
    assert (bob.text, bob.locator) == ("Shift: Early\nName: Bob", "Staff!A3:B3")  # a merged cell stands beside its rows
    assert late.text == "Shift: Late"
    assert extraction.pages == 3


def test_what_a_sheet_does_not_show_is_left_out_and_noted() -> None:
    """Hidden rows and sheets, and formulas, of which only the stored value is read."""
    extraction = extract_in_process(made.make_xlsx(), "a.xlsx")
    assert "hidden words" not in str(extraction.blocks)
    assert "Eve" not in str(extraction.blocks)
    assert "=" not in str([block.text for block in extraction.blocks])
    assert extraction.notes == (
        "hidden sheets were left out: Secret",
        "cells of hidden rows were left out: 2",
        "formulas without a stored value were left out: 1; open the file in Excel and save it",
    )


def test_a_table_of_words_and_one_without_a_header_are_rows_too() -> None:
    assert [b.text for b in sheet(("Part", "Use"), ("valve", "brakes"))] == ["Part: valve\nUse: brakes"]
    assert [b.text for b in sheet((1, 2), (3, 4))] == ["column 1: 1\ncolumn 2: 2", "column 1: 3\ncolumn 2: 4"]


def test_no_cell_is_lost_where_a_header_names_a_column_by_the_number_of_another() -> None:
    """Both cells had the name "column 3" and the first was lost; a cell beside the table is named by its number."""
    first, second = sheet(("A", "column 3", None, "A"), (1, 2, 3, 4), (5, 6, 7, 8, 9))
    assert first.text == "A: 1\ncolumn 3: 2\ncolumn 3 3: 3\nA 4: 4"
    assert second.text == "A: 5\ncolumn 3: 6\ncolumn 3 3: 7\nA 4: 8\ncolumn 5: 9"


def test_a_blank_row_ends_no_table_and_another_header_begins_one() -> None:
    blocks = sheet(("Part", "Count"), ("valve", 7), (), ("seal", 8), (), ("Name", "Age"), ("Ann", 30))
    assert [(b.locator, b.text) for b in blocks] == [
        ("Sheet!A2:B2", "Part: valve\nCount: 7"),
        ("Sheet!A4:B4", "Part: seal\nCount: 8"),
        ("Sheet!A7:B7", "Name: Ann\nAge: 30"),
    ]


def test_a_note_below_a_table_is_a_paragraph() -> None:
    blocks = sheet(("Part", "Count"), ("valve", 7), (), ("Counted in May.",))
    assert [(b.kind, b.locator, b.text) for b in blocks][1:] == [("paragraph", "Sheet!A4", "Counted in May.")]


def test_a_slide_has_its_title_texts_table_chart_and_notes() -> None:
    extraction = extract_in_process(made.make_pptx(), "a.pptx")
    assert placed(extraction) == [
        ("slide 1", "Depot review"),
        ("slide 1", "The depot grew.\nIt opens at six."),
        ("slide 1, notes", "Say that the roof leaks."),
        ("slide 2", "Torques"),
        ("slide 2, table 1", "Part | Torque\nDrain plug | 30 Nm\nFilter cap | 25 Nm"),
        ("slide 2, chart 1", "category | Orders\n2023 | 410\n2024 | 655"),
    ]
    assert [block.page for block in extraction.blocks] == [1, 1, 1, 2, 2, 2]
    assert extraction.notes == ("hidden slides were left out: 3",)


def test_the_points_of_a_slide_are_items_and_not_one_sentence() -> None:
    show = Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.placeholders[1].text = "Revenue 9.4 million\nGross margin 47 %"
    slide.placeholders[1].text_frame.add_paragraph().text = "after tax"
    slide.placeholders[1].text_frame.paragraphs[2].level = 1
    data = BytesIO()
    show.save(data)
    assert placed(extract_in_process(data.getvalue(), "a.pptx")) == [
        ("slide 1", "- Revenue 9.4 million\n- Gross margin 47 %\n  - after tax")
    ]


def test_a_web_page_has_headings_paragraphs_and_tables() -> None:
    extraction = extract_in_process(made.PAGE.encode(), "a.html")
    assert placed(extraction) == [
        ("paragraph 1", "Handbook"),
        ("paragraph 2", "The depot opens at six."),
        ("paragraph 3", "Torques"),
        ("paragraph 4", "- Use the wrench."),
        (
            "table 1",
            "Part | Torque cold | Torque hot\nDrain plug | 30 Nm | 28 Nm\nFilter cap | 25 Nm | 23 Nm",
        ),
    ]
    assert extraction.blocks[-1].headings == ("Handbook", "Torques")
    assert extraction.title == "Depot handbook"
    assert extraction.notes == ("left out: 1 element that is not shown", "left out: 1 menu")


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ('<meta charset="shift_jis"><p>ブレーキ</p>'.encode("shift_jis"), "ブレーキ"),
        ("<p>Übergabe</p>".encode("cp1252"), "Übergabe"),
        (b"\xef\xbb\xbf<html><p>Bremse \xc3\xb6l", "Bremse öl"),
        (b"<p>one<br>two<p>three <b>bo</b>ld", "one\ntwo|three bold"),
        (b"<table><tr><td>only laid out<td><p>beside</table>", "only laid out|beside"),
        (b"<!-- a page --><p>seen<span hidden>unseen</span> too", "seen too"),
    ],
)
def test_a_web_page_is_decoded_and_laid_out_as_a_browser_does(page: bytes, text: str) -> None:
    assert "|".join(block.text for block in extract_in_process(page, "a.html").blocks) == text


def test_a_mail_has_its_heading_its_text_once_and_its_attachments() -> None:
    extraction = extract_in_process(
        made.make_eml({"b.xlsx": made.make_xlsx(), "n.txt": b"Hi.", "x.exe": b"MZ"}), "a.eml"
    )
    places = placed(extraction)
    assert places[0][0] == "mail header"
    assert "Subject: Die Übergabe am Montag" in places[0][1]
    assert places[1:4] == [
        ("text, paragraph 1", "Dear Bob,"),
        ("text, paragraph 2", "the depot key is in box 12."),
        ("text, paragraph 3", "Ann"),
    ]
    assert places[5][0] == "b.xlsx, 'Depot 1'!A5:E5"
    assert places[-1] == ("n.txt, line 1", "Hi.")
    assert extraction.notes[-1].startswith("files that were left out: x.exe (files of this kind cannot be read")
    assert extraction.title == "Die Übergabe am Montag"


def test_the_header_of_a_mail_is_a_passage_of_its_own() -> None:
    """What is said of the mail is in no passage of its text, whose quotes it would be a part of; nor in its summary."""
    extraction = extract_in_process(made.make_eml({"n.txt": b"Hi."}), "a.eml")
    for strategy in ("tokens", "semantic", "headings", "rows"):
        header, *passages = split_into_chunks(extraction.blocks, Chunking(strategy, 100, 50))
        assert header.content.startswith(
            "From: Ann (ann@example.org)\nTo: Bob (bob@example.org)\nDate: Mon, 04 Mar 2024"
        )
        assert {span.locator for span in header.spans} == {"mail header"}
        assert [passage.content.split("\n")[0] for passage in passages] == ["Dear Bob,", "Hi."]


def test_what_a_mail_quotes_of_earlier_mails_stands_below_whose_it_is() -> None:
    """A date that was given up was quoted as the mail's own, with the marks of quoted lines in the sentence."""
    body = (
        "The start moves to 16 January.\n\nOn Thu, 5 Nov, Priya\nRaman wrote:\n> The start stays on 5 December. The\n"
        "> test failed once.\n>\n> Jonas wrote:\n> > We have used 82 %.\n> Yes.\n"
        "\nRegards:\nPriya\n\n  > 3 bar is much.\n"
    )
    mail = f"From: a@example.com\nSubject: Start\n\n{body}"
    blocks = extract_in_process(mail.encode(), "a.eml").blocks[1:]
    quoting, quoted = "On Thu, 5 Nov, Priya Raman wrote:", "Jonas wrote:"
    assert [(block.kind[0], block.text, block.headings) for block in blocks] == [
        ("p", "The start moves to 16 January.", ()),
        ("h", quoting, ()),
        ("p", "The start stays on 5 December. The\ntest failed once.", (quoting,)),
        ("h", quoted, (quoting,)),
        ("p", "We have used 82 %.", (quoting, quoted)),
        ("p", "Yes.", (quoting,)),
        ("p", "Regards:\nPriya", ()),
        ("p", "  > 3 bar is much.", ()),
    ]
    assert blocks[-1].locator == "text, paragraph 8"


def test_a_mail_in_html_alone_is_read_from_it() -> None:
    mail = EmailMessage()
    mail["Subject"] = "x"
    mail.set_content("<p>One.</p><p>Two.</p>", subtype="html")
    assert placed(extract_in_process(mail.as_bytes(), "a.eml"))[1:] == [
        ("text, paragraph 1", "One."),
        ("text, paragraph 2", "Two."),
    ]


def test_an_object_of_json_is_a_row_with_its_pointer() -> None:
    extraction = extract_in_process(made.make_json(), "a.json")
    assert placed(extraction) == [
        ("#", "depot: North"),
        ("#/orders/0", "id: A-1\ncustomer.name: Acme\ncustomer.city: Graz"),
        ("#/orders/0/lines/0", "orders.id: A-1\npart: valve\ncount: 7"),
        ("#/orders/1", "id: A-2\ncustomer.name: Bolt\ntags: urgent, paid\ntotal: 12.5"),
    ]
    assert extraction.blocks[2].headings == ("orders", "lines")


def test_a_pointer_is_escaped_and_numbers_stay_as_written() -> None:
    data = b'{"a/b~": {"n": [{"x": 1.50, "y": 12345678901234567890, "z": 1e3}]}}'
    assert placed(extract_in_process(data, "a.json")) == [("#/a~1b~0/n/0", "x: 1.50\ny: 12345678901234567890\nz: 1e3")]


def test_json_lines_have_the_lines_of_the_file() -> None:
    blocks = extract_in_process(made.make_jsonl(), "a.jsonl").blocks
    assert [(b.line_start, b.line_end, b.locator, b.text) for b in blocks] == [
        (1, 1, "", "part: valve\ncount: 7"),
        (3, 3, "", "part: seal\ncount: 8"),
    ]


def test_a_file_in_a_zip_is_named_before_its_place() -> None:
    files = {
        "d/b.pptx": made.make_pptx(), "n.txt": b"Hello.\n\nThere.", "t.csv": b"a,b\n1,2\n", "e.eml": made.make_eml(),
        "__MACOSX/n.txt": b"unseen", "more.zip": made.make_zip({"n.txt": b"deeper"}), "broken.json": b"{",
    }  # fmt: skip
    extraction = extract_in_process(made.make_zip(files), "a.zip")
    places = dict(placed(extraction))
    assert places["d/b.pptx, slide 1, notes"] == "Say that the roof leaks."
    assert (places["n.txt, line 1"], places["n.txt, line 3"]) == ("Hello.", "There.")
    assert places["t.csv, line 2"] == "a: 1\nb: 2"
    assert places["e.eml, text, paragraph 2"] == "the depot key is in box 12."
    assert "unseen" not in str(extraction)
    assert "deeper" not in str(extraction)
    assert "more.zip (send it by itself)" in extraction.notes[-1]
    assert "broken.json (the file is no JSON" in extraction.notes[-1]
    assert extraction.blocks[0].headings == ("d/b.pptx",)
    starts = [block.line_start for block in extraction.blocks]
    assert starts == sorted(starts)


@pytest.mark.parametrize("kind", ["xlsx", "pptx", "html", "eml", "json", "jsonl", "zip"])
async def test_the_sandbox_reads_what_this_process_reads(kind: str) -> None:
    """No module or file is missing once the child has locked itself."""
    files = {"a.xlsx": made.make_xlsx(), "a.html": made.PAGE.encode(), "a.json": made.make_json()}
    data = {
        "xlsx": made.make_xlsx(), "pptx": made.make_pptx(), "html": made.PAGE.encode(), "json": made.make_json() * 1,
        "eml": made.make_eml(files), "jsonl": made.make_jsonl() * 3_000, "zip": made.make_zip(files),
    }[kind]  # fmt: skip
    assert await extract_in_sandbox(data, f"a.{kind}", timeout_s=30) == extract_in_process(data, f"a.{kind}")


@pytest.mark.parametrize(
    ("data", "name", "code", "word"),
    [
        (b"{", "a.json", "document_damaged", "line 1, column 2"),
        (b'{"a": 1}\n{"a"', "a.jsonl", "document_damaged", "line 2: "),
        (b"[" * 900 + b"1" + b"]" * 900, "a.json", "document_too_complex", "flatten"),
        (b"[" * 90_000, "a.json", "document_too_complex", "flatten"),
        (b"just words", "a.eml", "document_damaged", "no mail"),
        (b"just words", "a.xlsx", "extension_mismatch", "holds text"),
        (made.make_zip({"a.txt": b"x"}), "a.xlsx", "document_damaged", "Excel"),
        (made.make_zip({"a.txt": b"x"}), "a.pptx", "document_damaged", "PowerPoint"),
        (made.make_zip({"x.exe": b"MZ"}), "a.zip", "document_empty", "x.exe"),
        (made.make_xlsx()[:-80], "a.xlsx", "document_damaged", "Excel"),
        (b"\xd0\xcf\x11\xe0 encrypted", "a.xlsx", "document_encrypted", ".xlsx"),
        (b"<html></html>", "a.html", "document_empty", "no text"),
        (b"[]", "a.json", "document_empty", "no text"),
        (b"<!doctype html><p>x", "a.md", "extension_mismatch", "a web page"),
        (made.make_pptx(), "a.csv", "extension_mismatch", "pptx"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_is_wrong(data: bytes, name: str, code: str, word: str) -> None:
    with pytest.raises(UnreadableDocument) as refusal:
        extract_in_process(data, name)
    assert refusal.value.code == code
    assert word in refusal.value.message


@pytest.mark.parametrize(("make", "kind"), [(made.make_xlsx, "xlsx"), (made.make_pptx, "pptx")])
def test_an_office_file_without_an_extension_is_known_by_its_parts(make: object, kind: str) -> None:
    assert extract_in_process(make(), "upload").extractor.startswith(kind)  # type: ignore[operator]


def test_a_row_of_a_table_is_placed_by_its_number() -> None:
    extraction = extract_in_process(made.make_pptx(), "a.pptx")
    chunks = list(split_into_chunks(extraction.blocks, Chunking()))
    [chunk] = [chunk for chunk in chunks if "Drain plug" in chunk.content]
    at = chunk.content.index("Filter cap")
    assert next(span.locator for span in chunk.spans if span.start == at) == "slide 2, table 1, row 3"


def test_a_table_that_is_larger_than_a_chunk_is_read_row_by_row_with_its_header() -> None:
    rows = "".join(f"<tr><td>Part {n} of the depot<td>{n} Nm</tr>" for n in range(300))
    extraction = extract_in_process(f"<table><tr><th>Part<th>Torque</tr>{rows}</table>".encode(), "a.html")
    chunks = list(split_into_chunks(extraction.blocks, Chunking()))
    assert len(chunks) == 300
    assert chunks[299].content == "Part: Part 299 of the depot\nTorque: 299 Nm"
    assert chunks[299].spans[0].locator == "table 1, row 301"


def test_records_of_json_keep_what_tells_their_list() -> None:
    data = json.dumps([{"name": "North", "shifts": [{"hour": 6}, {"hour": 14}]}]).encode()
    assert [text for _, text in placed(extract_in_process(data, "a.json"))] == [
        "name: North", "name: North\nhour: 6", "name: North\nhour: 14",
    ]  # fmt: skip
