"""Foreign text inside files: the shapes in a file within a file, and files whose own parts are many or deep.

The files are written as plain XML and zip, because the libraries that write them take longer than the readers do.
"""

import re
import zipfile
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from functools import cache, partial
from io import BytesIO
from xml.sax.saxutils import escape

from aspose.email_foss.msg import MapiMessage

from rag_core.ingestion.extract.extraction import clean_text
from tests.ingestion.office_files import make_msg, make_open, make_pptx
from tests.ingestion.pdf_files import lines, pdf

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_P = "http://schemas.openxmlformats.org/package/2006"
_A = "http://schemas.openxmlformats.org/drawingml/2006"
_GROUP = '<p:grpSp><p:nvGrpSpPr><p:cNvPr id="97" name="g"/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"

Container = Callable[[str], bytes]  # of a text
Structure = Callable[[int], bytes]  # of a number of bytes, about


def zip_files(files: Mapping[str, str | bytes]) -> bytes:
    held = BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in files.items():
            archive.writestr(name, data.encode("utf-8", "replace") if isinstance(data, str) else data)
    return held.getvalue()


def _in_zip(name: str, make: Callable[[str], str | bytes] = str) -> Container:
    return lambda text: zip_files({name: make(text)})


def _escape(text: str) -> str:
    return escape(clean_text(text)).replace("\x0c", " ")


def write_docx(body: str, **parts: str) -> bytes:
    document = {"word/document.xml": f"<w:document {_W}><w:body>{body}</w:body></w:document>"}
    return zip_files({**document, **{f"word/{name}.xml": part for name, part in parts.items()}})


def _write_paragraphs(text: str) -> bytes:
    return write_docx("".join(f"<w:p><w:r><w:t>{line}</w:t></w:r></w:p>" for line in _escape(text).split("\n")))


def write_xlsx(rows: str, strings: str = "") -> bytes:
    """A workbook of one sheet."""
    override = "".join(
        f'<Override PartName="/xl/{part}.xml" ContentType="{_TYPES}.{kind}+xml"/>'
        for part, kind in (("workbook", "sheet.main"), ("sheet", "worksheet"), ("strings", "sharedStrings"))
    )
    relation = '<Relationship Id="r1" Type="{0}/{1}" Target="{2}"/>'.format
    return zip_files({
        "[Content_Types].xml": f'<Types xmlns="{_P}/content-types">{override}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_P}/relationships">'
        f"{relation(_R, 'officeDocument', 'xl/workbook.xml')}</Relationships>",
        "xl/workbook.xml": f'<workbook {_S} xmlns:r="{_R}"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_P}/relationships">'
        f"{relation(_R, 'worksheet', 'sheet.xml')}</Relationships>",
        "xl/sheet.xml": f"<worksheet {_S}><sheetData>{rows}</sheetData></worksheet>",
        "xl/strings.xml": f"<sst {_S}>{strings}</sst>",
    })  # fmt: skip


def _write_cells(text: str) -> bytes:
    """A workbook whose second column has the lines of the text."""
    shared = "".join(f"<si><t>{line}</t></si>" for line in _escape(text).split("\n"))
    rows = (f'<row r="{n}"><c r="A{n}"><v>{n}</v></c><c r="B{n}" t="s"><v>{n - 1}</v></c></row>'
            for n in range(1, clean_text(text).count("\n") + 2))  # fmt: skip
    return write_xlsx("".join(rows), shared)


def _write_open_text(text: str) -> bytes:
    return make_open("".join(f"<text:p>{line}</text:p>" for line in _escape(text).split("\n")), "text")


def _write_rich_text(text: str) -> bytes:
    marked = text.replace("\\", "\\\\").replace("{", "\\{").replace("}", "\\}").replace("\n", "\\par\n")
    return b"{\\rtf1 " + marked.encode("cp1252", "replace") + b"}"


def _write_printed_page(text: str) -> bytes:
    """Pages of thirty lines, in the letters that the font has."""
    printed = clean_text(text).encode("latin-1", "replace").decode("latin-1")
    words = [line[:90].replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)") for line in printed.split("\n")]
    return pdf(*(lines(*words[at : at + 30]) for at in range(0, min(len(words), 900), 30)))


def write_mail(text: str, attachments: Mapping[str, bytes], subtype: str = "plain") -> bytes:
    mail = EmailMessage()
    mail["From"], mail["Subject"] = "a@b.example", "s"
    mail.set_content(text.encode("utf-8", "replace"), "text", subtype, cte="base64")
    mail.set_param("charset", "utf-8")
    for name, data in attachments.items():
        mail.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return mail.as_bytes()


CONTAINERS: dict[str, tuple[str, Container]] = {
    **{f"{suffix} in zip": ("zip", _in_zip(f"a.{suffix}")) for suffix in ("txt", "md", "csv", "html", "json")},
    "docx in zip": ("zip", _in_zip("a.docx", _write_paragraphs)),
    "xlsx in zip": ("zip", _in_zip("a.xlsx", _write_cells)),
    "odt in zip": ("zip", _in_zip("a.odt", _write_open_text)),
    "rtf in zip": ("zip", _in_zip("a.rtf", _write_rich_text)),
    "pdf in zip": ("zip", _in_zip("a.pdf", _write_printed_page)),
    "html in eml in zip": ("zip", _in_zip("a.eml", lambda text: write_mail(text, {}, "html"))),
    "txt in eml": ("eml", lambda text: write_mail("seen", {"a.txt": text.encode("utf-8", "replace")})),
    "docx in eml in zip": ("zip", _in_zip("a.eml", lambda text: write_mail(text, {"a.docx": _write_paragraphs(text)}))),
    "name in eml": ("eml", lambda text: _name_attachment(clean_text(text))),
}


def _name_attachment(name: str) -> bytes:
    quoted = name.replace("\n", " ").replace("\r", " ").replace('"', '\\"').encode("utf-8", "replace")
    return (
        b"From: a@b.example\nContent-Type: multipart/mixed; boundary=B\n\n--B\n\nseen\n--B\n"
        b'Content-Disposition: attachment; filename="%s"\n\nseen\n--B--\n' % quoted
    )


def _repeat(write: Callable[[str], bytes], piece: str, size: int) -> bytes:
    return write(piece * (size // len(piece)))


def _number(write: Callable[[str], bytes], piece: Callable[[int], str], size: int) -> bytes:
    return write("".join(map(piece, range(1, size // len(piece(1)) + 1))))


def _open(kind: str) -> Callable[[str], bytes]:
    return lambda content: make_open(content, kind)


def _table(rows: str) -> bytes:
    return write_docx(f"<w:tbl>{rows}</w:tbl>")


@cache
def _read_presentation() -> Mapping[str, bytes]:
    with zipfile.ZipFile(BytesIO(make_pptx())) as package:
        return {name: package.read(name) for name in package.namelist()}


def _present(shapes: str) -> bytes:
    """A presentation with these shapes on its first slide."""
    parts = dict(_read_presentation())
    slide = parts["ppt/slides/slide1.xml"].decode()
    parts["ppt/slides/slide1.xml"] = slide.replace("</p:spTree>", f"{shapes}</p:spTree>").encode()
    return zip_files(parts)


def _present_table(rows: str) -> bytes:
    grid = f'<a:tbl><a:tblGrid><a:gridCol w="9"/></a:tblGrid>{rows}</a:tbl>'
    return _present(
        '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="99" name="t"/><p:cNvGraphicFramePr/><p:nvPr/>'
        '</p:nvGraphicFramePr><p:xfrm><a:off x="1" y="1"/><a:ext cx="9" cy="9"/></p:xfrm>'
        f'<a:graphic><a:graphicData uri="{_A}/table">{grid}</a:graphicData></a:graphic></p:graphicFrame>'
    )


def _present_chart(size: int) -> bytes:
    parts = dict(_read_presentation())
    (name,) = (part for part in parts if part.startswith("ppt/charts/chart"))
    points = size // 80
    cached = "".join(f'<c:pt idx="{n}"><c:v>{n}</c:v></c:pt>' for n in range(points))
    few = re.compile(r'<c:ptCount val="2"/>.*?</c:(?=strCache|numCache)', re.DOTALL)
    parts[name] = few.sub(f'<c:ptCount val="{points}"/>{cached}</c:', parts[name].decode()).encode()
    return zip_files(parts)


def _present_groups(size: int) -> bytes:
    depth = size // 2 // len(_GROUP)
    return _present(_GROUP * depth + "</p:grpSp>" * depth)


def _html(body: str) -> bytes:
    return f"<!doctype html><html><body>{body}</body></html>".encode()


def _rich(text: str) -> bytes:
    return b"{\\rtf1 %s}" % text.encode()


def _name_column(number: int) -> str:
    """Return the letters of a column, counted from 1."""
    letters = ""
    while number:
        number, left = divmod(number - 1, 26)
        letters = chr(65 + left) + letters
    return letters


def _write_stair(row: int) -> str:
    """Return a row of two cells further right than those before: each has a column that none before it has."""
    cells = (f'<c r="{_name_column(column)}{row}" t="str"><v>x</v></c>' for column in (row, row + 1))
    return f'<row r="{row}">{"".join(cells)}</row>'


def _write_notes(size: int) -> bytes:
    references = '<w:r><w:footnoteReference w:id="1"/></w:r>' * (size // 44)
    note = '<w:footnote w:id="1"><w:p><w:r><w:t>n</w:t></w:r></w:p></w:footnote>'
    return write_docx(f"<w:p>{references}</w:p>", footnotes=f"<w:footnotes {_W}>{note}</w:footnotes>")


def _attach_mails(size: int) -> bytes:
    return make_msg(mails=[MapiMessage.create("s", "It is so.") for _ in range(size // 1_000)])


_RUN = "<w:r><w:t>a </w:t></w:r>"
_ROW = f"<w:tr><w:tc><w:p>{_RUN}</w:p></w:tc></w:tr>"
_LIST = "<text:list><text:list-item><text:p>x</text:p></text:list-item></text:list>"
_BODY = "<a:bodyPr/><a:p><a:r><a:t>a</a:t></a:r></a:p>"
_SLIDE_ROW = f'<a:tr h="9"><a:tc><a:txBody>{_BODY}</a:txBody></a:tc></a:tr>'
_SHAPE = (
    '<p:sp><p:nvSpPr><p:cNvPr id="98" name="s"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>'
    f"<p:txBody>{_BODY}</p:txBody></p:sp>"
)
STRUCTURES: dict[str, tuple[str, Structure]] = {
    "docx runs": ("docx", partial(_repeat, lambda runs: write_docx(f"<w:p>{runs}</w:p>"), _RUN)),
    "docx notes": ("docx", _write_notes),
    "docx rows": ("docx", partial(_repeat, lambda rows: write_docx(f"<w:tbl>{rows}</w:tbl>"), _ROW)),
    "xlsx stairs": ("xlsx", partial(_number, write_xlsx, _write_stair)),
    "odt headings": ("odt", partial(_number, _open("text"), lambda n: f'<text:h text:outline-level="{n}">h</text:h>')),
    "odt lists": ("odt", partial(_repeat, _open("text"), _LIST)),
    "odp hidden slides": ("odp", partial(_repeat, _open("presentation"), '<draw:page draw:style-name="away"/>')),
    "pptx rows": ("pptx", partial(_repeat, _present_table, _SLIDE_ROW)),
    "pptx chart": ("pptx", _present_chart),
    "pptx shapes": ("pptx", partial(_repeat, _present, _SHAPE)),
    "pptx groups": ("pptx", _present_groups),
    "html rows": (
        "html",
        lambda size: _html(f"<table><tr>{'<td>a' * 900}{'<tr><td>a<td>b' * (size // 14)}</table>"),
    ),
    "html nested tables": ("html", partial(_repeat, _html, "<table><tr><td>a<td>")),
    "html nested divisions": ("html", lambda size: _html("<div>" * 200 + "<p>a" * (size // 8))),
    "rtf groups": ("rtf", partial(_repeat, _rich, "{\\b a}")),
    "rtf rows": ("rtf", partial(_repeat, _rich, "\\intbl a\\cell b\\cell\\row ")),
    "rtf notes": ("rtf", partial(_repeat, _rich, "a{\\footnote b}")),
    "zip files": ("zip", lambda size: zip_files({f"{n}.txt": "It is so." for n in range(min(1_000, size // 200))})),
    "eml semicolons": ("eml", lambda size: _name_attachment(";" * size)),
    "msg mails": ("msg", _attach_mails),
}
