"""The operations on cited cells, each computed again from the cells alone by who verifies the answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from rag_core.answering.computing.stored_tables import CitedRow, StoredTable
from rag_core.text.figures import Figure, parse_figure

OperationKind = Literal[
    "count",
    "sum",
    "compare",
    "extreme",
    "filter",
    "difference",
    "ratio",
    "average",
    "share",
    "lookup",
    "multiple",
    "share of rows",
]
AVERAGE_PLACES = 2  # behind the point
UNCOMPUTED = ("count", "filter", "lookup", "share of rows")  # over cells that need be no figures


@dataclass(frozen=True, slots=True)
class CitedCell:
    """A cell of a row, with the name of its column, and what reads its figure."""

    row: CitedRow
    column: str
    text: str
    read: Callable[[str], Figure | None] = parse_figure

    @property
    def figure(self) -> Figure | None:
        return self.read(self.text)

    @property
    def value(self) -> Decimal:
        """The value of a cell that is known to have one."""
        figure = self.figure
        return figure.value if figure else Decimal(0)


@dataclass(frozen=True, slots=True)
class Computation:
    """An operation over cells and its result; `is_highest` is the direction of an extreme.

    The first `split` cells are the first side of an operation on two, whose cells are added.
    """

    kind: OperationKind
    cells: tuple[CitedCell, ...]
    result: Decimal
    is_highest: bool = True
    split: int = 1


@dataclass(frozen=True, slots=True)
class Resolved:
    """A computation over a table, with the condition in words and the rows that have no figure where one was needed.

    `sides` are the conditions of an operation on two sides. `given` are the cells asked for of the rows computed with,
    and `conditions` the cells by which rows were chosen, where others than those computed with.
    """

    table: StoredTable
    computation: Computation
    condition: str = ""
    without_figure: tuple[str, ...] = ()
    is_distinct: bool = False  # of a count: of different cells of a column, each cited once
    sides: tuple[str, str] = ("", "")
    given: tuple[CitedCell, ...] = ()
    conditions: tuple[CitedCell, ...] = ()
    doubt: str = ""  # what the question does not say of the program that a model made of it


@dataclass(frozen=True, slots=True)
class Unresolved:
    """The reason why something that was asked is not computed; another table may have the column that one lacks.

    `absent_from` is a table that was read as asked, and has no such row or an empty cell there.
    """

    reason: str
    lacks_column: bool = False
    absent_from: StoredTable | None = None


def compute(kind: OperationKind, cells: Sequence[CitedCell], *, is_highest: bool = True, split: int = 1) -> Computation:
    """Return the result of an operation; of two sides, a difference and a ratio are of the second to the first.

    A share is that of the first in the second, in percent, and a multiple how many times the second the first is.
    """
    values = [cell.value for cell in cells]
    return Computation(kind, tuple(cells), _compute_result(kind, values, is_highest, split), is_highest, split)


def is_recomputed(computation: Computation) -> bool:
    """Return whether the result follows from the cells as they stand in what is quoted, read once more."""
    if not all(cell.text for cell in computation.cells) or not are_quoted(computation.cells):
        return False
    figures = [cell.figure for cell in computation.cells]
    if computation.kind not in UNCOMPUTED and not all(figures):
        return False
    values = [figure.value if figure else Decimal(0) for figure in figures]
    again = _compute_result(computation.kind, values, computation.is_highest, computation.split)
    return again == computation.result


def are_quoted(cells: Sequence[CitedCell]) -> bool:
    """Return whether cells stand in the rows that are quoted for them."""
    return all(cell.text in cell.row.quote for cell in cells)


def _compute_result(kind: OperationKind, values: Sequence[Decimal], is_highest: bool, split: int) -> Decimal:
    if kind == "share of rows":
        return Decimal(split) / (len(values) - split) * 100
    if kind in UNCOMPUTED:
        return Decimal(len(values))
    if kind == "sum":
        return sum(values, Decimal(0))
    if kind == "average":
        return round(sum(values, Decimal(0)) / len(values), AVERAGE_PLACES)
    if kind == "extreme":
        return max(values) if is_highest else min(values)
    first, second = sum(values[:split], Decimal(0)), sum(values[split:], Decimal(0))
    if kind in ("share", "multiple"):
        return first / second * (100 if kind == "share" else 1)
    return (second - first) / abs(first) * 100 if kind == "ratio" else second - first


def find_unit(cells: Sequence[CitedCell]) -> str:
    """Return the unit of the first figure that has one."""
    return next((cell.figure.unit for cell in cells if cell.figure and cell.figure.unit), "")


def find_obstacle(cells: Sequence[CitedCell]) -> str:
    """Return why cells cannot be computed with, "" for no reason."""
    missing = [cell for cell in cells if not cell.figure]
    if missing:
        return f"“{missing[0].row.label}” has no figure in {missing[0].column}"
    return find_mixed_units(cells)


def find_mixed_units(cells: Sequence[CitedCell]) -> str:
    """Return why figures cannot be compared; a figure without a unit has that of the others."""
    units = {cell.figure.unit for cell in cells if cell.figure and cell.figure.unit}
    return f"the figures are in different units: {', '.join(sorted(units))}" if len(units) > 1 else ""
