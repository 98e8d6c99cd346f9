"""Zip packages of untrusted files: their parts are checked before anything of them is unpacked."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO

from defusedxml import DefusedXmlException

from rag_core.core.errors import UnreadableDocument

MAX_PACKAGE_BYTES = 256 * 1024 * 1024  # of all parts, unpacked
MAX_PACKAGE_PARTS = 20_000
_PROLOG_BYTES = 1024  # of a part, in which a document type is declared
_DAMAGED_PACKAGE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    SyntaxError,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RecursionError,
    RuntimeError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    AssertionError,
)  # fmt: skip - what zipfile and the readers of Office files raise for a file that is none; SyntaxError is XML's


@contextmanager
def open_package(data: bytes, main_part: str, program: str) -> Iterator[zipfile.ZipFile]:
    """Open an Office file for the block; whatever a reader raises in it for a damaged file becomes a refusal.

    Raises:
        UnreadableDocument: it is damaged, unsafe, encrypted or too large, or lacks a `main_part` that is named.
    """
    try:
        with zipfile.ZipFile(BytesIO(data)) as package:
            check_package(package)
            if main_part and main_part not in package.namelist():
                message = (
                    f"the file holds no {main_part}: it is of another kind, or damaged; save it again in {program}"
                )
                raise UnreadableDocument(message, code="document_damaged")
            if main_part and _declares_document_type(package):
                raise _make_unsafe_error(program)
            yield package
    except DefusedXmlException as error:
        raise _make_unsafe_error(program) from error
    except _DAMAGED_PACKAGE_ERRORS as error:
        message = f"the file is damaged: open it in {program} and save it again"
        raise UnreadableDocument(message, code="document_damaged") from error


def _declares_document_type(package: zipfile.ZipFile) -> bool:
    """Return True where a part of XML begins with a document type, in which entities are declared."""
    for name in package.namelist():
        if name.endswith((".xml", ".rels")):
            with package.open(name) as part:
                if b"<!DOCTYPE" in part.read(_PROLOG_BYTES):
                    return True
    return False


def _make_unsafe_error(program: str) -> UnreadableDocument:
    message = f"the file declares XML entities, which {program} never writes: save it again in {program}"
    return UnreadableDocument(message, code="document_unsafe")


def check_package(package: zipfile.ZipFile) -> None:
    """Raise UnreadableDocument for a package with too many parts, or parts that unpack to too much."""
    parts = package.infolist()
    if len(parts) > MAX_PACKAGE_PARTS:
        message = f"the file holds {len(parts):,} parts, more than {MAX_PACKAGE_PARTS:,}: split it"
        raise UnreadableDocument(message, code="document_too_complex", details={"parts": MAX_PACKAGE_PARTS})
    if sum(part.file_size for part in parts) > MAX_PACKAGE_BYTES:
        message = f"the file unpacks to more than {MAX_PACKAGE_BYTES // 1024**2} MiB: split it"
        raise UnreadableDocument(message, code="document_too_complex", details={"bytes": MAX_PACKAGE_BYTES})
    if any(part.flag_bits & 1 for part in parts):
        message = "the file is password-protected: save it without a password"
        raise UnreadableDocument(message, code="document_encrypted")
