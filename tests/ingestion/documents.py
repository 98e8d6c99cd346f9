"""Documents made for a test: a Word package around given XML, a PDF that takes too long."""

from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile
from zlib import compress

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def docx(body: str, declaration: str = "", part: str = "word/document.xml", **others: str) -> bytes:
    """A package with this body; `others` are the contents of further parts of it, such as `styles`."""
    package = BytesIO()
    with ZipFile(package, "w", ZIP_DEFLATED) as parts:
        parts.writestr("[Content_Types].xml", "<Types/>")
        parts.writestr(part, f'{declaration}<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>')
        for name, content in others.items():
            parts.writestr(f"word/{name}.xml", f'<w:{name} xmlns:w="{WORD}">{content}</w:{name}>')
    return package.getvalue()


def endless_pdf() -> bytes:
    """Eight kilobytes that unpack to 300,000 texts: ten seconds of work for pypdf."""
    content = compress(b"BT (x) Tj ET\n" * 300_000)
    fonts = b"/Resources<</Font<</F0<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>"
    return _pdf(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R%s>>" % fonts,
            b"<</Filter/FlateDecode/Length %d>>\nstream\n%s\nendstream" % (len(content), content),
        ]
    )


def _pdf(objects: list[bytes]) -> bytes:
    out, offsets = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    rows = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, rows)
    return out + table + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(out))
