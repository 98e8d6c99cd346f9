"""The operations on cited cells, each computed again from the cells alone by who verifies the answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from rag_core.answering.computing.stored_tables import CitedRow
from rag_core.text.figures import Figure, parse_figure

OperationKind = Literal[
    "count", "sum", "compare", "extreme", "filter", "difference", "ratio", "average", "share", "lookup"
]
AVERAGE_PLACES = 2  # behind the point
UNCOMPUTED = ("count", "filter", "lookup")  # over cells that need be no figures; the result is their number


@dataclass(frozen=True, slots=True)
class CitedCell:
    """A cell of a row, with the name of its column."""

    row: CitedRow
    column: str
    text: str

    @property
    def figure(self) -> Figure | None:
        return parse_figure(self.text)

    @property
    def value(self) -> Decimal:
        """The value of a cell that is known to have one."""
        figure = self.figure
        return figure.value if figure else Decimal(0)


@dataclass(frozen=True, slots=True)
class Computation:
    """An operation over cells and its result; `is_highest` is the direction of an extreme."""

    kind: OperationKind
    cells: tuple[CitedCell, ...]
    result: Decimal
    is_highest: bool = True


def compute(kind: OperationKind, cells: Sequence[CitedCell], *, is_highest: bool = True) -> Computation:
    """Return the result of an operation; of two cells, a difference and a ratio are of the second to the first.

    A share is that of the first in the second, in percent.
    """
    return Computation(
        kind, tuple(cells), _compute_result(kind, [cell.value for cell in cells], is_highest), is_highest
    )


def is_recomputed(computation: Computation) -> bool:
    """Return whether the result follows from the cells as they stand in what is quoted, read once more."""
    if not all(cell.text and cell.text in cell.row.quote for cell in computation.cells):
        return False
    figures = [parse_figure(cell.text) for cell in computation.cells]
    if computation.kind not in UNCOMPUTED and not all(figures):
        return False
    values = [figure.value if figure else Decimal(0) for figure in figures]
    return _compute_result(computation.kind, values, computation.is_highest) == computation.result


def _compute_result(kind: OperationKind, values: Sequence[Decimal], is_highest: bool) -> Decimal:
    if kind in UNCOMPUTED:
        return Decimal(len(values))
    if kind == "sum":
        return sum(values, Decimal(0))
    if kind == "average":
        return round(sum(values, Decimal(0)) / len(values), AVERAGE_PLACES)
    if kind == "extreme":
        return max(values) if is_highest else min(values)
    if kind == "share":
        return values[0] / values[1] * 100
    change = values[1] - values[0]
    return change / abs(values[0]) * 100 if kind == "ratio" else change


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
