"""Detection of a file's kind, and so of its extractor, by its bytes and its name; both have to agree."""

from rag_core.core.errors import UnreadableDocument, UnsupportedDocument

ACCEPTED_KINDS_TEXT = (
    "pdf, docx, xlsx, pptx, odt, ods, odp, rtf, html, eml, msg, json, jsonl, txt, md, csv, a picture"
    " (png, jpg, tif, bmp), or a zip of these"
)
_KIND_BY_EXTENSION = {
    "pdf": "pdf",
    "docx": "docx",
    "xlsx": "xlsx",
    "xlsm": "xlsx",
    "pptx": "pptx",
    "pptm": "pptx",
    "odt": "odt",
    "ott": "odt",
    "ods": "ods",
    "ots": "ods",
    "odp": "odp",
    "otp": "odp",
    "rtf": "rtf",
    "html": "html",
    "htm": "html",
    "xhtml": "html",
    "eml": "eml",
    "msg": "msg",
    "json": "json",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "png": "image",
    "jpg": "image",
    "jpeg": "image",
    "tif": "image",
    "tiff": "image",
    "bmp": "image",
    "zip": "zip",
    "txt": "text",
    "text": "text",
    "md": "markdown",
    "markdown": "markdown",
    "csv": "csv",
    "tsv": "csv",
}
CONTAINER_KINDS = ("zip", "eml", "msg")
EXTRACTED_KINDS = frozenset(_KIND_BY_EXTENSION.values())
_COMPOUND_FILE_START = b"\xd0\xcf\x11\xe0"
_KIND_BY_FIRST_BYTES = (
    (b"%PDF-", "pdf"),
    (b"PK\x05\x06", "zip"),  # an archive without files
    (_COMPOUND_FILE_START, "an old or encrypted Office file"),
    (b"{\\rtf", "rtf"),
    (b"MZ", "a program"),
    (b"\x7fELF", "a program"),
    (b"\x89PNG", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"II*\x00", "image"),
    (b"MM\x00*", "image"),
    (b"GIF8", "a GIF, whose text is not read"),
    (b"\x1f\x8b", "a compressed file"),
)
_OFFICE_KINDS = ("docx", "xlsx", "pptx")
_PACKAGE_KINDS = (*_OFFICE_KINDS, "odt", "ods", "odp", "zip")
_MAIL_PART = "__properties_version1.0".encode("utf-16-le")  # as the directory of a compound file names it
_SNIFFED_BYTES = 4096
_KIND_BY_PART = (
    (b"word/document.xml", "docx"),
    (b"xl/workbook.xml", "xlsx"),
    (b"ppt/presentation.xml", "pptx"),
    (b"mimetypeapplication/vnd.oasis.opendocument.text", "odt"),
    (b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "ods"),
    (b"mimetypeapplication/vnd.oasis.opendocument.presentation", "odp"),
)
_HTML_FIRST_BYTES = (b"<!doctype html", b"<html", b"<head", b"<script")
_TEXT_KINDS = ("text", "markdown", "csv", "html", "eml", "json", "jsonl")
_NAME_BY_KIND = {"html": "a web page", "image": "a picture"}


def detect_file_kind(data: bytes, filename: str) -> str:
    """Return the kind, "pdf" or "markdown" and so on; without an extension in the name the bytes decide.

    Raises:
        UnsupportedDocument: no extractor for such a file.
        UnreadableDocument: the file is empty, encrypted, or not what its extension says.
    """
    if not data:
        raise UnreadableDocument("the file is empty: send one with text", code="document_empty")
    extension = filename.rpartition(".")[2].lower() if "." in filename else ""
    kind_by_name, content = _KIND_BY_EXTENSION.get(extension), _sniff_content(data, extension)
    if extension and kind_by_name is None:
        raise UnsupportedDocument(f"files of this kind cannot be read: send {ACCEPTED_KINDS_TEXT}")
    if kind_by_name == content or (kind_by_name in _TEXT_KINDS and content == "text"):
        return kind_by_name or content
    if kind_by_name in _OFFICE_KINDS and content == "an old or encrypted Office file":
        raise UnreadableDocument(
            f"the file is password-protected or in an old Office format: save it as .{kind_by_name} without a password",
            code="document_encrypted",
        )
    if kind_by_name is None and content in _KIND_BY_EXTENSION.values():
        return content
    if kind_by_name is None:
        raise UnsupportedDocument(f"the file is {content}: send {ACCEPTED_KINDS_TEXT}")
    found = _NAME_BY_KIND.get(content, content)
    raise UnreadableDocument(
        f"the file is named .{extension} but holds {found}: send {ACCEPTED_KINDS_TEXT}, under its own extension",
        code="extension_mismatch",
    )


def _sniff_content(data: bytes, extension: str) -> str:
    """Return what the bytes are: a kind, or the description of an unsupported format; "text" where none matches."""
    if extension == "pdf" and b"%PDF-" in data[:1024]:  # PDF readers accept junk before the header
        return "pdf"
    if extension == "bmp" and data.startswith(b"BM"):  # two letters, with which a text may begin as well
        return "image"
    first_bytes = data[:_SNIFFED_BYTES].removeprefix(b"\xef\xbb\xbf").lstrip()[:20].lower()
    if first_bytes.startswith(_HTML_FIRST_BYTES):
        return "html"
    if first_bytes.startswith(b"<svg"):
        return "a drawing"
    if data.startswith(b"PK\x03\x04"):
        return _sniff_package(data, extension)
    if data.startswith(_COMPOUND_FILE_START) and (extension == "msg" or _MAIL_PART in data):
        return "msg"
    return next((kind for start, kind in _KIND_BY_FIRST_BYTES if data.startswith(start)), "text")


def _sniff_package(data: bytes, extension: str) -> str:
    """Return the kind of a zip: of those that are zips, the one that it is named; else by the parts that it names."""
    if _KIND_BY_EXTENSION.get(extension) in _PACKAGE_KINDS:
        return _KIND_BY_EXTENSION[extension]
    return next((kind for part, kind in _KIND_BY_PART if part in data), "zip")
