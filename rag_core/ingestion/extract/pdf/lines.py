"""Assembly of characters into strips (text on one line without a wide gap), and of strips into rows."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from rag_core.core.model import Box
from rag_core.ingestion.extract.extraction import clean
from rag_core.ingestion.extract.pdf.glyphs import Glyph

GAP = 1.0  # of the type size: a wider gap may lie between two columns
SPACE = 0.1  # of the type size: a narrower gap is no space
DRIFT = 0.5  # of the type size: as far as a subscript is off its line
_MARK = re.compile(r"[•●○◦▪■□–—*·‣⁃-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)]")  # belongs to the text that follows


@dataclass(frozen=True, slots=True)
class Strip:
    """Text on one line at `angle`, with the box of its ink; `baseline` is across the line, `size` is the type size."""

    text: str
    box: Box
    angle: int
    start: float
    end: float
    base: float
    size: float
    bold: bool


def strips(glyphs: Sequence[Glyph]) -> list[Strip]:
    """Return the strips of a page in drawing order."""
    return [_strip(run) for run in _runs(glyphs)]


def box_around(boxes: Iterable[Box]) -> Box:
    """Return the smallest box that encloses all of these, rounded to a hundredth of a point."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return round(min(x0), 2), round(min(y0), 2), round(max(x1), 2), round(max(y1), 2)


def rows(parts: Iterable[Strip]) -> list[list[Strip]]:
    """Return the rows of strips on one line, each from left to right, the rows from top to bottom."""
    grouped: list[list[Strip]] = []
    for strip in sorted(parts, key=lambda strip: strip.base):
        if grouped and strip.base - grouped[-1][0].base <= DRIFT * min(strip.size, grouped[-1][0].size):
            grouped[-1].append(strip)
        else:
            grouped.append([strip])
    return [sorted(row, key=lambda strip: strip.start) for row in grouped]


def joined(row: Sequence[Strip]) -> Strip:
    """Join the strips of a row into one, with a space where there is a gap."""
    text = row[0].text
    for before, after in pairwise(row):
        text += (" " if after.start - before.end > SPACE * after.size else "") + after.text
    longest, bold = max(row, key=lambda strip: len(strip.text)), all(strip.bold for strip in row)
    box = box_around(strip.box for strip in row)
    return replace(longest, text=text, box=box, start=row[0].start, end=row[-1].end, bold=bold)


def is_mark(text: str) -> bool:
    """Return True for the bullet or number of a list item."""
    return _MARK.fullmatch(text) is not None


def _runs(glyphs: Sequence[Glyph]) -> Iterator[list[Glyph]]:
    run: list[Glyph] = []
    for glyph in glyphs:
        if run and _parts(run, glyph):
            yield run
            run = []
        run.append(glyph)
    if run:
        yield run


def _parts(run: Sequence[Glyph], glyph: Glyph) -> bool:
    """Return True when a glyph begins a new strip after the glyphs of `run`."""
    last, size = run[-1], max(run[-1].type.height, glyph.type.height)
    if glyph.type.angle != last.type.angle or abs(glyph.base - last.base) > DRIFT * size or glyph.start < last.start:
        return True
    return glyph.start - last.end > GAP * size and not (len(run) < 6 and is_mark("".join(g.text for g in run)))


def _strip(run: Sequence[Glyph]) -> Strip:
    sizes = [round(glyph.type.height, 1) for glyph in run]
    size = max(sizes, key=Counter(sizes).__getitem__)
    baseline = run[sizes.index(size)].base
    # PDFium gives characters beyond the BMP as two surrogates
    text = _text(run, size).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    bold, box = all(glyph.type.bold for glyph in run), box_around(glyph.box for glyph in run)
    return Strip(clean(text), box, run[0].type.angle, run[0].start, run[-1].end, baseline, size, bold)


def _text(run: Sequence[Glyph], size: float) -> str:
    """Join glyphs with spaces where PDFium sees them, and where the gap is wider than is usual in this strip."""
    gaps = [after.start - before.end for before, after in pairwise(run)]
    wide = SPACE * size + median(gaps) if gaps else 0
    letters = (
        f" {glyph.text}" if glyph.spaced or gap > wide else glyph.text for glyph, gap in zip(run[1:], gaps, strict=True)
    )
    return run[0].text + "".join(letters)
