"""Pages and lines of originals, rendered and decoded in the sandbox because originals are untrusted files."""

import asyncio
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import IO

from rag_core.core.model import Box, PageImage
from rag_core.ingestion.extract.text import read_line_window
from rag_core.ingestion.member_pages import MemberPage
from rag_core.ingestion.sandbox import MAX_IN_PROCESS_BYTES, call_child, parse_reply_head

VIEW_CHILD_MODULE = "rag_core.ingestion.sandbox_view_child"
_MARKS_OF_ORIENTATION = (b"Exif", b"eXIf", b"II*\0", b"MM\0*")  # of JPEG, of PNG, and how a TIFF begins
LineWindow = tuple[list[str], int]  # some of the lines, and how many there are in all


async def render_page_in_sandbox(data: bytes, page_number: int, *, timeout_s: float, kind: str = "pdf") -> PageImage:
    """Render a page of a PDF or, where `kind` is "image", of a picture, counted from 1, in a child process.

    Raises:
        NotFound: the file has no such page (page_not_found).
        UnreadableDocument: the page cannot be rendered; `document_too_complex` when a limit ended the child.
    """
    view = "frame" if kind == "image" else "page"
    return await call_child(VIEW_CHILD_MODULE, f"{view}:{page_number}", data, _picture_from_reply, timeout_s=timeout_s)


async def render_for_recognition(data: bytes, kind: str, page_number: int, *, timeout_s: float) -> PageImage:
    """Render a page of a "scan" (a PDF) or an "image" as `render_page_in_sandbox` does, as sharp as is needed."""
    view = "frame" if kind == "image" else "scan"
    return await call_child(VIEW_CHILD_MODULE, f"{view}:{page_number}", data, _picture_from_reply, timeout_s=timeout_s)


async def take_member_pages_in_sandbox(
    data: bytes, kind: str, places: Sequence[str], *, timeout_s: float
) -> list[MemberPage | None]:
    """Return pages of files within a zip or mail as `member_pages.take_member_pages` does, in one child process.

    Raises:
        UnreadableDocument: the container cannot be read; `document_too_complex` when a limit ended the child.
    """
    request = json.dumps({"kind": kind, "places": list(places)}).encode() + b"\n" + data
    return await call_child(VIEW_CHILD_MODULE, "members:0", request, _member_pages_from_reply, timeout_s=timeout_s)


async def straighten_in_sandbox(data: bytes, *, timeout_s: float) -> bytes:
    """Return a picture as `extract.image.straighten_picture` does, in a child process, or as it is.

    Raises:
        UnreadableDocument: the picture is damaged, or a limit ended the child.
    """
    if not any(mark in data for mark in _MARKS_OF_ORIENTATION):
        return data
    return await call_child(VIEW_CHILD_MODULE, "upright:0", data, _upright_from_reply, timeout_s=timeout_s) or data


async def read_lines_in_sandbox(data: bytes, first_line: int, *, timeout_s: float) -> LineWindow:
    """Return lines of a text as `extract.text.read_line_window` does; only large texts go to a child process.

    Raises:
        UnreadableDocument: the bytes are no text, or decoding them took too long.
    """
    if len(data) <= MAX_IN_PROCESS_BYTES:
        return await asyncio.to_thread(read_line_window, data, first_line)
    return await call_child(VIEW_CHILD_MODULE, f"lines:{first_line}", data, _lines_from_reply, timeout_s=timeout_s)


async def extract_cited_pages_in_sandbox(
    files: Sequence[tuple[str, bytes, Mapping[int, Sequence[Box]]]], *, timeout_s: float
) -> bytes:
    """Return one PDF with the cited pages of all files, each given by its title, its bytes and its boxes by page.

    Raises:
        UnreadableDocument: a file cannot be read, or lacks a cited page; or a limit ended the child.
    """
    request = [
        {"title": title, "pdf": b64encode(data).decode(), "boxes": [[page, list(of)] for page, of in boxes.items()]}
        for title, data, boxes in files
    ]
    encoded = json.dumps(request).encode()
    return await call_child(VIEW_CHILD_MODULE, "highlight:0", encoded, _pdf_from_reply, timeout_s=timeout_s)


def _member_pages_from_reply(reply: IO[bytes]) -> list[MemberPage | None]:
    head = parse_reply_head(reply)
    files = {str(path): b64decode(data, validate=True) for path, data in head["files"].items()}
    return [
        page and MemberPage(str(page["kind"]), files[page["path"]], int(page["page"]), page["path"], str(page["name"]))
        for page in head["pages"]
    ]


def _upright_from_reply(reply: IO[bytes]) -> bytes:
    return b64decode(parse_reply_head(reply)["picture"], validate=True)


def _pdf_from_reply(reply: IO[bytes]) -> bytes:
    return b64decode(parse_reply_head(reply)["pdf"], validate=True)


def _picture_from_reply(reply: IO[bytes]) -> PageImage:
    head = parse_reply_head(reply)
    png = b64decode(head["png"], validate=True)
    return PageImage(int(head["page"]), int(head["pages"]), float(head["width"]), float(head["height"]), png)


def _lines_from_reply(reply: IO[bytes]) -> LineWindow:
    head = parse_reply_head(reply)
    return list(map(str, head["lines"])), int(head["total"])
