"""Characters to strips of text without a wide gap, and strips that stand side by side to rows."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from rag_core.core.model import Box
from rag_core.ingestion.extract.extraction import clean
from rag_core.ingestion.extract.pdf.glyphs import Glyph

GAP = 1.0  # of the type's size: a wider one may lie between two columns
SPACE = 0.1  # of the type's size: a narrower one is no space
DRIFT = 0.5  # of the type's size: as far as an index stands off its line
_MARK = re.compile(r"[•●○◦▪■□–—*·‣⁃-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)]")  # of a list: belongs to what follows


@dataclass(frozen=True, slots=True)
class Strip:
    """Text on one line of writing at `angle`, with the ink's box. `base` is where it stands, `size` the type's."""

    text: str
    box: Box
    angle: int
    start: float
    end: float
    base: float
    size: float
    bold: bool


def strips(glyphs: Sequence[Glyph]) -> list[Strip]:
    """The page's strips, in the order in which they were drawn."""
    return [_strip(run) for run in _runs(glyphs)]


def box_around(boxes: Iterable[Box]) -> Box:
    """The smallest box that holds all of these, to a hundredth of a point."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return round(min(x0), 2), round(min(y0), 2), round(max(x1), 2), round(max(y1), 2)


def rows(parts: Iterable[Strip]) -> list[list[Strip]]:
    """Strips that stand on one line together, from left to right; the lines from top to bottom."""
    found: list[list[Strip]] = []
    for strip in sorted(parts, key=lambda strip: strip.base):
        if found and strip.base - found[-1][0].base <= DRIFT * min(strip.size, found[-1][0].size):
            found[-1].append(strip)
        else:
            found.append([strip])
    return [sorted(row, key=lambda strip: strip.start) for row in found]


def joined(row: Sequence[Strip]) -> Strip:
    """The strips of a row as one, with a space where there is a gap."""
    text = row[0].text
    for before, after in pairwise(row):
        text += (" " if after.start - before.end > SPACE * after.size else "") + after.text
    longest, bold = max(row, key=lambda strip: len(strip.text)), all(strip.bold for strip in row)
    box = box_around(strip.box for strip in row)
    return replace(longest, text=text, box=box, start=row[0].start, end=row[-1].end, bold=bold)


def is_mark(text: str) -> bool:
    """Whether it is the bullet or number of a list's item."""
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
    """Whether a strip ends before this glyph."""
    last, size = run[-1], max(run[-1].type.height, glyph.type.height)
    if glyph.type.angle != last.type.angle or abs(glyph.base - last.base) > DRIFT * size or glyph.start < last.start:
        return True
    return glyph.start - last.end > GAP * size and not (len(run) < 6 and is_mark("".join(g.text for g in run)))


def _strip(run: Sequence[Glyph]) -> Strip:
    sizes = [round(glyph.type.height, 1) for glyph in run]
    size = max(sizes, key=Counter(sizes).__getitem__)
    base = run[sizes.index(size)].base
    whole = _text(run, size).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")  # PDFium gives halves
    bold, box = all(glyph.type.bold for glyph in run), box_around(glyph.box for glyph in run)
    return Strip(clean(whole), box, run[0].type.angle, run[0].start, run[-1].end, base, size, bold)


def _text(run: Sequence[Glyph], size: float) -> str:
    """With spaces where PDFium sees them, and where letters stand further apart than they do in this strip."""
    gaps = [after.start - before.end for before, after in pairwise(run)]
    wide = SPACE * size + median(gaps) if gaps else 0
    letters = (
        f" {glyph.text}" if glyph.spaced or gap > wide else glyph.text for glyph, gap in zip(run[1:], gaps, strict=True)
    )
    return run[0].text + "".join(letters)
