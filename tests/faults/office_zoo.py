"""Hostile files of the formats of offices: sheets, slides, web pages, mails, JSON and archives, made here by code."""
# ruff: noqa: E501 - a trap a line reads better than a trap in ten

import json
import random
from functools import cache
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from tests.faults.traps import COMPLEX, DAMAGED, EMPTY, MB, TEXT, package, patched, trap
from tests.ingestion import office_files

LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {after} "{f"&{before};" * 10}">' for before, after in zip("abcdefghi", "bcdefghij", strict=True)
) + "]>"  # fmt: skip
XXE = '<!DOCTYPE x [<!ENTITY secret SYSTEM "file:///etc/passwd">]>'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
UNSAFE = "document_unsafe"
ENCRYPTED = "document_encrypted"
SLIPS = (
    "../../../../etc/slipped.txt",
    "/etc/slipped.txt",
    "C:\\slipped.txt",
    "CON.txt",
    "a\u202etxt.exe",
    "n" * 4000 + ".txt",
)

# Sheets


def xlsx(sheet: str, declaration: str = "", /, **parts: object) -> bytes:
    """A workbook of one sheet, whose XML this is between its start and end."""
    types = "".join(
        f'<Override PartName="/xl/{name}.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.{kind}+xml"/>'
        for name, kind in (
            ("workbook", "sheet.main"),
            ("worksheets/sheet1", "worksheet"),
            ("sharedStrings", "sharedStrings"),
        )
    )
    held = BytesIO()
    with ZipFile(held, "w", ZIP_DEFLATED) as archive:
        files: dict[str, object] = {
            "[Content_Types].xml": f'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{types}</Types>',
            "_rels/.rels": relations(("rId1", "officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relations(
                ("rId1", "worksheet", "worksheets/sheet1.xml"), ("rId2", "sharedStrings", "sharedStrings.xml")
            ),
            "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}"><si><t>Hello from the sheet</t></si></sst>',
            "xl/worksheets/sheet1.xml": f'{declaration}<worksheet xmlns="{MAIN}">{sheet}</worksheet>',
            **parts,
        }
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, bytes) else str(content))
    return held.getvalue()


def relations(*entries: tuple[str, str, str]) -> str:
    inner = "".join(
        f'<Relationship Id="{name}" Type="{RELATIONS}/{kind}" Target="{target}"/>' for name, kind, target in entries
    )
    return (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{inner}</Relationships>'
    )


def rows(inner: str) -> str:
    return f"<sheetData>{inner}</sheetData>"


HI = '<row r="1"><c r="A1" t="s"><v>0</v></c></row>'
WEB = 'WEBSERVICE("http://127.0.0.1:9/")'
SHEETS = (
    trap("rows-10e6.xlsx", lambda: xlsx(rows("<row><c><v>1</v></c><c><v>2</v></c></row>" * 1_000_000)), COMPLEX, heavy=True),
    trap("rows-10e5-empty.xlsx", lambda: xlsx(rows(HI + "<row/>" * 100_000)), TEXT, heavy=True),
    trap("bomb-300-mb.xlsx", lambda: xlsx(rows(HI) + " " * 300 * MB), COMPLEX, heavy=True),
    trap("shared-string-60-mb-often.xlsx", lambda: xlsx(rows(HI.replace('"A1" ', "") * 1_000), **{"xl/sharedStrings.xml": f'<sst xmlns="{MAIN}"><si><t>{"x" * 60 * MB}</t></si></sst>'}), COMPLEX, DAMAGED, heavy=True),
    trap("columns-2000.xlsx", lambda: xlsx(rows("<row>" + "<c><v>1</v></c>" * 2_000 + "</row>")), "table_too_wide"),
    trap("last-cell.xlsx", xlsx(rows(HI + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')), TEXT),
    trap("dimension-lies.xlsx", xlsx('<dimension ref="A1:XFD1048576"/>' + rows(HI)), TEXT),
    trap("row-number-lies.xlsx", xlsx(rows('<row r="99999999999"><c t="s"><v>0</v></c></row>')), TEXT, DAMAGED),
    trap("cell-reference-lies.xlsx", xlsx(rows('<row r="1"><c r="ZZZZZ9" t="s"><v>0</v></c></row>')), TEXT, DAMAGED),
    trap("shared-string-missing.xlsx", xlsx(rows('<row><c t="s"><v>99</v></c></row>')), DAMAGED),
    trap("number-of-10e5-digits.xlsx", lambda: xlsx(rows(f"<row><c><v>{'9' * 100_000}</v></c></row>")), DAMAGED),
    trap("formulas.xlsx", xlsx(rows(f"<row><c><f>{WEB}</f><v>7</v></c><c><f>cmd|' /C calc'!A0</f></c></row>")), TEXT),
    trap("macros.xlsm", xlsx(rows(HI), **{"xl/vbaProject.bin": b"\xd0\xcf\x11\xe0" + bytes(500)}), TEXT),
    trap("external-link.xlsx", xlsx(rows(HI), **{"xl/externalLinks/externalLink1.xml": XXE + "<x>&secret;</x>"}), TEXT, UNSAFE),
    trap("sheet-elsewhere.xlsx", xlsx(rows(HI), **{"xl/_rels/workbook.xml.rels": relations(("rId1", "worksheet", "../../../../etc/passwd"))}), DAMAGED, EMPTY),
    trap("sheet-on-the-web.xlsx", xlsx(rows(HI), **{"xl/_rels/workbook.xml.rels": relations(("rId1", "worksheet", "http://127.0.0.1:9/"))}), DAMAGED, EMPTY),
    trap("billion-laughs.xlsx", xlsx(rows('<row><c t="str"><v>&j;</v></c></row>'), LAUGHS), UNSAFE),
    trap("xxe-in-sheet.xlsx", xlsx(rows('<row><c t="str"><v>&secret;</v></c></row>'), XXE), UNSAFE),
    trap("xxe-in-strings.xlsx", xlsx(rows(HI), **{"xl/sharedStrings.xml": f'{XXE}<sst xmlns="{MAIN}"><si><t>&secret;</t></si></sst>'}), UNSAFE),
    trap("xxe-in-workbook.xlsx", xlsx(rows(HI), **{"xl/workbook.xml": f"{XXE}<x>&secret;</x>"}), UNSAFE, DAMAGED),
    trap("merged-10e5.xlsx", lambda: xlsx(rows(HI) + "<mergeCells>" + '<mergeCell ref="A1:XFD1048576"/>' * 100_000 + "</mergeCells>"), TEXT),
    trap("hidden-columns-10e4.xlsx", lambda: xlsx("<cols>" + '<col min="2" max="16384" hidden="1"/>' * 10_000 + "</cols>" + rows(HI)), TEXT, COMPLEX),
    trap("depth-200k.xlsx", lambda: xlsx(rows("<row>" * 200_000 + "</row>" * 200_000)), EMPTY, DAMAGED, COMPLEX),
    trap("sheet-name-4000.xlsx", xlsx(rows(HI), **{"xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets><sheet name="{"n" * 4000}" sheetId="1" r:id="rId1"/></sheets></workbook>'}), TEXT),
    trap("sheets-5000.xlsx", lambda: xlsx(rows(HI), **{"xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets>' + "".join(f'<sheet name="s{n}" sheetId="{n}" r:id="rId1"/>' for n in range(1, 5_001)) + "</sheets></workbook>"}), TEXT, COMPLEX, heavy=True),
    trap("xml-cut.xlsx", xlsx(rows(HI)[:-20]), DAMAGED),
    trap("noise.xlsx", lambda: xlsx("", **{"xl/worksheets/sheet1.xml": random.Random(4).randbytes(50_000)}), DAMAGED),
    trap("directory-cut.xlsx", lambda: xlsx(rows(HI))[:-40], DAMAGED),
    trap("encrypted-flag.xlsx", lambda: patched(xlsx(rows(HI)), b"PK\x01\x02", 8, b"\x01\x00"), ENCRYPTED, DAMAGED),
    trap("parts-10e5.xlsx", lambda: package({"xl/workbook.xml": "<x/>", **{f"xl/{n}": "" for n in range(100_000)}}, ZIP_STORED), COMPLEX, heavy=True),
    trap("word-inside.xlsx", package({"word/document.xml": "<x/>"}), DAMAGED),
)  # fmt: skip

# Slides

TEXT_OF_SLIDE = "<a:t>Depot review</a:t>"


@cache
def slides() -> dict[str, bytes]:
    with ZipFile(BytesIO(office_files.make_pptx())) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pptx(inner: str = "", declaration: str = "", /, **parts: object) -> bytes:
    """Slides of which the first has `inner` among its shapes, and these parts in place of its own."""
    first = slides()["ppt/slides/slide1.xml"].decode()
    changed = first.replace("</p:spTree>", f"{inner}</p:spTree>").replace("?>", f"?>{declaration}", 1)
    texts = {name: part if isinstance(part, bytes) else str(part).encode() for name, part in parts.items()}
    return office_files.make_zip({**slides(), "ppt/slides/slide1.xml": changed.encode(), **texts})


def shape(text: str) -> str:
    return f'<p:sp><p:nvSpPr><p:cNvPr id="99" name="x"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/>{text}</p:txBody></p:sp>'


def paragraphs(count: int) -> str:
    return "<a:p><a:r><a:t>x</a:t></a:r></a:p>" * count


SLIDES = (
    trap("paragraphs-10e5.pptx", lambda: pptx(shape(paragraphs(100_000))), TEXT, COMPLEX, heavy=True),
    trap("shapes-20k.pptx", lambda: pptx(shape(paragraphs(1)) * 20_000), TEXT, COMPLEX, heavy=True),
    trap("text-60-mb.pptx", lambda: pptx(shape("<a:p><a:r><a:t>" + "x" * 60 * MB + "</a:t></a:r></a:p>")), TEXT, COMPLEX, DAMAGED, heavy=True),
    trap("groups-5000-deep.pptx", lambda: pptx("<p:grpSp>" * 5_000 + "</p:grpSp>" * 5_000), TEXT, DAMAGED, COMPLEX),
    trap("groups-100-deep.pptx", lambda: pptx("<p:grpSp>" * 100 + "</p:grpSp>" * 100), TEXT, DAMAGED),
    trap("billion-laughs.pptx", lambda: pptx(shape("<a:p><a:r><a:t>&j;</a:t></a:r></a:p>"), LAUGHS.replace("DOCTYPE x", "DOCTYPE p:sld")), UNSAFE, DAMAGED, TEXT),
    trap("xxe.pptx", lambda: pptx(shape("<a:p><a:r><a:t>&secret;</a:t></a:r></a:p>"), XXE), UNSAFE, DAMAGED, TEXT),
    trap("xxe-in-relations.pptx", lambda: pptx(**{"ppt/_rels/presentation.xml.rels": XXE + "<x>&secret;</x>"}), UNSAFE, DAMAGED),
    trap("linked-picture.pptx", lambda: pptx(**{"ppt/slides/_rels/slide2.xml.rels": slides()["ppt/slides/_rels/slide2.xml.rels"].replace(b"</Relationships>", b'<Relationship Id="rId99" Type="x" Target="http://127.0.0.1:9/" TargetMode="External"/></Relationships>')}), TEXT),
    trap("slide-missing.pptx", lambda: office_files.make_zip({name: data for name, data in slides().items() if name != "ppt/slides/slide2.xml"}), DAMAGED),
    trap("relations-loop.pptx", lambda: pptx(**{"ppt/slides/_rels/slide1.xml.rels": slides()["ppt/_rels/presentation.xml.rels"].replace(b'Target="', b'Target="../')}), TEXT, DAMAGED),
    trap("xml-cut.pptx", lambda: pptx(**{"ppt/slides/slide1.xml": slides()["ppt/slides/slide1.xml"][:-9]}), DAMAGED),
    trap("noise.pptx", lambda: pptx(**{"ppt/presentation.xml": random.Random(5).randbytes(50_000)}), DAMAGED),
    trap("sheet-inside.pptx", xlsx(rows(HI)), DAMAGED),
    trap("media-300-mb.pptx", lambda: pptx(**{"ppt/media/1.png": bytes(300 * MB)}), COMPLEX, heavy=True),
)  # fmt: skip

# Web pages

PAGES = (
    trap("depth-200k.html", lambda: b"<div>" * 200_000 + b"x" + b"</div>" * 200_000, TEXT, EMPTY, COMPLEX),
    trap("paragraphs-10e6.html", lambda: b"<p>x" * 1_000_000, COMPLEX, heavy=True),
    trap("inline-10e6.html", lambda: b"<b>x</b>" * 1_000_000, TEXT, COMPLEX, heavy=True),
    trap("tables-1000-deep.html", lambda: b"<table><tr><td>" * 1_000 + b"x" + b"</table>" * 1_000, TEXT, EMPTY, COMPLEX),
    trap("tables-20k.html", lambda: b"<table><tr><td>a<td>b<tr><td>c<td>d</table>" * 20_000, TEXT, heavy=True),
    trap("cells-10e6.html", lambda: b"<table>" + (b"<tr>" + b"<td>x" * 100) * 10_000, COMPLEX, heavy=True),
    trap("columns-2000.html", lambda: b"<table><tr>" + b"<td>x" * 2_000 + b"<tr><td>y", "table_too_wide"),
    trap("spans.html", b'<table><tr><td colspan="99999999999" rowspan=9999>x<td>y<tr><td>z<td colspan="-1">w</table>', TEXT),
    trap("spans-20k.html", lambda: b"<table>" + b'<tr><td colspan=100 rowspan=100>x<td>y' * 20_000, TEXT, COMPLEX, "table_too_wide"),
    trap("attributes-10e5.html", lambda: b"<p " + b" ".join(b"a%d=x" % n for n in range(100_000)) + b">seen", TEXT, EMPTY, COMPLEX, heavy=True),
    trap("style-10-mb.html", lambda: b'<p style="' + b"display:" * MB + b'">seen', TEXT, EMPTY, heavy=True),
    trap("entities-10e6.html", lambda: b"<p>" + b"&amp;" * 1_000_000, TEXT, heavy=True),
    trap("laughs.html", LAUGHS.encode() + b"<p>&j;</p>", TEXT, EMPTY),
    trap("xxe.html", XXE.encode() + b"<p>x &secret;</p>", TEXT),
    trap("includes.html", b'<p>seen<iframe src="file:///etc/passwd"></iframe><object data="file:///etc/passwd"></object><link rel=import href="http://127.0.0.1:9/">', TEXT),
    trap("script-never-closed.html", b"<p>seen<script>" + b"x" * 50_000, TEXT),
    trap("comment-never-closed.html", b"<p>seen<!--" + b"x" * 50_000, TEXT),
    trap("nul-bytes.html", b"<p>se\x00en</p>" + b"\x00" * 10, TEXT, "document_binary"),
    trap("utf-16.html", "<html><p>seen</p>".encode("utf-16"), TEXT, "extension_mismatch"),
    trap("charset-lies.html", b'<meta charset="utf-7"><p>+ADw-script+AD4-</p>\xff', TEXT),
    trap("charset-unknown.html", b'<meta charset="klingon"><p>seen \xfc</p>', TEXT),
    trap("less-10e6.html", lambda: b"<" * 1_000_000, TEXT, EMPTY),
    trap("lists-3000-deep.html", lambda: b"<ul><li>x" * 3_000, TEXT, COMPLEX),
    trap("noise.html", lambda: b"<p>" + random.Random(6).randbytes(100_000), "document_binary", TEXT),
)  # fmt: skip

# Mails

HEAD = b"From: a@example.org\nSubject: s\nMIME-Version: 1.0\n"


def nested_mail(depth: int) -> bytes:
    start = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(depth))
    return HEAD + start + b"\nseen\n" + b"".join(b"--b%d--\n" % n for n in reversed(range(depth)))


def mail(*parts: bytes) -> bytes:
    return (
        HEAD
        + b"Content-Type: multipart/mixed; boundary=b\n\n"
        + b"".join(b"--b\n%s\n" % part for part in parts)
        + b"--b--\n"
    )


MAILS = (
    trap("depth-40.eml", lambda: nested_mail(40), TEXT),
    trap("depth-2000.eml", lambda: nested_mail(2_000), TEXT, DAMAGED, COMPLEX, EMPTY),
    trap("mails-in-mails-500.eml", lambda: (HEAD + b"Content-Type: message/rfc822\n\n") * 500 + b"\nx", TEXT, DAMAGED, COMPLEX),
    trap("parts-10e5.eml", lambda: mail(*[b"\nx"] * 100_000), COMPLEX, heavy=True),
    trap("header-10-mb.eml", lambda: b"Subject: " + b"(" * 10 * MB + b"\n\nseen", TEXT, heavy=True),
    trap("headers-10e5.eml", lambda: HEAD + b"X-A: b\n" * 100_000 + b"\nseen", TEXT),
    trap("encoded-words-10e5.eml", lambda: b"Subject: " + b"=?utf-8?q?=41?= " * 100_000 + b"\n\nseen", TEXT),
    trap("charset-unknown.eml", HEAD + b"Content-Type: text/plain; charset=klingon\n\nseen \xff", TEXT),
    trap("charset-of-code.eml", HEAD + b"Content-Type: text/plain; charset=zlib\n\nseen", TEXT),
    trap("base64-noise.eml", HEAD + b"Content-Transfer-Encoding: base64\n\n" + b"!" * 9_999, TEXT),
    trap("quoted-printable-lies.eml", HEAD + b"Content-Transfer-Encoding: quoted-printable\n\nseen =ZZ =\n" + b"=" * 999, TEXT),
    trap("external-body.eml", HEAD + b"Content-Type: message/external-body; access-type=local-file; name=/etc/passwd\n\n\n", TEXT),
    trap("name-slips.eml", lambda: mail(b"\nseen", *(b"Content-Disposition: attachment; filename=\"%s\"\n\nx" % name.encode() for name in SLIPS)), TEXT),
    trap("boundary-never-closed.eml", HEAD + b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nseen", TEXT),
    trap("boundary-missing.eml", HEAD + b"Content-Type: multipart/mixed\n\nseen", TEXT),
    trap("attached-bomb.eml", lambda: office_files.make_eml({"b.xlsx": xlsx(rows(HI) + " " * 300 * MB)}), TEXT, heavy=True),
    trap("attached-laughs.eml", lambda: office_files.make_eml({"b.xlsx": xlsx(rows(HI), LAUGHS)}), TEXT),
    trap("html-10e5-deep.eml", lambda: HEAD + b"Content-Type: text/html\n\n" + b"<div>" * 100_000 + b"x", TEXT, COMPLEX),
    trap("no-mail.eml", b"dear all", DAMAGED),
    trap("noise.eml", lambda: HEAD + b"\n" + random.Random(7).randbytes(100_000), TEXT, "document_binary"),
)  # fmt: skip

# JSON

JSONS = (
    trap("lists-10e5-deep.json", lambda: b"[" * 100_000 + b"]" * 100_000, COMPLEX),
    trap("objects-10e5-deep.json", lambda: b'{"a":' * 100_000 + b"1" + b"}" * 100_000, COMPLEX),
    trap("objects-500-deep.json", lambda: b'{"a":' * 500 + b"1" + b"}" * 500, COMPLEX),
    trap("objects-10e6.json", lambda: b"[" + b'{"a":1},' * 999_999 + b'{"a":1}]', COMPLEX, heavy=True),
    trap("keys-10e5.json", lambda: json.dumps({f"k{n}": n for n in range(100_000)}).encode(), TEXT),
    trap("key-10-mb.json", lambda: b'{"' + b"k" * 10 * MB + b'": 1}', TEXT, heavy=True),
    trap("string-20-mb.json", lambda: b'["' + b"x" * 20 * MB + b'"]', TEXT, heavy=True),
    trap("number-of-10e6-digits.json", lambda: b"[" + b"9" * 1_000_000 + b"]", TEXT),
    trap("values-10e6.json", lambda: b"[" + b"1," * 999_999 + b"1]", TEXT),
    trap("name-1-mb-over-10e4.json", lambda: json.dumps({"name": "n" * MB, "of": [{"a": n} for n in range(10_000)]}).encode(), COMPLEX, heavy=True),
    trap("same-key-10e5.json", lambda: b"{" + b'"a": 1,' * 99_999 + b'"a": 2}', TEXT),
    trap("not-a-number.json", b'{"a": NaN, "b": -Infinity, "c": 1e999999}', TEXT),
    trap("half-a-surrogate.json", b'{"a": "\\ud800 seen", "\\udfff": 1}', TEXT),
    trap("nul.json", b'{"a": "\\u0000seen"}', TEXT),
    trap("cut.json", b'{"a": [1, 2', DAMAGED),
    trap("python.json", b"{'a': __import__('os')}", DAMAGED),
    trap("empty.json", b"{}", EMPTY),
    trap("nothing-but-null.json", b"[null, {}, []]", EMPTY),
    trap("utf-16.json", '{"a": "seen"}'.encode("utf-16"), TEXT),
    trap("lines-10e6.jsonl", lambda: b'{"a":1}\n' * 1_000_000, COMPLEX, heavy=True),
    trap("line-cut.jsonl", b'{"a": 1}\n{"a"\n', DAMAGED),
    trap("blank-lines-10e6.jsonl", lambda: b"\n" * 1_000_000, EMPTY),
    trap("lists-10e5-deep.jsonl", lambda: b'{"a":1}\n' + b"[" * 100_000, COMPLEX),
)  # fmt: skip

# Archives


def bomb_in_layers(depth: int) -> bytes:
    data = office_files.make_zip({"a.txt": b"x" * 10 * MB})
    for _ in range(depth):
        data = office_files.make_zip({f"{n}.zip": data for n in range(10)})
    return data


def overlapping() -> bytes:
    """A thousand files in the directory that are the same bytes."""
    held = BytesIO()
    with ZipFile(held, "w", ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", b"x" * 20 * MB)
        first = archive.infolist()[0]
        for number in range(1_000):
            again = ZipInfo(f"{number}.txt")
            for field in ("compress_type", "CRC", "compress_size", "file_size", "header_offset"):
                setattr(again, field, getattr(first, field))
            archive.filelist.append(again)
    return held.getvalue()


NOTE = {"note.txt": b"seen"}
make_zip = office_files.make_zip
ZIPS = (
    trap("bomb-300-mb.zip", lambda: make_zip({"a.txt": bytes(300 * MB)}), COMPLEX, heavy=True),
    trap("bomb-in-layers.zip", lambda: bomb_in_layers(3), EMPTY),
    trap("overlapping.zip", overlapping, COMPLEX, heavy=True),
    trap("files-5000.zip", lambda: make_zip({f"{n}.txt": b"x" for n in range(5_000)}), COMPLEX),
    trap("files-10e5.zip", lambda: make_zip({f"{n}.txt": b"" for n in range(100_000)}), COMPLEX, heavy=True),
    trap("slips.zip", make_zip({**NOTE, **dict.fromkeys(SLIPS, b"x")}), TEXT),
    trap("folders-only.zip", make_zip({"a/": b"", "b/c/": b""}), EMPTY),
    trap("nothing.zip", b"PK\x05\x06" + bytes(18), EMPTY),
    trap("programs.zip", make_zip({"a.exe": b"MZ", "b.sh": b"#!"}), EMPTY),
    trap("lies-inside.zip", make_zip({**NOTE, "a.pdf": b"MZ", "b.docx": b"<html>", "c.xlsx": b"PK\x03\x04"}), TEXT),
    trap("bombs-inside.zip", lambda: make_zip({**NOTE, "a.xlsx": xlsx(rows(HI) + " " * 300 * MB)}), TEXT, heavy=True),
    trap("laughs-inside.zip", lambda: make_zip({**NOTE, "a.xlsx": xlsx(rows(HI), LAUGHS)}), TEXT),
    trap("encrypted-flag.zip", lambda: patched(make_zip(NOTE), b"PK\x01\x02", 8, b"\x01\x00"), ENCRYPTED),
    trap("size-lies.zip", lambda: patched(make_zip({"a.txt": b"x" * 30 * MB}), b"PK\x01\x02", 24, b"\x10\x00\x00\x00"), EMPTY, TEXT),
    trap("checksum-lies.zip", lambda: patched(make_zip(NOTE), b"PK\x01\x02", 16, b"\x00\x00\x00\x00"), EMPTY),
    trap("offset-beyond.zip", lambda: patched(make_zip(NOTE), b"PK\x01\x02", 42, b"\xff\xff\xff\x7f"), EMPTY, DAMAGED),
    trap("method-unknown.zip", lambda: patched(make_zip(NOTE), b"PK\x01\x02", 10, b"\x63\x00"), EMPTY, DAMAGED),
    trap("directory-cut.zip", lambda: make_zip(NOTE)[:-40], DAMAGED),
    trap("mails-with-mails.zip", lambda: make_zip({"a.eml": office_files.make_eml({"b.eml": office_files.make_eml()})}), TEXT),
    trap("noise.zip", lambda: b"PK\x03\x04" + random.Random(8).randbytes(50_000), DAMAGED),
)  # fmt: skip

OFFICES = (*SHEETS, *SLIDES, *PAGES, *MAILS, *JSONS, *ZIPS)
OFFICE_ENDINGS = tuple(sorted({entry.name.rpartition(".")[2] for entry in OFFICES}))
