"""Recognised pages of a mixed PDF: only those that need it are cut out, and they come back under their own numbers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract.extraction import collect_blocks, list_pages
from rag_core.ingestion.sandbox_view import extract_cited_pages_in_sandbox


async def cut_picture_pages(data: bytes, extraction: Extraction, *, timeout_s: float) -> bytes:
    """Return a PDF of the pages whose text is in pictures, in their order.

    Raises:
        UnreadableDocument: the pages cannot be taken out of the file.
    """
    files = [(extraction.title, data, dict.fromkeys(extraction.picture_pages, ()))]
    return await extract_cited_pages_in_sandbox(files, timeout_s=timeout_s)


def insert_recognised_pages(extraction: Extraction, recognised: Extraction, reader_name: str) -> Extraction:
    """Return the extraction with the recognised pages in place of those cut out for them; lines are counted anew.

    Pages that the reader has left out keep what stands in letters on them, and are named in a note.
    """
    pages = extraction.picture_pages[: recognised.pages]
    own = [block for block in extraction.blocks if block.page not in pages]
    added = [replace(block, page=pages[(block.page or 1) - 1]) for block in recognised.blocks]
    blocks = sorted([*own, *added], key=lambda block: block.page or 0)
    named, left_out = list_pages(pages), extraction.picture_pages[len(pages) :]
    notes = [f"{named} of {extraction.pages}: {note}" for note in (*recognised.notes, f"read by {reader_name}")]
    notes += describe_unread_pages(left_out, extraction.pages or 0, reader_name)
    return replace(
        extraction,
        blocks=collect_blocks(count_lines(blocks)),
        extractor=f"{extraction.extractor}, {named} by {reader_name}",
        notes=(*extraction.notes, *notes),
        picture_pages=(),
    )


def describe_unread_pages(unread: Sequence[int], pages: int, reader_name: str) -> Iterator[str]:
    """Yield a note on pages that were sent to a reader and of which it says nothing: a free tier reads the first two.

    Such a page is no blank one, of which the reader says that it is there.
    """
    if unread:
        was, them = ("was", "it") if len(unread) == 1 else ("were", "them")
        yield f"{list_pages(unread)} of {pages} {was} not read: {reader_name} gave nothing of {them}"


def count_lines(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks with lines that are counted on from one to the next."""
    line = 1
    for block in blocks:
        last = line + block.line_end - block.line_start
        yield replace(block, line_start=line, line_end=last)
        line = last + 1
