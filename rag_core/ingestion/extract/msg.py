"""Outlook mail extraction: the mail in its compound file becomes a mail of the internet, and is read as one.

Property numbers are those of MS-OXPROPS, their streams those of MS-OXMSG.
"""

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.message import Message
from email.utils import format_datetime
from typing import Any

from olefile import STGTY_STREAM, OleFileIO

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Extraction
from rag_core.ingestion.extract.eml import MAX_FIELD_CHARS, extract_message, list_attachments
from rag_core.ingestion.extract.extraction import clean_text
from rag_core.ingestion.extract.members import MAX_MEMBERS, Extract, Member
from rag_core.ingestion.extract.packed_rtf import unpack_rtf
from rag_core.ingestion.extract.rtf import RtfReader

_SUBJECT, _HEADERS, _BODY, _HTML, _RTF = 0x0037, 0x007D, 0x1000, 0x1013, 0x1009
_SENDER_NAME, _SENDER_ADDRESSES = 0x0C1A, (0x5D01, 0x0C1F)
_TO, _CC, _SENT_AT, _DELIVERED_AT = 0x0E04, 0x0E03, 0x0039, 0x0E06
_DATA, _LONG_NAME, _NAME, _DISPLAY_NAME = 0x3701, 0x3707, 0x3704, 0x3001
_CODEPAGES = (0x3FDE, 0x3FFD)  # of the HTML and of texts that are not Unicode
_ATTACHMENT, _EMBEDDED = "__attach_version1.0_#", "__substg1.0_3701000D"
_MAX_DEPTH = 20  # of mails attached to one another
_MAX_STREAM_BYTES = 256 * 1024 * 1024
_PROPERTIES_HEADER_BYTES = {True: 32, False: 24}  # of a mail, and of one that is attached
_FIRST_DAY = datetime(1601, 1, 1, tzinfo=UTC)
_DAMAGED_FILE_ERRORS = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    struct.error,
    RecursionError,
    OverflowError,
)  # fmt: skip - what olefile raises for a file that is damaged


def extract_msg(data: bytes, extract: Extract) -> Extraction:
    """Extract a mail that Outlook has saved, its attachments by `extract`.

    Raises:
        UnreadableDocument: it is damaged, holds no mail, or has more parts than can be read.
    """
    return extract_message(_load_mail(data), extract, "msg (olefile)")


@contextmanager
def open_msg_members(data: bytes) -> Iterator[Mapping[str, Member]]:
    """Open a mail for the block, and list its attachments by the labels that they are cited by.

    Raises UnreadableDocument as `extract_msg` does.
    """
    yield list_attachments(_load_mail(data))


def _load_mail(data: bytes) -> Message:
    try:
        with _CompoundFile(data) as file:
            if not file.exists("__properties_version1.0"):
                message = "the file holds no mail: it is another kind of Office file; save it as .docx, .xlsx or .pptx"
                raise UnreadableDocument(message, code="document_damaged")
            return _MailReader(file).read("", _MAX_DEPTH)
    except _DAMAGED_FILE_ERRORS as error:
        message = "the mail is damaged: open it in Outlook and save it again"
        raise UnreadableDocument(message, code="document_damaged") from error


class _CompoundFile(OleFileIO):  # type: ignore[misc]  # it has no types
    """A compound file that is opened in linear time."""

    def _check_duplicate_stream(self, first_sect: int, minifat: bool = False) -> None:
        """Do nothing: olefile 0.47 looks through a list of all streams for each, and only logs what it finds."""


class _MailReader:
    """Reads the mails of a compound file; the folder of each ends in "/", that of the outermost is ""."""

    def __init__(self, file: OleFileIO) -> None:
        self._file = file
        self._entries = _list_entries(file)
        self._attachments = 0

    def read(self, folder: str, depth: int) -> Message:
        mail = Message()
        fixed = self._read_fixed_properties(folder)
        codec = next((f"cp{fixed[number]}" for number in _CODEPAGES if number in fixed), "cp1252")
        for name, value in self._read_fields(folder, fixed, codec):
            mail[name] = value
        mail["Content-Type"] = "multipart/mixed"
        mail.set_payload([])
        for part in self._read_body(folder, codec):
            mail.attach(part)
        for place in self._list_attachments(folder):
            self._attachments += 1
            if depth and self._attachments <= MAX_MEMBERS:
                mail.attach(self._read_attachment(place, depth, codec))
        return mail

    def _read_fields(self, folder: str, fixed: dict[int, int], codec: str) -> Iterator[tuple[str, str]]:
        subject, name = (self._read_text(folder, number, codec) for number in (_SUBJECT, _SENDER_NAME))
        addresses = (self._read_text(folder, number, codec) for number in _SENDER_ADDRESSES)
        address = next((address for address in addresses if "@" in address), "")
        ticks = next((fixed[number] for number in (_SENT_AT, _DELIVERED_AT) if number in fixed), 0)
        fields = {
            "From": f"{name} <{address}>" if name and address and name != address else name or address,
            "To": self._read_text(folder, _TO, codec),
            "Cc": self._read_text(folder, _CC, codec),
            "Date": format_datetime(_FIRST_DAY + timedelta(microseconds=ticks // 10)) if ticks else "",
            "Subject": subject,
        }
        return ((field, value) for field, value in fields.items() if value)

    def _read_body(self, folder: str, codec: str) -> Iterator[Message]:
        """Yield the text of a mail: the plain text, else the HTML, else what its RTF says."""
        text, html = self._read_text(folder, _BODY, codec), self._read_stream(folder, _HTML, "0102")
        if text.strip():
            yield _make_part("text/plain", text.encode())
        elif html or (words := self._read_text(folder, _HTML, codec)):
            yield _make_part("text/html", html.decode(codec, "replace").encode() if html else words.encode())
        elif packed := self._read_stream(folder, _RTF, "0102"):
            yield _make_part("text/plain", _read_rtf(packed).encode())

    def _list_attachments(self, folder: str) -> list[str]:
        held = self._entries[folder[:-1].lower()].kids
        return list(dict.fromkeys(f"{folder}{entry.name}/" for entry in held if entry.name.startswith(_ATTACHMENT)))

    def _read_attachment(self, folder: str, depth: int, codec: str) -> Message:
        names = (self._read_text(folder, number, codec) for number in (_LONG_NAME, _NAME, _DISPLAY_NAME))
        name = next(filter(None, names), "")[-MAX_FIELD_CHARS:]
        if f"{folder}{_EMBEDDED}".lower() in self._entries:
            held = Message()
            held["Content-Type"] = "message/rfc822"
            held.set_payload([self.read(f"{folder}{_EMBEDDED}/", depth - 1)])
            return held
        part = _make_part("application/octet-stream", self._read_stream(folder, _DATA, "0102"))
        part.add_header("Content-Disposition", "attachment", filename=name)
        return part

    def _read_text(self, folder: str, number: int, codec: str) -> str:
        """Return a property that is text; "" where the mail lacks it."""
        wide = self._read_stream(folder, number, "001F")
        text = (
            wide.decode("utf-16-le", "replace")
            if wide
            else self._read_stream(folder, number, "001E").decode(codec, "replace")
        )
        return clean_text(text.rstrip("\0"))

    def _read_stream(self, folder: str, number: int, kind: str) -> bytes:
        entry = self._entries.get(f"{folder}__substg1.0_{number:04X}{kind}".lower())
        return b"" if entry is None or entry.entry_type != STGTY_STREAM else self._read_entry(entry, _MAX_STREAM_BYTES)

    def _read_entry(self, entry: Any, max_bytes: int) -> bytes:
        return bytes(self._file._open(entry.isectStart, entry.size).read(max_bytes))

    def _read_fixed_properties(self, folder: str) -> dict[int, int]:
        """Return the properties that are numbers, by their number."""
        header = _PROPERTIES_HEADER_BYTES[not folder]
        data = self._read_entry(self._entries[f"{folder}__properties_version1.0".lower()], 1024 * 1024)[header:]
        entries = (struct.unpack("<IIQ", data[at : at + 16]) for at in range(0, len(data) - 15, 16))
        return {tag >> 16: value for tag, _, value in entries}


def _list_entries(file: OleFileIO) -> dict[str, Any]:
    """Return the streams and folders of a file by their paths in small letters: olefile looks through all for each."""
    entries: dict[str, Any] = {"": file.root}
    waiting = [("", file.root, 2 * _MAX_DEPTH + 2)]  # a mail that is attached is two folders deep in the other
    while waiting:
        path, folder, depth = waiting.pop()
        for entry in folder.kids if depth else ():
            name = f"{path}{entry.name.lower()}"
            if entries.setdefault(name, entry) is entry:
                waiting.append((f"{name}/", entry, depth - 1))
    return entries


def _make_part(kind: str, data: bytes) -> Message:
    part = Message()
    part["Content-Type"] = f'{kind}; charset="utf-8"'
    part["Content-Transfer-Encoding"] = "8bit"
    part.set_payload(data.decode("ascii", "surrogateescape"))
    return part


def _read_rtf(packed: bytes) -> str:
    return "\n\n".join(block.text for block in RtfReader().read(unpack_rtf(packed)))
