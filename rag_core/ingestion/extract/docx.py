"""Word documents: body text, headings by their style, tables row by row. Left out: headers, footers, notes, comments.

Read straight from the zip as a stream, every part's size checked before it is unpacked. A docx has no pages until
something lays it out, so none are given. Text marked hidden, or of one point and less, is left out and noted.
"""

import re
import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import IO, Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from rag_core.errors import UnreadableDocument, UnsupportedDocument
from rag_core.ingestion.extract.extraction import Extraction, bounded, clean
from rag_core.model import Block

MAX_PART = 64 * 1024 * 1024  # bytes of XML
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_STANDS_FOR = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_HEADING_STYLE = re.compile(r"(?:heading|Heading) ?([1-9])")
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, ParseError, EOFError, KeyError, NotImplementedError, OSError, RecursionError,
    RuntimeError, ValueError,
)  # fmt: skip

Part = tuple[str, str, int]  # kind, text, level of a heading


def read(data: bytes) -> Extraction:
    try:
        with zipfile.ZipFile(BytesIO(data)) as package:
            blocks, hidden = _document(package)
    except DefusedXmlException as failure:
        raise UnreadableDocument(
            "the document declares XML entities, which Word never writes: save it again in Word", code="document_unsafe"
        ) from failure
    except _DAMAGED as failure:
        raise UnreadableDocument(
            "the .docx is damaged: open it in Word and save it again", code="document_damaged"
        ) from failure
    notes = (f"{hidden} runs of hidden text were left out",) if hidden else ()
    return Extraction(blocks, None, "docx (local)", notes)


def _document(package: zipfile.ZipFile) -> tuple[tuple[Block, ...], int]:
    names = package.namelist()
    if "word/document.xml" not in names:
        if "[Content_Types].xml" in names and any(name.startswith(("xl/", "ppt/")) for name in names):
            raise UnsupportedDocument("this is a spreadsheet or presentation: send it as pdf, or a table as csv")
        raise UnreadableDocument("the .docx has no document in it: save it again in Word", code="document_damaged")
    levels = dict(_levels(package)) if "word/styles.xml" in names else {}
    with _part(package, "word/document.xml") as body:
        reader = _Reader(levels)
        return bounded(_placed(reader.parts(body))), reader.hidden


def _part(package: zipfile.ZipFile, name: str) -> IO[bytes]:
    if package.getinfo(name).file_size > MAX_PART:
        raise UnreadableDocument(
            f"a part of the .docx unpacks to more than {MAX_PART // 1024**2} MiB: split the document",
            code="document_too_complex",
        )
    return package.open(name)


def _levels(package: zipfile.ZipFile) -> Iterator[tuple[str, int]]:
    """Style id and heading level; ids are translated with Word, the name in the file is English ("heading 1")."""
    with _part(package, "word/styles.xml") as styles:
        for _, style in iterparse(styles):
            if style.tag == f"{_W}style":
                named = _HEADING_STYLE.fullmatch(_value(style, "name"))
                if named:
                    yield style.get(f"{_W}styleId", ""), int(named[1])


def _placed(parts: Iterator[Part]) -> Iterator[Block]:
    """The parts as blocks: lines numbered through the document, each below its headings."""
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
    """Walks the body; it is a class to count the hidden runs on the way."""

    def __init__(self, levels: dict[str, int]) -> None:
        self.levels = levels
        self.hidden = 0

    def parts(self, body: IO[bytes]) -> Iterator[Part]:
        depth = 0
        for event, element in iterparse(body, events=("start", "end")):
            depth += 1 if event == "start" else -1
            if event == "end" and depth == 2:  # a child of w:body is whole
                yield from self._element(element)
                element.clear()

    def _element(self, element: Element) -> Iterator[Part]:
        if element.tag == f"{_W}p":
            text = clean(self._text(element)).strip("\n ")
            level = self.levels.get(_value(element, "pPr", "pStyle"), 0)
            if text:
                yield ("heading", text.replace("\n", " "), level) if level else ("paragraph", text, 0)
        elif element.tag == f"{_W}tbl":
            rows = [self._row(row) for row in element.iter(f"{_W}tr")]
            if any(row.strip(" |") for row in rows):
                yield "table", "\n".join(row for row in rows if row.strip(" |")), 0
        else:
            for child in element:
                yield from self._element(child)

    def _row(self, row: Element) -> str:
        cells = (" ".join(self._text(p) for p in cell.iter(f"{_W}p")) for cell in row.findall(f"{_W}tc"))
        return " | ".join(" ".join(clean(cell).split()) for cell in cells)

    def _text(self, paragraph: Element) -> str:
        return "".join(self._run(run) for run in _runs(paragraph))

    def _run(self, run: Element) -> str:
        text = "".join(_STANDS_FOR.get(part.tag, part.text or "" if part.tag == f"{_W}t" else "") for part in run)
        if not _is_hidden(run):
            return text
        self.hidden += bool(text.strip())
        return ""


def _runs(element: Element) -> Iterator[Element]:
    """The runs of an element in order; a drawing's text stands in it twice, the second time for old readers."""
    for child in element:
        if child.tag == f"{_W}r":
            yield child
        if child.tag != _FALLBACK:
            yield from _runs(child)


def _is_hidden(run: Element) -> bool:
    properties = run.find(f"{_W}rPr")
    if properties is None:
        return False
    vanish = properties.find(f"{_W}vanish")
    if vanish is not None and vanish.get(f"{_W}val") not in ("0", "false"):
        return True
    size = _value(properties, "sz")
    return size.isdigit() and int(size) <= 2  # half points


def _value(element: Any, *path: str) -> str:
    found = element.find("/".join(_W + name for name in path))
    return "" if found is None else str(found.get(f"{_W}val", ""))
