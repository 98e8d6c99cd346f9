"""Every kind of file becomes text with its place, or a refusal that says what would work."""

from itertools import pairwise
from pathlib import Path

import pytest

from rag_core.errors import RagError, UnreadableDocument, UnsupportedDocument
from rag_core.ingestion.extract import Extraction, extract
from rag_core.ingestion.sandbox import extract_safely
from tests.ingestion.documents import docx

MALFORMED = Path(__file__).parents[1] / "data" / "malformed"
EXAMPLES = Path(__file__).parents[2] / "examples"
FAULT = "Trouble code P0700 means the transmission control system asked for the warning light."


def read(path: Path) -> Extraction:
    return extract(path.read_bytes(), path.name)


def text_of(extraction: Extraction) -> str:
    return "\n".join(block.text for block in extraction.blocks)


@pytest.mark.parametrize(
    ("name", "page", "words"),
    [
        ("tcm-diagnostic-manual.pdf", 2, "P0700 names no faulty part."),
        ("tcm-diagnostic-manual.pdf", 4, "About 60\nohms means that both terminating resistors"),
        ("nara-plan-2022.pdf", 5, "NARA will digitize 500 million pages"),
        ("perks-plus.pdf", 3, "Introducing PerksPlus"),
    ],
)
def test_a_pdf_gives_the_page_of_every_passage(name: str, page: int, words: str) -> None:
    """S1-17, S1-30: page-level extraction."""
    words = " ".join(words.split())
    pages = {block.page for block in read(EXAMPLES / name).blocks if words in " ".join(block.text.split())}
    assert pages == {page}


def test_page_numbers_hold_over_empty_pages() -> None:
    """S1-17: 800 pages, text on each hundredth."""
    extraction = read(MALFORMED / "pages_800.pdf")
    assert extraction.pages == 800
    assert [(block.page, block.text[: len("Page 100 of 800")]) for block in extraction.blocks] == [
        (page, f"Page {page} of 800") for page in range(100, 801, 100)
    ]
    assert "without text" in extraction.notes[0]


def test_lines_of_a_pdf_are_counted_through_the_document() -> None:
    blocks = read(EXAMPLES / "tcm-diagnostic-manual.pdf").blocks
    assert all(b.text.count("\n") == b.line_end - b.line_start for b in blocks)
    assert all(before.line_end < after.line_start for before, after in pairwise(blocks))


def test_a_pdf_that_opens_without_a_password_is_read() -> None:
    assert "pdf encryption test" in text_of(read(MALFORMED / "pypdf-r6-empty-password.pdf"))


def test_text_drawn_invisibly_is_flagged() -> None:
    """C33: hidden text is flagged."""
    assert "page 1 with invisible text" in read(MALFORMED / "invisible_text.pdf").notes[0]


@pytest.mark.parametrize(
    ("name", "encoding", "words"),
    [
        ("cp1251.txt", "cp1251", "указывает на неисправность"),
        ("cp1252_quotes.txt", "cp1252", "boîte de vitesses — vérifiez le faisceau « BVA »"),
        ("shift_jis.txt", "cp932", "変速機制御システムの異常"),
        ("gb18030.txt", "gb18030", "变速器控制系统故障"),
        ("utf16be_nobom.txt", "utf-16-be", "указывает на неисправность"),
        ("nul_bytes.txt", "utf-8", FAULT),
        ("bidi_zero_width.txt", "utf-8", "Password"),
        ("ansi_controls.txt", "utf-8", "ERROR Trouble code"),
        ("mixed_utf8_latin1.txt", "utf-8", "défaut"),
    ],
)
def test_the_encoding_of_a_text_is_found_and_stated(name: str, encoding: str, words: str) -> None:
    """S1-18, C04: plain text, in whatever encoding it came, without characters nobody sees."""
    extraction = read(MALFORMED / name)
    assert extraction.extractor == f"text ({encoding})"
    assert words in text_of(extraction)
    assert "\ufffd" not in text_of(extraction)


def test_markdown_keeps_its_headings_and_lines() -> None:
    """S1-19: structure preserved."""
    lines = (EXAMPLES / "how-memory-functions.md").read_text("utf-8").split("\n")
    blocks = read(EXAMPLES / "how-memory-functions.md").blocks
    assert any(block.headings == ("How Memory Functions", "Sensory Memory") for block in blocks)
    assert all(lines[b.line_start - 1 : b.line_end] == b.text.split("\n") for b in blocks)


def test_markdown_headings_are_those_a_reader_sees() -> None:
    """S1-19: a fence hides headings, an underline makes one, a deeper one ends with its parent."""
    source = (
        "# A\n\n## B\ntext b\n\n```sh\n# no heading\n\n## nor this\n```\n\nUnder\n-----\n\n### C #\n\nc\n\n# D\n\nd\n"
    )
    blocks = extract(source.encode(), "notes.md").blocks
    assert [(b.kind, b.text.split("\n")[0], b.headings) for b in blocks] == [
        ("heading", "# A", ()),
        ("heading", "## B", ("A",)),
        ("paragraph", "text b", ("A", "B")),
        ("paragraph", "```sh", ("A", "B")),
        ("heading", "Under", ("A",)),
        ("heading", "### C #", ("A", "Under")),
        ("paragraph", "c", ("A", "Under", "C")),
        ("heading", "# D", ()),
        ("paragraph", "d", ("D",)),
    ]


def test_an_unclosed_fence_loses_nothing() -> None:
    assert FAULT in text_of(read(MALFORMED / "unclosed_fence.md"))


def test_a_table_is_read_row_by_row_with_its_header() -> None:
    """S1-20: row-based, the header kept in every row, lines as in the file."""
    source = (EXAMPLES / "trouble-codes.csv").read_text("utf-8").split("\n")
    blocks = read(EXAMPLES / "trouble-codes.csv").blocks
    assert len(blocks) == 204
    assert all(block.kind == "row" and block.fields["code"] in source[block.line_start - 1] for block in blocks)
    assert "code: P0700\nmanufacturer: GENERIC\n" in text_of(read(EXAMPLES / "trouble-codes.csv"))


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("quotes_and_newlines.csv", [{"a": "1", "b": 'ha \n"ha" \nha'}, {"a": "3", "b": "4"}]),
        ("dup_headers_bom.csv", [{"id": "1", "id 2": "2", "column 3": "3", "name": "x"}]),
        (
            "semicolon_cp1252.csv",
            [{"Code": "P0700", "Bezeichnung": "Getriebesteuerung – Störung", "Preis €": "1.234,50"}],
        ),
        ("ragged.csv", [{"a": "1", "b": "2"}, {"a": "1", "b": "2", "c": "3", "column 4": "4", "column 5": "5"}]),
        ("unclosed_quote.csv", [{"code": "P0700", "text": '"never closed'}, {"code": "P0701", "text": "next"}]),
        (
            "formula.csv",
            [{"name": '=HYPERLINK("http://localhost/","x")', "value": "1"}, {"name": "@SUM(1+1)", "value": "2"}],
        ),
    ],
)
def test_awkward_tables_keep_every_cell(name: str, rows: list[dict[str, str]]) -> None:
    """S1-20, C30, C31: cells stand as written, formulas too."""
    assert [dict(block.fields) for block in read(MALFORMED / name).blocks][: len(rows)] == rows


def test_a_quoted_line_break_counts_as_a_line_of_the_file() -> None:
    assert [(b.line_start, b.line_end) for b in read(MALFORMED / "quotes_and_newlines.csv").blocks] == [(2, 4), (5, 5)]


@pytest.mark.parametrize(
    ("table", "code"),
    [("a,b\n1," + "x" * 1_100_000, "table_cell_too_long"), (",".join("x" * 1200) + "\n", "table_too_wide")],
)
def test_a_table_beyond_its_limits_is_refused(table: str, code: str) -> None:
    """C30: a cap on cells and columns."""
    with pytest.raises(UnreadableDocument) as refused:
        extract(table.encode(), "t.csv")
    assert refused.value.code == code


@pytest.mark.parametrize(("part", "name"), [("1\n", "t.csv"), ("a\n\n", "t.txt"), ("# a\n", "t.md")])
def test_a_document_of_too_many_parts_is_refused_while_it_is_read(part: str, name: str) -> None:
    """C30, C34: a row or paragraph in two bytes is a hundred times that in memory."""
    with pytest.raises(UnreadableDocument) as refused:
        extract((part * 100_002).encode(), name)
    assert refused.value.code == "document_too_complex"


def test_a_word_document_keeps_headings_tables_and_order() -> None:
    """S1-21: the local docx parser."""
    extraction = read(EXAMPLES / "service-bulletin.docx")
    (table,) = [block for block in extraction.blocks if block.kind == "table"]
    assert table.text.split("\n")[0] == "Software version | Affected | Action"
    assert table.headings == ("Service bulletin: harsh shifts after a battery replacement", "Which vehicles")
    assert extraction.pages is None
    assert [b.line_start for b in extraction.blocks[1:]] == [b.line_end + 1 for b in extraction.blocks[:-1]]


def test_a_word_document_is_read_as_it_looks() -> None:
    """S1-21, C33: what was deleted or hidden is not text, what was inserted is."""
    body = (
        "<w:p><w:r><w:t>kept </w:t></w:r><w:ins><w:r><w:t>inserted</w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del>"
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>"
        "<w:r><w:rPr><w:sz w:val='2'/></w:rPr><w:t>tiny</w:t></w:r><w:r><w:br/><w:t>next</w:t></w:r></w:p>"
    )
    extraction = extract(docx(body), "a.docx")
    assert text_of(extraction) == "kept inserted\nnext"
    assert extraction.notes == ("2 runs of hidden text were left out",)


def test_xml_entities_are_refused_before_they_expand() -> None:
    """C28: neither a bomb of entities nor a file of this machine."""
    with pytest.raises(UnreadableDocument) as refused:
        extract(
            docx("<w:p><w:r><w:t>&x;</w:t></w:r></w:p>", '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>'),
            "a.docx",
        )
    assert refused.value.code == "document_unsafe"


@pytest.mark.parametrize(
    ("name", "kind", "code"),
    [
        ("html_named.docx", UnreadableDocument, "extension_mismatch"),
        ("html_named.pdf", UnreadableDocument, "extension_mismatch"),
        ("bad-encryption-length.pdf", UnreadableDocument, "document_encrypted"),
        ("image_only.pdf", UnreadableDocument, "no_text_layer"),
        ("header_only.pdf", UnreadableDocument, "document_damaged"),
        ("truncated.pdf", UnreadableDocument, "document_damaged"),
        ("broken-lzw.pdf", UnreadableDocument, "document_damaged"),
        ("pages-loop.pdf", UnreadableDocument, "document_damaged"),
        ("deep-pages.pdf", UnreadableDocument, "document_too_complex"),
        ("whitespace_only.txt", UnreadableDocument, "document_empty"),
        ("rtf.rtf", UnsupportedDocument, "unsupported_document"),
    ],
)
async def test_what_cannot_be_read_is_refused_with_what_would_work(name: str, kind: type[RagError], code: str) -> None:
    """C23, C25, C26, C32: typed, and never an invented text."""
    with pytest.raises(kind) as refused:
        await extract_safely((MALFORMED / name).read_bytes(), name, timeout_s=20)
    assert refused.value.code == code
    assert any(word in refused.value.message for word in ("send", "save", "print", "run text recognition"))


@pytest.mark.parametrize(
    ("data", "name", "kind", "code"),
    [
        (b"", "a.pdf", UnreadableDocument, "document_empty"),
        (b"MZ\x90\x00 program", "a.txt", UnreadableDocument, "extension_mismatch"),
        (b"MZ\x90\x00 program", "setup.exe", UnsupportedDocument, "unsupported_document"),
        (b"%PDF-1.7 ...", "a.txt", UnreadableDocument, "extension_mismatch"),
        (b"<!DOCTYPE html><p>hi", "a.txt", UnreadableDocument, "extension_mismatch"),
        (b"plain words", "a.docx", UnreadableDocument, "extension_mismatch"),
        (b"\xd0\xcf\x11\xe0 encrypted", "a.docx", UnreadableDocument, "document_encrypted"),
        (b"\x89PNG\r\n", "picture", UnsupportedDocument, "unsupported_document"),
        (bytes(range(256)) * 20, "a.txt", UnreadableDocument, "document_binary"),
        (docx("", part="xl/workbook.xml"), "a.docx", UnsupportedDocument, "unsupported_document"),
        (docx("", part="word/other.xml"), "a.docx", UnreadableDocument, "document_damaged"),
        (docx("<w:p/>")[:200], "a.docx", UnreadableDocument, "document_damaged"),
    ],
)
def test_a_file_is_what_its_bytes_say(data: bytes, name: str, kind: type[RagError], code: str) -> None:
    """C32: a lying extension is refused."""
    with pytest.raises(kind) as refused:
        extract(data, name)
    assert refused.value.code == code


def test_a_name_without_an_extension_leaves_it_to_the_bytes() -> None:
    assert extract(b"Some words.", "README").extractor == "text (utf-8)"
