"""Extraction of files into blocks of text with their place; one module a format, imported when first needed."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from math import isfinite

from rag_core.core.errors import InvalidRequest, UnreadableDocument
from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract.extraction import clean_text, collect_blocks, note_hidden_text
from rag_core.ingestion.extract.kinds import CONTAINER_KINDS, EXTRACTED_KINDS, detect_file_kind


def extract_in_process(data: bytes, filename: str) -> Extraction:
    """Extract a file in this process; `sandbox.extract_in_sandbox` does it in a child process that can be killed.

    Raises:
        UnsupportedDocument: no extractor for such a file.
        UnreadableDocument: the kind is known, but the file cannot be read.
    """
    return extract_as_kind(detect_file_kind(data, filename), data)


def extract_as_kind(kind: str, data: bytes) -> Extraction:
    """Extract bytes as one of `EXTRACTED_KINDS`; the kinds in `CONTAINER_KINDS` hold files of the others.

    Raises:
        UnreadableDocument: the file cannot be read, or holds no text and no pictures that may hold some.
    """
    return _require_extracted_text(_load_extractor(kind)(data))


def _load_extractor(kind: str) -> Callable[[bytes], Extraction]:
    """Return the function that reads this kind of file. Its module is imported here, when it is first needed."""
    if kind not in EXTRACTED_KINDS:
        raise ValueError(f"no extractor reads the kind {kind!r}")
    module = import_module(f"{__name__}.{kind}")
    extractor: Callable[..., Extraction] = getattr(module, f"extract_{kind}")
    return partial(extractor, extract=extract_as_kind) if kind in CONTAINER_KINDS else extractor


def extraction_from_blocks(blocks: Sequence[Block]) -> Extraction:
    """Return uploaded blocks, whose place is known, as an extraction.

    Raises:
        InvalidRequest: a block ends before it begins, a box is malformed, or there are boxes but not one a line.
        UnreadableDocument: the blocks hold no text.
    """
    cleaned = collect_blocks(replace(block, text=clean_text(block.text)) for block in blocks)
    for block in cleaned:
        _check_block(block)
    pages = max((block.page for block in blocks if block.page is not None), default=None)
    return _require_extracted_text(
        Extraction(cleaned, pages, "blocks (given)", note_hidden_text("\n".join(b.text for b in blocks)))
    )


def _check_block(block: Block) -> None:
    if not 1 <= block.line_start <= block.line_end:
        raise InvalidRequest("blocks", "must have line_start from 1 and line_end from line_start")
    if block.boxes and len(block.boxes) != block.text.count("\n") + 1:
        raise InvalidRequest("blocks", "must have a box for each line of the text, or none")
    for x0, y0, x1, y1 in (*block.boxes, *filter(None, [block.bbox])):
        if not (all(map(isfinite, (x0, y0, x1, y1))) and x0 <= x1 and y0 <= y1):
            raise InvalidRequest("blocks", "must have boxes of finite x0, y0, x1, y1 with x0 <= x1 and y0 <= y1")


def _require_extracted_text(extraction: Extraction) -> Extraction:
    if not extraction.picture_members and not any(block.text.strip() for block in extraction.blocks):
        raise UnreadableDocument("the document holds no text: send one that does", code="document_empty")
    return extraction
