"""Documents within a document: the files of a zip and the attachments of a mail, each read as if it came alone."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rag_core.core.errors import UnreadableDocument, UnsupportedDocument
from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract.extraction import clean_text, describe_picture_pages
from rag_core.ingestion.extract.kinds import CONTAINER_KINDS, detect_file_kind

MAX_MEMBERS = 1_000
_MAX_NAMED = 10  # in a note
_MAX_NAME_CHARS = 200

Extract = Callable[[str, bytes], Extraction]


@dataclass(slots=True)
class MemberReader:
    """Reads members with the extractor of their kind, and keeps what the notes report.

    Members of `unread_kinds`, and pictures, are left out. A member's blocks have its name before their locator and
    headings, and its number as their page.
    """

    extract: Extract
    unread_kinds: Collection[str] = CONTAINER_KINDS
    line: int = 1
    notes: list[str] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)  # the reason, by name

    def read(self, name: str, data: bytes, page: int) -> Iterator[Block]:
        """Yield the blocks of a member; one that cannot be read is noted."""
        label = clean_member_name(name)
        try:
            kind = detect_file_kind(data, name.replace("\\", "/").rpartition("/")[2])
            if kind in self.unread_kinds or kind == "image":
                raise UnsupportedDocument("send it by itself")
            extraction = self.extract(kind, data)
        except (UnreadableDocument, UnsupportedDocument) as error:
            self.unread[label] = error.message
            return
        notes = (*extraction.notes, *describe_picture_pages(extraction))
        self.notes += [f"{label}: {note}" for note in notes]
        first = self.line
        for block in extraction.blocks:
            yield _place_in_member(block, label, page, first - 1)
            self.line = first + block.line_end

    def describe_unread(self) -> Iterator[str]:
        """Yield a note on the members that were left out."""
        named = [f"{name} ({reason})" for name, reason in list(self.unread.items())[:_MAX_NAMED]]
        if named:
            more = f" and {len(self.unread) - _MAX_NAMED} more" if len(self.unread) > _MAX_NAMED else ""
            yield f"files that were left out: {'; '.join(named)}{more}"


def _place_in_member(block: Block, name: str, page: int, lines_before: int) -> Block:
    one_line = block.line_start == block.line_end
    lines = f"line {block.line_start}" if one_line else f"lines {block.line_start}-{block.line_end}"
    own = block.locator or (f"p. {block.page}, {lines}" if block.page else lines)
    return replace(
        block,
        page=page,
        page_label=None,
        bbox=None,
        boxes=(),
        headings=(name, *block.headings),
        locator=f"{name}, {own}",
        line_start=block.line_start + lines_before,
        line_end=block.line_end + lines_before,
    )


def clean_member_name(name: str) -> str:
    """Return the name of a member on one line, cut to what a reader can take in."""
    return re.sub(r"\s+", " ", clean_text(name)).strip()[-_MAX_NAME_CHARS:] or "unnamed"


def make_no_text_error(unread: Mapping[str, str], what: str) -> UnreadableDocument:
    """Return the error for a container of which no member was read."""
    reasons: Sequence[str] = [f"{name}: {reason}" for name, reason in list(unread.items())[:3]]
    message = "; ".join((f"{what} holds no file that can be read", *reasons))
    return UnreadableDocument(message, code="document_empty")
