"""Originals: the uploaded bytes of indexed documents, stored in the archive to be shown where they are cited."""

import asyncio
from collections.abc import Sequence

from rag_core.core.errors import StorageFull, Unavailable
from rag_core.core.kit import Kit
from rag_core.core.model import Block, Document, Work
from rag_core.core.run import Run
from rag_core.ingestion.extract.extraction import clean
from rag_core.ingestion.extract.kinds import is_image, kind_of
from rag_core.ingestion.upload import Upload, kind_of_text

KEEP_S = 15.0  # enough for 25 MiB; the document is searchable already
MAX_LINES = 1_000_000  # of a text made of uploaded blocks, whose line numbers are the sender's


async def keep(document: Document, upload: Upload, kit: Kit, run: Run) -> None:
    """Store the upload of a document that was just indexed as its original, replacing the earlier one.

    A failure does not undo the indexing; it is noted in the run as a degradation.
    """
    try:
        await run.step("keep", _saved(document, upload, kit), within_s=KEEP_S)
    except (Unavailable, StorageFull) as error:
        effect = "its pages and lines are not shown until it is indexed again"
        run.degrade("keep", "original_not_kept", error.message, effect)


async def kept(document: Document, kit: Kit) -> Work | None:
    """Return the original of a document; None when none is stored, or only that of another version."""
    original = await kit.archive.work(document.id, document.workflow_id)
    return original if original and original.content_hash == document.content_hash else None


async def _saved(document: Document, upload: Upload, kit: Kit) -> None:
    original = await asyncio.to_thread(_work, document, upload) if kit.keep_originals else None
    if original is None:
        await kit.archive.remove_work(document.id, document.workflow_id)
    else:
        await kit.archive.save_work(original)


def _work(document: Document, upload: Upload) -> Work | None:
    """Return the original to be stored; None for blocks whose line numbers are too high to be laid out as a text."""
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
    """Return a file unchanged, and text or blocks as UTF-8 text whose line numbers are those that citations name."""
    if upload.data is not None:
        return upload.data
    if upload.blocks is not None:
        return _laid_out(upload.blocks)
    return clean(upload.content or "").encode()


def _laid_out(blocks: Sequence[Block]) -> bytes | None:
    """Return blocks as a text with each line at its number; None when the last is above `MAX_ORIGINAL_LINES`."""
    lines: dict[int, str] = {}
    for block in blocks:
        for number, line in enumerate(_lines(block), start=block.line_start):
            lines[number] = f"{lines[number]}  {line}" if number in lines else line
    last = max(lines, default=0)
    if last > MAX_LINES:
        return None
    return "\n".join(lines.get(number, "") for number in range(1, last + 1)).encode()


def _lines(block: Block) -> list[str]:
    """Return the lines of a block; one line where its text has other lines than the document, as a table row has."""
    lines = clean(block.text).split("\n")
    return lines if block.line_start + len(lines) - 1 == block.line_end else [" ".join(lines)]
