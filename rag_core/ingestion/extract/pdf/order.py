"""The order in which the strips of a page are read: columns one after the other, what spans them between."""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from rag_core.ingestion.extract.pdf.lines import Strip, rows

LINES = 4  # a column has at least as many lines,
LETTERS = 18  # of at least as many letters without a gap in the middle,
FILLED = 0.65  # that fill as much of its width: cells of a table do not
_GUTTERS = 30  # places tried for the edge of a column, by the number of lines that begin there

Region = list[Strip]


def regions(strips: Sequence[Strip]) -> list[Region]:
    """Parts of the page to be read one after the other, each from top to bottom; writing at an angle comes last."""
    upright = [strip for strip in strips if strip.angle == 0]
    turned: dict[int, Region] = {}
    for strip in strips:
        if strip.angle:
            turned.setdefault(strip.angle, []).append(strip)
    return [*_columns(upright), *turned.values()]


def _columns(strips: Region) -> list[Region]:
    """Cut at the gutter with most lines of text beside it; the parts are cut again."""
    cuts = [cut for edge in _edges(strips) if len(cut := _cut(strips, edge)) > 1]
    if not cuts:
        return [strips] if strips else []
    best = max(cuts, key=lambda cut: sum(len(band) for band in cut if _is_column(band)))
    return [region for part in best for region in _columns(part)]


def _edges(strips: Region) -> list[float]:
    starts = Counter(round(strip.start) for strip in strips)
    leftmost = min(starts, default=0)
    return [edge for edge, count in starts.most_common()[:_GUTTERS] if count >= LINES and edge > leftmost]


def _cut(strips: Region, edge: float) -> list[Region]:
    """What is above the columns, the left one, the right one, what is below, and so on; one region without columns."""
    parts: list[Region] = [[]]
    for band in _bands(strips, edge):
        left = [strip for strip in band if strip.end <= edge]
        right = [strip for strip in band if strip.start >= edge - 1]
        if _is_column(left) and _is_column(right) and _beside(left, right):
            parts += [left, right, []]
        else:
            parts[-1] += band
    return [part for part in parts if part]


def _bands(strips: Region, edge: float) -> Iterator[Region]:
    """From top to bottom: what crosses the edge, and what lies between two that do."""
    band: Region = []
    for strip in sorted(strips, key=lambda strip: strip.base):
        if strip.start < edge - 1 and strip.end > edge:
            yield from filter(None, (band, [strip]))
            band = []
        else:
            band.append(strip)
    if band:
        yield band


def _is_column(strips: Region) -> bool:
    """Whether it is running text, set to a width."""
    lines = rows(strips)
    if len(lines) < LINES:
        return False
    width = max(s.end for s in strips) - min(s.start for s in strips)
    letters = median(max(len(strip.text) for strip in line) for line in lines)
    return letters >= LETTERS and median(line[-1].end - line[0].start for line in lines) >= FILLED * width


def _beside(left: Region, right: Region) -> bool:
    """Whether at least half of the shorter one stands beside the other."""
    (a, b), (c, d) = ((min(s.base for s in part), max(s.base for s in part)) for part in (left, right))
    return min(b, d) - max(a, c) >= 0.5 * min(b - a, d - c)
