"""Documents are kept as they came, to be shown where they are cited; the index has only what was read of them."""

import asyncio
from collections.abc import Sequence

from rag_core.core.errors import StorageFull, Unavailable
from rag_core.core.kit import Kit
from rag_core.core.model import Block, Document, Work
from rag_core.core.run import Run
from rag_core.ingestion.extract.extraction import clean
from rag_core.ingestion.extract.kinds import is_image, kind_of
from rag_core.ingestion.indexing import Upload, kind_of_text

KEEP_S = 15.0  # a database may take so long for 25 MiB; the document is searchable already
MAX_LINES = 1_000_000  # of blocks: a block may stand on any line that its sender names


async def keep(document: Document, upload: Upload, kit: Kit, run: Run) -> None:
    """Keep the upload that became this document, once that is written, in place of what was kept of it before.

    A document that cannot be kept is indexed all the same, and the run says so.
    """
    try:
        await run.step("keep", _saved(document, upload, kit), within_s=KEEP_S)
    except (Unavailable, StorageFull) as failure:
        again = "its pages and lines are not shown until it is indexed again"
        run.degrade("keep", "original_not_kept", failure.message, again)


async def kept(document: Document, kit: Kit) -> Work | None:
    """The document as it came; None when it was not kept, or is another version's than the index has."""
    work = await kit.archive.work(document.id, document.workflow_id)
    return work if work and work.content_hash == document.content_hash else None


async def _saved(document: Document, upload: Upload, kit: Kit) -> None:
    work = await asyncio.to_thread(_work, document, upload) if kit.keep_originals else None
    if work is None:
        await kit.archive.remove_work(document.id, document.workflow_id)
    else:
        await kit.archive.save_work(work)


def _work(document: Document, upload: Upload) -> Work | None:
    """None for what has no text that could be shown."""
    data = _bytes(upload)
    if data is None:
        return None
    return Work(
        document_id=document.id,
        workflow_id=document.workflow_id,
        title=document.title,
        filename=upload.filename or "",
        kind=_kind(upload),
        content_hash=document.content_hash,
        data=data,
    )


def _kind(upload: Upload) -> str:
    if upload.data is None:
        return "text" if upload.blocks is not None else kind_of_text(upload)
    name = upload.filename or ""
    return "image" if is_image(upload.data, name) else kind_of(upload.data, name)


def _bytes(upload: Upload) -> bytes | None:
    """A file as it came, and a text as it was read: then its lines are those that are cited."""
    if upload.data is not None:
        return upload.data
    if upload.blocks is not None:
        return _laid_out(upload.blocks)
    return clean(upload.content or "").encode()


def _laid_out(blocks: Sequence[Block]) -> bytes | None:
    """Blocks as a text with each of their lines in its place; None when the last is too far down."""
    lines: dict[int, str] = {}
    for block in blocks:
        for number, line in enumerate(_lines(block), start=block.line_start):
            lines[number] = f"{lines[number]}  {line}" if number in lines else line
    last = max(lines, default=0)
    if last > MAX_LINES:
        return None
    return "\n".join(lines.get(number, "") for number in range(1, last + 1)).encode()


def _lines(block: Block) -> list[str]:
    """Laid out anew, as a row is with a line a cell, it stands on its first line."""
    lines = clean(block.text).split("\n")
    return lines if block.line_start + len(lines) - 1 == block.line_end else [" ".join(lines)]
