"""Documents within a document: the files of a zip and the attachments of a mail, each read as if it came alone."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rag_core.core.errors import UnreadableDocument, UnsupportedDocument
from rag_core.core.model import Block, Extraction, PictureMember
from rag_core.ingestion.extract.extraction import clean_text
from rag_core.ingestion.extract.kinds import CONTAINER_KINDS, detect_file_kind
from rag_core.ingestion.member_lines import format_lines

MAX_MEMBERS = 1_000
_MAX_NAMED = 10  # in a note
_MAX_NAME_CHARS = 200
MAX_PICTURE_BYTES = 32 * 1024**2  # of the pictures of a container, which leave the sandbox beside its text

Extract = Callable[[str, bytes], Extraction]
Member = tuple[str, Callable[[], bytes]]  # its name, and the function that reads it


@dataclass(slots=True)
class MemberLabels:
    """The names that members are cited by: the second "scan.pdf" of a mail is "scan.pdf (2)"."""

    given: dict[str, int] = field(default_factory=dict)

    def make(self, name: str) -> str:
        """Return the label of the next member, which no member before it has."""
        label = clean_member_name(name)
        self.given[label] = self.given.get(label, 0) + 1
        return label if self.given[label] == 1 else self.make(f"{label} ({self.given[label]})")


def label_members(members: Iterable[Member]) -> dict[str, Member]:
    """Return members, which are all of their container in order, by the labels that they are cited by."""
    labels = MemberLabels()
    return {labels.make(name): (name, read) for name, read in members}


@dataclass(slots=True)
class MemberReader:
    """Reads members with the extractor of their kind, and keeps what the notes report.

    Members of `unread_kinds` are left out, those with text in pictures are kept as they are, to be recognised outside
    of the sandbox. A member's blocks have its name before their locator and headings. It takes as many pages of the
    container as it has, and one at least; `page` is the next that is free.
    """

    extract: Extract
    unread_kinds: Collection[str] = CONTAINER_KINDS
    line: int = 1
    page: int = 1
    labels: MemberLabels = field(default_factory=MemberLabels)
    notes: list[str] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)  # the reason, by name
    pictures: list[PictureMember] = field(default_factory=list)

    def read(self, name: str, data: bytes) -> Iterator[Block]:
        """Yield the blocks of a member; one that cannot be read is noted."""
        label, page = self.labels.make(name), self.page
        try:
            kind = detect_file_kind(data, name.replace("\\", "/").rpartition("/")[2])
            if kind in self.unread_kinds:
                raise UnsupportedDocument("send it by itself")
            extraction = self.extract(kind, data)
        except (UnreadableDocument, UnsupportedDocument) as error:
            if error.code == "no_text_layer":
                self.page += max(1, int(error.details.get("pages") or 1))  # type: ignore[call-overload]
                self._keep_picture(PictureMember((label,), page, data))
            else:
                self.unread[label] = error.message
            return
        self.page += max(1, extraction.pages or 1)
        if extraction.picture_pages:
            self._keep_picture(PictureMember((label,), page, data))
            return
        for held in extraction.picture_members:
            self._keep_picture(replace(held, names=(label, *held.names), page=page + held.page - 1))
        self.notes += [f"{label}: {note}" for note in extraction.notes]
        first = self.line
        for block in extraction.blocks:
            yield place_in_member(block, label, page, first - 1)
            self.line = first + block.line_end

    def _keep_picture(self, picture: PictureMember) -> None:
        if sum(len(kept.data) for kept in self.pictures) + len(picture.data) > MAX_PICTURE_BYTES:
            size = MAX_PICTURE_BYTES // 1024**2
            self.unread[", ".join(picture.names)] = (
                f"the pictures have more than {size} MiB together: send it by itself"
            )
        else:
            self.pictures.append(picture)

    def describe_unread(self) -> Iterator[str]:
        """Yield a note on the members that were left out."""
        yield from describe_left_out(self.unread)


def describe_left_out(reasons: Mapping[str, str]) -> Iterator[str]:
    """Yield a note on files that were left out, by their names, with the reason of each."""
    named = [f"{name} ({reason})" for name, reason in list(reasons.items())[:_MAX_NAMED]]
    if named:
        more = f" and {len(reasons) - _MAX_NAMED} more" if len(reasons) > _MAX_NAMED else ""
        yield f"files that were left out: {'; '.join(named)}{more}"


def place_in_member(block: Block, name: str, first_page: int, lines_before: int) -> Block:
    """Return a block of a member as one of its container, where the member begins on `first_page`."""
    lines = format_lines(block.line_start, block.line_end)
    own = block.locator or (f"p. {block.page}, {lines}" if block.page else lines)
    return replace(
        block,
        page=first_page + (block.page or 1) - 1,
        page_label=None,
        headings=(name, *block.headings),
        locator=f"{name}, {own}",
        line_start=block.line_start + lines_before,
        line_end=block.line_end + lines_before,
    )


def clean_member_name(name: str) -> str:
    """Return the name of a member on one line, cut to what a reader can take in."""
    return re.sub(r"\s+", " ", clean_text(name)).strip()[-_MAX_NAME_CHARS:] or "unnamed"


def make_no_text_error(unread: Mapping[str, str], what: str, code: str = "document_empty") -> UnreadableDocument:
    """Return the error for a container of which no member was read."""
    reasons: Sequence[str] = [f"{name}: {reason}" for name, reason in list(unread.items())[:3]]
    message = "; ".join((f"{what} holds no file that can be read", *reasons))
    return UnreadableDocument(message, code=code)
