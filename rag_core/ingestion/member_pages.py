"""Pages of files within a zip or mail: the PDF or picture that a locator names, taken out to be drawn."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from rag_core.core.errors import UnreadableDocument, UnsupportedDocument
from rag_core.ingestion.extract.kinds import CONTAINER_KINDS, detect_file_kind

DRAWN_KINDS = ("pdf", "image")
_OWN_PAGE = re.compile(r", p\. (\d{1,9})(?:, [^,]*)?\Z")  # before the lines, at the end of a locator

TakeMember = Callable[[bytes, str], tuple[str, bytes] | None]


@dataclass(frozen=True, slots=True)
class MemberPage:
    """A page of a PDF or picture: its kind, the bytes of the file, and the number of the page in it.

    `name` is that of the file within a zip or mail, "" for a document by itself.
    """

    kind: str
    data: bytes
    page: int
    name: str = ""


def take_member_page(data: bytes, kind: str, place: str) -> MemberPage | None:
    """Return the page that a locator such as `mail.eml, manual.pdf, p. 3, line 9` names; None where there is none.

    Raises:
        UnreadableDocument: the container is damaged or too large.
    """
    if not (found := _OWN_PAGE.search(place)):
        return None
    return _take_page(data, kind, place[: found.start()], int(found[1]))


def _take_page(data: bytes, kind: str, path: str, page: int) -> MemberPage | None:
    """Return a page of the member whose labels are joined to `path`: a label may hold commas itself."""
    take: TakeMember = getattr(import_module(f"rag_core.ingestion.extract.{kind}"), f"take_{kind}_member")
    if member := take(data, path):
        own_kind = _detect_kind(*member)
        return MemberPage(own_kind, member[1], page, path) if own_kind in DRAWN_KINDS else None
    for comma in re.finditer(", ", path):
        held = take(data, path[: comma.start()])
        if held and (held_kind := _detect_kind(*held)) in CONTAINER_KINDS:
            return _take_page(held[1], held_kind, path[comma.end() :], page)
    return None


def _detect_kind(name: str, data: bytes) -> str:
    try:
        return detect_file_kind(data, name.replace("\\", "/").rpartition("/")[2])
    except (UnsupportedDocument, UnreadableDocument):
        return ""
