"""Tables of figures in PDF pages: rows of a label and figures, whose columns are known by the figures alone.

Filings set them in ways that lines and gaps do not tell: a currency sign far from its figure, brackets that hang over
the edge of a column, dashes, heads of several lines that span columns, labels that are indented or wrapped.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median

from rag_core.core.model import Box
from rag_core.ingestion.extract.pdf.lines import Strip, StripWord, enclose_boxes
from rag_core.text.figures import FIGURE, is_period

MAX_ROW_GAP = 3.4  # of the type size, from row to row of a table: a wider gap ends it
MAX_HEAD_GAP = 2.6  # of the type size, from row to row of its heads
MAX_LINE_PITCH = 1.5  # of the type size: between two lines of one label
MAX_LABEL_ROWS = 3  # rows of a table without a figure one after the other
MAX_HEAD_ROWS = 6
MAX_FIGURE_COLUMNS = 60  # of a table: time grows with their square
MAX_HEAD_LETTERS = 70  # of what stands beside the heads, such as "(in millions, except per share amounts)"
MIN_CELL_GAP = 0.45  # of the type size: between two figures; a space is 0.28
MIN_LABEL_GAP = 0.9  # of the type size: between a label and its first figure, and between two columns of labels
MAX_ALIGNMENT_ERROR = 0.6  # of the type size: distance of a figure from its column's edge; a bracket is 0.33
MIN_ALIGNED_SHARE = 0.7  # of a column's figures
MAX_VALUE_LETTERS = 14  # of a cell of words in a column of figures, such as "NM" or "see note 4"
MAX_HEAD_OVERHANG = 7.0  # of the type size: how far left of its figures a head may begin
MAX_TITLE_OVERHANG = 2.0  # where it stands alone over several columns: further left begins the title of the page
_CURRENCY = re.compile(r"(?:US|C|A|HK)?[$€£¥]")
_LEADING_SIGN = re.compile(r"(?:US|C|A|HK)?[$£¥(]")  # unlike "€", never behind its figure
_AMOUNT_START = re.compile(r"[$€£¥]|\d{1,3}(?:[.,]|\s|$)(?!.{0,30}(?:19|20)\d\d)")  # unlike a date
_CLOSING = re.compile(r"[)%]+|\(\w\)|\*+")  # what belongs to the figure before it
_MAX_PITCH_ERROR = 0.3  # of the distance of two columns: between the middles of a head and its columns


@dataclass(frozen=True, slots=True)
class Segment:
    """Words of a row that belong together, with the place of each along the line."""

    words: tuple[StripWord, ...]

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def start(self) -> float:
        return self.words[0].start

    @property
    def end(self) -> float:
        return self.words[-1].end

    @property
    def middle(self) -> float:
        return (self.start + self.end) / 2

    @property
    def is_figure(self) -> bool:
        return FIGURE.fullmatch(self.text) is not None


@dataclass(frozen=True, slots=True)
class _FigureRow:
    """A row of a page: the segments of its label, and the figures that end it."""

    index: int
    baseline: float
    size: float
    label: tuple[Segment, ...]
    figures: tuple[Segment, ...]

    @property
    def segments(self) -> tuple[Segment, ...]:
        return (*self.label, *self.figures)

    @property
    def box(self) -> Box:
        return enclose_boxes(word.box for segment in self.segments for word in segment.words)


@dataclass(frozen=True, slots=True)
class FigureTable:
    """A table: its rows of cells, the first with the name of each column, the box of each, and the rows of the page.

    A label that is set in two lines is one cell. Without heads the first row is the first of the figures.
    """

    cells: tuple[tuple[str, ...], ...]
    boxes: tuple[Box, ...]
    first: int
    end: int


@dataclass(slots=True)
class _GrowingTable:
    """The rows taken so far, and the place of each column from left to right."""

    rows: list[_FigureRow]
    columns: list[tuple[float, float]] = field(default_factory=list)

    def fits(self, row: _FigureRow) -> bool:
        """Return whether each figure of a row stands in a column of its own, and one at least in a known one."""
        if len(row.figures) > MAX_FIGURE_COLUMNS or len(self.columns) > MAX_FIGURE_COLUMNS:
            return False
        taken = [self._find_columns(figure) for figure in row.figures]
        known = [columns[0] for columns in taken if columns]
        return bool(known) and all(len(columns) <= 1 for columns in taken) and len(set(known)) == len(known)

    def add(self, row: _FigureRow) -> None:
        self.rows.append(row)
        for figure in row.figures:
            found = self._find_columns(figure)
            if found:
                start, end = self.columns[found[0]]
                self.columns[found[0]] = (min(start, figure.start), max(end, figure.end))
            else:
                self.columns = sorted([*self.columns, (figure.start, figure.end)])

    def _find_columns(self, figure: Segment) -> list[int]:
        return [n for n, (start, end) in enumerate(self.columns) if figure.start < end and start < figure.end]


def find_figure_tables(rows: Sequence[Sequence[Strip]]) -> Iterator[FigureTable]:
    """Yield the tables of figures among the rows of a page, from top to bottom."""
    read = [_read_row(number, row) for number, row in enumerate(rows)]
    first = above = 0
    while first < len(read):
        figures = read[first].figures
        if not figures or len(figures) > MAX_FIGURE_COLUMNS or _is_head_row(read[first]):
            first += 1
            continue
        grown = _grow_table(read, first)
        end = grown.rows[-1].index + 1
        table = _build_table(read[above:], grown)
        if table:
            yield table
            above = end
        first = end


def _read_row(index: int, strips: Sequence[Strip]) -> _FigureRow:
    size = max(strip.size for strip in strips)
    segments = list(_split_segments([word for strip in strips for word in strip.words], size))
    at = len(segments)
    while at and segments[at - 1].is_figure:
        at -= 1
    label, figures = segments[:at], segments[at:]
    while label and figures and figures[0].start - label[-1].end < MIN_LABEL_GAP * size:
        label.append(figures.pop(0))
    return _FigureRow(index, strips[0].baseline, size, tuple(label), tuple(figures))


def _split_segments(words: Sequence[StripWord], size: float) -> Iterator[Segment]:
    """Split the words of a row at gaps, and between two figures; a currency sign belongs to the figure after it."""
    segment: list[StripWord] = []
    for word in sorted(words, key=lambda word: word.start):
        if segment and not _is_joined(segment, word, size):
            yield Segment(tuple(segment))
            segment = []
        segment.append(word)
    if segment:
        yield Segment(tuple(segment))


def _is_joined(segment: Sequence[StripWord], word: StripWord, size: float) -> bool:
    gap, last = word.start - segment[-1].end, segment[-1].text
    if _CURRENCY.fullmatch(last) or last in ("(", "$(", "($"):
        return bool(FIGURE.match(word.text)) or gap <= MIN_CELL_GAP * size
    if _LEADING_SIGN.match(word.text) and _ends_figure(segment):
        return False
    if _CLOSING.fullmatch(word.text):
        return gap <= MIN_LABEL_GAP * size
    both_figures = FIGURE.fullmatch(word.text) and _ends_figure(segment)
    return gap <= MIN_CELL_GAP * size and not (both_figures and gap > MIN_CELL_GAP * size / 2)


def _ends_figure(segment: Sequence[StripWord]) -> bool:
    return FIGURE.fullmatch(" ".join(word.text for word in segment)) is not None


def _grow_table(rows: Sequence[_FigureRow], first: int) -> _GrowingTable:
    """Return the table that begins with this row of figures, down to the last row of figures that fits."""
    table = _GrowingTable([])
    table.add(rows[first])
    waiting: list[_FigureRow] = []
    for above, row in pairwise(rows[first:]):
        if row.baseline - above.baseline > MAX_ROW_GAP * max(row.size, above.size) or len(waiting) > MAX_LABEL_ROWS:
            break
        placed = row if row.figures else _take_words_as_figures(row, table.columns)
        if placed.figures and table.fits(placed) and not _is_head_row(placed):
            table.rows += waiting
            waiting = []
            table.add(placed)
        elif row.figures or not _is_label_row(row, table.columns):
            break
        else:
            waiting.append(row)
    return table


def _is_head_row(row: _FigureRow) -> bool:
    """Return whether the figures of a row are years, beside no label but a remark such as "(in millions)"."""
    label = " ".join(segment.text for segment in row.label)
    return bool(row.figures) and all(is_period(s.text) for s in row.figures) and (not label or label.startswith("("))


def _take_words_as_figures(row: _FigureRow, columns: Sequence[tuple[float, float]]) -> _FigureRow:
    """Return a row whose last segments are short words in columns of figures with these as its figures."""
    at = len(row.label)
    while at > 1 and len(row.label[at - 1].text) <= MAX_VALUE_LETTERS and _is_over_one(row.label[at - 1], columns):
        at -= 1
    taken = row.label[at:]
    has_gap = taken and taken[0].start - row.label[at - 1].end >= MIN_LABEL_GAP * row.size
    return replace(row, label=row.label[:at], figures=taken) if has_gap else row


def _is_over_one(segment: Segment, columns: Sequence[tuple[float, float]]) -> bool:
    return sum(segment.start < end and start < segment.end for start, end in columns) == 1


def _is_label_row(row: _FigureRow, columns: Sequence[tuple[float, float]]) -> bool:
    """Return whether a row without figures stands left of the columns: a title, or the first line of a label."""
    return row.segments[-1].end <= columns[0][0] + row.size or (
        len(row.segments) == 1 and row.segments[0].text.isupper() and len(row.segments[0].text) <= 40
    )


def _build_table(rows: Sequence[_FigureRow], grown: _GrowingTable) -> FigureTable | None:
    """Return the table with its heads; None where its figures are not set in columns."""
    figured = [row for row in grown.rows if row.figures]
    if not _is_table(figured, grown.columns):
        return None
    edges = _find_label_columns(figured)
    heads, titles = _find_heads(rows, grown, edges)
    lines = [*titles, *grown.rows]
    cells, boxes = _lay_out_rows(lines, grown.columns, edges)
    if heads:
        names = _name_columns(heads, grown.columns, edges)
        cells, boxes = [names, *cells], [enclose_boxes(row.box for row in heads), *boxes]
    first = min(row.index for row in (*heads, *lines))
    return FigureTable(tuple(cells), tuple(boxes), first, grown.rows[-1].index + 1)


def _is_table(rows: Sequence[_FigureRow], columns: Sequence[tuple[float, float]]) -> bool:
    """Return whether rows of figures are a table: as many as make chance unlikely, aligned in their columns."""
    if len(rows) < (2 if len(columns) > 1 else 3) or not any(row.label for row in rows):
        return False
    for start, end in columns:
        column = [f for row in rows for f in row.figures if f.start < end and start < f.end]
        if len(column) > 1 and not _is_aligned(column, rows[0].size):
            return False
    return True


def _is_aligned(figures: Sequence[Segment], size: float) -> bool:
    places = ([f.end for f in figures], [f.start for f in figures], [f.middle for f in figures])
    return any(
        sum(abs(place - median(of)) <= MAX_ALIGNMENT_ERROR * size for place in of) >= MIN_ALIGNED_SHARE * len(of)
        for of in places
    )


def _find_heads(
    rows: Sequence[_FigureRow], grown: _GrowingTable, edges: Sequence[float]
) -> tuple[list[_FigureRow], list[_FigureRow]]:
    """Return the rows of heads above a table, top to bottom, and the titles between them and its first row."""
    heads: list[_FigureRow] = []
    titles: list[_FigureRow] = []
    below = grown.rows[0]
    for row in reversed([row for row in rows if row.index < below.index]):
        furthest = (MAX_HEAD_GAP if heads else MAX_ROW_GAP) * max(row.size, below.size)
        if below.baseline - row.baseline > furthest or len(heads) == MAX_HEAD_ROWS:
            break
        if _has_heads(row, grown.columns) or (heads and _has_label_heads(row, grown.columns, edges)):
            heads.insert(0, row)
        elif not heads and len(titles) < MAX_LABEL_ROWS and _is_label_row(row, grown.columns):
            titles.insert(0, row)
        else:
            break
        below = row
    while len(heads) > 1 and _is_remark(heads[0]):  # such as "(Unaudited)" below the title of the page
        heads.pop(0)
    return heads, titles if heads else []


def _has_label_heads(row: _FigureRow, columns: Sequence[tuple[float, float]], edges: Sequence[float]) -> bool:
    """Return whether all of a row stands over the further columns of labels, none over the first or the figures."""
    starts, end = [segment.middle for segment in row.segments], row.segments[-1].end
    return bool(edges) and min(starts) >= edges[0] and end <= columns[0][0] + row.size


def _is_remark(row: _FigureRow) -> bool:
    return len(row.segments) == 1 and row.segments[0].text.startswith("(") and row.segments[0].text.endswith(")")


def _has_heads(row: _FigureRow, columns: Sequence[tuple[float, float]]) -> bool:
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


def _find_label_columns(rows: Sequence[_FigureRow]) -> list[float]:
    """Return where the second and each further column of labels begins, as of an item's number and its title."""
    split = [list(_join_label(row)) for row in rows]
    count = max(map(len, split), default=1)
    if count < 2 or sum(len(parts) == count for parts in split) < MIN_ALIGNED_SHARE * len(split):
        return []
    starts = [min(parts[n].start for parts in split if len(parts) == count) for n in range(1, count)]
    ends = [max(parts[n].end for parts in split if len(parts) == count) for n in range(count - 1)]
    return starts if all(end <= start for end, start in zip(ends, starts, strict=True)) else []


def _join_label(row: _FigureRow) -> Iterator[Segment]:
    """Join the segments of a label that are no wider apart than two words may be."""
    joined: list[StripWord] = []
    for segment in row.label:
        if joined and segment.start - joined[-1].end > MIN_LABEL_GAP * row.size:
            yield Segment(tuple(joined))
            joined = []
        joined += segment.words
    if joined:
        yield Segment(tuple(joined))


def _lay_out_rows(
    rows: Sequence[_FigureRow], columns: Sequence[tuple[float, float]], edges: Sequence[float]
) -> tuple[list[tuple[str, ...]], list[Box]]:
    """Return the cells and the box of each row; a label's first line is joined to the row of its last."""
    cells: list[tuple[str, ...]] = []
    boxes: list[Box] = []
    wrapped: list[_FigureRow] = []
    for row, below in zip(rows, [*rows[1:], None], strict=True):
        if below is not None and _continues_label(row, below):
            wrapped.append(row)
            continue
        lines = [*wrapped, row]
        labels = [_place_label(line, edges) for line in lines]
        label = [" ".join(filter(None, parts)) for parts in zip(*labels, strict=True)]
        cells.append((*label, *_place_figures(row, columns)))
        boxes.append(enclose_boxes(line.box for line in lines))
        wrapped = []
    return cells, boxes


def _continues_label(row: _FigureRow, below: _FigureRow) -> bool:
    """Return whether a row without figures is a line of the label that the row below ends."""
    if row.figures or not row.label or not below.label or row.label[-1].text.endswith((":", ".")):
        return False
    first, line = below.label[0].text, " ".join(segment.text for segment in row.label)
    is_cut = line.endswith((",", ";", "/", "-")) or line.count("(") > line.count(")")
    return below.baseline - row.baseline <= MAX_LINE_PITCH * row.size and (is_cut or first[:1].islower())


def _place_label(row: _FigureRow, edges: Sequence[float]) -> list[str]:
    places = [""] * (len(edges) + 1)
    for segment in row.label:
        number = sum(segment.middle >= edge for edge in edges)
        places[number] = f"{places[number]} {segment.text}".strip()
    return places


def _place_figures(row: _FigureRow, columns: Sequence[tuple[float, float]]) -> list[str]:
    places = [""] * len(columns)
    for figure in row.figures:
        number = next(n for n, (start, end) in enumerate(columns) if figure.start < end and start < figure.end)
        places[number] = f"{places[number]} {figure.text}".strip()
    return places


def _name_columns(
    heads: Sequence[_FigureRow], columns: Sequence[tuple[float, float]], edges: Sequence[float]
) -> tuple[str, ...]:
    """Return the names of the columns of labels and of figures, each of its heads from top to bottom."""
    left = columns[0][0]
    named: list[list[str]] = [[] for _ in columns]
    labels: list[list[str]] = [[] for _ in range(len(edges) + 1)]
    for row in reversed(heads):
        over = [segment for segment in row.segments if segment.middle >= left - row.size]
        beside = replace(row, label=row.segments[: len(row.segments) - len(over)], figures=())
        for n, text in enumerate(_place_label(beside, edges)):
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
