"""What the answer of a program says: the result, how the question was read, and the cells that it is of."""

from collections.abc import Sequence
from decimal import Decimal

from rag_core.answering.computing.operations import CitedCell, Computation, Resolved
from rag_core.answering.computing.stated_results import (
    describe_extreme,
    find_scale,
    format_figure,
    join_listed,
    list_best,
    list_cells,
    list_labels,
    name_cell,
    note_missing,
)
from rag_core.text.cell_values import DATE, TIME, YEARLESS_DATE

_MINUTES_PER_HOUR = 60


def state_program(resolved: Resolved, operation: str) -> str:
    """Return the result of a program's operation, how the question was read, and the cells in words."""
    computation, cells = resolved.computation, resolved.computation.cells
    condition = f" with {resolved.condition}" if resolved.condition else ""
    scale = find_scale(resolved.table, cells) if cells else ""
    match computation.kind:
        case "count":
            return _state_count(resolved, condition)
        case "lookup":
            return _state_lookup(cells, condition, scale) + note_missing(resolved, "Empty")
        case "sum" | "average":
            total = _format_value(computation.result, cells, scale)
            operation = f"{computation.kind.capitalize()} of {cells[0].column}{condition}"
            return f"{total}. {operation}: {list_cells(cells)}." + note_missing(resolved)
        case "extreme":
            return _state_extreme(resolved, condition, scale) + note_missing(resolved)
        case "compare":
            return _state_comparison(resolved, scale, operation)
    return _state_sides(computation, resolved.sides, scale)


def _state_count(resolved: Resolved, condition: str) -> str:
    cells = resolved.computation.cells
    if not cells:
        return f"0. Counted: rows{condition}: none of {len(resolved.table.rows)}."
    if resolved.is_distinct:
        of = f"different {cells[0].column}{condition}"
        return f"{len(cells)}. Counted: {of}: {join_listed([cell.text for cell in cells])}."
    return f"{len(cells)}. Counted: rows{condition}: {list_labels(cells)}."


def _state_lookup(cells: Sequence[CitedCell], condition: str, scale: str) -> str:
    if len(cells) == 1 and cells[0].text != cells[0].row.label:
        return f"{cells[0].text}{scale}. Selected: {cells[0].column} of {cells[0].row.label}{condition}."
    listed = join_listed(list(dict.fromkeys(cell.text for cell in cells)))
    return f"{listed}{scale}. Selected: {cells[0].column} of {len(cells)} rows{condition}."


def _state_extreme(resolved: Resolved, condition: str, scale: str) -> str:
    best = list_best(resolved.computation)
    names = list(dict.fromkeys(cell.text for cell in resolved.given or best))
    labels = " and ".join(dict.fromkeys(cell.row.label for cell in best))
    is_named = labels in (" and ".join(names), best[0].text)
    of = best[0].text if is_named else f"{labels}, {best[0].text}"
    return f"{' and '.join(names)}: {of}{scale}. {describe_extreme(resolved.computation, condition)}."


def _state_sides(computation: Computation, sides: tuple[str, str], scale: str) -> str:
    cells, split = computation.cells, computation.split
    if computation.kind == "share of rows":
        part, whole = split, len(cells) - split
        of = f"{whole} rows" + (f" with {sides[1]}" if sides[1] else "")
        counted = f"{part} of {of}: {list_labels(cells[:split])}"
        return f"{_round(computation.result)}%. Share of rows with {sides[0]}: {counted}."
    named = [_state_side(side, cells, words) for side, words in zip((cells[:split], cells[split:]), sides, strict=True)]
    both = f"{named[0]}; {named[1]}{scale}"
    heads = " and ".join(dict.fromkeys(cell.column for cell in cells))
    match computation.kind:
        case "share":
            return f"{_round(computation.result)}%. Share of {heads}: {both}."
        case "multiple":
            return f"{_round(computation.result)}. Ratio of {heads}: {both}."
        case "ratio":
            change = "more" if computation.result >= 0 else "less"
            return f"{_round(abs(computation.result))}% {change}. Change of {heads} in percent: {both}."
    return f"{_format_value(abs(computation.result), cells, scale, is_between=True)}. Difference of {heads}: {both}."


def _state_comparison(resolved: Resolved, scale: str, operation: str) -> str:
    """Return which side is more and by how much, after "Yes" or "No" where one direction was asked for."""
    cells, split, result = resolved.computation.cells, resolved.computation.split, resolved.computation.result
    parts = list(zip((cells[:split], cells[split:]), resolved.sides, strict=True))
    both = "; ".join(_state_side(side, cells, words) for side, words in parts) + scale
    first, second = _name_sides(parts, resolved)
    more, less = ("later", "earlier") if _are_dates(cells) else ("more", "less")
    amount = _format_value(abs(result), cells, scale, is_between=True)
    found = f"{first} is {amount} {less if result > 0 else more} than {second}"
    found = found if result else f"{first} and {second} are equal"
    asked = {"is_more": result < 0, "is_less": result > 0}.get(operation)
    reply = "" if asked is None else "Yes: " if asked else "No: "
    heads = " and ".join(dict.fromkeys(cell.column for cell in cells))
    return f"{reply}{found}. Compared {heads}: {both}."


def _name_sides(parts: Sequence[tuple[Sequence[CitedCell], str]], resolved: Resolved) -> list[str]:
    """Return the names of both sides: the cells by which they were chosen, else their rows, columns or conditions."""
    chosen = [[cell.text for cell in resolved.conditions if cell.row is side[0].row] for side, _ in parts]
    is_each_one = all(len(side) == len(cells) == 1 for (side, _), cells in zip(parts, chosen, strict=True))
    if is_each_one and chosen[0] != chosen[1]:
        return [cells[0] for cells in chosen]
    cells = resolved.computation.cells
    names = [name_cell(side[0], cells) if len(side) == 1 else words or "all rows" for side, words in parts]
    return names if len(set(names)) > 1 else [words or name for (_, words), name in zip(parts, names, strict=True)]


def _are_dates(cells: Sequence[CitedCell]) -> bool:
    return not {cell.figure.unit for cell in cells if cell.figure}.isdisjoint((DATE, YEARLESS_DATE))


def _state_side(side: Sequence[CitedCell], cells: Sequence[CitedCell], words: str) -> str:
    if len(side) == 1:
        return f"{name_cell(side[0], cells)}: {side[0].text}"
    return f"{words or 'all rows'} ({list_cells(side)})"


def _round(value: Decimal) -> str:
    """Return a ratio with one place behind the point from 10 on, else with two."""
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _format_value(value: Decimal, cells: Sequence[CitedCell], scale: str, *, is_between: bool = False) -> str:
    """Return a value in the unit of its cells: days between dates, and hours with minutes for times."""
    if _are_dates(cells):
        return f"{value} days"
    if TIME in {cell.figure.unit for cell in cells if cell.figure}:
        hours, minutes = divmod(round(value), _MINUTES_PER_HOUR)
        return f"{hours}:{minutes:02} h" + (f", {value} minutes" if is_between else "")
    return format_figure(value, cells, scale)
