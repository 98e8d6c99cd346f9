"""Hostile OpenDocument files, rich texts and mails of Outlook, made here by code."""
# ruff: noqa: E501 - a trap a line reads better than a trap in ten

import random
from functools import partial

from aspose.email_foss import msg
from compressed_rtf import compress

from tests.faults.office_zoo import ENCRYPTED, LAUGHS, SLIPS, UNSAFE, XXE, xlsx
from tests.faults.traps import COMPLEX, DAMAGED, EMPTY, MB, TEXT, patched, trap
from tests.ingestion import office_files

WIDE = "table_too_wide"
SEEN = "<text:p>seen</text:p>"
SPACES = '<text:s text:c="99999999"/>'

LOOP = f"""<s {office_files.OPEN_NAMES}><style:style style:name="a" style:parent-style-name="b"/>
<style:style style:name="b" style:parent-style-name="a"/></s>"""

# OpenDocument


def document(content: str, kind: str = "text", declaration: str = "", **parts: bytes) -> bytes:
    """A file with this body; the declaration stands at the start of its XML, where entities are declared."""
    made = office_files.make_open(content, kind, **parts)
    if not declaration:
        return made
    body = f'{declaration}<o:c xmlns:o="urn:oasis:names:tc:opendocument:xmlns:office:1.0">{content}</o:c>'
    return office_files.make_open("", kind, **{"content.xml": body.encode()})


def cells(text: str, attributes: str = "") -> str:
    return f"<table:table-cell {attributes}><text:p>{text}</text:p></table:table-cell>"


def sheet(rows: str) -> bytes:
    return document(f'<table:table table:name="S">{rows}</table:table>', "spreadsheet")


def row(held: str, attributes: str = "") -> str:
    return f"<table:table-row {attributes}>{held}</table:table-row>"


def slides(held: str) -> bytes:
    return document(held, "presentation")


OPEN_DOCUMENTS = (
    trap("bomb-300-mb.odt", lambda: document(" " * 300 * MB), COMPLEX, heavy=True),
    trap("picture-300-mb.odt", lambda: document(SEEN, **{"Pictures/1.png": bytes(300 * MB)}), COMPLEX, heavy=True),
    trap("text-60-mb.odt", lambda: document(f"<text:p>{'x' * 60 * MB}</text:p>"), DAMAGED, COMPLEX, heavy=True),
    trap("paragraphs-10e6.odt", lambda: document("<text:p>x</text:p>" * 1_000_000), COMPLEX, heavy=True),
    trap("billion-laughs.odt", document("&i;", declaration=LAUGHS), UNSAFE),
    trap("xxe.odt", document("&secret;", declaration=XXE), UNSAFE),
    trap("xxe-late.odt", document("&secret;", declaration=f"<!--{'x' * 2_000}-->{XXE}"), EMPTY, DAMAGED, UNSAFE),
    trap("depth-10e5.odt", lambda: document("<text:section>" * 100_000), DAMAGED),
    trap("depth-240.odt", document(f"{'<text:section>' * 240}{SEEN}{'</text:section>' * 240}"), TEXT),
    trap("lists-100-deep.odt", document(f"{'<text:list><text:list-item>' * 100}{SEEN}{'</text:list-item></text:list>' * 100}"), TEXT),
    trap("boxes-in-boxes.odt", document(f"{'<text:p>x<draw:frame><draw:text-box>' * 60}{SEEN}{'</draw:text-box></draw:frame></text:p>' * 60}"), TEXT),
    trap("spaces-10e8.odt", document(f"<text:p>seen{SPACES}</text:p>"), TEXT),
    trap("spaces-10e5-times-10e8.odt", lambda: document("<text:p>seen" + SPACES * 100_000 + "</text:p>"), TEXT, heavy=True),
    trap("notes-10e5.odt", lambda: document(f"<text:p>{'<text:note><text:note-body>x</text:note-body></text:note>' * 100_000}</text:p>"), TEXT, heavy=True),
    trap("styles-in-a-loop.odt", document(SEEN, **{"styles.xml": LOOP.encode()}), TEXT),
    trap("links.odt", document(f'{SEEN}<text:p><draw:frame><draw:image xlink:href="file:///etc/passwd" xmlns:xlink="x"/></draw:frame></text:p><text:section><text:section-source xlink:href="http://127.0.0.1/" xmlns:xlink="x"/></text:section>'), TEXT),
    trap("macros.odt", document(SEEN, **{"Basic/Standard/Module1.xml": b"<x>Shell</x>"}), TEXT),
    trap("locked.odt", document(SEEN, **{"META-INF/manifest.xml": b"<m:encryption-data/>"}), ENCRYPTED),
    trap("cut.odt", document(SEEN)[:-60], DAMAGED),
    trap("noise.odt", lambda: document(SEEN, **{"content.xml": random.Random(11).randbytes(50_000)}), DAMAGED),
    trap("slips.odt", document(SEEN, **dict.fromkeys(SLIPS, b"x")), TEXT),
    trap("word-inside.odt", xlsx("<sheetData/>"), DAMAGED),
    trap("open-then-pdf.odt", document(SEEN) + b"%PDF-1.4\n", TEXT, DAMAGED),
    trap("rows-10e8.ods", sheet(row(cells("seen"), 'table:number-rows-repeated="99999999"')), TEXT),
    trap("rows-100-times-10e8.ods", lambda: sheet(row(cells("seen"), 'table:number-rows-repeated="99999999"') * 100), COMPLEX),
    trap("columns-10e8.ods", sheet(row(cells("seen", 'table:number-columns-repeated="99999999"'))), WIDE),
    trap("empty-10e8.ods", sheet(row(cells("", 'table:number-columns-repeated="99999999"'), 'table:number-rows-repeated="99999999"') + row(cells("seen"))), TEXT),
    trap("spans-10e8.ods", sheet(row(cells("seen", 'table:number-rows-spanned="99999999"')) + row(cells("x") + "<table:covered-table-cell/>") * 9), TEXT),
    trap("hidden-columns-10e8.ods", sheet('<table:table-column table:visibility="collapse" table:number-columns-repeated="99999999"/>' * 99 + row(cells("x"))), EMPTY),
    trap("number-is-none.ods", sheet(row(cells("x", 'office:value-type="float" office:value="1,5"'))), DAMAGED),
    trap("number-is-huge.ods", sheet(row(cells("x", 'office:value-type="float" office:value="1e999"') * 2)), TEXT),
    trap("slides-20k.odp", lambda: slides(f"<draw:page><draw:g>{SEEN}</draw:g></draw:page>" * 20_000), TEXT, heavy=True),
    trap("groups-200-deep.odp", slides(f"<draw:page>{'<draw:g>' * 200}{SEEN}{'</draw:g>' * 200}</draw:page>"), TEXT),
    trap("table-10e4-wide.odp", slides(f"<draw:page><draw:frame><table:table>{row(cells('x') * 10_000)}</table:table></draw:frame></draw:page>"), WIDE),
    trap("noise.odp", lambda: document("", "presentation", **{"content.xml": random.Random(12).randbytes(5_000)}), DAMAGED),
)  # fmt: skip

# Rich text


def rich(body: str) -> bytes:
    return b"{\\rtf1\\ansi " + body.encode("latin-1") + b"}"


RICH_TEXTS = (
    trap("groups-10e6-deep.rtf", lambda: b"{\\rtf1 " + b"{" * 1_000_000, COMPLEX),
    trap("groups-900-deep.rtf", lambda: rich("{" * 900 + "seen" + "}" * 900), TEXT),
    trap("paragraphs-10e6.rtf", lambda: rich("x\\par " * 1_000_000), COMPLEX),
    trap("empty-paragraphs-10e6.rtf", lambda: rich("seen" + "\\par " * 1_000_000), TEXT, heavy=True),
    trap("words-20-mb.rtf", lambda: rich("\\b " * 7_000_000 + "seen"), TEXT, COMPLEX, heavy=True),
    trap("letters-10e6.rtf", lambda: rich("\\'e9" * 1_000_000), TEXT, heavy=True),
    trap("text-20-mb.rtf", lambda: rich("x" * 20 * MB), TEXT, heavy=True),
    trap("objects.rtf", lambda: rich("{\\object\\objemb{\\*\\objdata " + "d0cf11e0" * MB + "}{\\result seen}}"), TEXT),
    trap("objects-bare.rtf", lambda: rich("{\\object\\objupdate{\\objdata " + "01 05\n" * 100_000 + "}}seen"), TEXT),
    trap("object-is-all.rtf", rich("{\\object{\\*\\objdata 0105}}"), EMPTY),
    trap("pictures.rtf", lambda: rich("{\\pict\\pngblip " + "89504e47" * MB + "}seen"), TEXT),
    trap("bin-beyond.rtf", rich("seen{\\pict\\bin999999999 x}"), TEXT),
    trap("bin-negative.rtf", rich("seen{\\bin-999999999 x}"), TEXT),
    trap("bin-hides-braces.rtf", rich("{\\pict\\bin6 }}}}}}}seen"), TEXT),
    trap("skips-10e9.rtf", rich("\\uc999999999 \\u8364 seen" + "x" * 500), TEXT),
    trap("code-points.rtf", rich("seen\\u-1?\\u55357?\\u99999999?\\u0?"), TEXT),
    trap("fonts-10e5.rtf", lambda: rich("{\\fonttbl" + "".join(f"{{\\f{n}\\fcharset{n % 300} F;}}" for n in range(100_000)) + "}seen"), TEXT, heavy=True),
    trap("code-page-unknown.rtf", rich("\\ansicpg99999 seen \\'ff"), TEXT),
    trap("cells-10e6.rtf", lambda: rich("\\trowd\\intbl " + "x\\cell " * 1_000_000 + "\\row"), WIDE),
    trap("rows-10e6.rtf", lambda: rich("\\trowd\\intbl x\\cell\\row" * 1_000_000), COMPLEX, heavy=True),
    trap("notes-in-notes.rtf", rich("{\\footnote x" * 900 + "}" * 900 + "seen"), TEXT),
    trap("styles-10e5.rtf", lambda: rich("{\\stylesheet" + "".join(f"{{\\s{n} heading 1;}}" for n in range(100_000)) + "}seen"), TEXT, heavy=True),
    trap("fields.rtf", rich('{\\field{\\*\\fldinst INCLUDETEXT "file:///etc/passwd"}{\\fldrslt seen}}{\\*\\template http://127.0.0.1/x}'), TEXT),
    trap("stars.rtf", rich("{\\*\\*\\*\\*" * 99 + "x" + "}" * 99 + "seen"), TEXT),
    trap("braces-only.rtf", b"{\\rtf1" + b"}" * 100_000, EMPTY),
    trap("cut.rtf", b"{\\rtf1 seen {\\b \\", TEXT),
    trap("noise.rtf", lambda: b"{\\rtf1 " + random.Random(13).randbytes(100_000), TEXT, EMPTY, COMPLEX),
    trap("rich-then-zip.rtf", lambda: rich("seen") + office_files.make_zip({"a.txt": b"x"}), TEXT),
    trap("zip.rtf", lambda: office_files.make_zip({"a.txt": b"x"}), "extension_mismatch"),
    trap("rich.docx", rich("seen"), "extension_mismatch"),
)  # fmt: skip

# Outlook


def nested(depth: int) -> bytes:
    inner = msg.MapiMessage.create("x", "seen")
    for _ in range(depth):
        outer = msg.MapiMessage.create("x", "seen")
        outer.add_embedded_message_attachment(inner)
        inner = outer
    return bytes(inner.to_bytes())


MAIL = partial(office_files.make_msg, "seen")
PROPERTIES = "__properties_version1.0".encode("utf-16-le")
OUTLOOK_MAILS = (
    trap("depth-40.msg", lambda: nested(40), TEXT, heavy=True),
    trap("attachments-1100.msg", lambda: MAIL(attachments={f"{n}.txt": b"x" for n in range(1_100)}), COMPLEX, heavy=True),
    trap("attached-bomb.msg", lambda: MAIL(attachments={"b.xlsx": xlsx(" " * 300 * MB)}), TEXT, heavy=True),
    trap("attached-laughs.msg", lambda: MAIL(attachments={"b.xlsx": xlsx("", LAUGHS)}), TEXT),
    trap("names-slip.msg", lambda: MAIL(attachments=dict.fromkeys(SLIPS, b"x")), TEXT),
    trap("body-20-mb.msg", lambda: office_files.make_msg("seen " * 4 * MB), TEXT, heavy=True),
    trap("html-10e5-deep.msg", lambda: office_files.make_msg("", properties={0x1013: b"<div>" * 100_000 + b"x"}), TEXT, COMPLEX),
    trap("rich-text-lies.msg", lambda: office_files.make_msg("", properties={0x1009: b"\xff\xff\xff\x7f\xff\xff\xff\x7fLZFu" + bytes(99)}), TEXT),
    trap("rich-text-bomb.msg", lambda: office_files.make_msg("", properties={0x1009: compress(rich("x" * 200_000))}), TEXT, heavy=True),
    trap("no-properties.msg", lambda: MAIL().replace(PROPERTIES, PROPERTIES[:-2] + b"9\0"), DAMAGED),
    trap("sectors-in-a-loop.msg", lambda: MAIL()[:512] + b"\1\0\0\0" * 128 + MAIL()[1024:], DAMAGED, TEXT),
    trap("directory-beyond.msg", lambda: patched(MAIL(), b"\xd0\xcf\x11\xe0", 48, b"\xff\xff\xff\x7f"), DAMAGED),
    trap("sector-size-lies.msg", lambda: patched(MAIL(), b"\xd0\xcf\x11\xe0", 30, b"\xff\x00"), DAMAGED),
    trap("half.msg", lambda: MAIL()[:4_000], DAMAGED),
    trap("old-word.msg", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(3_000), DAMAGED),
    trap("noise.msg", lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + random.Random(14).randbytes(50_000), DAMAGED),
)  # fmt: skip

OPEN_FORMATS = (*OPEN_DOCUMENTS, *RICH_TEXTS, *OUTLOOK_MAILS)
OPEN_FORMAT_ENDINGS = tuple(sorted({entry.name.rpartition(".")[2] for entry in OPEN_FORMATS} - {"docx"}))
