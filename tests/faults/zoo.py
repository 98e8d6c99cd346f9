"""Documents that were made to do harm, made here by code: the same bytes each time, none of them kept in a file.

Each is small on disk and large, endless or a trap where it is read. `heavy` ones take seconds to make or to refuse.
"""
# ruff: noqa: E501 - a trap a line reads better than a trap in ten

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo
from zlib import compress

from tests.faults.office_zoo import OFFICES
from tests.faults.open_format_zoo import OPEN_FORMATS
from tests.faults.picture_zoo import PICTURES
from tests.faults.traps import COMPLEX, DAMAGED, EMPTY, MB, TEXT, Trap, package, patched, trap

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"

# PDF


def pdf(*objects: bytes, trailer: bytes = b"") -> bytes:
    """A PDF of these objects, numbered from 1; the first is the catalog."""
    out, offsets = bytearray(b"%PDF-1.7\n"), []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    rows = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size, start = len(objects) + 1, len(out)
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, rows)
    return bytes(out) + table + b"trailer<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF" % (size, trailer, start)


def stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<<%s/Length %d>>\nstream\n%s\nendstream" % (entries, len(data), data)


def deflated(data: bytes, entries: bytes = b"") -> bytes:
    return stream(compress(data, 9), b"/Filter/FlateDecode" + entries)


FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
HELLO = b"BT /F 12 Tf 72 700 Td (Hello from the page) Tj ET"


def page(
    content: bytes = HELLO,
    *more: bytes,
    resources: bytes = b"",
    entries: bytes = b"/MediaBox[0 0 612 792]",
    catalog: bytes = b"",
    font: bytes = FONT,
    trailer: bytes = b"",
) -> bytes:
    """A PDF of one page; `content` is its text or a whole stream object. `more` objects are numbered from 6."""
    contents = content if content.startswith(b"<<") else stream(content)
    return pdf(
        b"<</Type/Catalog/Pages 2 0 R%s>>" % catalog,
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R>>%s>>%s>>" % (resources, entries),
        contents,
        font,
        *more,
        trailer=trailer,
    )


def nested_forms(depth: int, each: int) -> bytes:
    """Every form draws the next one `each` times: each to the power of depth texts."""
    forms = []
    for level in range(depth):
        entries = b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</Font<</F 5 0 R>>/XObject<</X %d 0 R>>>>"
        forms.append(stream(b"/X Do " * each, entries % (level + 7)))
    last = stream(b"BT /F 9 Tf (x) Tj ET", b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</Font<</F 5 0 R>>>>")
    return page(b"/X Do", *forms, last, resources=b"/XObject<</X 6 0 R>>")


def lzw_bomb(tables: int) -> bytes:
    """Runs of "a", each a letter longer than the one before: 4.8 kB that unpack to 7 MB, for every table."""
    bits, count, held = bytearray(), 0, 0
    for _ in range(tables):
        for code in (256, 97, *range(258, 4094)):
            width = 9 if code < 259 else min(12, max(9, code.bit_length()))
            held, count = held << width | code, count + width
            while count >= 8:
                count -= 8
                bits.append(held >> count & 255)
            held &= (1 << count) - 1
    return stream(bytes(bits), b"/Filter/LZWDecode")


def object_stream(count: int) -> bytes:
    numbers = b" ".join(b"%d 0" % number for number in range(10, 10 + count))
    return page(HELLO, deflated(numbers + b" (x)", b"/Type/ObjStm/N %d/First %d" % (count, len(numbers))))


def xref_loop() -> bytes:
    whole = page()
    at = whole.rindex(b"xref\n0")
    return page(trailer=b"/Prev %d" % at)


def many_pages(count: int) -> bytes:
    kids = b" ".join(b"%d 0 R" % number for number in range(4, 4 + count))
    leaf = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 3 0 R>>"
    return pdf(
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, count), stream(b"q Q"),
        *[leaf] * count,
    )  # fmt: skip


def page_tree(kids: bytes, count: int) -> bytes:
    return pdf(
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, count),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>",
    )


def deep_tree(depth: int) -> bytes:
    nodes = [b"<</Type/Pages/Kids[%d 0 R]/Count 1>>" % (number + 1) for number in range(2, depth + 2)]
    return pdf(b"<</Type/Catalog/Pages 2 0 R>>", *nodes, b"<</Type/Page/MediaBox[0 0 9 9]>>")


def outline(entries: Sequence[bytes]) -> bytes:
    return page(HELLO, b"<</Type/Outlines/First 7 0 R/Last 7 0 R/Count 1>>", *entries, catalog=b"/Outlines 6 0 R")


def font_with(to_unicode: bytes) -> bytes:
    return page(
        b"BT /F 12 Tf 72 700 Td <0000000100020003> Tj ET", deflated(to_unicode),
        b"<</Type/Font/Subtype/CIDFontType2/BaseFont/X/CIDSystemInfo<</Registry(A)/Ordering(I)/Supplement 0>>>>",
        font=b"<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/DescendantFonts[7 0 R]/ToUnicode 6 0 R>>",
    )  # fmt: skip


def self_drawing_font() -> bytes:
    font = (
        b"<</Type/Font/Subtype/Type3/FontBBox[0 0 9 9]/FontMatrix[1 0 0 1 0 0]/CharProcs<</a 6 0 R>>/FirstChar 97"
        b"/LastChar 97/Widths[9]/Encoding<</Differences[97/a]>>/Resources<</Font<</F 5 0 R>>>>>>"
    )
    return page(b"BT /F 12 Tf (aaaa) Tj ET", stream(b"9 0 d0 BT /F 12 Tf (aaaa) Tj ET"), font=font)


LAUGHS = '<!DOCTYPE l [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9)
) + "]>"  # fmt: skip
XXE = '<!DOCTYPE x [<!ENTITY secret SYSTEM "file:///etc/passwd">]>'
XMP = b"<?xpacket begin=''?>" + LAUGHS.encode() + b"<x:xmpmeta xmlns:x='adobe:ns:meta/'>&j;</x:xmpmeta>"
TITLE = b"/Info<</Title(%s)>>"
BOX = b"/MediaBox[0 0 612 792]"

PDFS = (
    trap("nested-forms-10e7.pdf", partial(nested_forms, 7, 10), heavy=True),
    trap("nested-forms-10e4.pdf", partial(nested_forms, 4, 10)),
    trap("form-draws-itself.pdf", page(b"/X Do", stream(b"/X Do " * 9, b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R>>>>"), resources=b"/XObject<</X 6 0 R>>"), heavy=True),
    trap("flate-70-mb.pdf", lambda: page(deflated(b"BT (x) Tj ET\n" * (70 * MB // 13))), heavy=True),
    trap("flate-200-mb.pdf", lambda: page(deflated(b"BT (x) Tj ET\n" * (200 * MB // 13))), heavy=True),
    trap("flate-of-spaces.pdf", lambda: page(deflated(b" " * 50 * MB))),
    trap("flate-twice.pdf", lambda: page(stream(compress(compress(b" " * 100 * MB, 9), 9), b"/Filter[/FlateDecode/FlateDecode]"))),
    trap("filters-1000.pdf", lambda: page(stream(b"x", b"/Filter[%s]" % (b"/ASCIIHexDecode" * 1000)))),
    trap("lzw-150-mb.pdf", lambda: page(lzw_bomb(20)), heavy=True),
    trap("lzw-7-mb.pdf", lambda: page(lzw_bomb(1))),
    trap("run-length.pdf", lambda: page(stream(b"\x81 " * 400_000, b"/Filter/RunLengthDecode"))),
    trap("texts-10e6.pdf", lambda: page(deflated(b"BT /F 9 Tf (x) Tj ET\n" * 1_000_000)), heavy=True),
    trap("texts-10e5.pdf", lambda: page(deflated(b"BT /F 9 Tf (x) Tj ET\n" * 100_000)), heavy=True),
    trap("text-of-5-mb.pdf", lambda: page(deflated(b"BT /F 9 Tf 9 9 Td (" + b"words " * 800_000 + b") Tj ET")), heavy=True),
    trap("one-content-10e5-times.pdf", lambda: page(entries=BOX + b"/Contents[%s]" % (b"4 0 R " * 100_000)), heavy=True),
    trap("page-refs-200k.pdf", lambda: page_tree(b"3 0 R " * 200_000, 200_000), heavy=True),
    trap("page-refs-2k.pdf", lambda: page_tree(b"3 0 R " * 2_000, 2_000)),
    trap("pages-30k.pdf", partial(many_pages, 30_000), heavy=True),
    trap("page-count-lies.pdf", page_tree(b"3 0 R", 2**31 - 1)),
    trap("page-count-negative.pdf", page_tree(b"3 0 R", -5)),
    trap("page-tree-deep-20k.pdf", partial(deep_tree, 20_000)),
    trap("page-tree-loops.pdf", page_tree(b"2 0 R 3 0 R", 2)),
    trap("page-tree-without-pages.pdf", page_tree(b"", 0)),
    trap("arrays-10e6-deep.pdf", lambda: page(b"[" * 1_000_000 + b"]" * 1_000_000)),
    trap("dictionaries-10e5-deep.pdf", lambda: page(HELLO, b"<</A" * 100_000 + b" 1" + b">>" * 100_000)),
    trap("arrays-deep-in-catalog.pdf", lambda: page(catalog=b"/A " + b"[" * 100_000 + b"]" * 100_000)),
    trap("save-10e6-times.pdf", lambda: page(deflated(b"q " * 1_000_000 + HELLO))),
    trap("clips-10e5.pdf", lambda: page(deflated(b"0 0 9 9 re W n " * 100_000 + HELLO))),
    trap("path-10e6-points.pdf", lambda: page(deflated(b"0 0 m " + b"9 9 l " * 1_000_000 + b"f " + HELLO))),
    trap("xref-loop.pdf", xref_loop, TEXT),
    trap("startxref-beyond.pdf", page().replace(b"startxref\n", b"startxref\n99999999")),
    trap("startxref-negative.pdf", page().replace(b"startxref\n", b"startxref\n-")),
    trap("object-is-itself.pdf", page(HELLO, b"6 0 R", catalog=b"/Names 6 0 R"), TEXT),
    trap("length-is-itself.pdf", page(b"<</Length 4 0 R>>\nstream\nq Q\nendstream")),
    trap("length-lies.pdf", page(b"<</Length 999999999>>\nstream\n" + HELLO + b"\nendstream")),
    trap("stream-never-ends.pdf", page(b"<</Length 50>>\nstream\n" + HELLO)),
    trap("object-stream-10e6.pdf", partial(object_stream, 1_000_000)),
    trap("object-stream-extends-itself.pdf", page(HELLO, stream(b"7 0 1", b"/Type/ObjStm/N 1/First 4/Extends 6 0 R"))),
    trap("media-box-huge.pdf", page(entries=b"/MediaBox[0 0 1e30 1e30]")),
    trap("media-box-empty.pdf", page(entries=b"/MediaBox[0 0 0 0]")),
    trap("media-box-backwards.pdf", page(entries=b"/MediaBox[612 792 0 0]"), TEXT),
    trap("media-box-no-numbers.pdf", page(entries=b"/MediaBox[(a) /b null 5 0 R]")),
    trap("media-box-missing.pdf", page(entries=b"")),
    trap("media-box-shared-self.pdf", page(entries=b"/MediaBox 3 0 R")),
    trap("crop-box-outside.pdf", page(entries=BOX + b"/CropBox[9000 9000 9999 9999]")),
    trap("user-unit-10e9.pdf", page(entries=BOX + b"/UserUnit 1000000000")),
    trap("user-unit-negative.pdf", page(entries=BOX + b"/UserUnit -1")),
    trap("rotate-37.pdf", page(entries=BOX + b"/Rotate 37"), TEXT),
    trap("rotate-huge.pdf", page(entries=BOX + b"/Rotate 99999999999999999990")),
    trap("matrix-nan.pdf", page(b"BT /F 12 Tf nan inf 1e999 -1e999 0 0 Tm (x) Tj ET " + HELLO)),
    trap("matrix-zero.pdf", page(b"BT /F 12 Tf 0 0 0 0 0 0 Tm (x) Tj ET " + HELLO)),
    trap("matrix-huge.pdf", page(b"BT /F 12 Tf " + b"9" * 300 + b" 0 0 1 0 0 Tm (x) Tj ET " + HELLO)),
    trap("font-size-10e9.pdf", page(b"BT /F 1000000000 Tf (x) Tj ET")),
    trap("font-size-negative.pdf", page(b"BT /F -12 Tf 72 700 Td (x) Tj ET")),
    trap("font-missing.pdf", page(HELLO, font=b"null")),
    trap("font-widths-10e6.pdf", lambda: page(font=FONT[:-2] + b"/FirstChar 0/LastChar 1000000/Widths[%s]>>" % (b"9 " * 1_000_000))),
    trap("font-draws-itself.pdf", self_drawing_font),
    trap("font-to-unicode-bomb.pdf", lambda: font_with(b"1 beginbfrange\n<0000> <ffff> <%s>\nendbfrange" % (b"0041" * 500))),
    trap("font-to-unicode-10e6.pdf", lambda: font_with(b"100 beginbfchar\n" + b"<0000> <0041>\n" * 1_000_000)),
    trap("image-10e10-pixels.pdf", page(b"/I Do " + HELLO, stream(b"x", b"/Type/XObject/Subtype/Image/Width 100000/Height 100000/BitsPerComponent 8/ColorSpace/DeviceRGB"), resources=b"/XObject<</I 6 0 R>>"), TEXT),
    trap("image-jbig2-garbage.pdf", page(b"/I Do " + HELLO, stream(b"\x00\xff" * 99, b"/Type/XObject/Subtype/Image/Width 9/Height 9/Filter/JBIG2Decode"), resources=b"/XObject<</I 6 0 R>>")),
    trap("inline-image-never-ends.pdf", page(HELLO + b" BI /W 9 /H 9 ID " + b"x" * 9999)),
    trap("soft-mask-is-itself.pdf", page(b"/G gs " + HELLO, b"<</SMask<</S/Alpha/G 7 0 R>>>>", stream(b"/G gs", b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</ExtGState<</G 6 0 R>>>>"), resources=b"/ExtGState<</G 6 0 R>>")),
    trap("outline-loops.pdf", outline([b"<</Title(a)/Next 7 0 R/Parent 6 0 R/First 7 0 R>>"]), TEXT),
    trap("outline-50k-deep.pdf", lambda: outline([b"<</Title(a)/First %d 0 R/Dest[3 0 R/Fit]>>" % (number + 1) for number in range(7, 50_007)])),
    trap("outline-50k-wide.pdf", lambda: outline([b"<</Title(a)/Next %d 0 R/Dest[3 0 R/Fit]>>" % (number + 1) for number in range(7, 50_007)]), heavy=True),
    trap("page-labels-loop.pdf", page(HELLO, b"<</Kids[6 0 R]>>", catalog=b"/PageLabels 6 0 R")),
    trap("page-labels-10e9.pdf", page(catalog=b"/PageLabels<</Nums[0<</S/r/St 999999999>>]>>"), TEXT),
    trap("names-loop.pdf", page(HELLO, b"<</Kids[6 0 R]/Limits[(a)(z)]>>", catalog=b"/Names<</Dests 6 0 R>>"), TEXT),
    trap("title-of-5-mb.pdf", lambda: page(trailer=TITLE % (b"t" * 5 * MB))),
    trap("title-half-a-character.pdf", page(trailer=b"/Info<</Title<feffd800>>>"), TEXT),
    trap("javascript.pdf", page(catalog=b"/OpenAction<</S/JavaScript/JS(app.launchURL\\('http://127.0.0.1:9'\\))>>"), TEXT),
    trap("launch.pdf", page(catalog=b"/OpenAction<</S/Launch/F(/bin/sh)>>"), TEXT),
    trap("uri.pdf", page(catalog=b"/OpenAction<</S/URI/URI(http://127.0.0.1:9/)>>"), TEXT),
    trap("embedded-file.pdf", lambda: page(HELLO, deflated(b"MZ" * 9999, b"/Type/EmbeddedFile"), catalog=b"/Names<</EmbeddedFiles<</Names[(a.exe)<</F(a.exe)/EF<</F 6 0 R>>>>]>>>>"), TEXT),
    trap("external-stream.pdf", page(b"<</Length 0/F(/etc/passwd)>>\nstream\n\nendstream")),
    trap("xmp-billion-laughs.pdf", page(HELLO, stream(XMP, b"/Type/Metadata/Subtype/XML"), catalog=b"/Metadata 6 0 R"), TEXT),
    trap("xfa-xxe.pdf", page(HELLO, stream(XXE.encode() + b"<xdp>&secret;</xdp>"), catalog=b"/AcroForm<</XFA 6 0 R/Fields[]>>"), TEXT),
    trap("encrypted-with-nonsense.pdf", page(trailer=b"/Encrypt<</Filter/Standard/V 9/R 99/O(x)/U(y)/P -1/Length 9999>>/ID[(a)(b)]")),
    trap("catalog-is-a-number.pdf", pdf(b"5")),
    trap("trailer-missing.pdf", page().partition(b"trailer")[0]),
    trap("header-only-then-noise.pdf", lambda: b"%PDF-1.7\n" + random.Random(1).randbytes(100_000)),
    trap("objects-only-noise.pdf", lambda: b"%PDF-1.7\n" + b"1 0 obj << >> endobj " * 100_000, heavy=True),
)  # fmt: skip


# Word


def body(inner: str, declaration: str = "") -> str:
    return f'{declaration}<w:document xmlns:w="{WORD}"><w:body>{inner}</w:body></w:document>'


def word(inner: str, declaration: str = "", /, **parts: bytes | str) -> bytes:
    return package({"word/document.xml": body(inner, declaration), **parts})


HI = "<w:p><w:r><w:t>Hello from Word</w:t></w:r></w:p>"


def twice() -> bytes:
    """Two parts of one name; the second is the one that a zip's directory gives."""
    held = BytesIO(package({"word/document.xml": body(HI)}))
    with ZipFile(held, "a", ZIP_DEFLATED) as archive:
        archive.NameToInfo.clear()
        archive.writestr("word/document.xml", body(HI))
    return held.getvalue()


def overlapping(count: int) -> bytes:
    """Every entry of the directory is the same bytes."""
    held = BytesIO()
    with ZipFile(held, "w", ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", body(HI + "x" * 20 * MB))
        first = archive.infolist()[0]
        for number in range(count):
            again = ZipInfo(f"word/media/{number}")
            for field in ("compress_type", "CRC", "compress_size", "file_size", "header_offset"):
                setattr(again, field, getattr(first, field))
            archive.filelist.append(again)
    return held.getvalue()


SLIPS = ("../../../../etc/slipped", "/etc/slipped", "C:\\slipped", "CON", "a\u202etxt.exe", "n" * 4000)

WORDS = (
    trap("text-300-mb.docx", lambda: word("<w:p><w:r><w:t>" + "x" * 300 * MB + "</w:t></w:r></w:p>"), COMPLEX, heavy=True),
    trap("zip-bomb-1000-to-1.docx", lambda: word("<w:p>" + " " * 65 * MB + "</w:p>"), COMPLEX, heavy=True),
    trap("text-60-mb.docx", lambda: word("<w:p><w:r><w:t>" + "x" * 60 * MB + "</w:t></w:r></w:p>"), TEXT, COMPLEX, heavy=True),
    trap("styles-bomb.docx", lambda: word(HI, **{"word/styles.xml": " " * 65 * MB}), COMPLEX, heavy=True),
    trap("media-200-mb.docx", lambda: word(HI, **{"word/media/1.png": bytes(200 * MB)}), TEXT, heavy=True),
    trap("paragraphs-10e6.docx", lambda: word("<w:p><w:r><w:t>x</w:t></w:r></w:p>" * 1_000_000), COMPLEX, heavy=True),
    trap("paragraphs-10e6-empty.docx", lambda: word("<w:p/>" * 1_000_000), EMPTY, heavy=True),
    trap("runs-500k.docx", lambda: word("<w:p>" + "<w:r><w:t>x</w:t></w:r>" * 500_000 + "</w:p>"), TEXT, COMPLEX, heavy=True),
    trap("depth-200k.docx", lambda: word("<w:p>" * 200_000 + "</w:p>" * 200_000), EMPTY, DAMAGED, COMPLEX),
    trap("depth-2k.docx", lambda: word("<w:smartTag>" * 2_000 + HI + "</w:smartTag>" * 2_000), TEXT, DAMAGED, COMPLEX),
    trap("tables-1k-deep.docx", lambda: word("<w:tbl><w:tr><w:tc>" * 1_000 + HI + "</w:tc></w:tr></w:tbl>" * 1_000), TEXT, DAMAGED, COMPLEX),
    trap("table-200k-cells.docx", lambda: word("<w:tbl><w:tr>" + "<w:tc><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc>" * 200_000 + "</w:tr></w:tbl>"), TEXT, COMPLEX, heavy=True),
    trap("attributes-10e5.docx", lambda: word("<w:p " + " ".join(f'a{n}="x"' for n in range(100_000)) + "/>" + HI), TEXT),
    trap("billion-laughs.docx", lambda: word("<w:p><w:r><w:t>&j;</w:t></w:r></w:p>", LAUGHS), "document_unsafe"),
    trap("entity-quadratic.docx", lambda: word("<w:p><w:r><w:t>" + "&a;" * 50_000 + "</w:t></w:r></w:p>", f'<!DOCTYPE x [<!ENTITY a "{"x" * 50_000}">]>'), "document_unsafe"),
    trap("xxe-file.docx", lambda: word("<w:p><w:r><w:t>&secret;</w:t></w:r></w:p>", XXE), "document_unsafe"),
    trap("xxe-parameter.docx", lambda: word(HI, '<!DOCTYPE x [<!ENTITY % p SYSTEM "http://127.0.0.1:9/x.dtd"> %p;]>'), "document_unsafe"),
    trap("xxe-in-styles.docx", lambda: word(HI, **{"word/styles.xml": XXE + "<styles>&secret;</styles>"}), "document_unsafe"),
    trap("dtd-external.docx", lambda: word(HI, '<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">'), TEXT, "document_unsafe"),
    trap("linked-picture.docx", lambda: word(HI, **{"word/_rels/document.xml.rels": '<Relationships><Relationship Id="r" Target="http://127.0.0.1:9/" TargetMode="External"/></Relationships>'}), TEXT),
    trap("entries-10e5.docx", lambda: package({"word/document.xml": body(HI), **{f"word/{n}": "" for n in range(100_000)}}, ZIP_STORED), TEXT, heavy=True),
    trap("zip-slip.docx", lambda: word(HI, **dict.fromkeys(SLIPS, "x")), TEXT),
    trap("twice-the-same-part.docx", twice, TEXT, DAMAGED),
    trap("overlapping-entries.docx", partial(overlapping, 1000), TEXT, DAMAGED),
    trap("encrypted-flag.docx", lambda: patched(word(HI), b"PK\x01\x02", 8, b"\x01\x00"), DAMAGED, "document_encrypted"),
    trap("size-lies.docx", lambda: patched(word(HI + " " * 30 * MB), b"PK\x01\x02", 24, b"\x10\x00\x00\x00"), TEXT, DAMAGED),
    trap("checksum-lies.docx", lambda: patched(word(HI), b"PK\x01\x02", 16, b"\x00\x00\x00\x00"), DAMAGED),
    trap("method-unknown.docx", lambda: patched(word(HI), b"PK\x01\x02", 10, b"\x63\x00"), DAMAGED),
    trap("offset-beyond.docx", lambda: patched(word(HI), b"PK\x01\x02", 42, b"\xff\xff\xff\x7f"), DAMAGED),
    trap("directory-cut.docx", lambda: word(HI)[:-40], DAMAGED),
    trap("zip-of-nothing.docx", lambda: b"PK\x03\x04" + b"PK\x05\x06" + bytes(18), DAMAGED),
    trap("xml-cut.docx", lambda: package({"word/document.xml": body(HI)[:-9]}), DAMAGED),
    trap("xml-utf-16.docx", lambda: package({"word/document.xml": body(HI).encode("utf-16")}), TEXT),
    trap("xml-odd-encoding.docx", lambda: package({"word/document.xml": '<?xml version="1.0" encoding="cp037"?>'.encode("cp037")}), DAMAGED),
    trap("xml-noise.docx", lambda: package({"word/document.xml": random.Random(2).randbytes(50_000)}), DAMAGED),
    trap("spreadsheet.docx", package({"xl/workbook.xml": "<x/>"}), "unsupported_document"),
)  # fmt: skip


# Tables and texts

TABLES = (
    trap("one-line-20-mb.csv", lambda: b"a," * 10 * MB, "table_too_wide", heavy=True),
    trap("one-line-2-mb.csv", lambda: b"a," * MB, "table_too_wide"),
    trap("columns-10e5.csv", lambda: b",".join(b"c%d" % n for n in range(100_000)) + b"\n" + b"1," * 99_999 + b"1", "table_too_wide"),
    trap("quote-never-closed.csv", lambda: b'a,b\n"' + b"x,y\n" * 90_000, TEXT, heavy=True),
    trap("quotes-2-mb.csv", lambda: b'"' * 2 * MB, EMPTY, "table_cell_too_long"),
    trap("cell-2-mb.csv", lambda: b"a,b\n" + b"x" * 2 * MB + b",y\n", "table_cell_too_long"),
    trap("rows-10e6.csv", lambda: b"a,b\n" * 1_000_000, COMPLEX, heavy=True),
    trap("names-repeated.csv", lambda: b",".join(b"h" * 120 + b"%d" % n for n in range(1000)) + b"\n" + (b"1," * 999 + b"1\n") * 2_000, COMPLEX, heavy=True),
    trap("names-all-the-same.csv", lambda: b",".join([b"a"] * 1000) + b"\n" + b"1," * 999 + b"1\n", TEXT),
    trap("formulas.csv", b'a,b\n"=cmd|\' /C calc\'!A0",+1\n-2,@SUM(A1)\n\t=1,\r\n', TEXT),
    trap("ragged.csv", lambda: b"\n".join(b"," * (n % 900) + b"x" for n in range(5_000)), TEXT, COMPLEX),
    trap("nul-bytes.csv", lambda: b"a,b\n" + b"\x00,\x00\n" * 20_000, TEXT, EMPTY, "document_binary"),
    trap("utf-16.csv", lambda: "a,b\n1,2\n".encode("utf-16"), TEXT),
    trap("only-tabs.csv", lambda: b"\t" * 300_000, EMPTY, "table_too_wide"),
    trap("line-ends-10e6.csv", lambda: b"\r" * 1_000_000, EMPTY, COMPLEX),
)  # fmt: skip

_LAYERS = b"\n".join(b" " * (n % 500) + b"- x" for n in range(20_000))
_LINKED = b"".join(b"[a%d][a%d]\n[a%d]: http://127.0.0.1:9/%d\n\n" % (n, n, n, n) for n in range(5_000))
_LONG_OF = {
    "hashes": b"#",
    "stars": b"*",
    "brackets": b"[",
    "parentheses": b"](",
    "backticks": b"`",
    "pipes": b"|",
    "greater": b">",
    "less": b"<",
    "comments-open": b"<!--",
    "tags-open": b"<a ",
    "scripts-open": b"x<script>",
    "attributes": b'<a b="',
    "entities": b"&amp;",
    "hash-and-space": b"# ",
    "dashes": b"-",
    "spaces": b" ",
    "escapes": b"\x1b[0",
    "backslashes": b"\\",
    "combining": "e\u0301\u0301\u0301".encode(),
    "zero-width": "\u200b".encode(),
}
TEXTS = (
    *(trap(f"{name}.md", partial(bytes.__mul__, mark, MB // len(mark)), TEXT, EMPTY, "document_binary", heavy=True) for name, mark in _LONG_OF.items()),
    *(trap(f"{name}-a-line.md", partial(bytes.__mul__, mark * 40 + b"\n", 500), TEXT, EMPTY, "document_binary") for name, mark in _LONG_OF.items()),
    trap("lists-500-deep.md", _LAYERS, TEXT, heavy=True),
    trap("headings-10e6.md", lambda: b"# a\n" * 1_000_000, COMPLEX, heavy=True),
    trap("headings-90k.md", lambda: b"# a\n## b\n### c\n" * 30_000, TEXT, heavy=True),
    trap("fence-never-closed.md", lambda: b"# a\n```\n" + b"x\n" * 500_000, TEXT),
    trap("table-10e5-wide.md", lambda: b"|a" * 100_000 + b"|\n" + b"|-" * 100_000 + b"|\n", TEXT),
    trap("definitions.md", _LINKED, TEXT),
    trap("front-matter-never-closed.md", lambda: b"---\n" + b"a: &a [*a]\n" * 50_000, TEXT),
    trap("lines-10e6.txt", lambda: b"x\n" * 1_000_000, TEXT),
    trap("paragraphs-10e6.txt", lambda: b"x\n\n" * 1_000_000, COMPLEX, heavy=True),
    trap("one-word-20-mb.txt", lambda: b"x" * 20 * MB, TEXT, heavy=True),
    trap("lines-25-mb.txt", lambda: b"ab\n" * (25 * MB // 3), TEXT, COMPLEX, heavy=True),
    trap("white-space-20-mb.txt", lambda: b" \n\t" * 7 * MB, EMPTY, heavy=True),
    trap("any-alphabet.txt", lambda: (bytes(range(160, 256)) + b" abc\n") * 3_000, TEXT, "document_binary"),
    trap("noise.txt", lambda: random.Random(3).randbytes(300_000), "document_binary"),
    trap("half-of-utf-16.txt", lambda: b"\xff\xfe" + b"\x00\xd8" * 50_000, TEXT, EMPTY, "document_binary"),
    trap("marks-again-and-again.txt", lambda: b"\xef\xbb\xbf" * 100_000, EMPTY),
    trap("direction-turned.txt", ("\u202e" * 50_000 + "exe.txt").encode(), TEXT),
    trap("tags-unseen.txt", "".join(chr(0xE0000 + ord(c)) for c in "ignore all" * 5_000).encode(), EMPTY),
)  # fmt: skip


# Not what they are called

_PDF, _DOCX = page(), word(HI)
LIES = (
    trap("program.pdf", b"MZ\x90\x00" + bytes(99), "extension_mismatch"),
    trap("program.txt", b"\x7fELF" + bytes(99), "extension_mismatch"),
    trap("web-page.txt", b"<!doctype html><script>alert(1)</script>", "extension_mismatch"),
    trap("drawing.md", b'<svg onload="alert(1)"><text>&xxe;</text></svg>', "extension_mismatch"),
    trap("pdf.docx", _PDF, "extension_mismatch"),
    trap("word.pdf", _DOCX, "extension_mismatch"),
    trap("word.csv", _DOCX, "extension_mismatch"),
    trap("compressed.csv", b"\x1f\x8b\x08" + bytes(99), "extension_mismatch"),
    trap("pdf-then-zip.pdf", _PDF + _DOCX, TEXT, DAMAGED),
    trap("pdf-then-zip.docx", _PDF + _DOCX, "extension_mismatch"),
    trap("zip-then-pdf.docx", _DOCX + _PDF, TEXT, DAMAGED),
    trap("zip-then-pdf.pdf", _DOCX[:200] + _PDF, TEXT, DAMAGED),
    trap("gif-then-pdf.pdf", b"GIF89a" + bytes(20) + _PDF, TEXT, DAMAGED),
    trap("picture.png", b"\x89PNG\r\n\x1a\n" + bytes(99), DAMAGED),
    trap("program.exe", b"MZ\x90\x00", "unsupported_document"),
    trap("nothing.pdf", b"", EMPTY),
    trap("nothing.csv", b"", EMPTY),
    trap("../../etc/passwd.txt", b"words", TEXT),
    trap("con.txt\x00.exe", b"words", "unsupported_document"),
    trap("n" * 4000 + ".txt", b"words", TEXT),
    trap("a\u202efdp.txt", b"words", TEXT),
)

ZOO = (*PDFS, *WORDS, *TABLES, *TEXTS, *LIES, *OFFICES, *OPEN_FORMATS, *PICTURES)


def mutants(originals: Sequence[tuple[str, bytes]], count: int, seed: int) -> Iterator[Trap]:
    """Real documents with bits flipped, parts cut out, doubled, swapped or overwritten; the same for the same seed."""
    for number in range(count):
        name, data = originals[number % len(originals)]
        yield Trap(f"{number:03}-{name}", partial(mutated, data, f"{seed}-{number}"))


def mutated(data: bytes, seed: str) -> bytes:
    chance = random.Random(seed)
    start, end = sorted(chance.choices(range(len(data)), k=2))
    short = slice(start, min(end, start + 500))
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: data[:start],
        lambda: data[:start] + data[end:],
        lambda: data[:end] + data[start:],
        lambda: data[: short.start] + chance.randbytes(short.stop - short.start) + data[short.stop :],
        lambda: flipped(data, chance, 1 + len(data) // 10_000),
        lambda: flipped(data, chance, 1 + len(data) // 200),
    )
    return chance.choice(ways)()


def flipped(data: bytes, chance: random.Random, count: int) -> bytes:
    bits = bytearray(data)
    for _ in range(count):
        bits[chance.randrange(len(bits))] ^= 1 << chance.randrange(8)
    return bytes(bits)
