"""The program for a question as a chat model plans it: which tables it sees, and when it is asked at all."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rag_core import prompts
from rag_core.answering.computing.programs import Program, name_column, parse_program
from rag_core.answering.computing.questions import AskedOperation, parse_operation
from rag_core.answering.computing.stored_tables import StoredTable
from rag_core.core.model import Evidence, Ranking
from rag_core.core.ports import LLM
from rag_core.ingestion.tables import read_row_cells
from rag_core.prompts.completions import complete_object
from rag_core.text.terms import extract_terms
from rag_core.text.tokens import count_tokens

MAX_PLANNED_TABLES = 4
MAX_PLANNED_COLUMNS = 40  # of a table
SHOWN_CELLS = (40, 20, 10, 5, 2)  # of a column, different ones: the first number with which the tables fit
MAX_CELL_CHARS = 80
MAX_ABOUT_CHARS = 300
MIN_ROW_SHARE = 0.5  # of the lines of a passage that is a table


@dataclass(frozen=True, slots=True)
class Plan:
    """The program for a question, None where no table has what it asks for.

    `is_local` says that no chat model was there to say so, but a local technique in its place.
    """

    program: Program | None
    is_local: bool = False


def needs_plan(query_text: str, evidence: Sequence[Evidence]) -> bool:
    """Return whether the best passage is a table, or a question asks for a computation and any passage has rows."""
    if not evidence or _is_table(evidence[0]):
        return bool(evidence)
    return parse_operation(query_text) is not None and any(_count_row_lines(passage)[0] > 1 for passage in evidence)


def _is_table(passage: Evidence) -> bool:
    rows, lines = _count_row_lines(passage)
    return rows >= MIN_ROW_SHARE * lines > 0


def _count_row_lines(passage: Evidence) -> tuple[int, int]:
    """Return how many lines of a passage are rows of a table, or cells of a row that is a passage, and all lines."""
    lines = [line for line in passage.text.splitlines() if line.strip()]
    if read_row_cells(passage.hit.chunk.content, passage.hit.chunk.metadata):
        return max(2, len(lines)), len(lines)
    return sum(line.count("|") > 1 or " | " in line for line in lines), len(lines)


def choose_tables(query_text: str, tables: Sequence[StoredTable], hits: Ranking) -> list[StoredTable]:
    """Return the tables that a program may be over: by turns the one with the best hit and the one with most terms.

    Rows that are passages of their own are hits of one table each, and the hit of a page is one of all its tables. Of
    lists nothing but their items can be counted.
    """
    asked: AskedOperation | None = parse_operation(query_text)
    rank_by_chunk = {hit.chunk.id: rank for rank, hit in reversed(list(enumerate(hits)))}
    terms = extract_terms(query_text)

    def find_best_rank(table: StoredTable) -> int:
        ranks = (rank_by_chunk[row.chunk.id] for row in table.rows if row.chunk.id in rank_by_chunk)
        return min(ranks, default=len(hits))

    counts = asked is not None and asked.kind == "count"
    usable = [table for table in tables if counts or not table.is_list]
    shared = {id(table): len(terms & _extract_shown_terms(table)) for table in usable}
    by_hit = sorted(usable, key=lambda table: (find_best_rank(table), -shared[id(table)]))
    by_terms = sorted(by_hit, key=lambda table: -shared[id(table)])
    by_turns = {id(table): table for pair in zip(by_hit, by_terms, strict=True) for table in pair}
    return list(by_turns.values())[:MAX_PLANNED_TABLES]


def _extract_shown_terms(table: StoredTable) -> frozenset[str]:
    """Return the terms of what is said of a table, of the names of its rows, and of the cells that may be shown."""
    cells = (
        cell
        for n in range(_count_columns(table))
        for cell in _list_different(row.cells[n] for row in table.rows)[: SHOWN_CELLS[0]]
    )
    labels = (row.label for row in table.rows)
    return extract_terms(" ".join((*table.columns, table.about, table.title, *labels, *cells)))


async def plan_program(query_text: str, tables: Sequence[StoredTable], llm: LLM, *, max_tokens: int) -> Plan:
    """Ask a chat model for a program over tables, which are shown in at most `max_tokens`.

    Raises:
        Unavailable: the model did not answer, or its reply is no program over these tables (llm_output_invalid).
    """
    shown = _show_tables(tables, max_tokens)
    by_id = {f"t{n}": table for n, table in enumerate(tables, start=1) if f"t{n}" in shown}
    if not shown:
        return Plan(None)
    columns = [name_column(id, n) for id, table in by_id.items() for n in range(_count_columns(table))]
    prompt = prompts.build_planning_prompt(query_text, shown, columns)
    sources = [cell for table in by_id.values() for row in table.rows for cell in row.cells]
    reply = await complete_object(prompt, llm, sources=sources, max_chars=MAX_CELL_CHARS)
    return Plan(parse_program(reply.fields, by_id), reply.local)


def _count_columns(table: StoredTable) -> int:
    return min(len(table.columns), MAX_PLANNED_COLUMNS)


def _show_tables(tables: Sequence[StoredTable], max_tokens: int) -> Mapping[str, Mapping[str, object]]:
    """Return as many of the tables as fit, by id, with as many cells of their columns as fit."""
    for count in range(len(tables), 0, -1):
        for cells in SHOWN_CELLS:
            shown = {f"t{n}": _show_table(f"t{n}", table, cells) for n, table in enumerate(tables[:count], start=1)}
            if count_tokens(json.dumps(shown, ensure_ascii=False)) <= max_tokens:
                return shown
    return {}


def _show_table(id: str, table: StoredTable, count: int) -> Mapping[str, object]:
    return {
        "about": " ".join(f"{table.title} {table.about}".split())[-MAX_ABOUT_CHARS:],
        "rows": len(table.rows),
        "columns": [
            {
                "id": name_column(id, n),
                "name": table.columns[n][:MAX_CELL_CHARS],
                **_show_cells((row.cells[n] for row in table.rows), count),
            }
            for n in range(_count_columns(table))
        ],
    }


def _show_cells(cells: Iterable[str], count: int) -> Mapping[str, object]:
    """Return the first different cells of a column, and how many more there are."""
    different = _list_different(cells)
    more = len(different) - count
    return {"cells": different[:count], **({"more": more} if more > 0 else {})}


def _list_different(cells: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(cell[:MAX_CELL_CHARS] for cell in cells))
