"""Tables as the documents have them."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[object], rows: Iterable[Iterable[object]]) -> str:
    """A line a row, below the names of the columns."""
    return "\n".join(map(line, [head, ["---"] * len(head), *rows]))


def filled(page: str, name: str, made: str) -> str:
    """The page with `made` between its marks of this name. Raises ValueError: it has none."""
    begin, end = f"<!-- {name}: begin -->\n", f"\n<!-- {name}: end -->"
    before, begun, rest = page.partition(begin)
    _, ended, after = rest.partition(end)
    if not (begun and ended):
        raise ValueError(f"there is no place for {name}")
    return before + begin + made.strip() + end + after


def line(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"
