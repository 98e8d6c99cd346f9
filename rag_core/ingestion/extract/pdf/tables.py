"""Rows whose cells stand under each other, found by the white between them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from rag_core.core.model import Box
from rag_core.ingestion.extract.pdf.lines import Strip, box_around

CELL = 45  # letters that most cells of a table do not exceed: longer ones may be two columns of text
NEAR = 2.0  # of the type's size, from line to line: a further line is no continuation of a cell
ASKEW = 0.3  # of the type's size: as far as a cell may stand off the others of its column,
MOST = 0.7  # of which have to stand truer
HEIGHT = 0.9  # of the type's size: lines nearer than that are one row

Row = list[Strip]


@dataclass(frozen=True, slots=True)
class Table:
    """The text and the box of each row, top to bottom."""

    rows: tuple[str, ...]
    boxes: tuple[Box, ...]


def found(rows: Sequence[Row]) -> Iterator[Row | Table]:
    """The rows in order, those of a table as one."""
    at = 0
    while at < len(rows):
        stop = _stop(rows, at)
        table = _table(rows[at:stop]) if len(rows[at]) > 1 else None
        if table:
            yield table
            at = stop
        else:
            yield rows[at]
            at += 1


def _stop(rows: Sequence[Row], first: int) -> int:
    """Where the rows end that may form a table: rows of several cells, with the continuations of cells between."""
    last = first
    for number in range(first + 1, len(rows)):
        if len(rows[number]) > 1:
            last = number
        elif number - last > 2 or rows[number][0].base - rows[number - 1][0].base > NEAR * rows[number][0].size:
            break
    return last + 1


def _table(rows: Sequence[Row]) -> Table | None:
    """None when the cells do not stand in columns, or are not cells at all."""
    counts = Counter(len(row) for row in rows if len(row) > 1)
    width = max(counts, key=lambda cells: (counts[cells], cells))
    full = [row for row in rows if len(row) == width]
    if len(full) < (3 if width == 2 else 2) or sum(counts.values()) < 0.6 * len(rows):
        return None
    columns = _columns([strip for row in full for strip in row])
    lengths = sorted(len(strip.text) for row in full for strip in row)
    if len(columns) != width or lengths[len(lengths) * 3 // 4] > CELL:
        return None
    if not all(map(_aligned, zip(*full, strict=True))):
        return None
    whole = _rows(rows)
    return Table(
        tuple(_line(row, columns) for row in whole), tuple(box_around(strip.box for strip in row) for row in whole)
    )


def _columns(cells: Sequence[Strip]) -> list[tuple[float, float]]:
    """The stretches that cells stand in, left to right, parted by white in every row."""
    stretches: list[tuple[float, float]] = []
    for start, end in sorted((cell.start, cell.end) for cell in cells):
        if stretches and start < stretches[-1][1]:
            stretches[-1] = (stretches[-1][0], max(stretches[-1][1], end))
        else:
            stretches.append((start, end))
    return stretches


def _aligned(cells: Sequence[Strip]) -> bool:
    """Whether most of the cells of a column have their beginnings, their ends or their middles under each other."""
    return any(
        sum(abs(place - median(places)) <= ASKEW * cells[0].size for place in places) >= MOST * len(cells)
        for places in (
            [cell.start for cell in cells],
            [cell.end for cell in cells],
            [(cell.start + cell.end) / 2 for cell in cells],
        )
    )


def _rows(lines: Sequence[Row]) -> list[Row]:
    """Lines that stand partly beside each other as one row: a cell of two lines beside one of one in its middle."""
    whole: list[Row] = []
    for line in lines:
        last = whole[-1][-1] if whole else None
        if last and line[0].base - last.base < HEIGHT * min(last.size, line[0].size):
            whole[-1] += line
        else:
            whole.append(list(line))
    return whole


def _line(row: Row, columns: Sequence[tuple[float, float]]) -> str:
    """The cells, each in the column that it begins in or first reaches, joined by " | "."""
    cells = [""] * len(columns)
    for strip in row:
        at = next((n for n, (_, end) in enumerate(columns) if strip.start < end), len(columns) - 1)
        cells[at] = f"{cells[at]} {strip.text}".strip()
    return " | ".join(cells).strip()
