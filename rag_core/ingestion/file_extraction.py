"""Extraction of a file by the local parsers in the sandbox, and by the layout reader where text is in pictures.

The layout reader is the layout service where one is configured, which is paid by the page; else text recognition on
this machine. The service reads Word files as well, and the office files that the local parsers fail on.
"""

from dataclasses import replace
from functools import partial

from rag_core.core.errors import Unavailable, UnreadableDocument
from rag_core.core.model import Extraction
from rag_core.core.ports import LayoutReader
from rag_core.core.run import Run
from rag_core.ingestion.extract.extraction import (
    describe_picture_pages,
    list_pages,
    make_no_text_found_error,
    make_no_text_layer_error,
)
from rag_core.ingestion.extract.kinds import detect_file_kind
from rag_core.ingestion.layout_budget import DEFAULT_LAYOUT_BUDGET_USD, BudgetedLayoutReader
from rag_core.ingestion.recognised_members import read_picture_members
from rag_core.ingestion.recognised_pages import cut_picture_pages, describe_unread_pages, insert_recognised_pages
from rag_core.ingestion.sandbox import extract_as_kind_in_sandbox

RESCUED_KINDS = frozenset({"xlsx", "pptx", "html"})  # read by the service where the local parser finds them damaged


async def extract_file(
    data: bytes,
    filename: str,
    layout_reader: LayoutReader,
    run: Run,
    *,
    timeout_s: float,
    budget_usd: float = DEFAULT_LAYOUT_BUDGET_USD,
) -> Extraction:
    """Extract a file: Word files by the layout service first, of PDFs, pictures and files in it what holds no text.

    All that the layout reader is paid for it, the files in it included, stays below `budget_usd`.

    The extraction's `extractor` names what read the file; a fallback to the local parser is noted in the run.

    Raises:
        UnsupportedDocument: no extractor for such a file.
        UnreadableDocument: the file cannot be read; `layout_unavailable` when only the layout reader could, and it
            failed, `no_text_layer` when there is none, `no_text_found` when it looked and there is no text in it.
    """
    return await _extract(data, filename, BudgetedLayoutReader(layout_reader, budget_usd), run, timeout_s=timeout_s)


async def _extract(
    data: bytes, filename: str, layout_reader: BudgetedLayoutReader, run: Run, *, timeout_s: float
) -> Extraction:
    kind = detect_file_kind(data, filename)
    if kind == "docx" and "docx" in layout_reader.kinds:
        try:
            return await _extract_by_layout(data, "docx", layout_reader, run)
        except Unavailable as error:
            run.degrade("extract", "layout_fallback", error.message, "read by the local parser")
    try:
        extraction = await extract_as_kind_in_sandbox(kind, data, timeout_s=timeout_s)
    except UnreadableDocument as error:
        return await _extract_refused(data, kind, error, layout_reader, run)
    if extraction.picture_members:
        read_file = partial(_extract_member, layout_reader=layout_reader, run=run, timeout_s=timeout_s)
        return await read_picture_members(extraction, read_file, run)
    if not extraction.picture_pages:
        return extraction
    if "scan" in layout_reader.kinds:
        return await _recognise_picture_pages(data, extraction, layout_reader, run, timeout_s=timeout_s)
    return replace(extraction, notes=(*extraction.notes, *describe_picture_pages(extraction)))


async def _extract_refused(
    data: bytes, kind: str, refusal: UnreadableDocument, layout_reader: BudgetedLayoutReader, run: Run
) -> Extraction:
    """Extract what the local parser has refused by the layout reader, where that may do better."""
    picture_kind = "image" if kind == "image" else "scan"
    if refusal.code == "no_text_layer" and picture_kind in layout_reader.kinds:
        pages = int(refusal.details.get("pages") or 0)  # type: ignore[call-overload]
        try:
            seen = await _recognise(data, picture_kind, layout_reader, run, pages=max(1, pages))
        except Unavailable as error:
            message = f"the file holds a picture and no text, and its text was not recognised: {error.message}"
            raise UnreadableDocument(message, code="layout_unavailable", details={"reason": error.code}) from error
        unread = range((seen.pages or 0) + 1, pages + 1)
        return replace(seen, notes=(*seen.notes, *describe_unread_pages(unread, pages, layout_reader.name)))
    if refusal.code == "document_damaged" and kind in RESCUED_KINDS & layout_reader.kinds:
        try:
            extraction = await _extract_by_layout(data, kind, layout_reader, run)
        except Unavailable:
            raise refusal from None  # it says what the sender can do
        run.degrade("extract", refusal.code or "", refusal.message, f"read by {layout_reader.name}")
        return extraction
    raise refusal


async def _recognise_picture_pages(
    data: bytes, extraction: Extraction, layout_reader: BudgetedLayoutReader, run: Run, *, timeout_s: float
) -> Extraction:
    """Add the text of the pages that are pictures; where that fails, they are left out and the run says so."""
    named = f"{list_pages(extraction.picture_pages)} of {extraction.pages}"
    try:
        cut = await cut_picture_pages(data, extraction, timeout_s=timeout_s)
        recognised = await _recognise(cut, "scan", layout_reader, run, pages=len(extraction.picture_pages))
    except (Unavailable, UnreadableDocument) as error:
        if error.code == "no_text_found":  # a photograph
            return replace(extraction, notes=(*extraction.notes, f"{named}: {error.message}"), picture_pages=())
        run.degrade("layout", error.code or "", error.message, f"{named} left out: they hold pictures only")
        return extraction
    return insert_recognised_pages(extraction, recognised, layout_reader.name)


async def _extract_member(
    data: bytes, filename: str, *, layout_reader: BudgetedLayoutReader, run: Run, timeout_s: float
) -> Extraction:
    """Extract a file of a zip or mail; a picture that nothing here can read costs no child process."""
    if detect_file_kind(data, filename) == "image" and "image" not in layout_reader.kinds:
        raise make_no_text_layer_error(1)
    return await _extract(data, filename, layout_reader, run, timeout_s=timeout_s)


async def _recognise(
    data: bytes, kind: str, layout_reader: BudgetedLayoutReader, run: Run, *, pages: int
) -> Extraction:
    """Return the text of an "image" or a "scan".

    Raises:
        UnreadableDocument: there is none in it (`no_text_found`).
        Unavailable: the layout reader failed.
    """
    extraction = await layout_reader.read(data, kind, pages, run)
    if not extraction.pages:
        raise Unavailable(f"{layout_reader.name} found no page in the file", code="layout_empty")
    if not extraction.blocks:
        raise make_no_text_found_error("; ".join(extraction.notes))
    return extraction


async def _extract_by_layout(data: bytes, kind: str, layout_reader: BudgetedLayoutReader, run: Run) -> Extraction:
    extraction = await layout_reader.read(data, kind, 1, run)
    if not extraction.blocks:
        raise Unavailable(f"{layout_reader.name} found no text in the file", code="layout_empty")
    return extraction
