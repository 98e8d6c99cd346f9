"""Mail extraction: its heading, text and attachments; the text is read from HTML only where there is no other."""

import email
import email.policy
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.header import decode_header, make_header
from email.message import Message
from functools import partial

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import MAIL_HEADER_KIND, Block, Extraction
from rag_core.ingestion.extract.extraction import clean_text, collect_blocks
from rag_core.ingestion.extract.html import PageReader
from rag_core.ingestion.extract.mail_threads import read_plain_text
from rag_core.ingestion.extract.members import MAX_MEMBERS, Extract, Member, MemberReader, label_members
from rag_core.ingestion.extract.placed_blocks import BlockMaker
from rag_core.ingestion.extract.text import decode_text
from rag_core.text.mail_headers import MAIL_FIELDS

MAX_FIELD_CHARS = 4_000  # of a header: Python 3.11 takes the square of their number for the parameters in one
_MAX_NESTED_PARTS = 50
_ADDRESS = re.compile(r"<([^<>\s]{1,320})>")  # in round brackets it is quoted as it stands: these are a link's
_DAMAGED_MAIL_ERRORS = (
    RecursionError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
)  # email's own


def extract_eml(data: bytes, extract: Extract) -> Extraction:
    """Extract a mail, its attachments by `extract`; the mail is page 1, the attachments have the further ones.

    Raises:
        UnreadableDocument: it is no mail, or has more parts than can be read.
    """
    with _refuse_damaged_mail():
        return extract_message(_parse_mail(data), extract, "eml")


@contextmanager
def open_eml_members(data: bytes) -> Iterator[Mapping[str, Member]]:
    """Open a mail for the block, and list its attachments by the labels that they are cited by.

    Raises UnreadableDocument as `extract_eml` does.
    """
    with _refuse_damaged_mail():
        yield list_attachments(_parse_mail(data))


def list_attachments(message: Message) -> Mapping[str, Member]:
    """Return the attachments of a mail by the labels that they are cited by."""
    return label_members(
        (name, partial(_read_bytes, part)) for name, part in _name_attachments(_collect_parts(message))
    )


@contextmanager
def _refuse_damaged_mail() -> Iterator[None]:
    try:
        yield
    except _DAMAGED_MAIL_ERRORS as error:
        reason = "the mail is damaged: open it in a mail program and save it again"
        raise UnreadableDocument(reason, code="document_damaged") from error


class _BoundedFields(email.policy.Compat32):
    """Reads the headers of a mail, each cut to what is read of it."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:MAX_FIELD_CHARS]


def _parse_mail(data: bytes) -> Message:
    return email.message_from_bytes(data, policy=_BoundedFields())


def extract_message(message: Message, extract: Extract, extractor: str) -> Extraction:
    """Extract a mail as `extract_eml` does its bytes; `extractor` names what has read it."""
    if not any(message.get(name) for name in (*MAIL_FIELDS, "Received", "Message-ID")):
        raise UnreadableDocument("the file is no mail: it has no From, To, Date or Subject", code="document_damaged")
    parts, reader = _collect_parts(message), MemberReader(extract, page=2)
    blocks = collect_blocks(_read_mail(message, parts, reader))
    notes, title = (*reader.notes, *reader.describe_unread()), _read_field(message, "Subject")
    return Extraction(blocks, reader.page - 1, extractor, notes, title, picture_members=tuple(reader.pictures))


def _collect_parts(message: Message) -> list[Message]:
    parts = list(_list_parts(message, _MAX_NESTED_PARTS))
    if len(parts) > MAX_MEMBERS:
        reason = f"the mail has more than {MAX_MEMBERS:,} parts: send its attachments by themselves"
        raise UnreadableDocument(reason, code="document_too_complex", details={"parts": MAX_MEMBERS})
    return parts


def _list_parts(message: Message, depth: int) -> Iterator[Message]:
    """Yield the parts that hold something: of alternatives the plain text, else the last."""
    content = message.get_payload()
    if not isinstance(content, list):
        yield message
        return
    if not depth:
        reason = "the mail has too many parts in one another: send its attachments by themselves"
        raise UnreadableDocument(reason, code="document_too_complex", details={"depth": _MAX_NESTED_PARTS})
    parts = [part for part in content if isinstance(part, Message)]
    if message.get_content_type() == "multipart/alternative":
        plain = [part for part in parts if part.get_content_type() == "text/plain" and _read_bytes(part).strip()]
        parts = plain[:1] or parts[-1:]
    for part in parts:
        yield from _list_parts(part, depth - 1)


def _name_attachments(parts: Sequence[Message]) -> Iterator[tuple[str, Message]]:
    for number, part in enumerate(filter(_is_attachment, parts), start=1):
        yield _decode_words(part.get_filename() or "") or f"attachment {number}", part


def _is_attachment(part: Message) -> bool:
    is_text = part.get_content_type() in ("text/plain", "text/html")
    return part.get_content_disposition() == "attachment" or not is_text


def _read_mail(message: Message, parts: Sequence[Message], reader: MemberReader) -> Iterator[Block]:
    maker = BlockMaker(page=1)
    fields = [f"{name}: {value}" for name in MAIL_FIELDS if (value := _read_field(message, name))]
    if fields:
        yield maker.make(_ADDRESS.sub(r"(\1)", "\n".join(fields)), "mail header", MAIL_HEADER_KIND)
    bodies = [part for part in parts if not _is_attachment(part)]
    for number, part in enumerate(bodies, start=1):
        prefix = f"part {number}, " if len(bodies) > 1 else "text, "
        yield from _read_body(part, maker, prefix)
    reader.line = maker.line
    for name, part in _name_attachments(parts):
        yield from reader.read(name, _read_bytes(part))


def _read_body(part: Message, maker: BlockMaker, prefix: str) -> Iterator[Block]:
    """Yield the paragraphs of a text of the mail; `prefix` begins the locator of each."""
    text = _decode_body(part)
    if part.get_content_type() == "text/html":
        yield from PageReader(maker, prefix).read(text)
        return
    yield from read_plain_text(text, maker, prefix)


def _decode_body(part: Message) -> str:
    data = _read_bytes(part)
    if not data:
        return ""
    try:
        return clean_text(data.decode(part.get_content_charset() or "utf-8"))
    except (LookupError, UnicodeError):
        return decode_text(data)[0]


def _read_bytes(part: Message) -> bytes:
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def _read_field(message: Message, name: str) -> str:
    return " ".join(_decode_words(str(message.get(name, ""))[:MAX_FIELD_CHARS]).split())


def _decode_words(value: str) -> str:
    """Return a header's value with its encoded words decoded; as it is where they cannot be."""
    try:
        return clean_text(str(make_header(decode_header(value))))
    except (LookupError, ValueError, UnicodeError):
        return clean_text(value)
