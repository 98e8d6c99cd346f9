"""Columns of a table of figures: it grows row by row as long as each figure stands in a column of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median

from rag_core.ingestion.extract.pdf.figure_rows import MIN_LABEL_GAP, FigureRow, Segment, is_head_row, is_label_row

MAX_ROW_GAP = 3.4  # of the type size, from row to row of a table: a wider gap ends it
MAX_LABEL_ROWS = 3  # rows of a table without a figure one after the other
MIN_HEADING_GAP = 1.5  # of the distance of rows: further below may stand the heading of another table
MAX_FIGURE_COLUMNS = 60  # of a table: time grows with their square
_MEASURED_ROWS = 9
MAX_VALUE_LETTERS = 14  # of a cell of words in a column of figures, such as "NM" or "see note 4"


@dataclass(slots=True)
class GrowingTable:
    """The rows taken so far, and the place of each column from left to right."""

    rows: list[FigureRow]
    columns: list[tuple[float, float]] = field(default_factory=list)

    def fits(self, row: FigureRow) -> bool:
        """Return whether each figure of a row stands in a column of its own, and one at least in a known one."""
        if len(row.figures) > MAX_FIGURE_COLUMNS or len(self.columns) > MAX_FIGURE_COLUMNS:
            return False
        taken = [self._find_columns(figure) for figure in row.figures]
        known = [columns[0] for columns in taken if columns]
        return bool(known) and all(len(columns) <= 1 for columns in taken) and len(set(known)) == len(known)

    def add(self, row: FigureRow) -> None:
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


def grow_table(rows: Sequence[FigureRow], first: int) -> GrowingTable:
    """Return the table that begins with this row of figures, down to the last row of figures that fits."""
    table = GrowingTable([])
    table.add(rows[first])
    waiting: list[FigureRow] = []
    set_off = False  # whether the rows without figures stand further below the table than its rows do from each other
    for above, row in pairwise(rows[first:]):
        if row.baseline - above.baseline > MAX_ROW_GAP * max(row.size, above.size) or len(waiting) > MAX_LABEL_ROWS:
            break
        placed = row if row.figures or set_off else _take_words_as_figures(row, table.columns)
        if placed.figures and table.fits(placed) and not is_head_row(placed):
            table.rows += waiting
            waiting, set_off = [], False
            table.add(placed)
        elif row.figures or not is_label_row(row, table.columns):
            break
        else:
            set_off = set_off or row.baseline - above.baseline > MIN_HEADING_GAP * _measure_pitch(table.rows)
            waiting.append(row)
    return table


def _measure_pitch(rows: Sequence[FigureRow]) -> float:
    """Return the usual distance of the last rows; that which ends a table where there is one row only."""
    distances = [below.baseline - above.baseline for above, below in pairwise(rows[-_MEASURED_ROWS:])]
    return median(distances) if distances else MAX_ROW_GAP * rows[-1].size


def _take_words_as_figures(row: FigureRow, columns: Sequence[tuple[float, float]]) -> FigureRow:
    """Return a row whose last segments are short words in columns of figures with these as its figures."""
    at = len(row.label)
    while at > 1 and len(row.label[at - 1].text) <= MAX_VALUE_LETTERS and _is_over_one(row.label[at - 1], columns):
        at -= 1
    taken = row.label[at:]
    has_gap = taken and taken[0].start - row.label[at - 1].end >= MIN_LABEL_GAP * row.size
    return replace(row, label=row.label[:at], figures=taken) if has_gap else row


def _is_over_one(segment: Segment, columns: Sequence[tuple[float, float]]) -> bool:
    return sum(segment.start < end and start < segment.end for start, end in columns) == 1
