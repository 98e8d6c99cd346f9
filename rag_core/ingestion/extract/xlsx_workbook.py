"""The parts of a workbook on which its sheets depend: which sheets there are, shared texts, formats of numbers, dates.

openpyxl 3.1 reads them, but for the shared texts and the stream of rows: its own readers of these take far longer.
"""

import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

from lxml.etree import SubElement, iterparse
from openpyxl.reader.excel import ExcelReader
from openpyxl.styles.numbers import BUILTIN_FORMATS, BUILTIN_FORMATS_MAX_SIZE
from openpyxl.styles.stylesheet import apply_stylesheet
from openpyxl.worksheet._reader import WorkSheetParser
from openpyxl.xml.constants import SHARED_STRINGS, SHEET_MAIN_NS

from rag_core.text.raised_marks import join_runs, parse_level

_TEXT_TAG, _PHONETIC_TAG, _RUN_TAG, _INLINE_TAG = (f"{{{SHEET_MAIN_NS}}}{name}" for name in ("t", "rPh", "r", "is"))
_ALIGN_PATH = f"{{{SHEET_MAIN_NS}}}rPr/{{{SHEET_MAIN_NS}}}vertAlign"


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet of a workbook; `part` is its name in the package, "" where that is missing."""

    name: str
    part: str
    is_visible: bool


@dataclass(frozen=True, slots=True)
class OpenedWorkbook:
    """A workbook, of which no sheet is read yet."""

    package: zipfile.ZipFile
    sheets: Sequence[Sheet]
    title: str
    strings: Sequence[str]
    book: Any

    def start_parser(self, source: IO[bytes]) -> WorkSheetParser:
        """Return a parser of the rows of a sheet; of formulas it reads the stored values."""
        return WorkSheetParser(
            source,
            self.strings,
            data_only=True,
            epoch=self.book.epoch,
            date_formats=self.book._date_formats,
            timedelta_formats=self.book._timedelta_formats,
        )

    def get_number_format(self, style: int) -> str:
        """Return the format of numbers of a cell's style; "General" for a style that the workbook lacks."""
        styles = self.book._cell_styles
        number = styles[style].numFmtId if style < len(styles) else 0
        own = number - BUILTIN_FORMATS_MAX_SIZE
        if own < 0:
            return str(BUILTIN_FORMATS.get(number, "General"))
        return str(self.book._number_formats[own]) if own < len(self.book._number_formats) else "General"


def open_workbook(package: zipfile.ZipFile) -> OpenedWorkbook:
    """Open the workbook of a package. Raises what openpyxl raises for one that is damaged."""
    reader = ExcelReader(package.fp, read_only=True, data_only=True, keep_links=False)
    reader.read_manifest()
    reader.read_workbook()
    reader.read_properties()
    apply_stylesheet(reader.archive, reader.wb)
    names = set(package.namelist())
    sheets = [
        Sheet(sheet.name, relation.target if relation.target in names else "", sheet.state == "visible")
        for sheet, relation in reader.parser.find_sheets()
        if "chartsheet" not in relation.Type
    ]
    strings = reader.package.find(SHARED_STRINGS)
    return OpenedWorkbook(
        package,
        sheets,
        reader.wb.properties.title or "",
        list(_read_strings(package, strings.PartName[1:])) if strings and strings.PartName[1:] in names else (),
        reader.wb,
    )


def _read_strings(package: zipfile.ZipFile, part: str) -> Iterator[str]:
    """Yield the texts that cells share, without the readings that stand above Japanese ones."""
    with package.open(part) as source:
        for element in iterate_elements(source, f"{{{SHEET_MAIN_NS}}}si"):
            yield _join_text_runs(element)


def _join_text_runs(element: Any) -> str:
    """Return the text of a shared or an inline string, without that which says how it is pronounced."""
    shown = (t for t in element.iter(_TEXT_TAG) if t.getparent().tag != _PHONETIC_TAG)
    return join_runs((t.text or "", _read_level(t.getparent())) for t in shown)


def join_inline_runs(row: Any) -> None:
    """Replace the runs of each inline string of a row, which openpyxl would join as they are, by their text."""
    for cell in row:
        inline = cell.find(_INLINE_TAG) if cell.get("t") == "inlineStr" else None
        if inline is not None and inline.find(_RUN_TAG) is not None:
            text = _join_text_runs(inline)
            inline.clear()
            SubElement(inline, _TEXT_TAG).text = text


def _read_level(run: Any) -> int:
    """Return 1 for a run of raised characters, -1 for one of lowered ones, else 0."""
    align = run.find(_ALIGN_PATH) if run.tag == _RUN_TAG else None
    return (parse_level(align.get("val", "")) or 0) if align is not None else 0


def iterate_elements(source: IO[bytes], *tags: str) -> Iterator[Any]:
    """Yield the elements of these names as they end; an element is freed when the next one is asked for."""
    for _, element in iterparse(source, tag=tags, resolve_entities=False, no_network=True):
        yield element
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]
