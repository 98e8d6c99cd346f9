"""The form in which evaluations and benchmarks print their numbers: tables in Markdown."""

from collections.abc import Iterable, Sequence


def format_table(columns: Sequence[object], rows: Iterable[Iterable[object]]) -> str:
    """Return a table with a line for each row, below the names of the columns."""
    return "\n".join(map(format_row, [columns, ["---"] * len(columns), *rows]))


def format_row(cells: Iterable[object]) -> str:
    """Return one line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def fill_section(page: str, name: str, text: str) -> str:
    """Return the page with the text between the two comments of this name.

    Raises:
        ValueError: the page lacks the comments.
    """
    begin, end = f"<!-- {name}: begin -->\n", f"\n<!-- {name}: end -->"
    before, found_begin, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        raise ValueError(f"the page has no section {name}")
    return before + begin + text.strip() + end + after
