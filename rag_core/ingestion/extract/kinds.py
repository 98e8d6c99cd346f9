"""Detection of a file's kind, and so of its extractor, by its bytes and its name; both have to agree."""

from rag_core.core.errors import UnreadableDocument, UnsupportedDocument

ACCEPTED_KINDS_TEXT = "pdf, docx, txt, md or csv"
_KIND_BY_EXTENSION = {
    "pdf": "pdf",
    "docx": "docx",
    "txt": "text",
    "text": "text",
    "md": "markdown",
    "markdown": "markdown",
    "csv": "csv",
    "tsv": "csv",
}
_KIND_BY_FIRST_BYTES = (
    (b"%PDF-", "pdf"),
    (b"PK\x03\x04", "docx"),
    (b"\xd0\xcf\x11\xe0", "an old or encrypted Office file"),
    (b"{\\rtf", "rich text"),
    (b"MZ", "a program"),
    (b"\x7fELF", "a program"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"\x1f\x8b", "a compressed file"),
)
_IMAGE_EXTENSIONS_BY_FIRST_BYTES = {
    b"\x89PNG": ("png",),
    b"\xff\xd8\xff": ("jpg", "jpeg"),
    b"II*\x00": ("tif", "tiff"),
    b"MM\x00*": ("tif", "tiff"),
    b"BM": ("bmp",),
}
_HTML_FIRST_BYTES = (b"<!doctype html", b"<html", b"<head", b"<script", b"<svg")
_TEXT_KINDS = ("text", "markdown", "csv")


def detect_file_kind(data: bytes, filename: str) -> str:
    """Return "pdf", "docx", "text", "markdown" or "csv"; without an extension in the name the bytes decide.

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
    if kind_by_name == "docx" and content == "an old or encrypted Office file":
        raise UnreadableDocument(
            "the document is password-protected or in the old .doc format: save it as .docx without a password",
            code="document_encrypted",
        )
    if kind_by_name is None and content in _KIND_BY_EXTENSION.values():
        return content
    if kind_by_name is None:
        raise UnsupportedDocument(f"the file is {content}: send {ACCEPTED_KINDS_TEXT}")
    raise UnreadableDocument(
        f"the file is named .{extension} but holds {content}: send {ACCEPTED_KINDS_TEXT}, under its own extension",
        code="extension_mismatch",
    )


def is_image(data: bytes, filename: str) -> bool:
    """Return True for an image of a format that a layout service accepts, by its bytes and its name."""
    extension = filename.rpartition(".")[2].lower()
    return any(
        data.startswith(start) and extension in extensions
        for start, extensions in _IMAGE_EXTENSIONS_BY_FIRST_BYTES.items()
    )


def _sniff_content(data: bytes, extension: str) -> str:
    """Return what the bytes are: a kind, or the description of an unsupported format; "text" where none matches."""
    if extension == "pdf" and b"%PDF-" in data[:1024]:  # PDF readers accept junk before the header
        return "pdf"
    if data.lstrip()[:20].lower().startswith(_HTML_FIRST_BYTES):
        return "a web page"
    return next((kind for start, kind in _KIND_BY_FIRST_BYTES if data.startswith(start)), "text")
