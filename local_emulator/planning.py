"""The prompt "plan" on the side of the model: a program by the word rules, from the question and the heads shown.

A prompt has the different cells of each column and no rows. Rows are laid out of these, so that the rules can read the
table; what they would compute over such rows is translated into a program, and the result is thrown away.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rag_core import prompts
from rag_core.answering.computing.operations import CitedCell, Resolved
from rag_core.answering.computing.planning import SHOWN_CELLS
from rag_core.answering.computing.programs import name_column
from rag_core.answering.computing.questions import CONDITIONED, AskedOperation, parse_operation
from rag_core.answering.computing.resolution import TableView, resolve
from rag_core.answering.computing.stored_tables import CitedRow, StoredTable, name_rows
from rag_core.core.model import Chunk

Fields = Mapping[str, object]
Columns = Sequence[Sequence[str]]  # the cells of each

NO_PROGRAM: Fields = {
    **dict.fromkeys(["table", "operation", "column", "give", "other_column"], prompts.NOT_NEEDED),
    "where": [],
    "other_where": [],
}
_PAIRED = {"difference": "difference", "ratio": "percent_change", "share": "share"}
_NOWHERE = Chunk("", "", 0, "", "", "", "")
_FILLER = "·"  # repeated, the label of a row that has none: it has no word, and no two are alike


def plan_by_words(inputs: Mapping[str, Any]) -> Fields:
    """Return the fields of a reply: the program that the words of a question ask for, or none.

    None is also for what a program cannot say, such as a row that has one of two values.
    """
    asked = parse_operation(str(inputs["question"]))
    if asked is None:
        return NO_PROGRAM
    tables = [_rebuild_table(shown, asked) for shown in inputs["tables"]]
    outcome = resolve(asked, tables)
    if not isinstance(outcome, Resolved):
        return NO_PROGRAM
    at = next(n for n, table in enumerate(tables) if table is outcome.table)
    return {**NO_PROGRAM, **(_write_program(asked, outcome, str(inputs["tables"][at]["id"])) or {})}


def _rebuild_table(shown: Mapping[str, Any], asked: AskedOperation) -> StoredTable:
    """Lay out a table in which every cell that is shown stands, and rows that meet the conditions of the question."""
    columns: Columns = [column["cells"] for column in shown["columns"]]
    height = max(map(len, columns))
    name_at = name_rows(_lay_out(shown, [[*cells, *[""] * (height - len(cells))] for cells in columns])).name_at
    table = _lay_out(shown, _level(columns, shown["rows"], name_at, {}), name_at)
    if asked.is_negated or asked.kind not in CONDITIONED:
        return table
    wanted = dict(reversed(TableView.from_table(asked, table).equal_cells))
    return _lay_out(shown, _level(columns, shown["rows"], name_at, wanted), name_at)


def _lay_out(shown: Mapping[str, Any], columns: Columns, name_at: int = 0) -> StoredTable:
    heads = tuple(column["name"] for column in shown["columns"])
    rows = tuple(CitedRow(_NOWHERE, 0, 0, tuple(cells), name_at=name_at) for cells in zip(*columns, strict=True))
    return StoredTable("", shown["about"], heads, rows, is_list=len(heads) == 1)


def _level(columns: Columns, row_count: int, name_at: int, wanted: Mapping[int, str]) -> Columns:
    """Return columns of one height: below the cells that are shown stand the wanted ones, or the same again.

    A row has a label of its own, unless the labels are known to be fewer than the rows.
    """
    label_count, longest = len(columns[name_at]), max(map(len, columns))
    may_be_cut = label_count == longest and longest in SHOWN_CELLS
    is_repeated = label_count < row_count and not may_be_cut
    height = longest * (2 if wanted else 1)
    levelled = []
    for n, cells in enumerate(columns):
        missing = range(len(cells), height)
        if n in wanted:
            below = [wanted[n] for _ in missing]
        elif n in (0, name_at) and not is_repeated:
            below = [_FILLER * k for k in missing]
        else:
            below = [cells[k % len(cells)] for k in missing] if cells else ["" for _ in missing]
        levelled.append([*cells, *below])
    return levelled


def _write_program(asked: AskedOperation, outcome: Resolved, table_id: str) -> Fields | None:
    """Return the fields of a program for what the rules would compute; None where no program says it."""
    computation, table = outcome.computation, outcome.table
    heads = [_name_head(cell, table, table_id) for cell in computation.cells]
    if None in heads:
        return None
    if computation.kind in _PAIRED:
        first, second = computation.cells
        where, other_where = (_write_label(cell, table, table_id) for cell in (first, second))
        program: Fields = {"column": heads[0], "where": where, "other_column": heads[1], "other_where": other_where}
        return {"table": table_id, "operation": _PAIRED[computation.kind], **program} if where and other_where else None
    view = TableView.from_table(asked, table)
    conditions = _write_conditions(view, table_id)
    operation = _choose_operation(asked, outcome)
    if conditions is None or operation is None or (view.list_named() and operation != "count"):
        return None
    columns = {"column": heads[0]} if operation in ("sum", "average", "highest", "lowest") else {}
    name = heads[0] if operation == "count_distinct" else name_column(table_id, computation.cells[0].row.name_at)
    given = {"give": name} if operation in ("lookup", "highest", "lowest", "count_distinct") else {}
    return {"table": table_id, "operation": operation, "where": conditions, **columns, **given}


def _choose_operation(asked: AskedOperation, outcome: Resolved) -> str | None:
    match outcome.computation.kind:
        case "count":
            return "count_distinct" if outcome.is_distinct else "count"
        case "extreme":
            return "highest" if outcome.computation.is_highest else "lowest"
        case "filter":
            return "lookup"
        case "sum" | "average" as kind:
            return kind
    return None


def _name_head(cell: CitedCell, table: StoredTable, table_id: str) -> str | None:
    """Return the id of the column of a cell; None where two columns have its name."""
    return name_column(table_id, table.columns.index(cell.column)) if table.columns.count(cell.column) == 1 else None


def _write_label(cell: CitedCell, table: StoredTable, table_id: str) -> list[Fields] | None:
    """Return the condition on the row of a cell, by its label; None where other rows have it too."""
    is_own = [row.label for row in table.rows].count(cell.row.label) == 1
    return [_write_condition(table_id, cell.row.name_at, "=", cell.row.label)] if is_own else None


def _write_conditions(view: TableView, table_id: str) -> list[Fields] | None:
    """Return the conditions of a question on a row; None where it has to meet one of several, or compares two cells."""
    equal, compared = view.equal_cells, view.columns.list_compared()
    is_denied = view.denies_cells
    if (len(dict(equal)) < len(equal) and not is_denied) or len(compared) > 1:
        return None
    relation = "!=" if is_denied else "="
    conditions = [_write_condition(table_id, column, relation, cell) for column, cell in equal]
    for condition in view.asked.conditions:
        column = view.columns.find_of_condition(condition)
        if column is None:
            return None
        conditions.append(_write_condition(table_id, column, condition.comparison, str(condition.figure.value)))
    return conditions + [_write_condition(table_id, n, view.columns.compared_relation, "0") for n in compared]


def _write_condition(table_id: str, column: int, relation: str, value: str) -> Fields:
    return {"column": name_column(table_id, column), "relation": relation, "value": value}
