"""Word extraction: text in reading order with headings, lists, tables and notes, without headers, footers, comments.

The XML is parsed from the zip as a stream; the size of every part is checked before it is unpacked. A docx has no pages
until it is laid out, so none are given. Deleted text is left out; hidden text too, with a note.
"""

import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from typing import IO
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from rag_core.core.errors import UnreadableDocument, UnsupportedDocument
from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract.docx_styles import (
    Style,
    W,
    formats_in,
    is_hidden,
    is_shaded,
    is_white,
    own_style,
    styles_in,
    value,
)  # fmt: skip
from rag_core.ingestion.extract.extraction import bounded, clean

MAX_PART = 64 * 1024 * 1024  # of XML
MAX_SPAN = 63  # the most columns of a table in Word
MAX_LEVELS = 9  # the most levels of a list in Word
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_MARKUP = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_NOT_SEEN = {f"{_MARKUP}Fallback", f"{W}moveFrom", f"{W}del"}  # a drawing repeated for old readers; moved away; deleted
_STANDS_FOR = {f"{W}tab": "\t", f"{W}br": "\n", f"{W}cr": "\n", f"{W}noBreakHyphen": "-"}
_NOTES = ("footnote", "endnote")
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, ParseError, EOFError, KeyError, NotImplementedError, OSError, RecursionError,
    RuntimeError, ValueError,
)  # fmt: skip

Part = tuple[str, str, int]  # kind, text, heading level


def extract_docx(data: bytes) -> Extraction:
    """Extract a Word document.

    Raises:
        UnsupportedDocument: the zip is a spreadsheet or presentation.
        UnreadableDocument: the file is damaged, unsafe or too large to unpack.
    """
    try:
        with zipfile.ZipFile(BytesIO(data)) as package:
            return _document(package)
    except DefusedXmlException as error:
        raise UnreadableDocument(
            "the document declares XML entities, which Word never writes: save it again in Word", code="document_unsafe"
        ) from error
    except _DAMAGED as error:
        raise UnreadableDocument(
            "the .docx is damaged: open it in Word and save it again", code="document_damaged"
        ) from error


def _document(package: zipfile.ZipFile) -> Extraction:
    names = package.namelist()
    if "word/document.xml" not in names:
        if "[Content_Types].xml" in names and any(name.startswith(("xl/", "ppt/")) for name in names):
            raise UnsupportedDocument("this is a spreadsheet or presentation: send it as pdf, or a table as csv")
        raise UnreadableDocument("the .docx has no document in it: save it again in Word", code="document_damaged")
    reader = _Reader(package)
    with _part(package, "word/document.xml") as body:
        blocks = bounded(_placed(reader.parts(body)))
    notes = (f"{reader.hidden} runs of hidden text were left out",) if reader.hidden else ()
    return Extraction(blocks, None, "docx (local)", notes, _title(package))


def _part(package: zipfile.ZipFile, name: str) -> IO[bytes]:
    """Open a part of the package; a missing part reads as empty XML."""
    if name not in package.namelist():
        return BytesIO(b"<none/>")
    if package.getinfo(name).file_size > MAX_PART:
        raise UnreadableDocument(
            f"a part of the .docx unpacks to more than {MAX_PART // 1024**2} MiB: split the document",
            code="document_too_complex",
        )
    return package.open(name)


def _title(package: zipfile.ZipFile) -> str:
    with _part(package, "docProps/core.xml") as core:
        titles = [element.text or "" for _, element in iterparse(core) if element.tag == _TITLE]
    return " ".join(clean(" ".join(titles)).split())


def _placed(parts: Iterator[Part]) -> Iterator[Block]:
    """Yield the items as blocks, with lines numbered through the document and the headings above each."""
    chain: list[tuple[int, str]] = []
    line = 1
    for kind, text, level in parts:
        if kind == "heading":
            chain = [above for above in chain if above[0] < level]
        last = line + text.count("\n")
        yield Block(text, kind, line, last, headings=tuple(title for _, title in chain))
        if kind == "heading":
            chain.append((level, text))
        line = last + 1


class _Reader:
    """A reader of the document body that keeps track of hidden runs, list counters and notes to be given."""

    def __init__(self, package: zipfile.ZipFile) -> None:
        with _part(package, "word/styles.xml") as styles, _part(package, "word/numbering.xml") as numbering:
            self.styles, self.formats = styles_in(styles), formats_in(numbering)
        self.notes = {(kind, note.get(f"{W}id", "")): note for kind in _NOTES for note in _notes(package, kind)}
        self.hidden = 0
        self.counted: Counter[tuple[str, int]] = Counter()
        self.due: list[Element] = []
        self.marks = 0

    def parts(self, body: IO[bytes]) -> Iterator[Part]:
        depth = 0
        for event, element in iterparse(body, events=("start", "end")):
            depth += 1 if event == "start" else -1
            if event == "end" and depth == 2:  # a child of w:body is complete
                yield from self._element(element)
                yield from self._footnotes()
                element.clear()

    def _element(self, element: Element) -> Iterator[Part]:
        if element.tag == f"{W}p":
            yield from self._paragraph(element)
        elif element.tag == f"{W}tbl":
            rows = [self._row(row, element) for row in _nearest(element, f"{W}tr")]
            if filled := [row for row in rows if row.strip(" |")]:
                yield "table", "\n".join(filled), 0
        elif element.tag not in _NOT_SEEN:
            for child in element:
                yield from self._element(child)

    def _paragraph(self, paragraph: Element) -> Iterator[Part]:
        style = self._style(paragraph)
        text = clean(self._text(paragraph, style, on_paper=True)).strip("\n ")
        if text and style.level is not None:
            yield "heading", text.replace("\n", " "), style.level
        elif text:
            yield "paragraph", self._mark(style) + text, 0

    def _style(self, paragraph: Element) -> Style:
        base_style = self.styles.get(value(paragraph, "pPr", "pStyle"), Style())
        return own_style(paragraph.find(f"{W}pPr"), base_style)

    def _mark(self, style: Style) -> str:
        """Return the mark of a list item: its number where the list is decimal, else a dash; "" outside of lists."""
        if style.list is None:
            return ""
        number, depth = style.list
        self.counted[style.list] += 1
        for deeper in range(depth + 1, MAX_LEVELS):
            self.counted.pop((number, deeper), None)
        mark = f"{self.counted[style.list]}." if self.formats.get(style.list) == "decimal" else "-"
        return f"{'  ' * depth}{mark} "

    def _row(self, row: Element, table: Element) -> str:
        """Return the cells of a row joined by bars, with an empty cell for each further column that a cell spans."""
        if row.find(f"{W}trPr/{W}del") is not None:
            return ""
        cells: list[str] = []
        for cell in _nearest(row, f"{W}tc"):
            properties = cell.find(f"{W}tcPr")
            dark = value(table, "tblPr", "tblStyle") or (properties is not None and is_shaded(properties))
            texts = (self._text(p, self._style(p), on_paper=not dark) for p in cell.iter(f"{W}p"))
            span = value(cell, "tcPr", "gridSpan")
            cells += [" ".join(clean(" ".join(texts)).split()), *[""] * (min(int(span or 1), MAX_SPAN) - 1)]
        return " | ".join(cells)

    def _footnotes(self) -> Iterator[Part]:
        """Yield the notes referred to since the last call, each behind its number."""
        while self.due:
            note = self.due.pop(0)
            first = self.marks - len(self.due)
            text = " ".join(self._text(p, self._style(p), on_paper=True) for p in note.iter(f"{W}p"))
            if text := " ".join(clean(text).split()):
                yield "paragraph", f"[{first}] {text}", 0

    def _text(self, paragraph: Element, style: Style, *, on_paper: bool) -> str:
        """Return the visible text of a paragraph; `on_paper` says that its background is not dark."""
        runs = _runs(paragraph, on_paper and not style.shaded)
        return "".join(self._run(run, style, on_paper=run_on_paper) for run, run_on_paper in runs)

    def _run(self, run: Element, style: Style, *, on_paper: bool) -> str:
        properties = run.find(f"{W}rPr")
        run_style = self.styles.get(value(run, "rPr", "rStyle"), Style())
        hidden_marks = (is_hidden(properties), run_style.hidden, style.hidden)
        if next((mark for mark in hidden_marks if mark is not None), False) or (on_paper and is_white(properties)):
            self.hidden += any(part.tag == f"{W}t" and (part.text or "").strip() for part in run)
            return ""
        return "".join(self._said(part) for part in run)

    def _said(self, part: Element) -> str:
        if part.tag == f"{W}t":
            return part.text or ""
        for kind in _NOTES:
            note = self.notes.get((kind, part.get(f"{W}id", "")))
            if part.tag == f"{W}{kind}Reference" and note is not None:
                self.due.append(note)
                self.marks += 1
                return f"[{self.marks}]"
        return _STANDS_FOR.get(part.tag, "")


def _notes(package: zipfile.ZipFile, kind: str) -> list[Element]:
    """Return the footnotes or endnotes of a package; those with a type are separators and are left out."""
    with _part(package, f"word/{kind}s.xml") as part:
        return [e for _, e in iterparse(part) if e.tag == f"{W}{kind}" and e.get(f"{W}type") is None]


def _runs(element: Element, on_paper: bool) -> Iterator[tuple[Element, bool]]:
    """Yield the runs of an element in order, and whether each is on paper: a text box has a background of its own."""
    for child in element:
        if child.tag == f"{W}r":
            yield child, on_paper
        if child.tag not in _NOT_SEEN:
            yield from _runs(child, on_paper and child.tag != f"{W}txbxContent")


def _nearest(element: Element, tag: str) -> Iterator[Element]:
    """Yield the elements with this tag below another, but not those nested in an element with the same tag."""
    for child in element:
        if child.tag == tag:
            yield child
        else:
            yield from _nearest(child, tag)
