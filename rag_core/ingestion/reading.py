"""A file to text by whoever reads it best: the layout service where there is one, and the parsers in the sandbox."""

from rag_core.core.errors import Unavailable, UnreadableDocument
from rag_core.core.model import Extraction
from rag_core.core.ports import Layout
from rag_core.core.run import Run
from rag_core.ingestion.extract.kinds import is_image, kind_of
from rag_core.ingestion.sandbox import extract_safely

SHARE = 0.6  # of the time left: the local parsers need theirs when the service does not answer


async def read(data: bytes, filename: str, layout: Layout, run: Run, *, timeout_s: float) -> Extraction:
    """Word files and images go to the service first, PDFs when they hold no text; the extraction says who read it.

    Raises:
        UnsupportedDocument: nobody here reads such a file.
        UnreadableDocument: this file cannot be read; `layout_unavailable` when only the service could and it did not.
    """
    if is_image(data, filename) and "image" in layout.kinds:
        return await _seen(data, "image", layout, run)
    if "docx" in layout.kinds and kind_of(data, filename) == "docx":
        try:
            return await _asked(data, "docx", layout, run)
        except Unavailable as failure:
            run.degrade("extract", "layout_fallback", failure.message, "read by the local parser")
    try:
        return await extract_safely(data, filename, timeout_s=timeout_s)
    except UnreadableDocument as blank:
        if blank.code != "no_text_layer" or "scan" not in layout.kinds:
            raise
    return await _seen(data, "scan", layout, run)


async def _seen(data: bytes, kind: str, layout: Layout, run: Run) -> Extraction:
    """By the service or not at all."""
    try:
        return await _asked(data, kind, layout, run)
    except Unavailable as failure:
        message = f"the file holds a picture, no text, and could not be recognised: {failure.message}"
        raise UnreadableDocument(message, code="layout_unavailable", details={"reason": failure.code}) from failure


async def _asked(data: bytes, kind: str, layout: Layout, run: Run) -> Extraction:
    extraction = await run.step("layout", layout.read(data, kind), within_s=SHARE * run.remaining_s)
    if not extraction.blocks:
        raise Unavailable("no text was found in it", code="layout_empty")
    return extraction
