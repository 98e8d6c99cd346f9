"""Parts that the OpenDocument formats share: the opened package, its styles, and the text of paragraphs and tables.

References are to OpenDocument 1.3, part 3. The XML is parsed without entities; nothing that it links to is fetched.
"""

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from rag_core.core.errors import UnreadableDocument
from rag_core.ingestion.extract.extraction import clean_text
from rag_core.ingestion.extract.packages import open_package
from rag_core.ingestion.tables import MAX_COLUMNS
from rag_core.text.raised_marks import join_runs, parse_level

MAX_PART_BYTES = 64 * 1024 * 1024  # of XML, of which the tree takes eight times as much memory
MAX_REPEATS = 10_000  # of a cell or a filled row
MAX_SPACES = 100  # that one element stands for
MAX_STYLE_DEPTH = 20  # of styles based on one another
OFFICE, STYLE, TEXT, TABLE, DRAW, FO, PRESENTATION = (
    f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}"
    for name in ("office", "style", "text", "table", "drawing", "xsl-fo-compatible", "presentation")
)
PARAGRAPH_TAGS = frozenset({f"{TEXT}p", f"{TEXT}h"})
_UNREAD_TAGS = frozenset({
    f"{OFFICE}annotation", f"{OFFICE}annotation-end", f"{TEXT}tracked-changes", f"{TEXT}note", f"{TEXT}ruby-text",
    f"{OFFICE}forms", f"{DRAW}image", f"{DRAW}object", f"{DRAW}object-ole", f"{DRAW}plugin", f"{OFFICE}scripts",
})  # fmt: skip
_HIDDEN_TAGS = frozenset({f"{TEXT}hidden-text", f"{TEXT}hidden-paragraph"})
_TITLE = "{http://purl.org/dc/elements/1.1/}title"


@dataclass(frozen=True, slots=True)
class OpenStyle:
    """What a style says of the text set in it; None where it does not say. `is_shown` is of a sheet or a slide.

    `list_style` names the list of its paragraphs, "" for none. `level` is 1 for raised characters, -1 for lowered ones.
    """

    is_hidden: bool | None = None
    is_white: bool | None = None
    is_shaded: bool | None = None
    is_shown: bool = True
    list_style: str | None = None
    level: int | None = None


@dataclass(slots=True)
class OpenDocument:
    """An opened document: the element that holds its content, its styles, and the parts in which they stand."""

    body: Any
    title: str
    styles: Mapping[str, OpenStyle]
    style_parts: Sequence[Any]
    hidden_runs: int = 0
    notes: list[Any] = field(default_factory=list)  # footnotes and endnotes that were referred to, in order

    def get_style(self, element: Any) -> OpenStyle:
        """Return the style that an element names, of whatever family; the default where it names none."""
        name = next((value for key, value in element.attrib.items() if key.endswith("}style-name")), "")
        return self.styles.get(name, OpenStyle())

    def read_text(self, element: Any, *, on_paper: bool = True) -> str:
        """Return the visible text of a paragraph, without that of its frames; `on_paper`: its background is not dark.

        A note that it refers to is added to `notes`, and its number stands in the text.
        """
        style = self.get_style(element)
        words = self._read_inline(element, style, on_paper=on_paper and not style.is_shaded)
        return clean_text(join_runs(words)).strip("\n ")

    def _read_inline(self, element: Any, style: OpenStyle, *, on_paper: bool) -> Iterator[tuple[str, int]]:
        is_hidden = style.is_hidden or (on_paper and style.is_white)
        level = style.level or 0
        yield from self._show(element.text, level, is_hidden=is_hidden)
        for child in element:
            yield from self._read_child(child, style, on_paper=on_paper)
            yield from self._show(child.tail, level, is_hidden=is_hidden)

    def _read_child(self, child: Any, style: OpenStyle, *, on_paper: bool) -> Iterator[tuple[str, int]]:
        if child.tag == f"{TEXT}s":
            yield " " * read_count(child, f"{TEXT}c", MAX_SPACES), 0
        elif child.tag == f"{TEXT}tab":
            yield "\t", 0
        elif child.tag == f"{TEXT}line-break":
            yield "\n", 0
        elif child.tag == f"{TEXT}note":
            self.notes.append(child)
            yield f"[{len(self.notes)}]", 0
        elif child.tag in _HIDDEN_TAGS:
            self.hidden_runs += 1
        elif is_read(child) and child.tag not in PARAGRAPH_TAGS:  # a paragraph in a paragraph is of a text box
            own = self.get_style(child)
            is_shaded = own.is_shaded or False
            yield from self._read_inline(child, _inherit(own, style), on_paper=on_paper and not is_shaded)

    def _show(self, text: str | None, level: int, *, is_hidden: bool | None) -> Iterator[tuple[str, int]]:
        if text and is_hidden:
            self.hidden_runs += bool(text.strip())
        elif text:
            yield " ".join(f"x{text}x".split())[1:-1], level  # white space in the XML is one space

    def read_table(self, table: Any) -> list[list[str]]:
        """Return the rows of cells of a table; a cell is followed by an empty one for each further that it covers."""
        return [row for element in iterate_rows(table) for row in [self._read_row(element)] if any(row)]

    def _read_row(self, row: Any) -> list[str]:
        cells: list[str] = []
        for cell in row.iterchildren(f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
            texts = (self.read_text(p, on_paper=False) for p in iterate_paragraphs(cell))
            text = " ".join(" ".join(texts).split()) if cell.tag == f"{TABLE}table-cell" else ""
            cells += [text] * min(read_count(cell, f"{TABLE}number-columns-repeated"), MAX_COLUMNS + 1 - len(cells))
        while cells and not cells[-1]:  # the empty cells to the edge of the sheet
            cells.pop()
        if len(cells) > MAX_COLUMNS:
            raise UnreadableDocument(
                f"a row has more than {MAX_COLUMNS} columns: split the table", code="table_too_wide"
            )
        return cells


@contextmanager
def open_document(data: bytes, content: str, program: str) -> Iterator[OpenDocument]:
    """Open an OpenDocument file for the block; `content` is the name of the element that its kind has.

    Raises:
        UnreadableDocument: it is damaged, unsafe, encrypted, too large, or of another kind.
    """
    with open_package(data, "content.xml", program) as package:
        if b"encryption-data" in _read_part(package, "META-INF/manifest.xml"):
            message = "the file is password-protected: save it without a password"
            raise UnreadableDocument(message, code="document_encrypted")
        root, styles = _parse_part(package, "content.xml"), _parse_part(package, "styles.xml")
        body = root.find(f"{OFFICE}body/{OFFICE}{content}") if root is not None else None
        if body is None:
            message = f"the file is an OpenDocument file of another kind, or damaged: save it again in {program}"
            raise UnreadableDocument(message, code="document_damaged")
        parts = [part for part in (styles, root) if part is not None]
        yield OpenDocument(body, _read_title(package), _read_styles(parts), parts)


def _read_part(package: zipfile.ZipFile, name: str) -> bytes:
    """Return the bytes of a part; b"" where the package lacks it."""
    if name not in package.namelist():
        return b""
    if package.getinfo(name).file_size > MAX_PART_BYTES:
        message = f"the text of the file unpacks to more than {MAX_PART_BYTES // 1024**2} MiB: split it"
        raise UnreadableDocument(message, code="document_too_complex", details={"bytes": MAX_PART_BYTES})
    return package.read(name)


def _parse_part(package: zipfile.ZipFile, name: str) -> Any:
    data = _read_part(package, name)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    return etree.fromstring(data, parser) if data else None


def _read_title(package: zipfile.ZipFile) -> str:
    meta = _parse_part(package, "meta.xml")
    title = meta.find(f".//{_TITLE}") if meta is not None else None
    return " ".join(clean_text("".join(title.itertext())).split()) if title is not None else ""


def _read_styles(parts: Sequence[Any]) -> dict[str, OpenStyle]:
    """Return each style by its name; those of the content come last and count before those of the template."""
    elements = {style.get(f"{STYLE}name", ""): style for part in parts for style in part.iter(f"{STYLE}style")}
    return {name: _resolve_style(name, elements, MAX_STYLE_DEPTH) for name in elements}


def _resolve_style(name: str, elements: Mapping[str, Any], depth: int) -> OpenStyle:
    element = elements.get(name)
    if element is None or not depth:
        return OpenStyle()
    own = _parse_style(element)
    parent = element.get(f"{STYLE}parent-style-name")
    return _inherit(own, _resolve_style(parent, elements, depth - 1)) if parent else own


def _parse_style(element: Any) -> OpenStyle:
    said = {key: value.strip().lower() for properties in element for key, value in properties.attrib.items()}
    display, colour, ground = (said.get(key) for key in (f"{TEXT}display", f"{FO}color", f"{FO}background-color"))
    return OpenStyle(
        is_hidden=None if display is None else display == "none",
        is_white=None if colour is None else colour in ("#ffffff", "#fff", "white"),
        is_shaded=None if ground is None else ground not in ("transparent", "#ffffff", "white"),
        is_shown=said.get(f"{TABLE}display") != "false" and said.get(f"{PRESENTATION}visibility") != "hidden",
        list_style=element.get(f"{STYLE}list-style-name"),
        level=parse_level(said.get(f"{STYLE}text-position", "").partition(" ")[0]),  # "super 58%" or "-33% 58%"
    )


def _inherit(own: OpenStyle, base: OpenStyle) -> OpenStyle:
    return OpenStyle(
        base.is_hidden if own.is_hidden is None else own.is_hidden,
        base.is_white if own.is_white is None else own.is_white,
        base.is_shaded if own.is_shaded is None else own.is_shaded,
        own.is_shown,
        base.list_style if own.list_style is None else own.list_style,
        base.level if own.level is None else own.level,
    )


def read_count(element: Any, name: str, most: int = MAX_REPEATS) -> int:
    """Return how often something is repeated, from 1 to `most`: 1 where the attribute is absent or no number."""
    value = element.get(name, "1")
    return max(1, min(int(value), most)) if value.isascii() and value.isdigit() and len(value) < 9 else 1


def is_read(element: Any) -> bool:
    """Return True for an element whose text is of the document: no comment, form, note or deleted text."""
    return isinstance(element.tag, str) and element.tag not in _UNREAD_TAGS


def iterate_rows(table: Any) -> Iterator[Any]:
    """Yield the rows of a table in order, those of groups and of its header included, but none of a nested table."""
    for child in table:
        if child.tag == f"{TABLE}table-row":
            yield child
        elif child.tag in (f"{TABLE}table-rows", f"{TABLE}table-header-rows", f"{TABLE}table-row-group"):
            yield from iterate_rows(child)


def iterate_paragraphs(element: Any) -> Iterator[Any]:
    """Yield the paragraphs and headings below an element in order, with those of text boxes behind their anchor."""
    for child in filter(is_read, element):
        if child.tag in PARAGRAPH_TAGS:
            yield child
        yield from iterate_paragraphs(child)
