"""Tables as the documents have them."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[object], rows: Iterable[Iterable[object]]) -> str:
    """A line a row, below the names of the columns."""
    return "\n".join(map(line, [head, ["---"] * len(head), *rows]))


def line(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"
