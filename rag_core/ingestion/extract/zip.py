"""Zip extraction: the documents in an archive, each as a part of one document; archives in it are left out."""

import zipfile
from collections.abc import Iterator

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract.extraction import collect_blocks
from rag_core.ingestion.extract.members import (
    MAX_MEMBERS,
    Extract,
    MemberReader,
    clean_member_name,
    make_no_text_error,
)
from rag_core.ingestion.extract.packages import open_package

_UNSEEN_PREFIXES = ("__MACOSX/",)  # what macOS adds


def extract_zip(data: bytes, extract: Extract) -> Extraction:
    """Extract the files of an archive by `extract`, which reads bytes as a kind; a file counts as a page.

    Raises:
        UnreadableDocument: it is damaged, encrypted or too large, or no file in it can be read.
    """
    reader = MemberReader(extract, ("zip",))
    with open_package(data, "", "the program that made it") as package:
        members = [info for info in package.infolist() if not (info.is_dir() or _is_unseen(info.filename))]
        if len(members) > MAX_MEMBERS:
            message = f"the archive holds {len(members):,} files, more than {MAX_MEMBERS:,}: send them by themselves"
            raise UnreadableDocument(message, code="document_too_complex", details={"files": MAX_MEMBERS})
        blocks = collect_blocks(_read_members(package, members, reader))
    if not blocks and not reader.pictures:
        raise make_no_text_error(reader.unread, "the archive")
    notes = (*reader.notes, *reader.describe_unread())
    return Extraction(blocks, len(members), "zip", notes, picture_members=tuple(reader.pictures))


def _is_unseen(name: str) -> bool:
    return name.startswith(_UNSEEN_PREFIXES) or name.rpartition("/")[2].startswith(".")


def _read_members(package: zipfile.ZipFile, members: list[zipfile.ZipInfo], reader: MemberReader) -> Iterator[Block]:
    for number, info in enumerate(members, start=1):
        try:
            data = package.read(info)
        except (zipfile.BadZipFile, OSError, EOFError, ValueError, RuntimeError, NotImplementedError):
            reader.unread[clean_member_name(info.filename)] = "damaged"
            continue
        yield from reader.read(info.filename, data, number)
