"""The degradation matrix: data that the tests run and that a page is written from.

python -m tests.faults.matrix        writes docs/degradation.md
"""

import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from tests.faults.cells import Cell, Outcome

DATA = Path(__file__).parent / "matrix.toml"
PAGE = Path(__file__).parents[2] / "docs" / "degradation.md"
Matrix = Mapping[Cell, Outcome]

FIRST = """# What is left when a part fails

Written by `python -m tests.faults.matrix` from `tests/faults/matrix.toml`, whose cells `tests/faults/test_matrix.py`
runs one by one: each is a request to a function's handler while one neighbour fails in one way, with the status, the
codes in the reply's `degraded` (or the code of its `error`) and what the reply has all the same. No cell is a 500, and
none outlasts its deadline. The faults are those of RELIABILITY 6.5; a part in this process can be late or down.
"""


def load() -> dict[str, Any]:
    return tomllib.loads(DATA.read_text("utf-8"))


def cells(data: Mapping[str, Any]) -> Matrix:
    """What is expected of each cell. Raises ValueError for one that stands twice."""
    expected: dict[Cell, Outcome] = {}
    for cell, outcome in _cells(data):
        if cell in expected:
            raise ValueError(f"{cell} stands twice")
        expected[cell] = outcome
    return expected


def _cells(data: Mapping[str, Any]) -> Iterator[tuple[Cell, Outcome]]:
    for row in data["row"]:
        outcome = Outcome(row["status"], tuple(row["codes"]), tuple(row["keeps"]))
        for operation, fault in product(row["operations"], _faults(row, data)):
            yield Cell(operation, row["dependency"], fault), outcome


def _faults(row: Mapping[str, Any], data: Mapping[str, Any]) -> list[str]:
    """A row's faults; a name of a group stands for those of the group."""
    return [fault for name in row["faults"] for fault in data["faults"].get(name, [name])]


def render(data: Mapping[str, Any]) -> str:
    rows = defaultdict(list)
    for row in data["row"]:
        rows[row["dependency"]].append(row)
    parts = [FIRST, f"{len(cells(data))} cells. A group of faults is named once:\n", *_groups(data)]
    for dependency, its_rows in rows.items():
        parts += [f"\n## {dependency.capitalize()}\n", _table(its_rows)]
    return "\n".join([*parts, "\n## Differs from the plan\n", *_differences(data), ""])


def _groups(data: Mapping[str, Any]) -> list[str]:
    return [f"- *{name}*: {', '.join(faults)}" for name, faults in data["faults"].items()]


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        f"| {', '.join(row['faults'])} | {', '.join(row['operations'])} | {row['status']} "
        f"| {', '.join(f'`{code}`' for code in row['codes']) or '-'} | {', '.join(row['keeps']) or '-'} |"
        for row in rows
    ]
    return "\n".join(["| fault | operation | status | codes | has |", "| --- | --- | --- | --- | --- |", *lines])


def _differences(data: Mapping[str, Any]) -> list[str]:
    return [
        f"- **{differs['what']}**: planned {differs['planned']}; is {differs['is']}." for differs in data["differs"]
    ]


if __name__ == "__main__":
    PAGE.write_text(render(load()), "utf-8")
