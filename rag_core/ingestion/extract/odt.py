"""OpenDocument text extraction: text in reading order with headings, lists, tables and notes.

Headers, footers, comments and deleted text are left out; hidden text too, with a note. A document has no pages until
it is laid out, so a paragraph or table is placed by its number.
"""

from collections.abc import Iterator
from typing import Any

from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract.extraction import collect_blocks
from rag_core.ingestion.extract.odt_numbering import OpenListCounter, read_list_levels
from rag_core.ingestion.extract.opendocument import (
    PARAGRAPH_TAGS,
    TABLE,
    TEXT,
    OpenDocument,
    iterate_paragraphs,
    open_document,
    read_count,
)
from rag_core.ingestion.extract.placed_blocks import BlockMaker

_UNREAD_TAGS = frozenset({f"{TEXT}tracked-changes", f"{TEXT}sequence-decls", f"{TEXT}variable-decls"})
_MAX_DEPTH = 10  # of headings, and of lists in one another; deeper ones stand at the deepest


def extract_odt(data: bytes) -> Extraction:
    """Extract an OpenDocument text.

    Raises:
        UnreadableDocument: the file is damaged, unsafe, encrypted or too large.
    """
    with open_document(data, "text", "LibreOffice") as document:
        blocks = collect_blocks(_TextReader(document).read(document.body))
    notes = (f"{document.hidden_runs} runs of hidden text were left out",) if document.hidden_runs else ()
    return Extraction(blocks, None, "odt (lxml)", notes, document.title)


class _TextReader:
    """Reads the body of a document into blocks, and counts what their places name."""

    def __init__(self, document: OpenDocument) -> None:
        self._document, self._maker = document, BlockMaker()
        self._paragraphs = self._tables = self._given_notes = 0
        self._lists = OpenListCounter(read_list_levels(document.style_parts))

    def read(self, parent: Any) -> Iterator[Block]:
        for element in parent:
            yield from self._read_element(element)
            yield from self._read_pending_notes()

    def _read_element(self, element: Any) -> Iterator[Block]:
        if element.tag == f"{TEXT}h":
            yield from self._read_heading(element)
        elif element.tag == f"{TEXT}p":
            yield from self._read_paragraph(element)
        elif element.tag == f"{TEXT}list":
            yield from self._read_list(element)
        elif element.tag == f"{TABLE}table":
            self._tables += 1
            if table := self._maker.make_table(self._document.read_table(element), f"table {self._tables}"):
                yield table
        elif isinstance(element.tag, str) and element.tag not in _UNREAD_TAGS:
            yield from self.read(element)

    def _read_heading(self, element: Any, number: str | None = None) -> Iterator[Block]:
        """Yield a heading behind its number, by default that of the outline."""
        level = read_count(element, f"{TEXT}outline-level", _MAX_DEPTH)
        text = self._document.read_text(element).replace("\n", " ")
        if number is None and self._document.get_style(element).list_style != "":
            number = self._lists.count_heading(element, level - 1)
        if text:
            yield self._maker.make_heading(f"{number or ''} {text}".strip(), self._count_paragraph(), level)

    def _read_paragraph(self, element: Any, mark: str = "") -> Iterator[Block]:
        for paragraph in (element, *iterate_paragraphs(element)):
            if text := self._document.read_text(paragraph):
                yield self._maker.make(f"{mark}{text}", self._count_paragraph())

    def _count_paragraph(self) -> str:
        self._paragraphs += 1
        return f"paragraph {self._paragraphs}"

    def _read_list(self, element: Any) -> Iterator[Block]:
        style = element.get(f"{TEXT}style-name", "")
        yield from self._read_items(element, style, self._lists.begin_list(element, style), 0)

    def _read_items(self, element: Any, style: str, key: str, depth: int) -> Iterator[Block]:
        """Yield the items of a list, each behind its number or a dash; one without a paragraph is not counted."""
        for item in element.iterchildren(f"{TEXT}list-item", f"{TEXT}list-header"):
            is_first = item.tag == f"{TEXT}list-item"
            for child in item:
                if child.tag == f"{TEXT}list":
                    own_style, deeper = child.get(f"{TEXT}style-name") or style, min(depth + 1, _MAX_DEPTH - 1)
                    yield from self._read_items(
                        child, own_style, self._lists.begin_sublist(child, style, key, deeper), deeper
                    )
                elif child.tag in PARAGRAPH_TAGS:
                    number = self._lists.count_item(item, key, depth) if is_first else ""
                    yield from self._read_item(child, number, depth, is_first=is_first)
                    is_first = False

    def _read_item(self, element: Any, number: str, depth: int, *, is_first: bool) -> Iterator[Block]:
        if element.tag == f"{TEXT}h":
            yield from self._read_heading(element, number)
        else:
            yield from self._read_paragraph(
                element, f"{'  ' * depth}{number or '-'} " if is_first else "  " * (depth + 1)
            )

    def _read_pending_notes(self) -> Iterator[Block]:
        """Yield the notes referred to since the last call, each behind its number."""
        while self._given_notes < len(self._document.notes):
            note = self._document.notes[self._given_notes]
            self._given_notes += 1
            number = self._given_notes
            texts = (self._document.read_text(p) for body in note for p in iterate_paragraphs(body))
            text = " ".join(" ".join(texts).split())
            if text:
                yield self._maker.make(f"[{number}] {text}", f"note {number}")
