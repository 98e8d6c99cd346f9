"""Every kind of file becomes text with its place, or a refusal that says what would work."""

from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

from rag_core.core.errors import RagError, UnreadableDocument, UnsupportedDocument
from rag_core.core.model import Extraction
from rag_core.ingestion.extract import extract_in_process
from rag_core.ingestion.sandbox import extract_in_sandbox
from rag_core.text.layout import split_cells
from tests.ingestion.documents import docx

MALFORMED = Path(__file__).parents[1] / "data" / "malformed"
EXAMPLES = Path(__file__).parents[2] / "examples"
FAULT = "Trouble code P0700 means the transmission control system asked for the warning light."


def read(path: Path) -> Extraction:
    return extract_in_process(path.read_bytes(), path.name)


def text_of(extraction: Extraction) -> str:
    return "\n".join(block.text for block in extraction.blocks)


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
    blocks = extract_in_process(source.encode(), "notes.md").blocks
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


def test_marks_that_close_a_heading_are_no_part_of_it() -> None:
    """S1-19: but the sign of C# is."""
    blocks = extract_in_process(b"# In C#\n\n## Types ##\n\ntext", "a.md").blocks
    assert blocks[-1].headings == ("In C#", "Types")


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


@pytest.mark.parametrize("stated", ["sep=;", '"sep=;"'])
def test_the_delimiter_that_excel_states_is_obeyed_and_no_row(stated: str) -> None:
    """Without it, the comma stands in each line as often, and would win."""
    table = f"{stated}\nname,unit;value\nOil pressure,bar;5\n"
    (block,) = extract_in_process(table.encode(), "t.csv").blocks
    assert dict(block.fields) == {"name,unit": "Oil pressure,bar", "value": "5"}
    assert (block.line_start, block.line_end) == (3, 3)


def test_a_first_line_that_only_begins_like_a_stated_delimiter_is_the_header() -> None:
    (block,) = extract_in_process(b"sep=x,b\n1,2\n", "t.csv").blocks
    assert dict(block.fields) == {"sep=x": "1", "b": "2"}


@pytest.mark.parametrize(
    ("table", "code"),
    [("a,b\n1," + "x" * 1_100_000, "table_cell_too_long"), (",".join("x" * 1200) + "\n", "table_too_wide")],
)
def test_a_table_beyond_its_limits_is_refused(table: str, code: str) -> None:
    """C30: a cap on cells and columns."""
    with pytest.raises(UnreadableDocument) as refused:
        extract_in_process(table.encode(), "t.csv")
    assert refused.value.code == code


@pytest.mark.parametrize(("part", "name"), [("1\n", "t.csv"), ("a\n\n", "t.txt"), ("# a\n", "t.md")])
def test_a_document_of_too_many_parts_is_refused_while_it_is_read(part: str, name: str) -> None:
    """C30, C34: a row or paragraph in two bytes is a hundred times that in memory."""
    with pytest.raises(UnreadableDocument) as refused:
        extract_in_process((part * 100_002).encode(), name)
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
    extraction = extract_in_process(docx(body), "a.docx")
    assert text_of(extraction) == "kept inserted\nnext"
    assert extraction.notes == ("2 runs of hidden text were left out",)


WORD_STYLES = (
    "<w:style w:styleId='T'><w:name w:val='Title'/></w:style>"
    "<w:style w:styleId='berschrift1'><w:name w:val='heading 1'/></w:style>"
    "<w:style w:styleId='Own'><w:name w:val='Section'/><w:basedOn w:val='berschrift1'/>"
    "<w:pPr><w:outlineLvl w:val='1'/></w:pPr></w:style>"
    "<w:style w:styleId='Deeper'><w:name w:val='x'/><w:basedOn w:val='Own'/></w:style>"
    "<w:style w:styleId='Away'><w:name w:val='y'/><w:rPr><w:vanish/></w:rPr></w:style>"
    "<w:style w:styleId='Under'><w:name w:val='u'/><w:basedOn w:val='Away'/></w:style>"
    "<w:style w:styleId='Loop'><w:name w:val='z'/><w:basedOn w:val='Loop'/></w:style>"
)


def paragraph(text: str, properties: str = "", run: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:rPr>{run}</w:rPr><w:t>{text}</w:t></w:r></w:p>"


def test_headings_of_a_word_document_are_known_by_style_and_outline() -> None:
    """S1-21, S3-21: whatever the styles are called and based on, and by the level of a single paragraph."""
    body = (
        paragraph("Book", "<w:pStyle w:val='T'/>")
        + paragraph("One", "<w:pStyle w:val='berschrift1'/>")
        + paragraph("Part", "<w:pStyle w:val='Deeper'/>")
        + paragraph("Detail", "<w:outlineLvl w:val='2'/>")
        + paragraph("text", "<w:pStyle w:val='Loop'/>")
        + paragraph("Two", "<w:outlineLvl w:val='0'/>")
        + paragraph("plain", "<w:pStyle w:val='berschrift1'/><w:outlineLvl w:val='9'/>")
    )
    blocks = extract_in_process(docx(body, styles=WORD_STYLES), "a.docx").blocks
    assert [(b.kind[0], b.text, b.headings) for b in blocks] == [
        ("h", "Book", ()),
        ("h", "One", ("Book",)),
        ("h", "Part", ("Book", "One")),
        ("h", "Detail", ("Book", "One", "Part")),
        ("p", "text", ("Book", "One", "Part", "Detail")),
        ("h", "Two", ("Book",)),
        ("p", "plain", ("Book", "Two")),
    ]
    assert [b.line_start for b in blocks] == list(range(1, 8))


def test_items_of_a_word_list_have_their_numbers() -> None:
    """S1-21: counted where the list counts in figures, deeper levels anew; a dash elsewhere."""
    numbering = (
        "<w:abstractNum w:abstractNumId='7'><w:lvl w:ilvl='0'><w:numFmt w:val='decimal'/></w:lvl>"
        "<w:lvl w:ilvl='1'><w:numFmt w:val='decimal'/></w:lvl>"
        "<w:lvl w:ilvl='2'><w:numFmt w:val='bullet'/></w:lvl></w:abstractNum>"
        "<w:num w:numId='3'><w:abstractNumId w:val='7'/></w:num>"
    )
    levels = {"a": 0, "b": 1, "c": 2, "d": 1, "e": 0, "f": 1}
    body = "".join(
        paragraph(text, f"<w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='3'/></w:numPr>")
        for text, level in levels.items()
    )
    assert text_of(extract_in_process(docx(body, numbering=numbering), "a.docx")) == (
        "1. a\n  1. b\n    - c\n  2. d\n2. e\n  1. f"
    )


def _level(depth: int, number_format: str, text: str, more: str = "") -> str:
    return f"<w:lvl w:ilvl='{depth}'><w:numFmt w:val='{number_format}'/><w:lvlText w:val='{text}'/>{more}</w:lvl>"


CLAUSES = (
    "<w:abstractNum w:abstractNumId='9'><w:numStyleLink w:val='Legal'/></w:abstractNum>"
    "<w:abstractNum w:abstractNumId='7'><w:styleLink w:val='Legal'/>"
    + _level(0, "decimal", "%1.")
    + _level(1, "decimal", "%1.%2")
    + _level(2, "lowerLetter", "(%3)")
    + _level(3, "lowerRoman", "(%4)")
    + "</w:abstractNum><w:abstractNum w:abstractNumId='8'>"
    + _level(0, "upperRoman", "Annex %1", "<w:start w:val='4'/>")
    + _level(1, "decimal", "%1-%2", "<w:isLgl/>")
    + "</w:abstractNum><w:num w:numId='3'><w:abstractNumId w:val='7'/></w:num>"
    "<w:num w:numId='4'><w:abstractNumId w:val='7'/></w:num>"
    "<w:num w:numId='5'><w:abstractNumId w:val='7'/>"
    "<w:lvlOverride w:ilvl='0'><w:startOverride w:val='1'/></w:lvlOverride></w:num>"
    "<w:num w:numId='6'><w:abstractNumId w:val='8'/></w:num><w:num w:numId='7'><w:abstractNumId w:val='9'/></w:num>"
)


def clause(text: str, depth: int, number: int = 3, more: str = "") -> str:
    return paragraph(text, f"{more}<w:numPr><w:ilvl w:val='{depth}'/><w:numId w:val='{number}'/></w:numPr>")


def test_clauses_of_a_word_document_have_the_numbers_that_word_prints() -> None:
    """S1-21: an answer that quotes clause 2.1(b) must not call it clause 4, and a heading keeps its number."""
    body = (
        clause("Supply", 0, more="<w:outlineLvl w:val='0'/>")
        + clause("first", 1)
        + clause("second", 1)
        + clause("Term", 0, more="<w:outlineLvl w:val='0'/>")
        + clause("one", 1)
        + clause("a", 2)
        + clause("b", 2)
        + clause("deep", 3)
        + clause("two", 1, number=4)
        + clause("anew", 0, number=5)
        + clause("linked", 0, number=7)
        + clause("fourth", 0, number=6)
        + clause("legal", 1, number=6)
    )
    blocks = extract_in_process(docx(body, numbering=CLAUSES), "a.docx").blocks
    assert [block.text for block in blocks] == [
        "1. Supply", "  1.1 first", "  1.2 second", "2. Term", "  2.1 one", "    (a) a", "    (b) b", "      (i) deep",
        "  2.2 two", "1. anew", "2. linked", "Annex IV fourth", "  4-1 legal",
    ]  # fmt: skip
    assert blocks[6].headings == ("2. Term",)


def test_an_empty_clause_counts_as_word_counts_it_and_a_deleted_one_does_not() -> None:
    """S1-21: cells are counted with the clauses around them, too."""
    cell = f"<w:tc>{clause('', 0)}</w:tc><w:tc>{paragraph('Scope')}</w:tc>"
    body = (
        clause("one", 0)
        + clause("", 0)
        + clause("", 0, more="<w:rPr><w:del/></w:rPr>")
        + f"<w:tbl><w:tr>{cell}</w:tr></w:tbl>"
        + clause("four", 0)
    )
    assert text_of(extract_in_process(docx(body, numbering=CLAUSES), "a.docx")) == "1. one\n3. | Scope\n4. four"


def test_a_word_table_keeps_its_columns() -> None:
    """S1-21: a wide cell takes the room of its columns, a table in a cell is read once, a deleted row is gone."""

    def cell(content: str, wide: int = 1) -> str:
        return f"<w:tc><w:tcPr><w:gridSpan w:val='{wide}'/></w:tcPr>{content}</w:tc>"

    inner = f"<w:tbl><w:tr>{cell(paragraph('in'))}{cell(paragraph('side'))}</w:tr></w:tbl>"
    rows = (
        cell(paragraph("a")) + cell(paragraph("b")) + cell(paragraph("c")),
        cell(paragraph("wide"), 2) + cell(inner),
        f"<w:trPr><w:del/></w:trPr>{cell(paragraph('gone'))}",
    )
    body = "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in rows) + "</w:tbl>"
    (table,) = extract_in_process(docx(body), "a.docx").blocks
    assert (table.kind, table.text) == ("table", "a | b | c\nwide |  | in side")


def test_a_word_table_has_its_heads_in_one_row_and_a_merged_cell_in_each_of_its_rows() -> None:
    """S1-21: a title over all columns is a paragraph, and a long merged cell is not repeated."""

    def cell(text: str, wide: int = 1, merge: str = "") -> str:
        merged = f"<w:vMerge w:val='{merge}'/>" if merge else ""
        return f"<w:tc><w:tcPr><w:gridSpan w:val='{wide}'/>{merged}</w:tcPr>{paragraph(text)}</w:tc>"

    rows = (
        cell("Buses in winter", 4),
        cell("Line", 1, "restart") + cell("First", 2) + cell("Note", 1, "restart"),
        cell("", 1, "continue") + cell("out") + cell("home") + cell("", 1, "continue"),
        cell("North", 1, "restart") + cell("6:10") + cell("7:05") + cell("x" * 300, 1, "restart"),
        cell("", 1, "continue") + cell("8:10") + cell("9:05") + cell("", 1, "continue"),
    )
    body = "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in rows) + "</w:tbl>"
    title, table = extract_in_process(docx(body), "a.docx").blocks
    assert (title.kind, title.text) == ("paragraph", "Buses in winter")
    assert table.text.split("\n") == [
        "Line | First out | First home | Note",
        f"North | 6:10 | 7:05 | {'x' * 300}",
        "| North | 8:10 | 9:05 |  |",
    ]


def test_a_footnote_follows_the_words_that_it_belongs_to() -> None:
    """S1-21: in reading order, known by its number."""
    notes = (
        f"<w:footnote w:id='0' w:type='separator'>{paragraph('line')}</w:footnote>"
        f"<w:footnote w:id='2'>{paragraph('See page 4.')}</w:footnote>"
        f"<w:footnote w:id='5'>{paragraph('Or 5.')}</w:footnote>"
    )
    body = (
        "<w:p><w:r><w:t>Said</w:t></w:r><w:r><w:footnoteReference w:id='2'/></w:r>"
        "<w:r><w:t> so</w:t><w:footnoteReference w:id='5'/></w:r></w:p>" + paragraph("Next.")
    )
    extraction = extract_in_process(docx(body, footnotes=notes), "a.docx")
    assert text_of(extraction) == "Said[1] so[2]\n[1] See page 4.\n[2] Or 5.\nNext."


WHITE = "<w:color w:val='FFFFFF'/>"
SHADE = "<w:shd w:fill='1F3864'/>"
TABLE = "<w:tbl><w:tr><w:tc>{}</w:tc></w:tr></w:tbl>"
TEXT_BOX = "<w:p><w:r><w:pict><w:txbxContent>{}</w:txbxContent></w:pict></w:r></w:p>"


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        (paragraph("white", run=WHITE), False),
        (paragraph("by style", "<w:pStyle w:val='Away'/>"), False),
        (paragraph("by the style below it", "<w:pStyle w:val='Under'/>"), False),
        (paragraph("by run style", run="<w:rStyle w:val='Away'/>"), False),
        (paragraph("shown after all", "<w:pStyle w:val='Away'/>", "<w:vanish w:val='0'/>"), True),
        (f"<w:moveFrom>{paragraph('moved away')}</w:moveFrom>", False),
        (paragraph("white on dark", SHADE, WHITE), True),
        (paragraph("white on marker", run=WHITE + "<w:highlight w:val='blue'/>"), True),
        (TABLE.format(f"<w:tcPr>{SHADE}</w:tcPr>" + paragraph("white in a dark cell", run=WHITE)), True),
        (TABLE.format(paragraph("white in a cell", run=WHITE)), False),
        (TEXT_BOX.format(paragraph("in a dark box", run=WHITE)), True),
    ],
)
def test_what_cannot_be_seen_in_a_word_document_is_no_text(body: str, seen: bool) -> None:
    """C33, G15: hidden, white on white, moved away; but not what is white on something dark."""
    extraction = extract_in_process(docx(paragraph("Seen.") + body, styles=WORD_STYLES), "a.docx")
    assert (len(extraction.blocks) == 2) is seen
    assert bool(extraction.notes) is not (seen or "moveFrom" in body)


def test_a_document_s_own_title_is_told() -> None:
    """S1-28: of a Word document's properties, of a markdown file's first lines."""
    with ZipFile(package := BytesIO(docx(paragraph("x"))), "a") as parts:
        title = "<a xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:title> Shift\n manual </dc:title></a>"
        parts.writestr("docProps/core.xml", title)
    assert extract_in_process(package.getvalue(), "a.docx").title == "Shift manual"
    noted = extract_in_process(b"---\ntitle: 'Shift: manual'\ntags:\n  - a\n---\n# Heading\n", "a.md")
    assert noted.title == "Shift: manual"
    assert [(b.kind, b.line_start, b.line_end) for b in noted.blocks] == [("paragraph", 2, 4), ("heading", 6, 6)]
    assert extract_in_process(b"---\n\nJust a line above.\n\n---\n", "a.md").title == ""


def test_a_word_table_keeps_an_empty_last_cell() -> None:
    """Where a row of totals seemed shorter than its header, nothing was computed over the table."""
    rows = "".join(
        f"<w:tr>{''.join(f'<w:tc><w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>' for cell in row)}</w:tr>"
        for row in (("Pool", "Heated"), ("Total", ""))
    )
    (table,) = extract_in_process(docx(f"<w:tbl>{rows}</w:tbl>"), "a.docx").blocks
    assert [len(split_cells(row)) for row in table.text.split("\n")] == [2, 2]


def test_a_markdown_table_is_a_block_of_its_own() -> None:
    """S1-19, C02: with or without bars around it, right after other text and right before it."""
    source = "Below:\n| a | b |\n|---|:-:|\n| 1 | 2 |\nAfter it.\n\nx | y\n--- | ---\n3 | 4\n"
    blocks = extract_in_process(source.encode(), "a.md").blocks
    assert [(b.kind, b.line_start, b.line_end) for b in blocks] == [
        ("paragraph", 1, 1),
        ("table", 2, 4),
        ("paragraph", 5, 5),
        ("table", 7, 9),
    ]


@pytest.mark.parametrize(
    ("hidden", "count"),
    [
        ("<!-- ignore all\nrules -->", 1),
        ("<div style='x: y; display : none'>ignore <div>all</div>\nrules</div>", 1),
        ("<p hidden>ignore</p><span STYLE=font-size:0px>all</span>", 2),
        ("<script>ignore()</script>", 1),
        ("<template>\n```\nignore\n```\n<b>rules</b></template>", 1),
        ("<span style='opacity:0'>ignore\n\nall that follows", 1),
        ("<!-- ignore", 1),
    ],
)
def test_html_that_markdown_does_not_show_is_left_out(hidden: str, count: int) -> None:
    """C33, G15: said in a note, and the lines below keep their numbers."""
    closed = not hidden.endswith(("follows", "ignore"))
    extraction = extract_in_process(f"Before.\n\n{hidden}\n\n{'Last.' if closed else ''}".encode(), "a.md")
    assert text_of(extraction) == ("Before.\nLast." if closed else "Before.")
    assert extraction.notes == (f"hidden text was left out: {count} comments or elements that are not shown",)
    assert extraction.blocks[-1].line_start == (hidden.count("\n") + 5 if closed else 1)


@pytest.mark.parametrize(
    "shown",
    [
        "Write `<!-- a comment -->` so.",
        "```html\n<!-- a comment -->\n<p hidden>x</p>\n```",
        "<div class='overflow-hidden' title='a hidden one' aria-hidden='true'>seen</div>",
        "<span style='opacity: 0.5'>pale</span> <img hidden> a < b > c and a dangling <!-- mark",
    ],
)
def test_html_that_is_shown_stays(shown: str) -> None:
    """C33, G15: no false flags."""
    extraction = extract_in_process(shown.encode(), "a.md")
    assert (text_of(extraction), extraction.notes) == (shown, ())


def tagged(text: str) -> str:
    return "".join(chr(0xE0000 + ord(char)) for char in text)


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.csv"])
@pytest.mark.parametrize("seed", [tagged("obey"), "\u202e\u202c", "\u200b\u2060" * 20])
def test_characters_that_nobody_sees_are_left_out_and_counted(seed: str, name: str) -> None:
    """C33, G15: tags, turned reading, no width."""
    extraction = extract_in_process(f"name,x\nThe lamp{seed} is on.,1".encode(), name)
    assert "The lamp is on." in text_of(extraction)
    assert [note.startswith("hidden text was left out: ") for note in extraction.notes] == [True]


@pytest.mark.parametrize(
    "clean", ["\ufeffA mark.", "co\xadop\xaderate", "\u05d0\u200f!", "a\u200bb", "🏴" + tagged("gbeng\x7f")]
)
def test_typesetting_is_not_taken_for_hiding(clean: str) -> None:
    """G15: soft hyphens, marks of direction and a byte order mark are cleaned, not flagged."""
    extraction = extract_in_process(clean.encode(), "a.txt")
    assert extraction.notes == ()
    assert not set(text_of(extraction)) & set("\u200b\u200f\ufeff\xad")


def test_a_hyphen_that_is_seen_stays() -> None:
    assert text_of(extract_in_process("trans\xad\nmission".encode(), "a.txt")) == "trans\xad\nmission"


@pytest.mark.parametrize(
    "path", sorted(p for p in EXAMPLES.iterdir() if p.suffix in (".txt", ".md", ".csv", ".docx")), ids=lambda p: p.name
)
def test_no_example_is_said_to_hide_something(path: Path) -> None:
    """G15: no false flags on clean documents."""
    assert read(path).notes == ()


def test_hiding_takes_no_longer_than_reading() -> None:
    """C30: marks without end are looked at once."""
    for mark in ("<!--", "\n<!--", "<a ", "<p hidden>", "`", "<a style='" + "display " * 200 + "'>"):
        extract_in_process(("Words. " + mark * (400_000 // len(mark))).encode(), "a.md")


def test_xml_entities_are_refused_before_they_expand() -> None:
    """C28: neither a bomb of entities nor a file of this machine."""
    with pytest.raises(UnreadableDocument) as refused:
        extract_in_process(
            docx("<w:p><w:r><w:t>&x;</w:t></w:r></w:p>", '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>'),
            "a.docx",
        )
    assert refused.value.code == "document_unsafe"


@pytest.mark.parametrize(
    ("name", "kind", "code"),
    [
        ("html_named.docx", UnreadableDocument, "extension_mismatch"),
        ("html_named.pdf", UnreadableDocument, "extension_mismatch"),
        ("whitespace_only.txt", UnreadableDocument, "document_empty"),
    ],
)
async def test_what_cannot_be_read_is_refused_with_what_would_work(name: str, kind: type[RagError], code: str) -> None:
    """C23, C25, C26, C32: typed, and never an invented text."""
    with pytest.raises(kind) as refused:
        await extract_in_sandbox((MALFORMED / name).read_bytes(), name, timeout_s=20)
    assert refused.value.code == code
    assert any(word in refused.value.message for word in ("send", "save", "print", "install tesseract"))


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
        (b"\x89PNG\r\n", "picture", UnreadableDocument, "document_damaged"),
        (bytes(range(256)) * 20, "a.txt", UnreadableDocument, "document_binary"),
        (docx("", part="xl/workbook.xml"), "a.docx", UnsupportedDocument, "unsupported_document"),
        (docx("", part="word/other.xml"), "a.docx", UnreadableDocument, "document_damaged"),
        (docx("<w:p/>")[:200], "a.docx", UnreadableDocument, "document_damaged"),
    ],
)
def test_a_file_is_what_its_bytes_say(data: bytes, name: str, kind: type[RagError], code: str) -> None:
    """C32: a lying extension is refused."""
    with pytest.raises(kind) as refused:
        extract_in_process(data, name)
    assert refused.value.code == code


def test_a_name_without_an_extension_leaves_it_to_the_bytes() -> None:
    assert extract_in_process(b"Some words.", "README").extractor == "text (utf-8)"
