"""Raised and lowered characters of every format that has them, and of PDFs as different programs set them."""

import re
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO

import pytest
from openpyxl import Workbook
from openpyxl.xml.constants import SHARED_STRINGS, SHEET_MAIN_NS
from pptx import Presentation
from pptx.util import Inches

from rag_core.ingestion.extract import extract_in_process
from tests.ingestion import office_files as made
from tests.ingestion.documents import docx
from tests.ingestion.pdf_files import pdf

SENTENCES = {
    "The spare code is K-07^6^ for it.": "The spare code is K-07⁶ for it.",
    "It rose to 12.5^1^ percent.": "It rose to 12.5¹ percent.",
    "Staff of 1,204^3^, as counted.": "Staff of 1,204³, as counted.",
    "Some 10^6^ cells on 25 m^2^ of it.": "Some 10⁶ cells on 25 m² of it.",
    "It holds CO_2_ on the 1^st^ floor.": "It holds CO2 on the 1st floor.",
    "The Acme^TM^ in base 101_2_ here.": "The Acme™ in base 101₂ here.",
    "^7^Counted by ^14^C in June.": "⁷Counted by ¹⁴C in June.",
    "It costs $19^99^ or 2019.^5^ Then.": "It costs $19⁹⁹ or 2019.⁵ Then.",
}
LEVELS = {"^": 1, "_": -1}


def split_runs(sentence: str) -> Iterator[tuple[str, int]]:
    for part in re.split(r"(\^.*?\^|_.*?_)", sentence):
        if part:
            yield part.strip("^_"), LEVELS.get(part[0], 0)


def write_with(levels: dict[int, str], sentence: str) -> str:
    return "".join(levels[level] % words for words, level in split_runs(sentence))


def make_docx() -> bytes:
    run = "<w:r>%s<w:t xml:space='preserve'>%%s</w:t></w:r>"
    align = "<w:rPr><w:vertAlign w:val='%sscript'/></w:rPr>"
    levels = {0: run % "", 1: run % (align % "super"), -1: run % (align % "sub")}
    return docx("".join(f"<w:p>{write_with(levels, sentence)}</w:p>" for sentence in SENTENCES))


def make_html() -> bytes:
    levels = {0: "%s", 1: "<sup><a href='#n'>%s</a></sup>", -1: "<sub>%s</sub>"}
    return "".join(f"<p>{write_with(levels, sentence)}</p>" for sentence in SENTENCES).encode()


def make_odt() -> bytes:
    levels = {
        0: "%s",
        1: "<text:span text:style-name='up'>%s</text:span>",
        -1: "<text:span text:style-name='down'>%s</text:span>",
    }
    styles = "".join(
        f"<style:style style:name='{name}'><style:text-properties style:text-position='{place} 58%'/></style:style>"
        for name, place in (("up", "super"), ("down", "-33%"))
    )
    text = "".join(f"<text:p>{write_with(levels, sentence)}</text:p>" for sentence in SENTENCES)
    content = f"<office:automatic-styles>{styles}</office:automatic-styles><office:body><office:text>{text}"
    xml = f"<office:content {made.OPEN_NAMES}>{content}</office:text></office:body></office:content>"
    return made.make_open("", "text", **{"content.xml": xml.encode()})


def make_rtf() -> bytes:
    levels = {0: "%s", 1: "{\\super %s}", -1: "\\sub %s\\nosupersub "}
    return f"{{\\rtf1 {''.join(write_with(levels, sentence) + chr(92) + 'par ' for sentence in SENTENCES)}}}".encode()


def make_pptx() -> bytes:
    show = Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    frame = slide.shapes.add_textbox(Inches(1), Inches(1), Inches(6), Inches(4)).text_frame
    for sentence in SENTENCES:
        paragraph = frame.add_paragraph()
        for words, level in split_runs(sentence):
            run = paragraph.add_run()
            run.text = words
            if level:
                run._r.get_or_add_rPr().set("baseline", "30000" if level > 0 else "-25000")
    return made._save(show)


def make_xlsx() -> bytes:
    """A workbook with the first of its texts in their cells, and the others shared, as Excel writes them."""
    run = "<r>%s<t>%%s</t></r>"
    align = '<rPr><vertAlign val="%sscript"/></rPr>'
    levels = {0: run % "", 1: run % (align % "super"), -1: run % (align % "sub")}
    texts = [write_with(levels, sentence) for sentence in SENTENCES]
    cells = [f't="inlineStr"><is>{text}</is>' for text in texts[:4]]
    cells += [f't="s"><v>{number}</v>' for number in range(4, len(texts))]
    rows = "".join(f'<row r="{n}"><c r="A{n}" {cell}</c></row>' for n, cell in enumerate(cells, start=1))
    with zipfile.ZipFile(BytesIO(made._save(Workbook()))) as package:
        files = {name: package.read(name) for name in package.namelist()}
    files["xl/worksheets/sheet1.xml"] = write_part("worksheet", f"<sheetData>{rows}</sheetData>")
    files["xl/sharedStrings.xml"] = write_part("sst", "".join(f"<si>{text}</si>" for text in texts))
    types = files["[Content_Types].xml"].decode()
    if SHARED_STRINGS not in types:
        shared = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{SHARED_STRINGS}"/></Types>'
        files["[Content_Types].xml"] = types.replace("</Types>", shared).encode()
    return made.make_zip(files)


def write_part(name: str, content: str) -> bytes:
    return f'<{name} xmlns="{SHEET_MAIN_NS}">{content}</{name}>'.encode()


def make_pdf(rise: float = 3.8, size: float = 6.6, *, apart: bool = False) -> bytes:
    """Lines of 11 points; a mark is raised by `rise` in its own size, drawn after its line where it is `apart`."""
    content = b""
    for number, sentence in enumerate(SENTENCES):
        x, y, last = 72.0, 700 - 20 * number, b""
        for words, level in split_runs(sentence):
            height, lift = (size, rise if level > 0 else -1.6) if level else (11.0, 0.0)
            words_at = f"BT /M {height} Tf {x} {y + lift} Td ({words}) Tj ET\n".encode()
            x += 0.6 * height * len(words)
            last, content = (last + words_at, content) if apart and level > 0 else (last, content + words_at)
        content += last
    return pdf(content, fonts=b"/Font<</M<</Type/Font/Subtype/Type1/BaseFont/Courier>>>>")


MAKERS: dict[str, Callable[[], bytes]] = {
    "docx": make_docx,
    "html": make_html,
    "odt": make_odt,
    "rtf": make_rtf,
    "pptx": make_pptx,
    "xlsx": make_xlsx,
    "pdf": make_pdf,
}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_raised_mark_changes_no_value(kind: str) -> None:
    read = read_text(MAKERS[kind](), kind)
    assert [wanted for wanted in SENTENCES.values() if wanted not in read] == []


@pytest.mark.parametrize(("rise", "size"), [(2.4, 7.7), (5.0, 6.0), (6.0, 6.0), (4.4, 11.0)])
def test_a_raised_mark_of_a_pdf_is_seen_at_any_usual_rise(rise: float, size: float) -> None:
    read = read_text(make_pdf(rise, size), "pdf")
    assert "K-07⁶ for" in read
    assert "12.5¹ percent" in read
    assert "1,204³, as" in read


def test_a_mark_that_a_pdf_draws_after_its_line_stands_at_its_word() -> None:
    read = read_text(make_pdf(apart=True), "pdf")
    assert "K-07⁶ for it." in read
    assert "Some 10⁶ cells on 25 m² of it." in read
    assert "$19⁹⁹ or 2019.⁵ Then." in read


def test_type_of_two_sizes_on_one_line_is_no_mark() -> None:
    sizes = b"BT /R 22 Tf 72 700 Td (42) Tj /R 9 Tf ( of 76 rooms) Tj ET BT /R 14 Tf 72 600 Td (N) Tj"
    sizes += b" /R 11 Tf (ASA 10) Tj ET"
    assert read_text(pdf(sizes), "pdf") == "42 of 76 rooms NASA 10"


def read_text(data: bytes, kind: str) -> str:
    blocks = extract_in_process(data, f"a.{kind}").blocks
    return " ".join(" ".join(block.text for block in blocks).split())


def test_a_line_has_the_same_box_whenever_its_marks_are_drawn() -> None:
    in_order, apart = (
        extract_in_process(make_pdf(apart=is_apart), "a.pdf").blocks[0].boxes for is_apart in (False, True)
    )
    assert in_order[:6] == apart[:6]
