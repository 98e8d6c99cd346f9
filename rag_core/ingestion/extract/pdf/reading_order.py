"""Reading order of the strips of a page: columns one after the other, and the text that spans them in between."""

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import chain, pairwise
from statistics import median

from rag_core.ingestion.extract.pdf.lines import Strip, group_strips_into_rows

MIN_COLUMN_LINES = 2  # of a text column; of two the second has to go on with the sentence of the first
MIN_COLUMN_LETTERS = 18  # median of a column's lines
MIN_COLUMN_FILL = 0.65  # of the width, median of a column's lines: cells of a table fill less
MIN_WIDE_TABLE_CELLS = 3  # of each row of a table as wide as the page: two may be a line of each of two columns
_SENTENCE_ENDS = (".", "!", "?", ":", ";")
_MAX_TRIED_EDGES = 30  # most frequent line starts tried as the edge of a column

StripRegion = list[Strip]


def split_into_regions(strips: Sequence[Strip]) -> list[StripRegion]:
    """Return the regions of a page in reading order, each to be read from top to bottom; rotated text comes last."""
    upright = [strip for strip in strips if strip.angle == 0]
    rotated: dict[int, StripRegion] = {}
    for strip in strips:
        if strip.angle:
            rotated.setdefault(strip.angle, []).append(strip)
    return [*_split_columns(upright), *rotated.values()]


def _split_columns(strips: StripRegion) -> list[StripRegion]:
    """Split strips at the column edge with most text beside it, and split the parts again."""
    cuts = [cut for edge in _find_column_edges(strips) if len(cut := _cut_at_edge(strips, edge)) > 1]
    if not cuts:
        return [strips] if strips else []
    best = max(cuts, key=lambda cut: sum(len(part) for part in cut if _is_text_column(part)))
    return [region for part in best for region in _split_columns(part)]


def _find_column_edges(strips: StripRegion) -> list[float]:
    starts = Counter(round(strip.start) for strip in strips)
    leftmost = min(starts, default=0)
    return [
        edge for edge, count in starts.most_common()[:_MAX_TRIED_EDGES] if count >= MIN_COLUMN_LINES and edge > leftmost
    ]


def _cut_at_edge(strips: StripRegion, edge: float) -> list[StripRegion]:
    """Return the text above the columns, the left one, the right one, the text below, and so on; one region if none."""
    parts: list[StripRegion] = [[]]
    wide = {id(strip) for strip in _find_wide_tables(strips, edge)}
    for band in _split_bands(strips, edge, wide):
        left = [strip for strip in band if strip.end <= edge]
        right = [strip for strip in band if strip.start >= edge - 1]
        if _is_text_column(left) and _is_text_column(right) and _is_beside(left, right):
            parts += [left, right, []]
        else:
            parts[-1] += band
    return [part for part in parts if part]


def _split_bands(strips: StripRegion, edge: float, wide: Set[int]) -> Iterator[StripRegion]:
    """Yield, from top to bottom, each strip that crosses the edge or is of a wide table, and the strips in between."""
    band: StripRegion = []
    for strip in sorted(strips, key=lambda strip: strip.baseline):
        if _crosses(strip, edge) or id(strip) in wide:
            yield from filter(None, (band, [strip]))
            band = []
        else:
            band.append(strip)
    if band:
        yield band


def _crosses(strip: Strip, edge: float) -> bool:
    return strip.start < edge - 1 and strip.end > edge


def _find_wide_tables(strips: StripRegion, edge: float) -> Iterator[Strip]:
    """Yield the strips of tables that are wider than a column of the text beside the edge, with the titles above them.

    Rows of several cells on both sides are one where a cell reaches into the gutter between the columns of text, and
    none begins where the right column does: two tables beside each other leave the gutter free.
    """
    rows = group_strips_into_rows(strips)
    is_wide = [_may_be_wide_table_row(row, edge) for row in rows]
    gutter_start = max(
        (s.end for row, wide in zip(rows, is_wide, strict=True) if not wide for s in row if s.end <= edge), default=edge
    )
    number = 0
    while number < len(rows):
        end = number
        while end < len(rows) and is_wide[end]:
            end += 1
        if end - number > 1 and any(
            s.start < edge - 1 and s.end > gutter_start + 1 for row in rows[number:end] for s in row
        ):
            first = number - 1 if _is_title_of_next(rows, number - 1) else number
            yield from chain.from_iterable(rows[first:end])
        number = max(end, number + 1)


def _may_be_wide_table_row(row: StripRegion, edge: float) -> bool:
    return (
        len(row) >= MIN_WIDE_TABLE_CELLS
        and row[0].end <= edge
        and row[-1].start > edge + 1
        and not any(abs(strip.start - edge) <= 1 for strip in row)
    )


def _is_title_of_next(rows: Sequence[StripRegion], number: int) -> bool:
    """Return whether a row is a single strip that is nearer to the row below it than to the one above it."""
    if number < 0 or len(rows[number]) > 1:
        return False
    above = rows[number][0].baseline - rows[number - 1][0].baseline if number else float("inf")
    return above > rows[number + 1][0].baseline - rows[number][0].baseline


def _is_text_column(strips: StripRegion) -> bool:
    """Return True for running text set to a width; a column of short cells beside one of long ones is none."""
    lines = group_strips_into_rows(strips)
    if len(lines) < MIN_COLUMN_LINES or (len(lines) == MIN_COLUMN_LINES and not _is_one_sentence(lines)):
        return False
    width = max(strip.end for strip in strips) - min(strip.start for strip in strips)
    letters = median(min(len(strip.text) for strip in line) for line in lines)
    return (
        letters >= MIN_COLUMN_LETTERS
        and median(line[-1].end - line[0].start for line in lines) >= MIN_COLUMN_FILL * width
    )


def _is_one_sentence(lines: Sequence[StripRegion]) -> bool:
    """Return True when each line but the first begins in lower case, and the line before it does not end a sentence."""
    texts = [" ".join(strip.text for strip in line) for line in lines]
    return all(after[:1].islower() and before[-1:] not in _SENTENCE_ENDS for before, after in pairwise(texts))


def _is_beside(left: StripRegion, right: StripRegion) -> bool:
    """Return True when at least half of the shorter column stands beside the other."""
    left_top, left_bottom = min(strip.baseline for strip in left), max(strip.baseline for strip in left)
    right_top, right_bottom = min(strip.baseline for strip in right), max(strip.baseline for strip in right)
    overlap = min(left_bottom, right_bottom) - max(left_top, right_top)
    return overlap >= 0.5 * min(left_bottom - left_top, right_bottom - right_top)
