"""OpenDocument presentation extraction: titles, texts, tables and notes, slide by slide; a slide counts as a page."""

from collections.abc import Iterator
from typing import Any

from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract.extraction import collect_blocks
from rag_core.ingestion.extract.opendocument import (
    DRAW,
    PRESENTATION,
    TABLE,
    OpenDocument,
    iterate_paragraphs,
    open_document,
)
from rag_core.ingestion.extract.placed_blocks import BlockMaker

_NOTES_TAG = f"{PRESENTATION}notes"


def extract_odp(data: bytes) -> Extraction:
    """Extract the slides that are shown; hidden ones are left out, with a note.

    Raises:
        UnreadableDocument: the file is damaged, unsafe, encrypted or too large.
    """
    with open_document(data, "presentation", "LibreOffice") as document:
        slides = list(document.body.iterchildren(f"{DRAW}page"))
        shown = [document.get_style(slide).is_shown for slide in slides]
        maker = BlockMaker()
        blocks = collect_blocks(
            block
            for number, (slide, is_shown) in enumerate(zip(slides, shown, strict=True), 1)
            if is_shown
            for block in _read_slide(document, slide, number, maker)
        )
    hidden = ", ".join(str(number) for number, is_shown in enumerate(shown, 1) if not is_shown)
    notes = (f"hidden slides were left out: {hidden}",) if hidden else ()
    return Extraction(blocks, len(slides), "odp (lxml)", notes, document.title)


def _read_slide(document: OpenDocument, slide: Any, number: int, maker: BlockMaker) -> Iterator[Block]:
    maker.begin_page(number)
    place = f"slide {number}"
    tables = 0
    for shape in slide:
        if not isinstance(shape.tag, str) or shape.tag == _NOTES_TAG:
            continue
        for table in shape.iter(f"{TABLE}table"):
            tables += 1
            if block := maker.make_table(document.read_table(table), f"{place}, table {tables}"):
                yield block
        text = "" if shape.find(f".//{TABLE}table") is not None else _read_text(document, shape)
        if text and shape.get(f"{PRESENTATION}class") == "title":
            yield maker.make_heading(text.replace("\n", " "), place, 1)
        elif text:
            yield maker.make(text, place)
    notes = slide.find(_NOTES_TAG)
    if notes is not None and (text := _read_text(document, notes)):
        yield maker.make(text, f"{place}, notes")


def _read_text(document: OpenDocument, shape: Any) -> str:
    """Return the paragraphs of a shape, a line each."""
    return "\n".join(filter(None, (document.read_text(p, on_paper=False) for p in iterate_paragraphs(shape))))
