"""Zip extraction: the documents in an archive, each as a part of one document; archives in it are left out."""

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract.extraction import collect_blocks
from rag_core.ingestion.extract.members import (
    MAX_MEMBERS,
    Extract,
    Member,
    MemberReader,
    label_members,
    make_no_text_error,
)
from rag_core.ingestion.extract.packages import open_package

_UNSEEN_PREFIXES = ("__MACOSX/",)  # what macOS adds


def extract_zip(data: bytes, extract: Extract) -> Extraction:
    """Extract the files of an archive by `extract`, which reads bytes as a kind; each has pages of its own.

    Raises:
        UnreadableDocument: it is damaged, encrypted or too large, or no file in it can be read.
    """
    reader = MemberReader(extract, ("zip",))
    with open_package(data, "", "the program that made it") as package:
        blocks = collect_blocks(_read_members(package, _list_members(package), reader))
    if not blocks and not reader.pictures:
        raise make_no_text_error(reader.unread, "the archive")
    notes = (*reader.notes, *reader.describe_unread())
    return Extraction(blocks, max(1, reader.page - 1), "zip", notes, picture_members=tuple(reader.pictures))


@contextmanager
def open_zip_members(data: bytes) -> Iterator[Mapping[str, Member]]:
    """Open an archive for the block, and list its files by the labels that they are cited by.

    Raises UnreadableDocument as `extract_zip` does, for what is read in the block as well.
    """
    with open_package(data, "", "the program that made it") as package:
        yield label_members((info.filename, partial(package.read, info)) for info in _list_members(package))


def _list_members(package: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    members = [info for info in package.infolist() if not (info.is_dir() or _is_unseen(info.filename))]
    if len(members) > MAX_MEMBERS:
        message = f"the archive holds {len(members):,} files, more than {MAX_MEMBERS:,}: send them by themselves"
        raise UnreadableDocument(message, code="document_too_complex", details={"files": MAX_MEMBERS})
    return members


def _is_unseen(name: str) -> bool:
    return name.startswith(_UNSEEN_PREFIXES) or name.rpartition("/")[2].startswith(".")


def _read_members(package: zipfile.ZipFile, members: list[zipfile.ZipInfo], reader: MemberReader) -> Iterator[Block]:
    for info in members:
        try:
            data = package.read(info)
        except (zipfile.BadZipFile, OSError, EOFError, ValueError, RuntimeError, NotImplementedError):
            reader.unread[reader.labels.make(info.filename)] = "damaged"
            continue
        yield from reader.read(info.filename, data)
