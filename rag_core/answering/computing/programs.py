"""Programs over tables as a chat model plans them: an operation, its columns, and the conditions on rows."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_core import prompts
from rag_core.answering.computing.degrees import points_down
from rag_core.answering.computing.named_cells import fold_words
from rag_core.answering.computing.stored_tables import CitedRow, StoredTable
from rag_core.prompts.completions import make_invalid_completion_error
from rag_core.text.cell_values import MOMENTS, parse_cell_value
from rag_core.text.figures import Figure
from rag_core.text.identifiers import UNITS

MAX_SHOWN_CHARS = 80  # of a value in words
MIN_NAME_LETTERS = 4  # of a cell that a question names: shorter ones are words of any question
_EMPTY = "empty"
_BRACKETED = re.compile(r"\(([^()]{1,12})\)")
_BOTH = re.compile(r"\bboth\b", re.IGNORECASE)
_MORE = re.compile(r"\b(?:more|greater|higher|larger)\b", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_THOUSANDS_MARK = re.compile(r"(?<=\d)[,’'](?=\d{3}(?!\d))")


@dataclass(frozen=True, slots=True)
class RowCondition:
    """What the cell of a row in a column has to be: related to a value, or to the row's cell in the `other` column.

    Columns are indices. Several values that a column has to be equal to mean any of them, see `meets`.
    """

    column: int
    relation: str
    value: str
    other: int | None = None

    @property
    def is_comparison(self) -> bool:
        return self.relation in ("<", "<=", ">", ">=")

    def holds(self, row: CitedRow) -> bool:
        """Return whether a row meets the condition; a cell that cannot be compared does not."""
        cell, value = row.cells[self.column], self.value
        if self.other is not None:
            value = row.cells[self.other]
            if not cell.strip() or not value.strip():
                return False
        match self.relation:
            case "=":
                return is_same(cell, value)
            case "!=":
                return not is_same(cell, value)
            case "contains":
                return fold(value) in fold(cell)
        figure, limit = parse_cell_value(cell), parse_cell_value(value)
        if figure is None or limit is None or not are_comparable(figure, limit):
            return False
        a, b = figure.value, limit.value
        return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[self.relation]

    def write_value(self, table: StoredTable) -> str:
        """Return the value as the table has it, or the name of the other column."""
        if self.other is not None:
            return name_head(table, self.other)
        cells = (row.cells[self.column] for row in table.rows)
        value = next((cell for cell in cells if self.relation != "contains" and is_same(cell, self.value)), self.value)
        return " ".join(value.split())[:MAX_SHOWN_CHARS] or _EMPTY


def name_head(table: StoredTable, column: int) -> str:
    """Return the name of a column, a word in its place where it has none."""
    return table.columns[column] or ("row" if column in (0, table.name_at) else f"column {column + 1}")


def group_conditions(conditions: Sequence[RowCondition]) -> list[list[RowCondition]]:
    """Return the conditions of which a row has to meet one in each group: the values for one column are together."""
    groups: dict[object, list[RowCondition]] = {}
    for n, condition in enumerate(conditions):
        is_value = condition.relation == "=" and condition.other is None
        groups.setdefault(("=", condition.column) if is_value else n, []).append(condition)
    return list(groups.values())


def meets(row: CitedRow, groups: Sequence[Sequence[RowCondition]]) -> bool:
    """Return whether a row meets a condition of each group."""
    return all(any(condition.holds(row) for condition in group) for group in groups)


def write_conditions(conditions: Sequence[RowCondition], table: StoredTable) -> str:
    """Return conditions in words: "Kind = Main and Plot = 2 or 4"."""
    return " and ".join(
        f"{name_head(table, group[0].column)} {group[0].relation} "
        + " or ".join(dict.fromkeys(condition.write_value(table) for condition in group))
        for group in group_conditions(conditions)
    )


@dataclass(frozen=True, slots=True)
class Program:
    """An operation on a table, whose columns are indices; None for one that it does not need.

    `where` are the conditions on rows, and `other_where` those on the rows with which these are compared.
    """

    operation: str
    table: StoredTable
    column: int | None = None
    give: int | None = None
    where: tuple[RowCondition, ...] = ()
    other_column: int | None = None
    other_where: tuple[RowCondition, ...] = ()

    @property
    def conditions(self) -> tuple[RowCondition, ...]:
        return (*self.where, *self.other_where)


def parse_program(fields: Mapping[str, Any], tables: Mapping[str, StoredTable]) -> Program | None:
    """Return the program of a model's reply over the table that it names; None where it says that no table answers.

    Raises:
        Unavailable: the reply is no program, or names a table or column that there is not (llm_output_invalid).
    """
    operation, table_id = fields.get("operation"), fields.get("table")
    if operation not in prompts.PLANNED_OPERATIONS:
        raise make_invalid_completion_error("names no operation")
    if operation == prompts.NOT_NEEDED:
        return None
    if not isinstance(table_id, str) or table_id not in tables:
        raise make_invalid_completion_error("names no table that was given")
    table = tables[table_id]
    columns = {name_column(table_id, n): n for n in range(len(table.columns))}
    return Program(
        operation,
        table,
        _parse_column(fields.get("column"), columns),
        _parse_column(fields.get("give"), columns),
        _parse_conditions(fields.get("where"), columns, table),
        _parse_column(fields.get("other_column"), columns),
        _parse_conditions(fields.get("other_where"), columns, table),
    )


def name_column(table_id: str, column: int) -> str:
    """Return the id by which a model names a column."""
    return f"{table_id}.c{column + 1}"


def _parse_column(id: object, columns: Mapping[str, int]) -> int | None:
    if id is None or id == prompts.NOT_NEEDED:
        return None
    if not isinstance(id, str) or id not in columns:
        raise make_invalid_completion_error("names a column that the table does not have")
    return columns[id]


def _parse_conditions(items: object, columns: Mapping[str, int], table: StoredTable) -> tuple[RowCondition, ...]:
    """Return the conditions of one side; one that cannot be read is an error, since without it others are chosen."""
    if not isinstance(items, list | None):
        raise make_invalid_completion_error("has conditions that are no list")
    if len(items or ()) > prompts.MAX_PLANNED_CONDITIONS:
        raise make_invalid_completion_error(f"has more than {prompts.MAX_PLANNED_CONDITIONS} conditions")
    return tuple(_parse_condition(item, columns, table) for item in items or ())


def _parse_condition(item: object, columns: Mapping[str, int], table: StoredTable) -> RowCondition:
    """Return a condition; its value is another column where it is the id of one, unless a cell reads like that."""
    if isinstance(item, dict):
        column, value = _parse_column(item.get("column"), columns), item.get("value")
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if column is not None and item.get("relation") in prompts.PLANNED_RELATIONS and isinstance(value, str):
            is_column = value in columns and not any(is_same(row.cells[column], value) for row in table.rows)
            other = columns[value] if is_column else None
            return RowCondition(column, str(item["relation"]), "" if is_column else value, other)
    raise make_invalid_completion_error("has a condition that cannot be read")


def find_unfounded(program: Program) -> str:
    """Return which value of a condition the table does not have, or cannot compare; "" for none."""
    for condition in program.conditions:
        head = name_head(program.table, condition.column)
        if condition.other is not None:
            if not _are_columns_comparable(condition, condition.other, program.table):
                return (
                    f"the cells of {head} cannot be compared with those of {name_head(program.table, condition.other)}"
                )
            continue
        said = f"“{' '.join(condition.value.split())[:MAX_SHOWN_CHARS]}”"
        cells = [row.cells[condition.column] for row in program.table.rows]
        if condition.is_comparison:
            limit, figures = parse_cell_value(condition.value), list(filter(None, map(parse_cell_value, cells)))
            if limit is None or not figures:
                return f"{said} cannot be compared with the cells of {head}"
            if not any(are_comparable(figure, limit) for figure in figures):
                return f"{said} is in another unit than the cells of {head}"
        elif condition.relation == "contains":
            if not condition.value.strip() or not any(fold(condition.value) in fold(cell) for cell in cells):
                return f"no cell of {head} has {said}"
        elif not any(is_same(cell, condition.value) for cell in cells):
            return f"no cell of {head} is {said}"
    return ""


def _are_columns_comparable(condition: RowCondition, other: int, table: StoredTable) -> bool:
    """Return whether a row has values in both columns that the relation is about; heads may not have two units."""
    units = {unit for n in (condition.column, other) if (unit := _find_unit_of_head(table.columns[n]))}
    if condition.relation == "contains" or condition.column == other or len(units) > 1:
        return False
    pairs = [(row.cells[condition.column], row.cells[other]) for row in table.rows]
    if not condition.is_comparison:
        return any(cell.strip() and value.strip() for cell, value in pairs)
    figures = ((parse_cell_value(cell), parse_cell_value(value)) for cell, value in pairs)
    return any(figure and limit and are_comparable(figure, limit) for figure, limit in figures)


def _find_unit_of_head(head: str) -> str:
    """Return the unit that a head has in brackets, "" for none; other words in brackets are none."""
    found = [unit.casefold() for unit in _BRACKETED.findall(head)]
    return next((unit for unit in found if unit in UNITS or not any(map(str.isalnum, unit))), "")


def find_doubt(program: Program, question: str) -> str:
    """Return what in the words of a question speaks against a program; "" where nothing does.

    They cannot speak for it: a wrong column that the table has is not told from the right one.
    """
    if program.operation in ("highest", "is_more") and points_down(question):
        return f"the question seems to ask for the {'lowest' if program.operation == 'highest' else 'opposite'}"
    if program.operation == "is_less" and _MORE.search(question) and not points_down(question):
        return "the question seems to ask for the opposite"
    if _BOTH.search(question) and _mixes_groups(program):
        return "the question seems to ask for what is both, and the computation has what is one of them"
    return _find_other_numbers(program, question) or _find_unused_cell(program, question)


def _mixes_groups(program: Program) -> bool:
    """Return whether rows are listed or counted that have any of several values, of which one has several rows."""
    groups = [group for group in group_conditions(program.where) if len(group) > 1]
    rows = program.table.rows
    return program.operation in ("lookup", "count", "count_distinct") and any(
        sum(condition.holds(row) for row in rows) > 1 for group in groups for condition in group
    )


def _find_other_numbers(program: Program, question: str) -> str:
    """Return which number a program has from nowhere, or which one of the question it does not use.

    Numbers are compared by their digits, "21:00" as two; those of the question that stand in the table are used.
    """
    used = {number for condition in program.conditions for number in _list_numbers(condition.value)}
    asked = set(_list_numbers(question))
    cells = (cell for row in program.table.rows for cell in row.cells)
    known = set(_list_numbers(" ".join((*program.table.columns, program.table.about, program.table.title, *cells))))
    if asked and (unused := sorted(asked - used - known)):
        return f"the question’s {unused[0]} is not in the computation"
    limits = {n for c in program.conditions if c.is_comparison for n in _list_numbers(c.value)}
    unsaid = sorted(limits - asked - known - {"0"})
    return f"the question does not say {unsaid[0]}" if asked and unsaid else ""


def _find_unused_cell(program: Program, question: str) -> str:
    """Return which cell the question has in full that no condition is about, apart from words of the heads."""
    table = program.table
    used = _spread(" ".join((table.title, table.about, *table.columns, *(c.value for c in program.conditions))))
    asked = _spread(question)
    for cell in dict.fromkeys(cell for row in table.rows for cell in row.cells if len(cell) <= len(question)):
        words = _spread(cell)
        is_name = sum(map(str.isalpha, words)) >= MIN_NAME_LETTERS
        if is_name and words in asked and words not in used:
            return f"the question’s “{cell[:MAX_SHOWN_CHARS]}” is not in the computation"
    return ""


def _spread(text: str) -> str:
    """Return the words of a text with a space on each side of them."""
    return f" {' '.join(fold_words(text))} "


def _list_numbers(text: str) -> list[str]:
    return [digits.lstrip("0") or "0" for digits in _DIGITS.findall(_THOUSANDS_MARK.sub("", text))]


def fold(text: str) -> str:
    """Return a text as it is compared: case-folded, with single spaces."""
    return " ".join(text.casefold().split())


def is_blank(cell: str) -> bool:
    """Return whether a cell says that there is nothing: it is empty, or no more than dashes."""
    return not cell.strip(" -–—−")


def is_same(cell: str, value: str) -> bool:
    """Return whether a cell is a value: the same text, figure, date or time."""
    if fold(cell) == fold(value):
        return True
    figure, other = parse_cell_value(cell), parse_cell_value(value)
    return figure is not None and other is not None and figure.value == other.value and are_comparable(figure, other)


def are_comparable(figure: Figure, limit: Figure) -> bool:
    """Return whether two values are in one unit; a number without one has that of the other, unless it is a date."""
    units = {figure.unit, limit.unit}
    return len(units) == 1 or ("" in units and units.isdisjoint(MOMENTS))
