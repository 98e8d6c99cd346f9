"""Extraction of a file by the layout service, where one is configured, or by the local parsers in the sandbox."""

from rag_core.core.errors import Unavailable, UnreadableDocument
from rag_core.core.model import Extraction
from rag_core.core.ports import LayoutReader
from rag_core.core.run import Run
from rag_core.ingestion.extract.kinds import detect_file_kind, is_image
from rag_core.ingestion.sandbox import extract_in_sandbox

LAYOUT_TIME_SHARE = 0.6  # of the time left: the local parsers need the rest when the service does not answer


async def extract_file(
    data: bytes, filename: str, layout_reader: LayoutReader, run: Run, *, timeout_s: float
) -> Extraction:
    """Extract a file: images by the layout service, Word files by it first, PDFs by it when they hold no text.

    The extraction's `extractor` names what read the file; a fallback to the local parser is noted in the run.

    Raises:
        UnsupportedDocument: no extractor for such a file.
        UnreadableDocument: the file cannot be read; `layout_unavailable` when only the service could, and it failed.
    """
    if is_image(data, filename) and "image" in layout_reader.kinds:
        return await _extract_by_layout_only(data, "image", layout_reader, run)
    if "docx" in layout_reader.kinds and detect_file_kind(data, filename) == "docx":
        try:
            return await _extract_by_layout(data, "docx", layout_reader, run)
        except Unavailable as error:
            run.degrade("extract", "layout_fallback", error.message, "read by the local parser")
    try:
        return await extract_in_sandbox(data, filename, timeout_s=timeout_s)
    except UnreadableDocument as error:
        if error.code != "no_text_layer" or "scan" not in layout_reader.kinds:
            raise
    return await _extract_by_layout_only(data, "scan", layout_reader, run)


async def _extract_by_layout_only(data: bytes, kind: str, layout_reader: LayoutReader, run: Run) -> Extraction:
    """Extract by the layout service; raise UnreadableDocument when it fails, because nothing else reads pictures."""
    try:
        return await _extract_by_layout(data, kind, layout_reader, run)
    except Unavailable as error:
        message = f"the file holds a picture and no text, and its text was not recognised: {error.message}"
        raise UnreadableDocument(message, code="layout_unavailable", details={"reason": error.code}) from error


async def _extract_by_layout(data: bytes, kind: str, layout_reader: LayoutReader, run: Run) -> Extraction:
    extraction = await run.step("layout", layout_reader.read(data, kind), within_s=LAYOUT_TIME_SHARE * run.remaining_s)
    if not extraction.blocks:
        raise Unavailable("the layout service found no text in the file", code="layout_empty")
    return extraction
