"""The degradation matrix: data that the tests run and that a page is written from.

python -m tests.faults.matrix        fills the tables of docs/reference/degradation.md
"""

import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from evals.page_sections import fill_section
from rag_core.evaluation import markdown_tables
from tests.faults.cells import Cell, Outcome

DATA = Path(__file__).parent / "matrix.toml"
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "degradation.md"
Matrix = Mapping[Cell, Outcome]

MARK = "python -m tests.faults.matrix"
SEARCHES = ("consult standard", "consult rerank", "consult advanced")
WORKBENCH_STEPS = ("run_expansion", "embed_query", "retrieve_query", "consolidate_query", "run_augmented")
GROUPS = {  # operations that often fail alike, by the name that the page explains; the first that is whole is named
    "reading": (
        *(*SEARCHES, "consult facets", "ask", "ask classical", "rag_query"),
        *("get_document_summary", "extract_citations", "graph_query"),
    ),
    "searching": SEARCHES,
    "answering": ("ask", "ask classical", "rag_query"),
    "ingesting": ("rag_ingest", "rag_ingest (clear)"),
    "saved queries": (*WORKBENCH_STEPS, "get_query", "list_queries", "list_results"),
}
NAMES = {"chat": "chat model", "word leg": "lexical leg", "meaning leg": "vector leg"}
COLUMNS = ("dependency", "fault", "operations", "outcome")


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
    """A row's faults; a name of a group stands for those of the group, which may be groups again."""
    return list(_members(row["faults"], data["faults"]))


def _members(names: Sequence[str], groups: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for name in names:
        yield from _members(groups[name], groups) if name in groups else [name]


def render(page: str, data: Mapping[str, Any]) -> str:
    """Return the page with today's table between its marks.

    Raises:
        ValueError: the page lacks the marks.
    """
    return fill_section(page, MARK, "\n".join(_sections(data)))


def _sections(data: Mapping[str, Any]) -> Iterator[str]:
    """The cells with another outcome than 200 without a code, by dependency; equal ones share their rows."""
    expected = cells(data)
    silent = sum(outcome.status == 200 and not outcome.codes for outcome in expected.values())
    operations = len({cell.operation for cell in expected})
    yield f"The matrix has {len(expected)} cells on {operations} operations; {silent} end with status 200 and no code."
    yield "The table lists the others. A name in italics stands for several; semicolons pair faults with outcomes:\n"
    yield from _explained_groups(data)
    order = list(dict.fromkeys(cell.operation for cell in expected))
    dependencies: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for dependency in dict.fromkeys(cell.dependency for cell in expected):
        for row in _rows(dependency, data, order):
            dependencies[row].append(NAMES.get(dependency, dependency))
    lines, above = [], ""
    for row, names in dependencies.items():
        lines.append(("" if above == ", ".join(names) else ", ".join(names), *row))
        above = ", ".join(names)
    yield "\n" + markdown_tables.format_table(COLUMNS, lines)


def _is_told(row: Mapping[str, Any]) -> bool:
    return row["status"] != 200 or bool(row["codes"])


def _rows(dependency: str, data: Mapping[str, Any], order: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """A row for all operations that end alike, with each set of faults and, in the same order, how they end."""
    operations: dict[tuple[str, str, tuple[str, ...]], list[str]] = defaultdict(list)
    for row in data["row"]:
        if row["dependency"] == dependency and _is_told(row):
            faults = ", ".join(f"*{name}*" if name in data["faults"] else name for name in row["faults"])
            operations[faults, str(row["status"]), tuple(f"`{code}`" for code in row["codes"])] += row["operations"]
    ends: dict[tuple[str, ...], list[tuple[str, str, tuple[str, ...]]]] = defaultdict(list)
    for end, names in operations.items():
        ends[tuple(_grouped(sorted(names, key=order.index), GROUPS))].append(end)
    for named, told in ends.items():
        results = [
            ", ".join(([status] if place == 0 or told[place - 1][1] != status else []) + list(codes))
            for place, (_, status, codes) in enumerate(told)
        ]
        yield "; ".join(faults for faults, *_ in told), ", ".join(named), "; ".join(results)


def _grouped(names: Sequence[str], groups: Mapping[str, Sequence[str]]) -> list[str]:
    """The operations, with a group's name in place of its members where all of them are there."""
    told, rest = [], list(names)
    for name, members in groups.items():
        if set(members) <= set(rest):
            told.append(f"*{name}*")
            rest = [each for each in rest if each not in members]
    return [*told, *rest]


def _explained_groups(data: Mapping[str, Any]) -> Iterator[str]:
    """What each name in italics stands for, by such names where it can be."""
    used = {name for row in data["row"] if _is_told(row) for name in row["faults"]}
    for name, faults in data["faults"].items():
        if name in used:
            yield f"- *{name}*: {', '.join(f'*{each}*' if each in data['faults'] else each for each in faults)}"
    for name, members in GROUPS.items():
        smaller = {other: few for other, few in GROUPS.items() if len(few) < len(members)}
        yield f"- *{name}*: {', '.join(_grouped(members, smaller))}"


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text("utf-8"), load()), "utf-8")
