"""Pages of files within a zip or mail: the PDFs or pictures that locators name, taken out to be drawn."""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module

from rag_core.core.errors import UnreadableDocument, UnsupportedDocument
from rag_core.ingestion.extract.kinds import CONTAINER_KINDS, detect_file_kind

DRAWN_KINDS = ("pdf", "image")
_OWN_PAGE = re.compile(r", p\. (\d{1,9})(?:, [^,]*)?\Z")  # before the lines, at the end of a locator


@dataclass(frozen=True, slots=True)
class MemberPage:
    """A page of a PDF or picture: its kind, the bytes of the file, and the number of the page in it.

    `path` has the labels of a file within a zip or mail, `name` is its own; both are "" for a document by itself.
    """

    kind: str
    data: bytes
    page: int
    path: str = ""
    name: str = ""


def take_member_pages(data: bytes, kind: str, places: Sequence[str]) -> list[MemberPage | None]:
    """Return the pages that locators such as `mail.eml, manual.pdf, p. 3, line 9` name; None where there is none.

    The container is read once, and so is each file in it. A name may hold commas itself: where a place can be that of
    two files there is no page, because the wrong one would be shown.

    Raises:
        UnreadableDocument: the container is damaged or too large.
    """
    with ExitStack() as stack:
        container = _Container(data, kind, stack)
        return [_take_page(container, place) for place in places]


def _take_page(container: "_Container", place: str) -> MemberPage | None:
    if not (found := _OWN_PAGE.search(place)):
        return None
    path = place[: found.start()]
    files = [file for file in container.find_files(path) if file.kind in DRAWN_KINDS]
    if len(files) != 1:
        return None
    return MemberPage(files[0].kind, files[0].data, int(found[1]), path, files[0].name)


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    kind: str
    data: bytes


class _Container:
    """A zip or mail, open until the stack is closed; what is asked of it twice is read once."""

    def __init__(self, data: bytes, kind: str, stack: ExitStack) -> None:
        open_members = getattr(import_module(f"rag_core.ingestion.extract.{kind}"), f"open_{kind}_members")
        self._members = stack.enter_context(open_members(data))
        self._stack = stack
        self._files: dict[str, _File] = {}
        self._containers: dict[str, _Container] = {}

    def find_files(self, path: str) -> Iterator[_File]:
        """Yield the files whose labels, joined by commas, are the path."""
        if path in self._members:
            yield self._read(path)
        for comma in re.finditer(", ", path):
            label = path[: comma.start()]
            if label in self._members and self._read(label).kind in CONTAINER_KINDS:
                yield from self._open(label).find_files(path[comma.end() :])

    def _read(self, label: str) -> _File:
        if label not in self._files:
            name, read = self._members[label]
            self._files[label] = _File(name, _detect_kind(name, data := read()), data)
        return self._files[label]

    def _open(self, label: str) -> "_Container":
        if label not in self._containers:
            file = self._read(label)
            self._containers[label] = _Container(file.data, file.kind, self._stack)
        return self._containers[label]


def _detect_kind(name: str, data: bytes) -> str:
    try:
        return detect_file_kind(data, name.replace("\\", "/").rpartition("/")[2])
    except (UnsupportedDocument, UnreadableDocument):
        return ""
