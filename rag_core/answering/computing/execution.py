"""Programs carried out over the cells of a table, by the operations that the word rules use as well."""

from collections.abc import Sequence

from rag_core.answering.computing.named_cells import is_total
from rag_core.answering.computing.operations import (
    CitedCell,
    OperationKind,
    Resolved,
    Unresolved,
    compute,
    find_mixed_units,
    find_obstacle,
)
from rag_core.answering.computing.programs import (
    Program,
    RowCondition,
    find_doubt,
    find_unfounded,
    fold,
    group_conditions,
    is_blank,
    meets,
    name_head,
    write_conditions,
)
from rag_core.answering.computing.stored_tables import CitedRow
from rag_core.text.cell_values import DATE, YEARLESS_DATE, parse_cell_value

_DATES = (DATE, YEARLESS_DATE)
_PAIRED: dict[str, OperationKind] = {
    "compare": "compare",
    "is_more": "compare",
    "is_less": "compare",
    "difference": "difference",
    "ratio": "multiple",
    "percent_change": "ratio",
    "share": "share",
}
_ADDED: dict[str, OperationKind] = {"sum": "sum", "average": "average"}


def run_program(program: Program, question: str) -> Resolved | Unresolved:
    """Return the result of a program over its table, or why it has none."""
    if not program.table.is_whole:
        return Unresolved("a row of the table is stored in parts, so it may be incomplete")
    if reason := find_unfounded(program):
        return Unresolved(reason, absent_from=program.table if _names_no_row(program, question) else None)
    doubt = find_doubt(program, question)
    match program.operation:
        case "lookup":
            return _look_up(program, doubt)
        case "count" | "count_distinct":
            return _count(program, doubt)
        case "sum" | "average" | "highest" | "lowest":
            return _run_across(program, doubt)
        case "share" if program.column is None:
            return _share_rows(program, doubt)
    return _compare_sides(program, doubt)


def _names_no_row(program: Program, question: str) -> bool:
    """Return whether a cell is looked up in a row that the question names and the table does not have."""
    values = [c.value for c in program.where if c.relation == "=" and c.other is None]
    rows = program.table.rows
    absent = [value for value in values if not any(fold(value) == fold(cell) for row in rows for cell in row.cells)]
    return program.operation == "lookup" and any(fold(value) in fold(question) for value in absent)


def _select(program: Program, conditions: Sequence[RowCondition]) -> list[CitedRow]:
    """Return the rows that meet conditions, those of totals only where one of these names it."""
    table = program.table
    groups = group_conditions(conditions)
    rows = [row for row in table.rows if meets(row, groups)]
    is_named = any(condition.column in (0, table.name_at) and condition.relation == "=" for condition in conditions)
    return [row for row in rows if is_named or table.is_list or not is_total(row, table)]


def _write(program: Program, conditions: Sequence[RowCondition]) -> str:
    return write_conditions(conditions, program.table)


def _explain_empty(program: Program, conditions: Sequence[RowCondition]) -> str:
    return f"no row has {_write(program, conditions)}" if conditions else "the program chooses no rows"


def _get_cell(program: Program, row: CitedRow, column: int) -> CitedCell:
    return CitedCell(row, program.table.columns[column], row.cells[column], parse_cell_value)


def _get_name(program: Program, row: CitedRow) -> CitedCell:
    """Return the cell that names a row; its first cell that is not empty where that one is."""
    named = [row.name_at, *range(len(row.cells))]
    return _get_cell(program, row, next((n for n in named if row.cells[n].strip()), row.name_at))


def _list_condition_cells(program: Program, rows: Sequence[CitedRow]) -> tuple[CitedCell, ...]:
    """Return the cells by which rows were chosen, those that have words."""
    columns = dict.fromkeys(n for c in program.conditions for n in (c.column, c.other) if n is not None)
    return tuple(_get_cell(program, row, n) for row in rows for n in columns if row.cells[n].strip())


def _look_up(program: Program, doubt: str) -> Resolved | Unresolved:
    column = program.give if program.give is not None else program.column
    if column is None:
        return Unresolved("the program does not say which column is asked for")
    rows = _select(program, program.where)
    cells = [_get_cell(program, row, column) for row in rows if not is_blank(row.cells[column])]
    empty = tuple(row.label for row in rows if is_blank(row.cells[column]))
    if not cells:
        if not rows:
            return Unresolved(_explain_empty(program, program.where), absent_from=program.table)
        return _explain_empty_cell(_get_cell(program, rows[0], column), program)
    return Resolved(
        program.table,
        compute("lookup", cells),
        _write(program, program.where),
        empty,
        conditions=_list_condition_cells(program, rows),
        doubt=doubt,
    )


def _explain_empty_cell(cell: CitedCell, program: Program) -> Unresolved:
    return Unresolved(f"the table has no {cell.column or 'cell'} for {cell.row.label}", absent_from=program.table)


def _count(program: Program, doubt: str) -> Resolved | Unresolved:
    """Count rows, or different cells; where there are none, the cells that do not meet the conditions are cited."""
    rows, condition = _select(program, program.where), _write(program, program.where)
    is_distinct = program.operation == "count_distinct"
    if is_distinct:
        column = program.give if program.give is not None else program.column
        if column is None:
            return Unresolved("the program does not say of which column different cells are counted")
        first: dict[str, CitedRow] = {}
        for row in rows:
            first.setdefault(row.cells[column].strip(), row)
        cells = [_get_cell(program, row, column) for text, row in first.items() if text]
    else:
        cells = [_get_name(program, row) for row in rows]
    asked = rows if cells else list(program.table.rows)
    return Resolved(
        program.table,
        compute("count", cells),
        condition,
        is_distinct=is_distinct,
        conditions=_list_condition_cells(program, asked),
        doubt=doubt,
    )


def _run_across(program: Program, doubt: str) -> Resolved | Unresolved:
    """Add, average or choose among the cells of a column; rows whose cell has no value are named."""
    if program.column is None:
        return Unresolved("the program does not say which column is computed with")
    rows = _select(program, program.where)
    cells = [_get_cell(program, row, program.column) for row in rows]
    valued = [cell for cell in cells if cell.figure]
    missing = tuple(cell.row.label for cell in cells if not cell.figure)
    if not valued:
        return Unresolved(f"no row has a figure in {name_head(program.table, program.column)}")
    if program.operation in _ADDED and (without := _find_value_without_figure(program, valued)):
        return Unresolved(f"no row with {without} has a figure in {name_head(program.table, program.column)}")
    if reason := find_mixed_units(valued):
        return Unresolved(reason)
    condition = _write(program, program.where)
    unvalued = [_get_name(program, cell.row) for cell in cells if not cell.figure]
    conditions = (*_list_condition_cells(program, rows), *unvalued)
    if program.operation in _ADDED:
        if _has_dates(valued):
            return Unresolved("dates cannot be added")
        computation = compute(_ADDED[program.operation], valued)
        return Resolved(program.table, computation, condition, missing, conditions=conditions, doubt=doubt)
    computation = compute("extreme", valued, is_highest=program.operation == "highest")
    best = [cell.row for cell in valued if cell.value == computation.result]
    give = program.give if program.give is not None else program.table.name_at
    given = tuple(_get_cell(program, row, give) for row in best if row.cells[give].strip())
    return Resolved(program.table, computation, condition, missing, given=given, conditions=conditions, doubt=doubt)


def _find_value_without_figure(program: Program, valued: Sequence[CitedCell]) -> str:
    """Return which of several values that rows may have has nothing to add, "" for none: a sum lacks what it names."""
    for group in group_conditions(program.where):
        for condition in group if len(group) > 1 else ():
            if not any(condition.holds(cell.row) for cell in valued):
                return _write(program, [condition])
    return ""


def _has_dates(cells: Sequence[CitedCell]) -> bool:
    return any(cell.figure is not None and cell.figure.unit in _DATES for cell in cells)


def _share_rows(program: Program, doubt: str) -> Resolved | Unresolved:
    whole = _select(program, program.other_where)
    part = [row for row in whole if meets(row, group_conditions(program.where))]
    if not part or not program.where:
        return Unresolved(_explain_empty(program, program.where))
    cells = [_get_name(program, row) for row in (*part, *whole)]
    return Resolved(
        program.table,
        compute("share of rows", cells, split=len(part)),
        _write(program, program.where),
        sides=(_write(program, program.where), _write(program, program.other_where)),
        conditions=_list_condition_cells(program, whole),
        doubt=doubt,
    )


def _compare_sides(program: Program, doubt: str) -> Resolved | Unresolved:
    """Compute with the cells of two sides, which are added where a side has several rows."""
    if program.column is None:
        return Unresolved("the program does not say which column is computed with")
    other = program.column if program.other_column is None else program.other_column
    is_in_row = other != program.column and program.operation not in ("share", "ratio")
    other_where = program.other_where or (program.where if is_in_row else ())
    rows, other_rows = _select(program, program.where), _select(program, other_where)
    first = [_get_cell(program, row, program.column) for row in rows]
    second = [_get_cell(program, row, other) for row in other_rows]
    if first == second:
        return Unresolved("both sides of the computation are the same")
    if not first or not second:
        return Unresolved(_explain_empty(program, program.where if not first else other_where))
    if empty := next((cell for cell in (*first, *second) if is_blank(cell.text)), None):
        return _explain_empty_cell(empty, program)
    if reason := find_obstacle([*first, *second]):
        return Unresolved(reason)
    kind = _PAIRED[program.operation]
    if kind not in ("difference", "compare") and _has_dates(first):
        return Unresolved("of dates there is no ratio")
    if _has_dates(first) and len(first) + len(second) > 2:
        return Unresolved("dates cannot be added")
    divisor = sum(cell.value for cell in (first if kind == "ratio" else second))
    if kind not in ("difference", "compare") and not divisor:
        return Unresolved("one side is 0, by which nothing is divided")
    return Resolved(
        program.table,
        compute(kind, [*first, *second], split=len(first)),
        sides=(_write(program, program.where), _write(program, other_where)),
        conditions=_list_condition_cells(program, [*rows, *other_rows]),
        doubt=doubt,
    )
