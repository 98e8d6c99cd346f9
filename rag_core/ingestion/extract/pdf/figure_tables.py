"""Tables of figures in PDF pages: rows of a label and figures, whose columns are known by the figures alone.

Filings set them in ways that lines and gaps do not tell: a currency sign far from its figure, brackets that hang over
the edge of a column, dashes, heads of several lines that span columns, labels that are indented or wrapped.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from rag_core.core.model import Box
from rag_core.ingestion.extract.pdf.column_heads import find_heads, name_figure_columns
from rag_core.ingestion.extract.pdf.figure_columns import MAX_FIGURE_COLUMNS, GrowingTable, grow_table
from rag_core.ingestion.extract.pdf.figure_rows import (
    MIN_LABEL_GAP,
    FigureRow,
    Segment,
    is_head_row,
    place_label,
    read_figure_row,
)
from rag_core.ingestion.extract.pdf.lines import Strip, StripWord, enclose_boxes

MAX_LINE_PITCH = 1.5  # of the type size: between two lines of one label
MAX_ALIGNMENT_ERROR = 0.6  # of the type size: distance of a figure from its column's edge; a bracket is 0.33
MIN_ALIGNED_SHARE = 0.7  # of a column's figures


@dataclass(frozen=True, slots=True)
class FigureTable:
    """A table: its rows of cells, the first with the name of each column, the box of each, and the rows of the page.

    A label that is set in two lines is one cell. Without heads the first row is the first of the figures. `columns` has
    the place of each column of figures along the line.
    """

    cells: tuple[tuple[str, ...], ...]
    boxes: tuple[Box, ...]
    columns: tuple[tuple[float, float], ...]
    has_heads: bool
    first: int
    end: int


def find_figure_tables(rows: Sequence[Sequence[Strip]]) -> Iterator[FigureTable]:
    """Yield the tables of figures among the rows of a page, from top to bottom."""
    read = [read_figure_row(number, row) for number, row in enumerate(rows)]
    first = above = 0
    while first < len(read):
        figures = read[first].figures
        if not figures or len(figures) > MAX_FIGURE_COLUMNS or is_head_row(read[first]):
            first += 1
            continue
        grown = grow_table(read, first)
        end = grown.rows[-1].index + 1
        table = _build_table(read[above:], grown)
        if table:
            yield table
            above = end
        first = end


def _build_table(rows: Sequence[FigureRow], grown: GrowingTable) -> FigureTable | None:
    """Return the table with its heads; None where its figures are not set in columns."""
    figured = [row for row in grown.rows if row.figures]
    if not _is_table(figured, grown.columns):
        return None
    edges = _find_label_columns(figured)
    heads, titles = find_heads(rows, grown, edges)
    lines = [*titles, *grown.rows]
    cells, boxes = _lay_out_rows(lines, grown.columns, edges)
    if heads:
        names = name_figure_columns(heads, grown.columns, edges)
        cells, boxes = [names, *cells], [enclose_boxes(row.box for row in heads), *boxes]
    first = min(row.index for row in (*heads, *lines))
    end = grown.rows[-1].index + 1
    return FigureTable(tuple(cells), tuple(boxes), tuple(grown.columns), bool(heads), first, end)


def _is_table(rows: Sequence[FigureRow], columns: Sequence[tuple[float, float]]) -> bool:
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


def _find_label_columns(rows: Sequence[FigureRow]) -> list[float]:
    """Return where the second and each further column of labels begins, as of an item's number and its title."""
    split = [list(_join_label(row)) for row in rows]
    count = max(map(len, split), default=1)
    if count < 2 or sum(len(parts) == count for parts in split) < MIN_ALIGNED_SHARE * len(split):
        return []
    starts = [min(parts[n].start for parts in split if len(parts) == count) for n in range(1, count)]
    ends = [max(parts[n].end for parts in split if len(parts) == count) for n in range(count - 1)]
    return starts if all(end <= start for end, start in zip(ends, starts, strict=True)) else []


def _join_label(row: FigureRow) -> Iterator[Segment]:
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
    rows: Sequence[FigureRow], columns: Sequence[tuple[float, float]], edges: Sequence[float]
) -> tuple[list[tuple[str, ...]], list[Box]]:
    """Return the cells and the box of each row; a label's first line is joined to the row of its last."""
    cells: list[tuple[str, ...]] = []
    boxes: list[Box] = []
    wrapped: list[FigureRow] = []
    for row, below in zip(rows, [*rows[1:], None], strict=True):
        if below is not None and _continues_label(row, below):
            wrapped.append(row)
            continue
        lines = [*wrapped, row]
        labels = [place_label(line, edges) for line in lines]
        label = [" ".join(filter(None, parts)) for parts in zip(*labels, strict=True)]
        cells.append((*label, *_place_figures(row, columns)))
        boxes.append(enclose_boxes(line.box for line in lines))
        wrapped = []
    return cells, boxes


def _continues_label(row: FigureRow, below: FigureRow) -> bool:
    """Return whether a row without figures is a line of the label that the row below ends."""
    if row.figures or not row.label or not below.label or row.label[-1].text.endswith((":", ".")):
        return False
    first, line = below.label[0].text, " ".join(segment.text for segment in row.label)
    is_cut = line.endswith((",", ";", "/", "-")) or line.count("(") > line.count(")")
    return below.baseline - row.baseline <= MAX_LINE_PITCH * row.size and (is_cut or first[:1].islower())


def _place_figures(row: FigureRow, columns: Sequence[tuple[float, float]]) -> list[str]:
    places = [""] * len(columns)
    for figure in row.figures:
        middle = figure.middle  # a column holds all of its figures, also those that a font gives no width
        number = min(range(len(columns)), key=lambda n: max(columns[n][0] - middle, middle - columns[n][1], 0.0))
        places[number] = f"{places[number]} {figure.text}".strip()
    return places
