"""The form in which evaluations and benchmarks print their numbers: tables in Markdown."""

from collections.abc import Iterable, Sequence


def format_table(columns: Sequence[object], rows: Iterable[Iterable[object]]) -> str:
    """Return a table with a line for each row, below the names of the columns."""
    return "\n".join(map(format_row, [columns, ["---"] * len(columns), *rows]))


def format_row(cells: Iterable[object]) -> str:
    """Return one line of a table."""
    return f"| {' | '.join(map(str, cells))} |"
