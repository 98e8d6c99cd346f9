"""Files to blocks of text with their place; one module a format, loaded when first needed."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from math import isfinite

from rag_core.core.errors import InvalidRequest, UnreadableDocument
from rag_core.core.model import Block
from rag_core.ingestion.extract.extraction import Extraction, bounded, clean, unseen
from rag_core.ingestion.extract.kinds import kind_of

__all__ = ["Extraction", "extract", "extract_as", "given", "kind_of"]


def extract(data: bytes, filename: str) -> Extraction:
    """Read a file in this process; `sandbox.extract_safely` does it in one that can be killed.

    Raises:
        UnsupportedDocument: no extractor for such a file.
        UnreadableDocument: the kind is known, this file cannot be read.
    """
    return extract_as(kind_of(data, filename), data)


def extract_as(kind: str, data: bytes) -> Extraction:
    """Read bytes as "pdf", "docx", "text", "markdown" or "csv"."""
    module = import_module(f"{__name__}.{kind}")
    extraction: Extraction = module.read(data)
    return _with_text(extraction)


def given(blocks: Sequence[Block]) -> Extraction:
    """Blocks that came with their place, as an extraction.

    Raises:
        InvalidRequest: a block ends before it begins, a box is none, or there are boxes but not one a line.
        UnreadableDocument: there is no text in them.
    """
    cleaned = bounded(replace(block, text=clean(block.text)) for block in blocks)
    for block in cleaned:
        _check(block)
    pages = max((block.page for block in blocks if block.page is not None), default=None)
    return _with_text(Extraction(cleaned, pages, "blocks (given)", unseen("\n".join(b.text for b in blocks))))


def _check(block: Block) -> None:
    if not 1 <= block.line_start <= block.line_end:
        raise InvalidRequest("blocks", "must have line_start from 1 and line_end from line_start")
    if block.boxes and len(block.boxes) != block.text.count("\n") + 1:
        raise InvalidRequest("blocks", "must have a box for each line of the text, or none")
    for x0, y0, x1, y1 in (*block.boxes, *filter(None, [block.bbox])):
        if not (all(map(isfinite, (x0, y0, x1, y1))) and x0 <= x1 and y0 <= y1):
            raise InvalidRequest("blocks", "must have boxes of finite x0, y0, x1, y1 with x0 <= x1 and y0 <= y1")


def _with_text(extraction: Extraction) -> Extraction:
    if not any(block.text.strip() for block in extraction.blocks):
        raise UnreadableDocument("the document holds no text: send one that does", code="document_empty")
    return extraction
