"""Pages and lines of originals, rendered and decoded in the sandbox because originals are untrusted files."""

import asyncio
from base64 import b64decode
from typing import IO

from rag_core.core.model import Picture
from rag_core.ingestion.extract.text import shown
from rag_core.ingestion.sandbox import SMALL, head_of, in_child

CHILD = "rag_core.ingestion.sandbox_view_child"
Lines = tuple[list[str], int]  # some of the lines, and how many there are in all


async def page(data: bytes, number: int, *, timeout_s: float) -> Picture:
    """Render a page of a PDF, counted from 1, in a child process.

    Raises:
        NotFound: the PDF has no such page (page_not_found).
        UnreadableDocument: the page cannot be rendered; `document_too_complex` when a limit ended the child.
    """
    return await in_child(CHILD, f"page:{number}", data, _picture, timeout_s=timeout_s)


async def lines(data: bytes, first: int, *, timeout_s: float) -> Lines:
    """Return lines of a text as `extract.text.read_line_window` does; only large texts go to a child process.

    Raises:
        UnreadableDocument: the bytes are no text, or decoding them took too long.
    """
    if len(data) <= SMALL:
        return await asyncio.to_thread(shown, data, first)
    return await in_child(CHILD, f"lines:{first}", data, _lines, timeout_s=timeout_s)


def _picture(reply: IO[bytes]) -> Picture:
    head = head_of(reply)
    png = b64decode(head["png"], validate=True)
    return Picture(int(head["page"]), int(head["pages"]), float(head["width"]), float(head["height"]), png)


def _lines(reply: IO[bytes]) -> Lines:
    head = head_of(reply)
    return list(map(str, head["lines"])), int(head["total"])
