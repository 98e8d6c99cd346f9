"""`python -m evals.sql_schema DIR`: how many of the columns a question needs an SQL agent was given (S1-53 to S1-55).

DIR is in BEIR's layout, a document a column, with the database of each column and question in `metadata.db` and the
tables that the gold SQL of a question touches in `metadata.tables`. Each database is a workflow of its own. Columns
are found by the question itself, and by `enrich_schema`, which is told names of tables and not the question.

On 275 questions of BIRD mini-dev, 22 November 2026, ten passages hold 0.602 of the needed columns by `standard` and
0.605 by `advanced`; `enrich_schema` finds 0.147 with all tables, 0.645 with the right ones.

Schema linking itself is measured by `rag eval schema DIR`. `--fit` prints its weights.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from evals import schema_weights
from rag_core.client import consult_rag, enrich_schema
from rag_core.composition import assembly
from rag_core.core import settings
from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.evaluation import beir, metrics, schema_collection
from rag_core.evaluation.bulk_indexing import index_uploads
from rag_core.evaluation.labelled_collection import HALVES
from rag_core.ingestion.upload import Upload

TOP = 10
HERE = replace(settings.DEFAULT_SETTINGS, data_dir=None)

Recall = Mapping[str, float]  # by question
Ask = Callable[["ColumnQuestion"], Awaitable[set[str]]]  # the ids of the columns it is given


@dataclass(frozen=True, slots=True)
class Column:
    id: str
    database: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class ColumnQuestion:
    id: str
    database: str
    text: str
    tables: tuple[str, ...]
    needed: frozenset[str]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--queries", type=int, metavar="N", help="only every so many questions, N in all")
    parser.add_argument("--fit", action="store_true", help="print weights of the linker, fitted on the first half")
    chosen = parser.parse_args()
    began = time.perf_counter()
    if chosen.fit:
        print(asyncio.run(fit_on_first_half(chosen.folder)))
        return 0
    columns, questions = load_column_questions(chosen.folder, queries=chosen.queries)
    rows = asyncio.run(evaluate_column_recall(columns, questions))
    print(format_recall_table(rows, columns, questions))
    print(f"\n{time.perf_counter() - began:.0f} s", file=sys.stderr)
    return 0


async def fit_on_first_half(folder: Path) -> str:
    """Return the weights of the linker, fitted on every second question."""
    collection = schema_collection.load_schema_collection(folder)
    kit = assembly.build_in_memory_kit(HERE)
    try:
        await schema_collection.index_databases(collection, kit)
        gathered = await schema_weights.gather_all_evidence(collection.questions[:: len(HALVES)], kit)
    finally:
        await kit.close()
    return schema_weights.format_weights(schema_weights.fit_weights(gathered))


def load_column_questions(folder: Path, *, queries: int | None = None) -> tuple[list[Column], list[ColumnQuestion]]:
    """Return the columns and questions of a folder. Raises Misconfigured, naming the file at fault."""
    collection = beir.load_beir_collection(folder, workflow_field="db")
    columns = [Column(p.id, p.workflow_id, p.title, p.text) for p in collection.documents]
    tables = {str(r["_id"]): r["metadata"]["tables"] for r in beir.read_jsonl_records(folder / beir.QUERIES_FILE)}
    questions = [_build_question(id, collection, tables[id]) for id in collection.queries]
    every = max(1, len(questions) // queries) if queries else 1
    return columns, questions[::every][:queries]


def _build_question(id: str, asked: beir.BeirCollection, tables: Sequence[str]) -> ColumnQuestion:
    needed = frozenset(column for column, grade in asked.judgements[id].items() if grade > 0)
    return ColumnQuestion(id, asked.workflow_ids[id], asked.queries[id], tuple(tables), needed)


async def evaluate_column_recall(columns: Sequence[Column], questions: Sequence[ColumnQuestion]) -> dict[str, Recall]:
    """Return the column recall by each way of asking."""
    kit = assembly.build_in_memory_kit(HERE)
    try:
        await index_uploads([_build_upload(place, column) for place, column in enumerate(columns)], kit)
        return {name: await _compute_recall(ask, questions) for name, ask in _list_ways(columns, kit)}
    finally:
        await kit.close()


def _build_upload(place: int, column: Column) -> tuple[Scope, Upload]:
    upload = Upload(content=f"{column.name}\n\n{column.text}", document_id=str(place), title=column.name)
    return Scope(column.database), upload


def _list_ways(columns: Sequence[Column], kit: Kit) -> Iterator[tuple[str, Ask]]:
    tables: dict[str, dict[str, None]] = {}
    for column in columns:
        tables.setdefault(column.database, {})[column.name.partition(".")[0]] = None

    def build_question_search(pipeline: str) -> Ask:
        async def find_columns(question: ColumnQuestion) -> set[str]:
            found = await consult_rag(
                query=question.text, pipeline=pipeline, workflow_id=question.database, top_k=TOP, chosen=HERE, kit=kit
            )
            return _get_column_ids(found, columns)

        return find_columns

    def build_table_search(names: Callable[[ColumnQuestion], Sequence[str]]) -> Ask:
        known: dict[tuple[str, ...], set[str]] = {}

        async def find_columns(question: ColumnQuestion) -> set[str]:
            about = (question.database, *names(question))
            if about not in known:
                known[about] = await _enrich_tables(question.database, about[1:], columns, kit)
            return known[about]

        return find_columns

    yield "the question, `standard`", build_question_search("standard")
    yield "the question, `advanced`", build_question_search("advanced")
    yield (
        "`enrich_schema`, all tables of the database",
        build_table_search(lambda question: list(tables[question.database])),
    )
    yield "`enrich_schema`, the tables of the gold SQL", build_table_search(lambda question: question.tables)


async def _enrich_tables(database: str, names: Sequence[str], columns: Sequence[Column], kit: Kit) -> set[str]:
    given: list[Mapping[str, Any]] = []

    async def consult(**fields: Any) -> dict[str, Any]:
        given.append(found := await consult_rag(**fields, chosen=HERE, kit=kit))
        return found

    await enrich_schema("", names, workflow_id=database, top_k=TOP, consult=consult)
    return _get_column_ids(given[0], columns)


def _get_column_ids(found: Mapping[str, Any], columns: Sequence[Column]) -> set[str]:
    return {columns[int(document["metadata"]["document_id"])].id for document in found["documents"]}


async def _compute_recall(ask: Ask, questions: Sequence[ColumnQuestion]) -> Recall:
    return {q.id: len(q.needed & await ask(q)) / len(q.needed) for q in questions}


def format_recall_table(
    rows: Mapping[str, Recall], columns: Sequence[Column], questions: Sequence[ColumnQuestion]
) -> str:
    """Format a Markdown table; `*` marks a difference from the first row whose 95 % interval leaves out 0."""
    first = next(iter(rows))
    needed = sum(len(question.needed) for question in questions)
    lines = [
        f"{len(questions)} questions, {needed} needed columns of {len(columns)}, top {TOP}",
        "",
        f"| asked by | column recall@{TOP} | against the first, 95 % interval |",
        "| --- | --- | --- |",
    ]
    for name, recall in rows.items():
        beside = str(_compare_recall(recall, rows[first])) if name != first else ""
        lines.append(f"| {name} | {np.mean(list(recall.values())):.3f} | {beside} |")
    return "\n".join(lines)


def _compare_recall(ours: Recall, theirs: Recall) -> metrics.MeanDifference:
    scored = [{id: {"recall": value} for id, value in recall.items()} for recall in (ours, theirs)]
    return metrics.compare_scores(scored[0], scored[1], "recall")


if __name__ == "__main__":
    sys.exit(main())
