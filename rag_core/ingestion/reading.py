"""Extraction of a file by the layout service, where one is configured, or by the local parsers in the sandbox."""

from rag_core.core.errors import Unavailable, UnreadableDocument
from rag_core.core.model import Extraction
from rag_core.core.ports import Layout
from rag_core.core.run import Run
from rag_core.ingestion.extract.kinds import is_image, kind_of
from rag_core.ingestion.sandbox import extract_safely

SHARE = 0.6  # of the time left: the local parsers need the rest when the service does not answer


async def read(data: bytes, filename: str, layout: Layout, run: Run, *, timeout_s: float) -> Extraction:
    """Extract a file: images by the layout service, Word files by it first, PDFs by it when they hold no text.

    The extraction's `extractor` names what read the file; a fallback to the local parser is noted in the run.

    Raises:
        UnsupportedDocument: no extractor for such a file.
        UnreadableDocument: the file cannot be read; `layout_unavailable` when only the service could, and it failed.
    """
    if is_image(data, filename) and "image" in layout.kinds:
        return await _seen(data, "image", layout, run)
    if "docx" in layout.kinds and kind_of(data, filename) == "docx":
        try:
            return await _asked(data, "docx", layout, run)
        except Unavailable as error:
            run.degrade("extract", "layout_fallback", error.message, "read by the local parser")
    try:
        return await extract_safely(data, filename, timeout_s=timeout_s)
    except UnreadableDocument as error:
        if error.code != "no_text_layer" or "scan" not in layout.kinds:
            raise
    return await _seen(data, "scan", layout, run)


async def _seen(data: bytes, kind: str, layout: Layout, run: Run) -> Extraction:
    """Extract by the layout service; raise UnreadableDocument when it fails, because nothing else reads pictures."""
    try:
        return await _asked(data, kind, layout, run)
    except Unavailable as error:
        message = f"the file holds a picture and no text, and its text was not recognised: {error.message}"
        raise UnreadableDocument(message, code="layout_unavailable", details={"reason": error.code}) from error


async def _asked(data: bytes, kind: str, layout: Layout, run: Run) -> Extraction:
    extraction = await run.step("layout", layout.read(data, kind), within_s=SHARE * run.remaining_s)
    if not extraction.blocks:
        raise Unavailable("the layout service found no text in the file", code="layout_empty")
    return extraction
