"""Originals: the uploaded bytes of indexed documents, stored in the archive to be shown where they are cited."""

import asyncio
from collections.abc import Sequence

from rag_core.core.errors import StorageFull, Unavailable
from rag_core.core.kit import Kit
from rag_core.core.model import Block, Document, Original
from rag_core.core.run import Run
from rag_core.ingestion.extract.extraction import clean_text
from rag_core.ingestion.extract.kinds import detect_file_kind
from rag_core.ingestion.upload import Upload, detect_text_kind

STORE_ORIGINAL_TIMEOUT_S = 15.0  # enough for 25 MiB; the document is searchable already
MAX_ORIGINAL_LINES = 1_000_000  # of a text made of uploaded blocks, whose line numbers are the sender's


async def store_original(document: Document, upload: Upload, kit: Kit, run: Run) -> None:
    """Store the upload of a document that was just indexed as its original, replacing the earlier one.

    A failure does not undo the indexing; it is noted in the run as a degradation.
    """
    try:
        await run.step("keep", _save_or_remove_original(document, upload, kit), within_s=STORE_ORIGINAL_TIMEOUT_S)
    except (Unavailable, StorageFull) as error:
        effect = "its pages and lines are not shown until it is indexed again"
        run.degrade("keep", "original_not_kept", error.message, effect)


async def load_current_original(document: Document, kit: Kit) -> Original | None:
    """Return the original of a document; None when none is stored, or only that of another version."""
    original = await kit.archive.load_original(document.id, document.workflow_id)
    return original if original and original.content_hash == document.content_hash else None


async def _save_or_remove_original(document: Document, upload: Upload, kit: Kit) -> None:
    original = await asyncio.to_thread(_original_from_upload, document, upload) if kit.keep_originals else None
    if original is None:
        await kit.archive.delete_original(document.id, document.workflow_id)
    else:
        await kit.archive.save_original(original)


def _original_from_upload(document: Document, upload: Upload) -> Original | None:
    """Return the original to be stored; None for blocks whose line numbers are too high to be laid out as a text."""
    data = _encode_original(upload)
    if data is None:
        return None
    return Original(
        document_id=document.id,
        workflow_id=document.workflow_id,
        title=document.title,
        filename=upload.filename or "",
        kind=_detect_original_kind(upload),
        content_hash=document.content_hash,
        data=data,
    )


def _detect_original_kind(upload: Upload) -> str:
    if upload.data is None:
        return "text" if upload.blocks is not None else detect_text_kind(upload)
    return detect_file_kind(upload.data, upload.filename or "")


def _encode_original(upload: Upload) -> bytes | None:
    """Return a file unchanged, and text or blocks as UTF-8 text whose line numbers are those that citations name."""
    if upload.data is not None:
        return upload.data
    if upload.blocks is not None:
        return _lay_out_blocks(upload.blocks)
    return clean_text(upload.content or "").encode()


def _lay_out_blocks(blocks: Sequence[Block]) -> bytes | None:
    """Return blocks as a text with each line at its number; None when the last is above `MAX_ORIGINAL_LINES`."""
    lines: dict[int, str] = {}
    for block in blocks:
        for number, line in enumerate(_split_block_lines(block), start=block.line_start):
            lines[number] = f"{lines[number]}  {line}" if number in lines else line
    last = max(lines, default=0)
    if last > MAX_ORIGINAL_LINES:
        return None
    return "\n".join(lines.get(number, "") for number in range(1, last + 1)).encode()


def _split_block_lines(block: Block) -> list[str]:
    """Return the lines of a block; one line where its text has other lines than the document, as a table row has."""
    lines = clean_text(block.text).split("\n")
    return lines if block.line_start + len(lines) - 1 == block.line_end else [" ".join(lines)]
