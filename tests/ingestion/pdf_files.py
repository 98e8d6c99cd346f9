"""A writer of PDFs made for a test: the pages' content is given, the rest is what every PDF has."""

from collections.abc import Sequence

_FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica%s>>"
_FONTS = b"/Font<</R %s/B %s>>" % (_FONT % b"", _FONT % b"-Bold")


def pdf(
    *pages: bytes,
    page: bytes = b"",
    catalog: bytes = b"",
    title: str = "",
    more: Sequence[bytes] = (),
    fonts: bytes = _FONTS,
) -> bytes:
    """A4 pages with these contents. `page` is added to each page's entries, `catalog` to the catalog's.

    Objects: 1 catalog, 2 pages, 3 information, 4 picture (all grey), 5 and 6 the first page and its content, 7 and 8
    the second, …; `more` comes after them.
    """
    kids = b" ".join(b"%d 0 R" % (5 + 2 * number) for number in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R%s>>" % catalog,
        b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, len(pages)),
        b"<</Title<feff%s>>>" % title.encode("utf-16-be").hex().encode(),
        _stream(b"\x80", b"/Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray"),
    ]
    for number, content in enumerate(pages):
        resources = b"<<%s/XObject<</Im 4 0 R>>>>" % fonts
        entries = b"/Parent 2 0 R/MediaBox[0 0 595 842]/Resources%s/Contents %d 0 R%s" % (
            resources,
            6 + 2 * number,
            page,
        )
        objects += [b"<</Type/Page%s>>" % entries, _stream(content)]
    return assembled([*objects, *more])


def text(words: str, x: float = 72, y: float = 700, size: float = 11, font: str = "R", state: str = "") -> bytes:
    """Words at a place (points from the bottom left); `state` is what the graphics state is set to before."""
    return f"q {state} BT /{font} {size} Tf {x} {y} Td ({words}) Tj ET Q\n".encode("latin-1")


def lines(*words: str, x: float = 72, y: float = 700, size: float = 11, step: float = 14, font: str = "R") -> bytes:
    return b"".join(text(line, x, y - step * number, size, font) for number, line in enumerate(words))


def assembled(objects: Sequence[bytes]) -> bytes:
    out, offsets = bytearray(b"%PDF-1.7\n"), []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    rows = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, rows)
    trailer = b"trailer<</Size %d/Root 1 0 R/Info 3 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(out))
    return bytes(out + table + trailer)


def _stream(content: bytes, entries: bytes = b"") -> bytes:
    return b"<<%s/Length %d>>\nstream\n%s\nendstream" % (entries, len(content), content)


def japanese(content: bytes, cmap: str) -> bytes:
    """A page in the font /J, which the file names and does not hold, with codes of a predefined CMap."""
    font = (
        b"<</Type/Font/Subtype/Type0/BaseFont/HeiseiMin-W3/Encoding/%s/DescendantFonts[<</Type/Font"
        b"/Subtype/CIDFontType0/BaseFont/HeiseiMin-W3/CIDSystemInfo<</Registry(Adobe)/Ordering(Japan1)/Supplement 2>>"
        b"/FontDescriptor<</Type/FontDescriptor/FontName/HeiseiMin-W3/Flags 4/FontBBox[0 0 1000 1000]/ItalicAngle 0"
        b"/Ascent 800/Descent -200/CapHeight 700/StemV 80>>/DW 1000>>]>>" % cmap.encode()
    )
    return pdf(content, fonts=b"/Font<</J %s>>" % font)


def coded(words: str, codec: str, y: float = 700, state: str = "") -> bytes:
    """Words of `japanese` at 72 points from the left."""
    return f"q {state} BT /J 12 Tf 72 {y} Td <{words.encode(codec).hex()}> Tj ET Q\n".encode()
