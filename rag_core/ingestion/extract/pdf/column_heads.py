"""Heads of a table of figures: the rows above it that name its columns, and which columns each head is over."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from rag_core.ingestion.extract.pdf.figure_columns import MAX_LABEL_ROWS, MAX_ROW_GAP, GrowingTable
from rag_core.ingestion.extract.pdf.figure_rows import FigureRow, Segment, is_label_row, place_label
from rag_core.text.figures import is_period

MAX_HEAD_GAP = 2.6  # of the type size, from row to row of its heads
MAX_HEAD_ROWS = 6
MAX_HEAD_LETTERS = 70  # of what stands beside the heads, such as "(in millions, except per share amounts)"
MAX_HEAD_OVERHANG = 7.0  # of the type size: how far left of its figures a head may begin
MAX_TITLE_OVERHANG = 2.0  # where it stands alone over several columns: further left begins the title of the page
_AMOUNT_START = re.compile(r"[$€£¥]|\d{1,3}(?:[.,]|\s|$)(?!.{0,30}(?:19|20)\d\d)")  # unlike a date
_MAX_PITCH_ERROR = 0.3  # of the distance of two columns: between the middles of a head and its columns


def find_heads(
    rows: Sequence[FigureRow], grown: GrowingTable, edges: Sequence[float]
) -> tuple[list[FigureRow], list[FigureRow]]:
    """Return the rows of heads above a table, top to bottom, and the titles between them and its first row."""
    heads: list[FigureRow] = []
    titles: list[FigureRow] = []
    below = grown.rows[0]
    for row in reversed([row for row in rows if row.index < below.index]):
        furthest = (MAX_HEAD_GAP if heads else MAX_ROW_GAP) * max(row.size, below.size)
        if below.baseline - row.baseline > furthest or len(heads) == MAX_HEAD_ROWS:
            break
        if _has_heads(row, grown.columns) or (heads and _has_label_heads(row, grown.columns, edges)):
            heads.insert(0, row)
        elif not heads and len(titles) < MAX_LABEL_ROWS and is_label_row(row, grown.columns):
            titles.insert(0, replace(row, label=row.segments, figures=()))  # a year by itself is a title, too
        else:
            break
        below = row
    while len(heads) > 1 and _is_remark(heads[0]):  # such as "(Unaudited)" below the title of the page
        heads.pop(0)
    return heads, titles if heads else []


def _has_label_heads(row: FigureRow, columns: Sequence[tuple[float, float]], edges: Sequence[float]) -> bool:
    """Return whether all of a row stands over the further columns of labels, none over the first or the figures."""
    starts, end = [segment.middle for segment in row.segments], row.segments[-1].end
    return bool(edges) and min(starts) >= edges[0] and end <= columns[0][0] + row.size


def _is_remark(row: FigureRow) -> bool:
    return len(row.segments) == 1 and row.segments[0].text.startswith("(") and row.segments[0].text.endswith(")")


def _has_heads(row: FigureRow, columns: Sequence[tuple[float, float]]) -> bool:
    """Return whether all that a row has right of its first label stands over the columns of figures."""
    if any(segment.is_figure and not is_period(segment.text) for segment in row.segments):
        return False
    left, right = columns[0][0], columns[-1][1]
    over = [segment for segment in row.segments if segment.middle >= left - row.size]
    beside = row.segments[: len(row.segments) - len(over)]
    if beside and not beside[0].text.startswith("(") and any(_AMOUNT_START.match(segment.text) for segment in over):
        return False
    is_prose = sum(len(segment.text) for segment in beside) > MAX_HEAD_LETTERS
    if not over or is_prose or any(s.end > left + row.size for s in beside) or over[-1].start > right + row.size:
        return False
    overhang = MAX_TITLE_OVERHANG if len(over) == 1 and len(columns) > 1 else MAX_HEAD_OVERHANG
    return over[0].start >= left - overhang * row.size and not over[0].text.endswith((".", ";"))


def name_figure_columns(
    heads: Sequence[FigureRow], columns: Sequence[tuple[float, float]], edges: Sequence[float]
) -> tuple[str, ...]:
    """Return the names of the columns of labels and of figures, each of its heads from top to bottom."""
    left = columns[0][0]
    named: list[list[str]] = [[] for _ in columns]
    labels: list[list[str]] = [[] for _ in range(len(edges) + 1)]
    for row in reversed(heads):
        over = [segment for segment in row.segments if segment.middle >= left - row.size]
        beside = replace(row, label=row.segments[: len(row.segments) - len(over)], figures=())
        for n, text in enumerate(place_label(beside, edges)):
            labels[n].insert(0, text)
        if not over:
            continue
        covered = _group_by_names(len(over), named) or _share_with_years(_cover_columns(over, columns), named)
        for head, numbers in zip(over, covered, strict=True):
            for n in numbers:
                named[n].insert(0, head.text)
    return tuple(" ".join(filter(None, dict.fromkeys(parts))) for parts in (*labels, *named))


def _group_by_names(head_count: int, named: Sequence[Sequence[str]]) -> list[range]:
    """Return an equal group of columns for each head where their names below are the same in all groups, or only years.

    "2024" and "2023" below two heads and again are two columns of each; empty where the names do not tell.
    """
    each, rest = divmod(len(named), head_count)
    groups = [range(n * each, (n + 1) * each) for n in range(head_count)]
    names = [[" ".join(named[n]) for n in group] for group in groups]
    if rest or each < 2 or not all(names[0]) or len(set(names[0])) < each:
        return []
    is_repeated = all(of == names[0] for of in names) if head_count > 1 else all(map(is_period, names[0]))
    return groups if is_repeated else []


def _share_with_years(covered: Sequence[Sequence[int]], named: Sequence[Sequence[str]]) -> list[list[int]]:
    """Return the columns of each head, with those of years beside them that have no head: "June 30," is of both."""
    shared = [list(numbers) for numbers in covered]
    taken = {n for numbers in covered for n in numbers}
    years = [bool(names) and is_period(names[-1]) and len(names) == 1 for names in named]
    for n in (n for n in range(len(named)) if n not in taken and years[n]):
        beside = [numbers for numbers in shared if {n - 1, n + 1} & {m for m in numbers if years[m]}]
        if len(beside) == 1:
            beside[0].append(n)
    return shared


def _cover_columns(heads: Sequence[Segment], columns: Sequence[tuple[float, float]]) -> list[Sequence[int]]:
    """Return for each head of a row the columns below it.

    As many heads as columns have one each. Fewer that stand over the middles of equal groups have these. Any other
    head has the columns that it overlaps, or the nearest.
    """
    if len(heads) == len(columns):
        return [[n] for n in range(len(columns))]
    middles = [(start + end) / 2 for start, end in columns]
    pitch = min((b - a for a, b in pairwise(middles)), default=columns[0][1] - columns[0][0])
    each, rest = divmod(len(columns), len(heads))
    groups = [range(n * each, (n + 1) * each) for n in range(len(heads))]
    centres = [(columns[group[0]][0] + columns[group[-1]][1]) / 2 for group in groups] if each else []
    if not rest and all(
        abs(head.middle - centre) <= _MAX_PITCH_ERROR * pitch for head, centre in zip(heads, centres, strict=True)
    ):
        return list(groups)
    covered = [[n for n, (start, end) in enumerate(columns) if h.start < end and start < h.end] for h in heads]
    found = [n or [_find_nearest(head.middle, middles)] for head, n in zip(heads, covered, strict=True)]
    return [_widen_evenly(n, found, heads, columns, _MAX_PITCH_ERROR * pitch) for n in range(len(heads))]


def _find_nearest(place: float, middles: Sequence[float]) -> int:
    return min(range(len(middles)), key=lambda n: abs(middles[n] - place))


def _widen_evenly(
    number: int,
    covered: Sequence[Sequence[int]],
    heads: Sequence[Segment],
    columns: Sequence[tuple[float, float]],
    max_error: float,
) -> Sequence[int]:
    """Return the columns of a head, with those without a head on both sides where it stands over the middle of all."""
    own, taken = covered[number], {n for m, numbers in enumerate(covered) if m != number for n in numbers}
    if len(own) < 2:
        return own
    first, last = min(own), max(own)
    while first and first - 1 not in taken:
        first -= 1
    while last + 1 < len(columns) and last + 1 not in taken:
        last += 1
    error = abs((columns[first][0] + columns[last][1]) / 2 - heads[number].middle)
    return range(first, last + 1) if error <= max_error else own
