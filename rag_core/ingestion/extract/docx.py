"""Word extraction: text in reading order with headings, lists, tables and notes, without headers, footers, comments.

The XML is parsed from the zip as a stream; the size of every part is checked before it is unpacked. A docx has no pages
until it is laid out, so none are given. Deleted text is left out; hidden text too, with a note.
"""

import zipfile
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import IO
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from rag_core.core.errors import UnreadableDocument, UnsupportedDocument
from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract.docx_numbering import ListCounter, parse_lists
from rag_core.ingestion.extract.docx_styles import (
    ParagraphStyle,
    W,
    has_end_in_print,
    is_hidden_run,
    is_shaded,
    is_white_run,
    parse_styles,
    read_level,
    read_val_attribute,
    resolve_paragraph_style,
)  # fmt: skip
from rag_core.ingestion.extract.extraction import clean_text, collect_blocks
from rag_core.ingestion.tables import format_table_row, join_header_rows
from rag_core.text.raised_marks import join_runs

MAX_PART_BYTES = 64 * 1024 * 1024  # of XML
MAX_SPANNED_COLUMNS = 63  # the most columns of a table in Word
MAX_REPEATED_CHARS = 200  # of a merged cell that stands in each of its rows: longer ones only in the first
MAX_HEAD_ROWS = 3
_TITLE_TAG = "{http://purl.org/dc/elements/1.1/}title"
_MARKUP_NAMESPACE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_UNREAD_TAGS = {
    f"{_MARKUP_NAMESPACE}Fallback",
    f"{W}moveFrom",
    f"{W}del",
}  # a drawing repeated for old readers; moved away; deleted
_TEXT_BY_TAG = {f"{W}tab": "\t", f"{W}br": "\n", f"{W}cr": "\n", f"{W}noBreakHyphen": "-"}
_NOTE_KINDS = ("footnote", "endnote")
_DAMAGED_FILE_ERRORS = (
    zipfile.BadZipFile, zlib.error, ParseError, EOFError, KeyError, NotImplementedError, OSError, RecursionError,
    RuntimeError, ValueError,
)  # fmt: skip

DocxItem = tuple[str, str, int]  # kind, text, heading level


def extract_docx(data: bytes) -> Extraction:
    """Extract a Word document.

    Raises:
        UnsupportedDocument: the zip is a spreadsheet or presentation.
        UnreadableDocument: the file is damaged, unsafe or too large to unpack.
    """
    try:
        with zipfile.ZipFile(BytesIO(data)) as package:
            return _extract_package(package)
    except DefusedXmlException as error:
        raise UnreadableDocument(
            "the document declares XML entities, which Word never writes: save it again in Word", code="document_unsafe"
        ) from error
    except _DAMAGED_FILE_ERRORS as error:
        raise UnreadableDocument(
            "the .docx is damaged: open it in Word and save it again", code="document_damaged"
        ) from error


def _extract_package(package: zipfile.ZipFile) -> Extraction:
    names = package.namelist()
    if "word/document.xml" not in names:
        if "[Content_Types].xml" in names and any(name.startswith(("xl/", "ppt/")) for name in names):
            raise UnsupportedDocument("this is a spreadsheet or presentation: send it as .xlsx or .pptx")
        raise UnreadableDocument("the .docx has no document in it: save it again in Word", code="document_damaged")
    reader = _DocxReader(package)
    with _open_package_part(package, "word/document.xml") as body:
        blocks = collect_blocks(_build_docx_blocks(reader.read_items(body)))
    notes = (f"{reader.hidden_runs} runs of hidden text were left out",) if reader.hidden_runs else ()
    return Extraction(blocks, None, "docx (local)", notes, _read_docx_title(package))


def _open_package_part(package: zipfile.ZipFile, name: str) -> IO[bytes]:
    """Open a part of the package; a missing part reads as empty XML."""
    if name not in package.namelist():
        return BytesIO(b"<none/>")
    if package.getinfo(name).file_size > MAX_PART_BYTES:
        raise UnreadableDocument(
            f"a part of the .docx unpacks to more than {MAX_PART_BYTES // 1024**2} MiB: split the document",
            code="document_too_complex",
        )
    return package.open(name)


def _read_docx_title(package: zipfile.ZipFile) -> str:
    with _open_package_part(package, "docProps/core.xml") as core:
        titles = [element.text or "" for _, element in iterparse(core) if element.tag == _TITLE_TAG]
    return " ".join(clean_text(" ".join(titles)).split())


def _build_docx_blocks(items: Iterator[DocxItem]) -> Iterator[Block]:
    """Yield the items as blocks, with lines numbered through the document and the headings above each."""
    chain: list[tuple[int, str]] = []
    line = 1
    for kind, text, level in items:
        if kind == "heading":
            chain = [above for above in chain if above[0] < level]
        last = line + text.count("\n")
        yield Block(text, kind, line, last, headings=tuple(title for _, title in chain))
        if kind == "heading":
            chain.append((level, text))
        line = last + 1


@dataclass(frozen=True, slots=True)
class DocxCell:
    """A cell of a table: the columns that it spans, 0 where the one to its left does, and if it goes on from above."""

    text: str
    width: int
    is_merged: bool = False


class _DocxReader:
    """A reader of the document body that keeps track of hidden runs, list counters and notes to be given."""

    def __init__(self, package: zipfile.ZipFile) -> None:
        with (
            _open_package_part(package, "word/styles.xml") as styles,
            _open_package_part(package, "word/numbering.xml") as numbering,
        ):
            self.styles, self.lists = parse_styles(styles), ListCounter(parse_lists(numbering))
        self.notes = {
            (kind, note.get(f"{W}id", "")): note for kind in _NOTE_KINDS for note in _load_notes(package, kind)
        }
        self.hidden_runs = 0
        self.pending_notes: deque[Element] = deque()
        self.note_count = 0

    def read_items(self, body: IO[bytes]) -> Iterator[DocxItem]:
        depth = 0
        for event, element in iterparse(body, events=("start", "end")):
            depth += 1 if event == "start" else -1
            if event == "end" and depth == 2:  # a child of w:body is complete
                yield from self._read_element(element)
                yield from self._read_pending_notes()
                element.clear()

    def _read_element(self, element: Element) -> Iterator[DocxItem]:
        if element.tag == f"{W}p":
            yield from self._read_paragraph(element)
        elif element.tag == f"{W}tbl":
            yield from self._read_table(element)
        elif element.tag not in _UNREAD_TAGS:
            for child in element:
                yield from self._read_element(child)

    def _read_paragraph(self, paragraph: Element) -> Iterator[DocxItem]:
        style = self._look_up_style(paragraph)
        text = clean_text(self._read_visible_text(paragraph, style, on_paper=True)).strip("\n ")
        number = self._count_list_item(paragraph, style, text)
        if text and style.heading_level is not None:
            yield "heading", f"{number} {text}".strip().replace("\n", " "), style.heading_level
        elif text and style.list_position is not None:
            yield "paragraph", f"{'  ' * style.list_position[1]}{number or '-'} {text}", 0
        elif text:
            yield "paragraph", text, 0

    def _count_list_item(self, paragraph: Element, style: ParagraphStyle, text: str) -> str:
        """Return the number of a list item, "" for others; an empty item counts unless its end is deleted or hidden."""
        if style.list_position is None or not (text or has_end_in_print(paragraph)):
            return ""
        return self.lists.count(*style.list_position)

    def _look_up_style(self, paragraph: Element) -> ParagraphStyle:
        base_style = self.styles.get(read_val_attribute(paragraph, "pPr", "pStyle"), ParagraphStyle())
        return resolve_paragraph_style(paragraph.find(f"{W}pPr"), base_style)

    def _read_table(self, table: Element) -> Iterator[DocxItem]:
        """Yield a table with its heads in one row; a first row of one cell above several columns is a paragraph."""
        rows: list[list[DocxCell]] = []
        is_styled = bool(read_val_attribute(table, "tblPr", "tblStyle"))
        for row in _iterate_nearest_descendants(table, f"{W}tr"):
            if row.find(f"{W}trPr/{W}del") is None:
                rows.append(self._read_table_row(row, rows[-1] if rows else [], is_styled=is_styled))
        filled = [row for row in rows if any(cell.text for cell in row)]
        if len(filled) > 1 and _is_title(filled[0], filled[1]):
            yield "paragraph", filled.pop(0)[0].text, 0
        if filled:
            count = _count_head_rows(filled)
            texts = [[cell.text for cell in row] for row in filled]
            heads = [join_header_rows(texts[:count])] if count > 1 else texts[:1]
            yield "table", "\n".join(map(format_table_row, [*heads, *texts[count:]])), 0

    def _read_table_row(self, row: Element, above: Sequence[DocxCell], *, is_styled: bool) -> list[DocxCell]:
        """Return the cells of a row, with an empty cell for each further column that a cell spans.

        A cell that is merged with the one above it has the text of that one.
        """
        cells: list[DocxCell] = []
        for cell in _iterate_nearest_descendants(row, f"{W}tc"):
            properties = cell.find(f"{W}tcPr")
            dark = is_styled or (properties is not None and is_shaded(properties))
            text = " ".join(self._read_cell_paragraph(p, on_paper=not dark) for p in cell.iter(f"{W}p"))
            text = " ".join(clean_text(text).split())
            span = read_val_attribute(cell, "tcPr", "gridSpan")
            merge = properties.find(f"{W}vMerge") if properties is not None else None
            is_merged = merge is not None and merge.get(f"{W}val", "continue") == "continue" and len(cells) < len(above)
            width = max(1, min(int(span or 1), MAX_SPANNED_COLUMNS))
            if is_merged and not text and len(above[len(cells)].text) <= MAX_REPEATED_CHARS:
                text = above[len(cells)].text
            cells.append(DocxCell(text, width, is_merged=is_merged))
            cells += [DocxCell("", 0, is_merged=is_merged)] * (width - 1)
        return cells

    def _read_cell_paragraph(self, paragraph: Element, *, on_paper: bool) -> str:
        """Return the text of a paragraph of a cell behind its number, which may be all that stands there."""
        style = self._look_up_style(paragraph)
        text = self._read_visible_text(paragraph, style, on_paper=on_paper)
        return f"{self._count_list_item(paragraph, style, text.strip())} {text}"

    def _read_pending_notes(self) -> Iterator[DocxItem]:
        """Yield the notes referred to since the last call, each behind its number."""
        while self.pending_notes:
            note = self.pending_notes.popleft()
            first = self.note_count - len(self.pending_notes)
            text = " ".join(
                self._read_visible_text(p, self._look_up_style(p), on_paper=True) for p in note.iter(f"{W}p")
            )
            if text := " ".join(clean_text(text).split()):
                yield "paragraph", f"[{first}] {text}", 0

    def _read_visible_text(self, paragraph: Element, style: ParagraphStyle, *, on_paper: bool) -> str:
        """Return the visible text of a paragraph; `on_paper` says that its background is not dark."""
        runs = _iterate_runs(paragraph, on_paper and not style.shaded)
        return join_runs(
            (self._read_run(run, style, on_paper=run_on_paper), self._read_run_level(run)) for run, run_on_paper in runs
        )

    def _read_run(self, run: Element, style: ParagraphStyle, *, on_paper: bool) -> str:
        properties = run.find(f"{W}rPr")
        run_style = self.styles.get(read_val_attribute(run, "rPr", "rStyle"), ParagraphStyle())
        hidden_marks = (is_hidden_run(properties), run_style.hidden, style.hidden)
        if next((mark for mark in hidden_marks if mark is not None), False) or (on_paper and is_white_run(properties)):
            self.hidden_runs += any(part.tag == f"{W}t" and (part.text or "").strip() for part in run)
            return ""
        return "".join(self._read_run_child(part) for part in run)

    def _read_run_level(self, run: Element) -> int:
        own = read_level(run.find(f"{W}rPr"))
        style = self.styles.get(read_val_attribute(run, "rPr", "rStyle"), ParagraphStyle())
        return style.level if own is None else own

    def _read_run_child(self, child: Element) -> str:
        if child.tag == f"{W}t":
            return child.text or ""
        for kind in _NOTE_KINDS:
            note = self.notes.get((kind, child.get(f"{W}id", "")))
            if child.tag == f"{W}{kind}Reference" and note is not None:
                self.pending_notes.append(note)
                self.note_count += 1
                return f"[{self.note_count}]"
        return _TEXT_BY_TAG.get(child.tag, "")


def _is_title(first: Sequence[DocxCell], below: Sequence[DocxCell]) -> bool:
    """Return whether a row is one cell above the several of the next row."""
    return first[0].width == len(first) and len(first) > 1 and sum(cell.width > 0 for cell in below) > 1


def _count_head_rows(rows: Sequence[Sequence[DocxCell]]) -> int:
    """Return how many first rows name the columns: the first, and those that divide cells of it that span several.

    All else in these is empty or merged with the cells above.
    """
    first = rows[0]
    divided = [n for n, cell in enumerate(first) if cell.width != 1]
    count = 1
    while divided and count < min(len(rows) - 1, MAX_HEAD_ROWS) and len(rows[count]) == len(first):
        row = rows[count]
        others = (cell for n, cell in enumerate(row) if n not in divided)
        if not all(cell.is_merged or not cell.text for cell in others) or not any(row[n].text for n in divided):
            break
        count += 1
    return count


def _load_notes(package: zipfile.ZipFile, kind: str) -> list[Element]:
    """Return the footnotes or endnotes of a package; those with a type are separators and are left out."""
    with _open_package_part(package, f"word/{kind}s.xml") as part:
        return [e for _, e in iterparse(part) if e.tag == f"{W}{kind}" and e.get(f"{W}type") is None]


def _iterate_runs(element: Element, on_paper: bool) -> Iterator[tuple[Element, bool]]:
    """Yield the runs of an element in order, and whether each is on paper: a text box has a background of its own."""
    for child in element:
        if child.tag == f"{W}r":
            yield child, on_paper
        if child.tag not in _UNREAD_TAGS:
            yield from _iterate_runs(child, on_paper and child.tag != f"{W}txbxContent")


def _iterate_nearest_descendants(element: Element, tag: str) -> Iterator[Element]:
    """Yield the elements with this tag below another, but not those nested in an element with the same tag."""
    for child in element:
        if child.tag == tag:
            yield child
        else:
            yield from _iterate_nearest_descendants(child, tag)
