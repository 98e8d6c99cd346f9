"""Table detection in PDF pages: tables of figures, then rows whose cells are aligned in columns between white space."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from rag_core.core.model import Box
from rag_core.ingestion.extract.pdf.figure_tables import find_figure_tables
from rag_core.ingestion.extract.pdf.lines import Strip, enclose_boxes
from rag_core.ingestion.tables import format_table_row

MAX_CELL_LETTERS = 45  # of most cells of a table: longer ones may be two columns of text
MAX_LINE_GAP = 2.0  # of the type size, from line to line: a line further below does not continue a cell
MAX_ALIGNMENT_ERROR = 0.3  # of the type size: distance of a cell from the median of its column
MIN_ALIGNED_SHARE = 0.7  # of a column's cells that have to be within that error
MIN_ROW_DISTANCE = 0.9  # of the type size: lines closer than that are one row
MIN_ROW_SPACE = 0.2  # of the type size: by so much rows are further apart than the lines of a cell
MIN_WRAPPED_FILL = 0.6  # of its column: a line that goes on below, in a line that would not have fitted beside it

StripRow = list[Strip]


@dataclass(frozen=True, slots=True)
class PdfTable:
    """A table: the cells and the box of each row, top to bottom, and the place of its last columns along the line.

    `has_heads` is None where the first row may be one of names or not.
    """

    cells: tuple[tuple[str, ...], ...]
    boxes: tuple[Box, ...]
    columns: tuple[tuple[float, float], ...]
    has_heads: bool | None

    @property
    def rows(self) -> list[str]:
        """The text of each row."""
        return list(map(format_table_row, self.cells))


def find_tables(rows: Sequence[StripRow]) -> Iterator[StripRow | PdfTable]:
    """Yield the rows in order, with the rows of each table replaced by the table."""
    first = 0
    for found in find_figure_tables(rows):
        yield from _find_word_tables(rows[first : found.first])
        yield PdfTable(found.cells, found.boxes, found.columns, found.has_heads)
        first = found.end
    yield from _find_word_tables(rows[first:])


def _find_word_tables(rows: Sequence[StripRow]) -> Iterator[StripRow | PdfTable]:
    first = 0
    while first < len(rows):
        end = _find_table_end(rows, first)
        table = _table_from_rows(rows[first:end]) if len(rows[first]) > 1 else None
        if table:
            yield table
            first = end
        else:
            yield rows[first]
            first += 1


def _find_table_end(rows: Sequence[StripRow], first: int) -> int:
    """Return the end of the rows that may form a table: rows of several cells, and lines that continue cells."""
    last = first
    for number in range(first + 1, len(rows)):
        if len(rows[number]) > 1:
            last = number
        elif (
            number - last > 2
            or rows[number][0].baseline - rows[number - 1][0].baseline > MAX_LINE_GAP * rows[number][0].size
        ):
            break
    while last + 1 < len(rows) and _goes_on_with_cell(rows[last + 1], rows[last]):
        last += 1
    return last + 1


def _goes_on_with_cell(line: StripRow, row: StripRow) -> bool:
    """Return whether a line of one strip stands right below a cell of a row other than its first."""
    distance, reach = line[0].baseline - row[0].baseline, MAX_ALIGNMENT_ERROR * line[0].size
    return (
        len(line) == 1
        and distance < MAX_LINE_GAP * line[0].size
        and any(abs(line[0].start - cell.start) <= reach for cell in row[1:])
    )


def _table_from_rows(rows: Sequence[StripRow]) -> PdfTable | None:
    """Return the rows as a table; None when their cells are not aligned in columns, or too long for cells."""
    counts = Counter(len(row) for row in rows if len(row) > 1)
    width = max(counts, key=lambda cells: (counts[cells], cells))
    full = [row for row in rows if len(row) == width]
    columns = _find_table_columns([strip for row in full for strip in row])
    rows = _join_wrapped_lines(rows, columns)
    if len(full) < (3 if width == 2 else 2) or sum(len(row) > 1 for row in rows) < 0.6 * len(rows):
        return None
    lengths = sorted(len(strip.text) for row in full for strip in row)
    if len(columns) != width or lengths[len(lengths) * 3 // 4] > MAX_CELL_LETTERS:
        return None
    if not all(map(_is_column_aligned, zip(*full, strict=True))):
        return None
    merged = _merge_split_rows(rows)
    cells = tuple(_place_strips(row, columns) for row in merged)
    boxes = tuple(enclose_boxes(strip.box for strip in row) for row in merged)
    is_set_off = all(strip.bold for strip in merged[0]) and not all(strip.bold for row in merged[1:] for strip in row)
    return PdfTable(cells, boxes, tuple(columns), True if is_set_off else None)


def _find_table_columns(cells: Sequence[Strip]) -> list[tuple[float, float]]:
    """Return start and end of each column, left to right: the intervals of cells that overlap in no two columns."""
    stretches: list[tuple[float, float]] = []
    for start, end in sorted((cell.start, cell.end) for cell in cells):
        if stretches and start < stretches[-1][1]:
            stretches[-1] = (stretches[-1][0], max(stretches[-1][1], end))
        else:
            stretches.append((start, end))
    return stretches


def _is_column_aligned(cells: Sequence[Strip]) -> bool:
    """Return True when most cells of a column are aligned at their starts, their ends or their middles."""
    return any(
        sum(abs(edge - median(edges)) <= MAX_ALIGNMENT_ERROR * cells[0].size for edge in edges)
        >= MIN_ALIGNED_SHARE * len(cells)
        for edges in (
            [cell.start for cell in cells],
            [cell.end for cell in cells],
            [(cell.start + cell.end) / 2 for cell in cells],
        )
    )


def _join_wrapped_lines(lines: Sequence[StripRow], columns: Sequence[tuple[float, float]]) -> Sequence[StripRow]:
    """Join lines that go on with cells of the line above to its row, where rows stand further apart than lines do.

    Rows whose first cell is blank, as below the name of a group, stand as far apart as others, or would have fitted.
    """
    distances = [below[0].baseline - above[0].baseline for above, below in pairwise(lines)]
    size = lines[0][0].size
    limit = min(distances, default=0.0) + MIN_ROW_SPACE * size
    is_near = [False, *(distance < limit for distance in distances)]
    if all(is_near[1:]) or not all(
        _is_wrapped(lines[number], lines[number - 1], columns) for number, near in enumerate(is_near) if near
    ):
        return lines
    rows: list[StripRow] = []
    for line, near in zip(lines, is_near, strict=True):
        if near:
            rows[-1] = [*rows[-1], *line]
        else:
            rows.append(line)
    return rows


def _is_wrapped(line: StripRow, above: StripRow, columns: Sequence[tuple[float, float]]) -> bool:
    """Return whether each strip of a line goes on with one above it in its column, where it had no room."""
    cells = {_find_column(strip, columns): strip for strip in above}
    return all(
        (number := _find_column(strip, columns)) > 0
        and (cell := cells.get(number)) is not None
        and _has_no_room(strip, cell, columns[number])
        for strip in line
    )


def _has_no_room(strip: Strip, cell: Strip, column: tuple[float, float]) -> bool:
    """Return whether the first word of a strip would not have fitted behind several words of the cell above it."""
    width, used = column[1] - column[0], cell.end - column[0]
    first_word_width = strip.words[0].end - strip.words[0].start if strip.words else 0.0
    return (
        len(cell.words) > 1
        and used >= MIN_WRAPPED_FILL * width
        and used + first_word_width > width - MIN_ROW_SPACE * strip.size
    )


def _merge_split_rows(lines: Sequence[StripRow]) -> list[StripRow]:
    """Merge lines that overlap in height into one row, as of a cell with two lines beside a centred cell with one."""
    merged: list[StripRow] = []
    for line in lines:
        last = merged[-1][-1] if merged else None
        if last and line[0].baseline - last.baseline < MIN_ROW_DISTANCE * min(last.size, line[0].size):
            merged[-1] += line
        else:
            merged.append(list(line))
    return merged


def _place_strips(row: StripRow, columns: Sequence[tuple[float, float]]) -> tuple[str, ...]:
    """Return the cells of a row, each strip in the column in which it begins or that it reaches first."""
    cells = [""] * len(columns)
    for strip in row:
        column = _find_column(strip, columns)
        cells[column] = f"{cells[column]} {strip.text}".strip()
    return tuple(cells)


def _find_column(strip: Strip, columns: Sequence[tuple[float, float]]) -> int:
    """Return the number of the column in which a strip begins or that it reaches first."""
    return next((number for number, (_, end) in enumerate(columns) if strip.start < end), len(columns) - 1)
