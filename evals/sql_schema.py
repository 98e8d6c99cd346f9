"""`python -m evals.sql_schema DIR`: how many of the columns a question needs an SQL agent is given (S1-53 to S1-55).

DIR is in BEIR's layout, a document a column, with the database of each column and question in `metadata.db` and the
tables that the gold SQL of a question touches in `metadata.tables`. Each database is a workflow of its own. Columns
are found by the question itself, and by `enrich_schema`, which is told names of tables and not the question.
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

from rag_core.client import consult_rag, enrich_schema
from rag_core.composition import assembly
from rag_core.core import settings
from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.evaluation import beir, metrics
from rag_core.evaluation.bulk_indexing import index_uploads
from rag_core.ingestion.upload import Upload

TOP = 10
HERE = replace(settings.DEFAULT_SETTINGS, data_dir=None)

Recall = Mapping[str, float]  # by question
Ask = Callable[["Question"], Awaitable[set[str]]]  # the ids of the columns it is given


@dataclass(frozen=True, slots=True)
class Column:
    id: str
    database: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    database: str
    text: str
    tables: tuple[str, ...]
    needed: frozenset[str]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--queries", type=int, metavar="N", help="only every so many questions, N in all")
    chosen = parser.parse_args()
    began = time.perf_counter()
    columns, questions = load(chosen.folder, queries=chosen.queries)
    rows = asyncio.run(evaluate(columns, questions))
    print(table(rows, columns, questions))
    print(f"\n{time.perf_counter() - began:.0f} s", file=sys.stderr)
    return 0


def load(folder: Path, *, queries: int | None = None) -> tuple[list[Column], list[Question]]:
    """The columns and questions of a folder. Raises Misconfigured, naming the file at fault."""
    collection = beir.load_beir_collection(folder, workflow_field="db")
    columns = [Column(p.id, p.workflow_id, p.title, p.text) for p in collection.documents]
    tables = {str(r["_id"]): r["metadata"]["tables"] for r in beir.read_jsonl_records(folder / beir.QUERIES_FILE)}
    questions = [_question(id, collection, tables[id]) for id in collection.queries]
    every = max(1, len(questions) // queries) if queries else 1
    return columns, questions[::every][:queries]


def _question(id: str, asked: beir.BeirCollection, tables: Sequence[str]) -> Question:
    needed = frozenset(column for column, grade in asked.judgements[id].items() if grade > 0)
    return Question(id, asked.workflow_ids[id], asked.queries[id], tuple(tables), needed)


async def evaluate(columns: Sequence[Column], questions: Sequence[Question]) -> dict[str, Recall]:
    """Column recall by each way of asking."""
    kit = assembly.build_in_memory_kit(HERE)
    try:
        await index_uploads([_upload(place, column) for place, column in enumerate(columns)], kit)
        return {name: await _recall(ask, questions) for name, ask in _ways(columns, kit)}
    finally:
        await kit.close()


def _upload(place: int, column: Column) -> tuple[Scope, Upload]:
    upload = Upload(content=f"{column.name}\n\n{column.text}", document_id=str(place), title=column.name)
    return Scope(column.database), upload


def _ways(columns: Sequence[Column], kit: Kit) -> Iterator[tuple[str, Ask]]:
    tables: dict[str, dict[str, None]] = {}
    for column in columns:
        tables.setdefault(column.database, {})[column.name.partition(".")[0]] = None

    def raw(pipeline: str) -> Ask:
        async def ask(question: Question) -> set[str]:
            found = await consult_rag(
                query=question.text, pipeline=pipeline, workflow_id=question.database, top_k=TOP, chosen=HERE, kit=kit
            )
            return _named(found, columns)

        return ask

    def enriched(names: Callable[[Question], Sequence[str]]) -> Ask:
        known: dict[tuple[str, ...], set[str]] = {}

        async def ask(question: Question) -> set[str]:
            about = (question.database, *names(question))
            if about not in known:
                known[about] = await _enriched(question.database, about[1:], columns, kit)
            return known[about]

        return ask

    yield "the question, `standard`", raw("standard")
    yield "the question, `advanced`", raw("advanced")
    yield "`enrich_schema`, all tables of the database", enriched(lambda question: list(tables[question.database]))
    yield "`enrich_schema`, the tables of the gold SQL", enriched(lambda question: question.tables)


async def _enriched(database: str, names: Sequence[str], columns: Sequence[Column], kit: Kit) -> set[str]:
    given: list[Mapping[str, Any]] = []

    async def consult(**fields: Any) -> dict[str, Any]:
        given.append(found := await consult_rag(**fields, chosen=HERE, kit=kit))
        return found

    await enrich_schema("", names, workflow_id=database, top_k=TOP, consult=consult)
    return _named(given[0], columns)


def _named(found: Mapping[str, Any], columns: Sequence[Column]) -> set[str]:
    return {columns[int(document["metadata"]["document_id"])].id for document in found["documents"]}


async def _recall(ask: Ask, questions: Sequence[Question]) -> Recall:
    return {q.id: len(q.needed & await ask(q)) / len(q.needed) for q in questions}


def table(rows: Mapping[str, Recall], columns: Sequence[Column], questions: Sequence[Question]) -> str:
    """Markdown; `*` marks a difference from the first row whose 95 % interval leaves out 0."""
    first = next(iter(rows))
    needed = sum(len(question.needed) for question in questions)
    lines = [
        f"{len(questions)} questions, {needed} needed columns of {len(columns)}, top {TOP}",
        "",
        f"| asked by | column recall@{TOP} | against the first, 95 % interval |",
        "| --- | --- | --- |",
    ]
    for name, recall in rows.items():
        beside = str(_difference(recall, rows[first])) if name != first else ""
        lines.append(f"| {name} | {np.mean(list(recall.values())):.3f} | {beside} |")
    return "\n".join(lines)


def _difference(ours: Recall, theirs: Recall) -> metrics.MeanDifference:
    scored = [{id: {"recall": value} for id, value in recall.items()} for recall in (ours, theirs)]
    return metrics.compare_scores(scored[0], scored[1], "recall")


if __name__ == "__main__":
    sys.exit(main())
