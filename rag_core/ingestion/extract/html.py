"""Web page extraction: headings, paragraphs, lists and tables; nothing that the page names is fetched or run."""

import codecs
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from lxml import etree

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract.extraction import clean_text, collect_blocks, note_hidden_text
from rag_core.ingestion.extract.hidden_html import is_hidden_style
from rag_core.ingestion.extract.placed_blocks import BlockMaker
from rag_core.ingestion.extract.text import decode_text
from rag_core.ingestion.tables import MAX_COLUMNS, join_header_rows
from rag_core.text.raised_marks import write_lowered, write_raised

_STATED_ENCODING = re.compile(rb"<meta[^>]{0,200}?charset\s{0,9}=\s{0,9}[\"']?([A-Za-z0-9_-]{2,40})", re.IGNORECASE)
_STATED_WITHIN = 2048  # bytes; the standard has 1024
_UNREAD_TAGS = frozenset({
    "script", "style", "template", "noscript", "head", "nav", "button", "select", "option", "textarea", "input",
    "svg", "canvas", "iframe", "frame", "object", "embed", "audio", "video", "map", "datalist", "dialog",
})  # fmt: skip
_BLOCK_TAGS = frozenset({
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr",
    "html", "legend", "li", "main", "menu", "ol", "p", "pre", "section", "summary", "table", "tbody", "td",
    "tfoot", "th", "thead", "tr", "ul",
})  # fmt: skip
_PARTS_OF_MARK = frozenset({"a", "b", "em", "font", "i", "small", "span", "strong", "u"})
_MAX_PARTS_OF_MARK = 4
_HEADING = re.compile(r"h([1-6])")
_MAX_SPAN = 100  # rows or columns of one cell
_MAX_TABLE_CELLS = 500_000  # with those that a cell spans


def extract_html(data: bytes) -> Extraction:
    """Extract what a page shows. A paragraph or table is placed by its number in the document.

    Raises:
        UnreadableDocument: it is no text, or too deeply nested.
    """
    text, encoding, hidden = _decode_page(data)
    reader = PageReader(BlockMaker())
    blocks = collect_blocks(reader.read(text))
    counts = (
        (reader.hidden_count, "element that is not shown", "elements that are not shown"),
        (reader.navigation_count, "menu", "menus"),
    )
    notes = tuple(f"left out: {count} {one if count == 1 else many}" for count, one, many in counts if count)
    return Extraction(blocks, None, f"html ({encoding})", (*hidden, *notes), reader.title)


def _decode_page(data: bytes) -> tuple[str, str, tuple[str, ...]]:
    """Decode by the encoding that the page states, unless the bytes are UTF-8 or nothing is stated."""
    stated = _STATED_ENCODING.search(data[:_STATED_WITHIN])
    try:
        data.decode("utf-8-sig")
        is_utf8 = True
    except UnicodeDecodeError:
        is_utf8 = False
    try:
        encoding = codecs.lookup(stated[1].decode("ascii")).name if stated else ""
        if encoding and not is_utf8 and not encoding.startswith(("utf", "idna", "punycode")):
            text = data.decode(encoding, errors="replace")
            return clean_text(text), encoding, note_hidden_text(text)
    except (LookupError, UnicodeError):
        pass
    return decode_text(data)


class PageReader:
    """Reads a page into blocks, and counts what it leaves out. `prefix` begins the locator of each block."""

    def __init__(self, maker: BlockMaker, prefix: str = "") -> None:
        self.title = ""
        self.hidden_count = self.navigation_count = 0
        self._maker, self._prefix = maker, prefix
        self._paragraphs = self._tables = 0
        self._words: list[str] = []

    def read(self, text: str) -> Iterator[Block]:
        root = _parse_page(text)
        if root is None:
            return
        _write_raised_and_lowered(root)
        title = root.find(".//title")
        self.title = " ".join("".join(title.itertext()).split()) if title is not None else ""
        walk = etree.iterwalk(root, events=("start", "end"))
        for event, element in walk:
            yield from self._read_start(element, walk) if event == "start" else self._read_end(element)
        yield from self._flush("")

    def _read_start(self, element: Any, walk: Any) -> Iterator[Block]:
        tag = element.tag if isinstance(element.tag, str) else ""
        if not tag or tag in _UNREAD_TAGS or _is_hidden(element):
            self.navigation_count += tag == "nav"
            self.hidden_count += bool(tag) and tag not in _UNREAD_TAGS
            walk.skip_subtree()
        elif tag == "table" and (rows := read_table(element)):
            yield from self._flush("")
            self._tables += 1
            if table := self._maker.make_table(rows, f"{self._prefix}table {self._tables}"):
                yield table
            walk.skip_subtree()
        else:
            if tag in _BLOCK_TAGS:
                yield from self._flush("")
            self._words.append("- " if tag == "li" else "\n" if tag == "br" else "")
            self._words.append(_clean_words(element.text, keep_lines=_is_preformatted(element)))

    def _read_end(self, element: Any) -> Iterator[Block]:
        tag = element.tag if isinstance(element.tag, str) else ""
        if tag in _BLOCK_TAGS:
            yield from self._flush(tag)
        parent = element.getparent()
        keep_lines = parent is not None and _is_preformatted(parent)
        self._words.append(_clean_words(element.tail, keep_lines=keep_lines))

    def _flush(self, tag: str) -> Iterator[Block]:
        """Yield what was read since the last block, if that is anything, as the block that `tag` closes."""
        lines = [" ".join(line.split()) for line in "".join(self._words).split("\n")]
        self._words = []
        text = "\n".join(filter(None, lines))
        if not text.strip(" -\n"):
            return
        self._paragraphs += 1
        locator = f"{self._prefix}paragraph {self._paragraphs}"
        heading = _HEADING.fullmatch(tag)
        yield (
            self._maker.make_heading(text.replace("\n", " "), locator, int(heading[1]))
            if heading
            else self._maker.make(text, locator)
        )


def _parse_page(text: str) -> Any:
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    try:
        return etree.fromstring(text.encode("utf-8", "replace"), parser) if text.strip() else None
    except etree.LxmlError as error:
        message = "the page is damaged: open it in a browser and save it again"
        raise UnreadableDocument(message, code="document_damaged") from error


def _write_raised_and_lowered(root: Any) -> None:
    """Write the text of short raised and lowered elements in the characters that look so; longer ones are remarks."""
    for element in root.iter("sup", "sub"):
        inner = list(islice(element.iterdescendants(), _MAX_PARTS_OF_MARK + 1))
        if len(inner) > _MAX_PARTS_OF_MARK or any(e.tag not in _PARTS_OF_MARK or _is_hidden(e) for e in inner):
            continue
        text, before = "".join(element.itertext()), _read_last_character_before(element)
        for child in list(element):
            element.remove(child)
        element.text = write_raised(text, before) if element.tag == "sup" else write_lowered(text, before)


def _read_last_character_before(element: Any) -> str:
    before = element.getprevious()
    if before is None:
        return (element.getparent().text or "")[-1:]
    return (before.tail or "".join(before.itertext()))[-1:]


def _clean_words(text: str | None, *, keep_lines: bool) -> str:
    if not text:
        return ""
    return text if keep_lines else re.sub(r"\s+", " ", text)


def _is_preformatted(element: Any) -> bool:
    return element.tag == "pre" or (element.getparent() is not None and element.getparent().tag == "pre")


def _is_hidden(element: Any) -> bool:
    return "hidden" in element.attrib or is_hidden_style(element.get("style", ""))


def read_table(table: Any) -> Sequence[Sequence[str]]:
    """Return the cells of a table of data, its header in the first row; none for one that only lays out a page.

    A cell stands in each row that it spans, and is followed by an empty one for each further column that it spans. Rows
    are filled to one width, unless a few wide ones among many would make more cells than a table may have.
    """
    if table.find(".//table") is not None:
        return ()
    elements = [row for row in table.iter("tr") if not _is_hidden(row)]
    rows = _place_cells(elements)
    width = max(map(len, rows), default=0)
    if len(rows) < 2 or width < 2:
        return ()
    if len(rows) * width > _MAX_TABLE_CELLS:
        return rows
    padded = [[*row, *[""] * (width - len(row))] for row in rows]
    heads = next((n for n, row in enumerate(elements) if not _is_head_row(row)), len(elements))
    return [join_header_rows(padded[:heads]), *padded[heads:]] if 1 < heads < len(padded) else padded


def _is_head_row(row: Any) -> bool:
    cells = [cell for cell in row if cell.tag in ("td", "th")]
    return row.getparent().tag == "thead" or (bool(cells) and all(cell.tag == "th" for cell in cells))


def _place_cells(elements: Sequence[Any]) -> list[list[str]]:
    rows: list[list[str]] = []
    spanning: dict[int, tuple[int, str]] = {}  # by column: how many rows more, and the text
    remaining = _MAX_TABLE_CELLS
    for element in elements:
        row: list[str] = []
        for cell in (cell for cell in element if cell.tag in ("td", "th") and not _is_hidden(cell)):
            _take_spanning_cells(row, spanning)
            columns, height = _read_span(cell, "colspan"), _read_span(cell, "rowspan")
            texts = [_read_cell(cell), *[""] * (columns - 1)]
            spanning |= {len(row) + n: (height - 1, text) for n, text in enumerate(texts) if height > 1}
            row += texts
            if len(row) > MAX_COLUMNS:
                message = f"a row has more than {MAX_COLUMNS} columns: split the table"
                raise UnreadableDocument(message, code="table_too_wide")
        _take_spanning_cells(row, spanning)
        remaining -= len(row)
        if remaining < 0:
            message = f"a table has more than {_MAX_TABLE_CELLS:,} cells: split it"
            raise UnreadableDocument(message, code="document_too_complex", details={"cells": _MAX_TABLE_CELLS})
        rows.append(row)
    return rows


def _take_spanning_cells(row: list[str], spanning: dict[int, tuple[int, str]]) -> None:
    """Add the cells of rows above that reach down to the end of this row."""
    while len(row) in spanning:
        left, text = spanning.pop(len(row))
        if left > 1:
            spanning[len(row)] = (left - 1, text)
        row.append(text)


def _read_cell(cell: Any) -> str:
    """Return the visible text of a cell on one line."""
    words: list[str] = []
    walk = etree.iterwalk(cell, events=("start", "end"))
    for event, element in walk:
        if event == "end":
            words.append(("" if element is cell else element.tail) or "")
        elif not isinstance(element.tag, str) or element.tag in _UNREAD_TAGS or _is_hidden(element):
            walk.skip_subtree()
        else:
            words.append(" " if element.tag in _BLOCK_TAGS or element.tag == "br" else "")
            words.append(element.text or "")
    return " ".join("".join(words).split())


def _read_span(cell: Any, name: str) -> int:
    value = cell.get(name, "1").strip()
    return max(1, min(int(value), _MAX_SPAN)) if value.isascii() and value.isdigit() and len(value) < 6 else 1
