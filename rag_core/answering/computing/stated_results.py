"""What a computed answer says: the result, the operation, and the cells that it is of."""

import re
from collections.abc import Sequence
from decimal import Decimal

from rag_core.answering.computing.asked_columns import YEAR_PATTERN
from rag_core.answering.computing.operations import CitedCell, Computation, Resolved
from rag_core.answering.computing.questions import AskedOperation
from rag_core.answering.computing.stored_tables import StoredTable

MAX_LISTED_CELLS = 40  # named in the answer; more are counted
MAX_NAMED_MISSING = 5
_SCALE = re.compile(r"\bin (thousands|millions|billions)\b|(?<![\w,.])([$€£¥][’']?000s?|[$€£¥]m)\b", re.IGNORECASE)


def state_result(resolved: Resolved, asked: AskedOperation) -> str:
    """Return the result of an asked operation, the operation and its cells in words."""
    computation, table = resolved.computation, resolved.table
    cells = computation.cells
    scale = find_scale(table, cells)
    condition = f" with {resolved.condition}" if resolved.condition else ""
    if computation.kind == "count":
        rows = f"different {cells[0].column}" if resolved.is_distinct else "rows"
        what = "items of the list" if table.is_list else f"{rows}{condition}"
        if resolved.is_distinct:
            return f"{len(cells)}. Counted: {what}: {join_listed([cell.text for cell in cells])}."
        return f"{len(cells)}. Counted: {what}: {list_labels(cells)}."
    if computation.kind == "lookup":
        values = [f"{cell.column}: {cell.text}{scale}" for cell in cells]
        return f"{cells[0].row.label}, {'; '.join(values)}."
    if computation.kind == "filter":
        return f"{list_labels(cells)}. Selected: rows{condition}."
    if computation.kind in ("sum", "average"):
        total = format_figure(computation.result, cells, scale)
        return f"{total}. {computation.kind.capitalize()} of {cells[0].column}{condition}: {list_cells(cells)}."
    if computation.kind == "extreme":
        return _state_extreme(resolved, scale, condition)
    return _state_pair(asked, computation, scale)


def _state_extreme(resolved: Resolved, scale: str, condition: str) -> str:
    best = list_best(resolved.computation)
    names = " and ".join(cell.row.label for cell in best)
    figure = f"{best[0].text}{scale}"
    return f"{names}: {figure}. {describe_extreme(resolved.computation, condition)}.{note_missing(resolved)}"


def _state_pair(asked: AskedOperation, computation: Computation, scale: str) -> str:
    first, second = computation.cells
    named = [name_cell(cell, computation.cells) for cell in computation.cells]
    both = f"{named[0]}: {first.text}; {named[1]}: {second.text}{scale}"
    if computation.kind == "ratio":
        change = "more" if computation.result >= 0 else "less"
        return f"{abs(computation.result):.1f}% {change}. Change from {named[0]} to {named[1]} in percent: {both}."
    if computation.kind == "share":
        both = f"{first.column}: {first.text} of {second.text}{scale}"
        return f"{computation.result:.1f}%. Share of {first.row.label} in {second.row.label}, {both}."
    if computation.kind == "difference":
        amount = format_figure(abs(computation.result), computation.cells, scale)
        way = "no change" if not computation.result else "an increase" if computation.result > 0 else "a decrease"
        if first.column == second.column:
            return f"{amount}. Difference of {first.column}: {both}."
        is_in_time = all(YEAR_PATTERN.search(cell.column) for cell in computation.cells)
        if asked.is_against_plan:
            return f"{amount} {'less' if computation.result < 0 else 'more'}. Difference of {first.row.label}: {both}."
        if " than " in asked.text and not is_in_time:  # of what is compared, neither comes first
            return f"{amount}. Difference of {first.row.label}: {both}."
        return f"{amount}, {way}. Difference of {first.row.label}: {both}."
    larger = second if (computation.result > 0) == computation.is_highest else first
    if not computation.result:
        return f"They are equal. Compared: {both}."
    if word := asked.choose_comparative(is_high=computation.result < 0):
        return f"{word.capitalize()}. Compared: {both}."
    if " or " in asked.text:
        return f"{name_cell(larger, computation.cells)}. Compared: {both}."
    return f"{'Yes' if larger is first else 'No'}. Compared: {both}."


def list_best(computation: Computation) -> list[CitedCell]:
    """Return the cells that an extreme is of: several where they are equal."""
    return [cell for cell in computation.cells if cell.value == computation.result]


def describe_extreme(computation: Computation, condition: str) -> str:
    """Return of which cells an extreme is: "Highest Height of 4 rows"."""
    word = "Highest" if computation.is_highest else "Lowest"
    return f"{word} {list_best(computation)[0].column} of {len(computation.cells)} rows{condition}"


def note_missing(resolved: Resolved, what: str = "Without a figure") -> str:
    """Return which rows have no figure, "" for none: the first MAX_NAMED_MISSING, and how many more there are."""
    missing = resolved.without_figure
    more = f" and {len(missing) - MAX_NAMED_MISSING} more" if len(missing) > MAX_NAMED_MISSING else ""
    return f" {what}: {', '.join(missing[:MAX_NAMED_MISSING])}{more}." if missing else ""


def name_cell(cell: CitedCell, cells: Sequence[CitedCell]) -> str:
    """Return the part of a cell's name that tells it from the other: its row, or its column."""
    return cell.row.label if len({other.row.label for other in cells}) > 1 else cell.column


def list_labels(cells: Sequence[CitedCell]) -> str:
    """Return the names of the rows of cells, and what stands in these."""
    repeated = len({cell.row.label for cell in cells}) < len(cells)
    if repeated and cells[0].row.name_at:
        return join_listed([f"{cell.row.label} ({cell.row.cells[0]})" for cell in cells])
    labels = [cell.row.label if cell.row.label == cell.text else f"{cell.row.label} ({cell.text})" for cell in cells]
    return join_listed(labels)


def list_cells(cells: Sequence[CitedCell]) -> str:
    """Return cells, each after the name of its row."""
    return join_listed([f"{cell.row.label} {cell.text}" for cell in cells])


def join_listed(texts: Sequence[str]) -> str:
    """Return the first MAX_LISTED_CELLS texts, and how many more there are."""
    more = f" and {len(texts) - MAX_LISTED_CELLS} more" if len(texts) > MAX_LISTED_CELLS else ""
    return ", ".join(texts[:MAX_LISTED_CELLS]) + more


def format_figure(value: Decimal, cells: Sequence[CitedCell], scale: str) -> str:
    """Return a value as a figure in the unit of cells."""
    unit = next((cell.figure.unit for cell in cells if cell.figure and cell.figure.unit), "")
    number = f"{abs(value):,}"
    sign = "-" if value < 0 else ""
    placed = f"{number}{unit}" if unit == "%" else f"{number} {unit}" if unit.isalpha() else f"{unit}{number}"
    return f"{sign}{placed}{scale}"


def find_scale(table: StoredTable, cells: Sequence[CitedCell]) -> str:
    """Return " (in thousands)" or " (in £000)" where the table or the head of a cell says so."""
    found = _SCALE.search(" ".join((table.about, table.columns[0], *(cell.column for cell in cells))))
    return f" (in {found[1].lower() if found[1] else found[2]})" if found else ""
