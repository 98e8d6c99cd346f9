"""Document structure: the headings, paragraphs and tables of PDF pages, without running headers and footers."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median, quantiles

from rag_core.core.model import Block, Box
from rag_core.ingestion.extract.pdf.lines import Strip, enclose_boxes, group_strips_into_rows, is_list_mark, join_strips
from rag_core.ingestion.extract.pdf.reading_order import split_into_regions
from rag_core.ingestion.extract.pdf.tables import PdfTable, find_tables

MARGIN_SHARE = 0.15  # of the page height, at the top and at the bottom: where running headers and footers are
MIN_REPEATED_SHARE = 0.4  # of the pages: left and right pages often have different headers
HEADING_SIZE_RATIO = 1.12  # to the body's type size: of a heading that is not bold
MAX_HEADING_CHARS = 120  # of a heading
MAX_HEADING_LINES = 3  # of a heading
MIN_SLANT = 10  # degrees off the edges of the page: a scan's lines are off by one or two
PARAGRAPH_GAP_RATIO = 1.25  # to the usual line pitch: a wider distance ends a paragraph
MIN_INDENT = 0.8  # of the type size: a first line indented further begins a paragraph
_USUAL_LINE_PITCH = 1.2  # of the type size: distance from line to line where there are too few lines to measure it
_FIRST_LEVEL_BY_TYPE = 100  # headings recognised by their type rank below those of the outline
_DIGITS = re.compile(r"\d+")
_LEADING_NUMBER = re.compile(r"^[\d.]+\s")
_SENTENCE_END_MARKS = (".", ",", ";")
_PROGRAM_OR_FILE_NAME = re.compile(r"\.\w{2,4}$|^microsoft |^untitled|^document\d*$", re.IGNORECASE)

TypeStyle = tuple[float, bool]  # size in points, and whether it is bold
Outline = Mapping[int, Mapping[str, int]]  # by page: the level of each title, as `normalize_title` gives it


@dataclass(frozen=True, slots=True)
class PdfPage:
    """A page with its strips; `height` is in points, `label` is the printed page number where it is another."""

    number: int
    height: float
    strips: Sequence[Strip]
    label: str | None = None


@dataclass(frozen=True, slots=True)
class PagePart:
    """A paragraph or table of a page; `level` is that of its entry in the outline, None where it has none.

    `lead_in` is that of the list, begun on an earlier page, to which it belongs. `is_askew` says that it runs across
    the page at a slant, as a stamp or watermark does.
    """

    page: PdfPage
    kind: str
    lines: Sequence[str]
    boxes: Sequence[Box]
    style: TypeStyle = (0.0, False)
    level: int | None = None
    table: PdfTable | None = None
    lead_in: str = ""
    is_askew: bool = False

    @property
    def text(self) -> str:
        return " ".join(self.lines)


def find_page_furniture(pages: Sequence[PdfPage]) -> set[tuple[str, int]]:
    """Return the keys of strips that recur in the margins of many pages at the same height: headers, footers, numbers.

    Pages with nothing between their margins are not counted: there the margins hold the text itself.
    """
    printed = [page for page in pages if not all(_is_in_margin(page, strip) for strip in page.strips)]
    keys_by_page = (
        {build_furniture_key(page, strip) for strip in page.strips if _is_in_margin(page, strip)} for page in printed
    )
    counts = Counter(key for keys in keys_by_page for key in keys)
    return {key for key, count in counts.items() if count >= max(3, MIN_REPEATED_SHARE * len(printed))}


def split_page_parts(page: PdfPage, page_furniture: set[tuple[str, int]], outline: Outline) -> Iterator[PagePart]:
    """Yield the parts of a page in reading order, without its running headers and footers."""
    titles = outline.get(page.number, {})
    strips = [s for s in page.strips if not (_is_in_margin(page, s) and build_furniture_key(page, s) in page_furniture)]
    for region in split_into_regions(strips):
        lines: list[Strip] = []
        for item in find_tables(group_strips_into_rows(region)):
            if isinstance(item, PdfTable):
                yield from _split_pdf_paragraphs(page, lines, titles)
                yield PagePart(page, "table", item.rows, item.boxes, table=item)
                lines = []
            else:
                lines.append(join_strips(item))
        yield from _split_pdf_paragraphs(page, lines, titles)


def build_pdf_blocks(parts: Sequence[PagePart]) -> Iterator[Block]:
    """Yield each part as a block with its line numbers and the headings above it."""
    levels = _rank_heading_styles(parts)
    above: list[tuple[int, str]] = []
    line = 1
    for part in parts:
        level = levels.get(part.style) if part.level is None else part.level
        if part.kind == "paragraph" and level is not None and _can_be_heading(part):
            above = [heading for heading in above if heading[0] < level]
            yield _block_from_part(part, "heading", line, above)
            above.append((level, part.text))
        else:
            yield _block_from_part(part, part.kind, line, above)
        line += len(part.lines)


def choose_pdf_title(stated_title: str, parts: Sequence[PagePart]) -> str:
    """Return the stated title unless it names a program or file, else the first page's text in the largest type."""
    if _is_plausible_title(stated_title) and not _PROGRAM_OR_FILE_NAME.search(stated_title):
        return stated_title
    candidates = [part for part in parts if part.page is parts[0].page and _can_be_heading(part)]
    largest = max((part.style[0] for part in candidates), default=0)
    text = " ".join(part.text for part in candidates if part.style[0] == largest)
    return text if largest > HEADING_SIZE_RATIO * _find_body_style(parts)[0] and _is_plausible_title(text) else ""


def _is_plausible_title(text: str) -> bool:
    return sum(map(str.isalpha, text)) >= 3 and len(text) <= MAX_HEADING_CHARS


def normalize_title(title: str) -> str:
    """Return a title for comparison: in lower case, letters and digits only, without its leading number."""
    return "".join(letter for letter in _LEADING_NUMBER.sub("", title).lower() if letter.isalnum())


def _is_in_margin(page: PdfPage, strip: Strip) -> bool:
    return not MARGIN_SHARE * page.height < strip.box[3] < (1 - MARGIN_SHARE) * page.height


def build_furniture_key(page: PdfPage, strip: Strip) -> tuple[str, int]:
    """Return a strip's text, numbers masked except in large type, and its height in fiftieths of the page."""
    text = strip.text if _is_large_type(page, strip) else _DIGITS.sub("#", strip.text)
    return text, round(50 * strip.box[3] / page.height)


def _is_large_type(page: PdfPage, strip: Strip) -> bool:
    """Return True for a strip with letters in larger type than most of the page."""
    return strip.size > HEADING_SIZE_RATIO * median(other.size for other in page.strips) and any(
        map(str.isalpha, strip.text)
    )


def _split_pdf_paragraphs(page: PdfPage, lines: Sequence[Strip], titles: Mapping[str, int]) -> Iterator[PagePart]:
    pitch = _measure_line_pitch(lines)
    paragraph: list[Strip] = []
    for line in lines:
        if paragraph and _is_paragraph_end(paragraph, line, pitch, titles):
            yield _paragraph_from_strips(page, paragraph, titles)
            paragraph = []
        paragraph.append(line)
    if paragraph:
        yield _paragraph_from_strips(page, paragraph, titles)


def _measure_line_pitch(lines: Sequence[Strip]) -> float:
    """Return the line pitch within paragraphs, in type sizes: the first quartile of the steps from line to line."""
    steps = [(after.baseline - before.baseline) / after.size for before, after in pairwise(lines) if after.size]
    return min(max(quantiles(steps, n=4)[0], 1.0), 2.0) if len(steps) > 3 else _USUAL_LINE_PITCH


def _is_paragraph_end(paragraph: Sequence[Strip], line: Strip, pitch: float, titles: Mapping[str, int]) -> bool:
    """Return True when a paragraph ends before this line."""
    last = paragraph[-1]
    return (
        line.baseline - last.baseline > PARAGRAPH_GAP_RATIO * pitch * max(line.size, last.size)
        or line.bold != last.bold
        or not 0.9 < line.size / last.size < 1.1
        or is_list_mark(line.text.split(" ")[0])
        or (len(paragraph) > 1 and line.start - last.start > MIN_INDENT * line.size)
        or normalize_title(last.text) in titles
        or normalize_title(line.text) in titles
    )


def _paragraph_from_strips(page: PdfPage, lines: Sequence[Strip], titles: Mapping[str, int]) -> PagePart:
    texts, boxes = [line.text for line in lines], [line.box for line in lines]
    level = titles.get(normalize_title(" ".join(texts)))
    is_askew = MIN_SLANT <= lines[0].angle % 90 <= 90 - MIN_SLANT
    return PagePart(page, "paragraph", texts, boxes, (round(lines[0].size), lines[0].bold), level, is_askew=is_askew)


def _rank_heading_styles(parts: Sequence[PagePart]) -> dict[TypeStyle, int]:
    """Return the level of each heading style: those larger or bolder than the body's, the largest first."""
    size, bold = _find_body_style(parts)
    styles = {part.style for part in parts if part.style[0] > HEADING_SIZE_RATIO * size or (part.style[1] and not bold)}
    return {style: _FIRST_LEVEL_BY_TYPE + rank for rank, style in enumerate(sorted(styles, reverse=True))}


def _find_body_style(parts: Sequence[PagePart]) -> TypeStyle:
    """Return the style in which most of the text of paragraphs is set."""
    chars: Counter[TypeStyle] = Counter()
    for part in parts:
        chars[part.style] += len(part.text) if part.kind == "paragraph" else 0
    return max(chars, key=chars.__getitem__, default=(0.0, False))


def _can_be_heading(part: PagePart) -> bool:
    text = part.text
    return (
        not part.is_askew
        and len(part.lines) <= MAX_HEADING_LINES
        and len(text) <= MAX_HEADING_CHARS
        and any(letter.isalpha() for letter in text)
        and not text.endswith(_SENTENCE_END_MARKS)
        and not is_list_mark(text[0])
    )


def _block_from_part(part: PagePart, kind: str, line_start: int, above: Sequence[tuple[int, str]]) -> Block:
    return Block(
        "\n".join(part.lines),
        kind,
        line_start,
        line_start + len(part.lines) - 1,
        part.page.number,
        enclose_boxes(part.boxes),
        tuple(filter(None, (*(text for _, text in above), part.lead_in))),
        boxes=tuple(part.boxes),
        page_label=part.page.label,
    )
