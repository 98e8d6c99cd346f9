"""Document structure: the headings, paragraphs and tables of PDF pages, without running headers and footers."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median, quantiles

from rag_core.core.model import Block, Box
from rag_core.ingestion.extract.pdf.lines import Strip, box_around, is_mark, joined, rows
from rag_core.ingestion.extract.pdf.order import regions
from rag_core.ingestion.extract.pdf.tables import Table, found

MARGIN = 0.15  # of the page height, at the top and at the bottom: where running headers and footers are
REPEATED = 0.4  # of the pages: left and right pages often have different headers
LARGER = 1.12  # to the body's type size: of a heading that is not bold
LONGEST = 120  # of a heading
TALLEST = 3  # of a heading
LOOSE = 1.25  # to the usual line pitch: a wider distance ends a paragraph
INDENT = 0.8  # of the type size: a first line indented further begins a paragraph
_PITCH = 1.2  # of the type size: distance from line to line where there are too few lines to measure it
_BY_TYPE = 100  # headings recognised by their type rank below those of the outline
_DIGITS = re.compile(r"\d+")
_NUMBERED = re.compile(r"^[\d.]+\s")
_SENTENCE_END = (".", ",", ";")
_FILE_NAME = re.compile(r"\.\w{2,4}$|^microsoft |^untitled|^document\d*$", re.IGNORECASE)

Style = tuple[float, bool]  # size in points, and whether it is bold
Outline = Mapping[int, Mapping[str, int]]  # by page: the level of each title, as `normalize_title` gives it


@dataclass(frozen=True, slots=True)
class Page:
    """A page with its strips; `height` is in points, `label` is the printed page number where it is another."""

    number: int
    height: float
    strips: Sequence[Strip]
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A paragraph or table of a page; `level` is that of its entry in the outline, None where it has none."""

    page: Page
    kind: str
    lines: Sequence[str]
    boxes: Sequence[Box]
    style: Style = (0.0, False)
    level: int | None = None

    @property
    def text(self) -> str:
        return " ".join(self.lines)


def furniture(pages: Sequence[Page]) -> set[tuple[str, int]]:
    """Return the keys of strips that recur in the margins of many pages at the same height: headers, footers, numbers.

    Pages with nothing between their margins are not counted: there the margins hold the text itself.
    """
    printed = [page for page in pages if not all(_in_margin(page, strip) for strip in page.strips)]
    keys_by_page = ({trace(page, strip) for strip in page.strips if _in_margin(page, strip)} for page in printed)
    counts = Counter(key for keys in keys_by_page for key in keys)
    return {key for key, count in counts.items() if count >= max(3, REPEATED * len(printed))}


def parts(page: Page, repeated: set[tuple[str, int]], outline: Outline) -> Iterator[Part]:
    """Yield the parts of a page in reading order, without its running headers and footers."""
    titles = outline.get(page.number, {})
    strips = [s for s in page.strips if not (_in_margin(page, s) and trace(page, s) in repeated)]
    for region in regions(strips):
        lines: list[Strip] = []
        for item in found(rows(region)):
            if isinstance(item, Table):
                yield from _paragraphs(page, lines, titles)
                yield Part(page, "table", item.rows, item.boxes)
                lines = []
            else:
                lines.append(joined(item))
        yield from _paragraphs(page, lines, titles)


def blocks(parts: Sequence[Part]) -> Iterator[Block]:
    """Yield each part as a block with its line numbers and the headings above it."""
    levels = _levels(parts)
    above: list[tuple[int, str]] = []
    line = 1
    for part in parts:
        level = levels.get(part.style) if part.level is None else part.level
        if part.kind == "paragraph" and level is not None and _may_head(part):
            above = [heading for heading in above if heading[0] < level]
            yield _block(part, "heading", line, above)
            above.append((level, part.text))
        else:
            yield _block(part, part.kind, line, above)
        line += len(part.lines)


def title(named: str, parts: Sequence[Part]) -> str:
    """Return the stated title unless it names a program or file, else the first page's text in the largest type."""
    if _is_title(named) and not _FILE_NAME.search(named):
        return named
    candidates = [part for part in parts if part.page is parts[0].page and _may_head(part)]
    largest = max((part.style[0] for part in candidates), default=0)
    text = " ".join(part.text for part in candidates if part.style[0] == largest)
    return text if largest > LARGER * _body(parts)[0] and _is_title(text) else ""


def _is_title(text: str) -> bool:
    return sum(map(str.isalpha, text)) >= 3 and len(text) <= LONGEST


def plain(title: str) -> str:
    """Return a title for comparison: in lower case, letters and digits only, without its leading number."""
    return "".join(letter for letter in _NUMBERED.sub("", title).lower() if letter.isalnum())


def _in_margin(page: Page, strip: Strip) -> bool:
    return not MARGIN * page.height < strip.box[3] < (1 - MARGIN) * page.height


def trace(page: Page, strip: Strip) -> tuple[str, int]:
    """Return a strip's text, numbers masked except in large type, and its height in fiftieths of the page."""
    text = strip.text if _is_large(page, strip) else _DIGITS.sub("#", strip.text)
    return text, round(50 * strip.box[3] / page.height)


def _is_large(page: Page, strip: Strip) -> bool:
    """Return True for a strip with letters in larger type than most of the page."""
    return strip.size > LARGER * median(other.size for other in page.strips) and any(map(str.isalpha, strip.text))


def _paragraphs(page: Page, lines: Sequence[Strip], titles: Mapping[str, int]) -> Iterator[Part]:
    pitch = _pitch(lines)
    paragraph: list[Strip] = []
    for line in lines:
        if paragraph and _ends(paragraph, line, pitch, titles):
            yield _paragraph(page, paragraph, titles)
            paragraph = []
        paragraph.append(line)
    if paragraph:
        yield _paragraph(page, paragraph, titles)


def _pitch(lines: Sequence[Strip]) -> float:
    """Return the line pitch within paragraphs, in type sizes: the first quartile of the steps from line to line."""
    steps = [(after.base - before.base) / after.size for before, after in pairwise(lines) if after.size]
    return min(max(quantiles(steps, n=4)[0], 1.0), 2.0) if len(steps) > 3 else _PITCH


def _ends(paragraph: Sequence[Strip], line: Strip, pitch: float, titles: Mapping[str, int]) -> bool:
    """Return True when a paragraph ends before this line."""
    last = paragraph[-1]
    return (
        line.base - last.base > LOOSE * pitch * max(line.size, last.size)
        or line.bold != last.bold
        or not 0.9 < line.size / last.size < 1.1
        or is_mark(line.text.split(" ")[0])
        or (len(paragraph) > 1 and line.start - last.start > INDENT * line.size)
        or plain(last.text) in titles
        or plain(line.text) in titles
    )


def _paragraph(page: Page, lines: Sequence[Strip], titles: Mapping[str, int]) -> Part:
    texts, boxes = [line.text for line in lines], [line.box for line in lines]
    level = titles.get(plain(" ".join(texts)))
    return Part(page, "paragraph", texts, boxes, (round(lines[0].size), lines[0].bold), level)


def _levels(parts: Sequence[Part]) -> dict[Style, int]:
    """Return the level of each heading style: those larger or bolder than the body's, the largest first."""
    size, bold = _body(parts)
    styles = {part.style for part in parts if part.style[0] > LARGER * size or (part.style[1] and not bold)}
    return {style: _BY_TYPE + rank for rank, style in enumerate(sorted(styles, reverse=True))}


def _body(parts: Sequence[Part]) -> Style:
    """Return the style in which most of the text of paragraphs is set."""
    chars: Counter[Style] = Counter()
    for part in parts:
        chars[part.style] += len(part.text) if part.kind == "paragraph" else 0
    return max(chars, key=chars.__getitem__, default=(0.0, False))


def _may_head(part: Part) -> bool:
    text = part.text
    return (
        len(part.lines) <= TALLEST
        and len(text) <= LONGEST
        and any(letter.isalpha() for letter in text)
        and not text.endswith(_SENTENCE_END)
        and not is_mark(text[0])
    )


def _block(part: Part, kind: str, line: int, above: Sequence[tuple[int, str]]) -> Block:
    return Block(
        "\n".join(part.lines),
        kind,
        line,
        line + len(part.lines) - 1,
        part.page.number,
        box_around(part.boxes),
        tuple(text for _, text in above),
        boxes=tuple(part.boxes),
        page_label=part.page.label,
    )
