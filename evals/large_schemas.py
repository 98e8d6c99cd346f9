"""What large schemas cost: `python -m evals.large_schemas [--tables 300] [--columns 500]`.

A PostgreSQL of made tables with keys, comments and rows is indexed as `rag index --database` does it, with its time
and the most memory that the process held. Then questions are linked to a schema of so many columns, in processor time,
beside the embedding of the same questions in the same run.
"""

import argparse
import asyncio
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rag_core.composition import assembly
from rag_core.core import settings
from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.core.run import Run
from rag_core.rag import RAG
from rag_core.schema.ingest import DatabaseSource, index_database, index_inspected_database
from rag_core.schema.inspection import InspectedDatabase
from rag_core.schema.model import Column, Database, ForeignKey, Table
from tests import postgres

HERE = replace(settings.DEFAULT_SETTINGS, data_dir=None)
THINGS = ("order", "invoice", "driver", "vehicle", "repair", "supplier", "patient", "visit", "course", "payment")
SUBJECTS = ("history", "detail", "address", "contract", "status", "price", "document", "audit", "region", "schedule")
FACTS = ("created_on date", "total_amount numeric", "city_name text", "status_code text", "quantity integer")
CITIES = ("Lisbon", "Turin", "Graz", "Oulu", "Cork", "Ghent", "Brno")
ROWS = 200
COLUMNS_OF_TABLE = 7  # id, the reference, and the facts
QUESTIONS = (
    "What is the total amount of invoices in Turin?",
    "How many repairs were created in 2023 by status?",
    "Which supplier has the largest quantity in its contracts?",
    "List the city of every patient whose visit has status open",
    "What was the average price of a course in Ghent last year?",
)
ROUNDS = 10


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", type=int, default=300, help="of the PostgreSQL that is indexed")
    parser.add_argument("--columns", type=int, default=500, help="of the schema to which questions are linked")
    chosen = parser.parse_args()
    print(asyncio.run(measure_indexing(chosen.tables)))
    print(asyncio.run(measure_linking(chosen.columns)))
    return 0


async def measure_indexing(tables: int) -> str:
    """Return what it costs to index a PostgreSQL of so many tables, the first time and unchanged."""
    address = postgres.empty_database("large")
    postgres.run(address, *write_tables(tables))
    kit = assembly.build_in_memory_kit(HERE)
    before = _get_peak_memory_mb()
    try:
        lines = [await _measure_round(name, address, kit) for name in ("first", "unchanged")]
    finally:
        await kit.close()
    return "\n".join([*lines, f"memory: {before:.0f} MB before, {_get_peak_memory_mb():.0f} MB at most"])


async def _measure_round(name: str, address: str, kit: Kit) -> str:
    started, used = time.perf_counter(), time.process_time()
    indexed = await index_database(DatabaseSource(address), Scope("large"), kit, Run(600))
    wall, cpu = time.perf_counter() - started, time.process_time() - used
    counted = f"{indexed.tables} tables, {indexed.columns} columns, {indexed.chunks} passages"
    return f"{name}: {counted}, {indexed.embedded} embedded, {wall:.1f} s, {cpu:.1f} s CPU, {len(indexed.notes)} notes"


def write_tables(count: int) -> Iterator[str]:
    """Yield the SQL of so many tables, each of which refers to one before it, with rows and comments."""
    for place, name in enumerate(_list_names(count)):
        parent = _list_names(count)[place // 2]
        facts = ", ".join(FACTS)
        yield f"create table {name} (id integer primary key, {parent}_id integer references {parent} (id), {facts})"
        yield (
            f"insert into {name} select n, n, date '2023-01-01' + n, n * 1.5, "  # noqa: S608 - our own names
            f"(array{list(CITIES)})[1 + n % {len(CITIES)}], 'S' || n % 5, n % 90 from generate_series(1, {ROWS}) n"
        )
        yield f"comment on table {name} is 'One {name.replace('_', ' ')} a row'"
        yield f"comment on column {name}.total_amount is 'in euros, without taxes'"


def _list_names(count: int) -> list[str]:
    pairs = [f"{thing}_{subject}" for subject in SUBJECTS for thing in THINGS]
    return [pairs[place % len(pairs)] + f"_{place // len(pairs)}" * (place >= len(pairs)) for place in range(count)]


async def measure_linking(columns: int) -> str:
    """Return the processor time of linking a question to a schema of so many columns, and of its embedding."""
    kit = assembly.build_in_memory_kit(HERE)
    try:
        database = build_database(columns)
        values = {table.name: {"city_name": list(CITIES)} for table in database.tables}
        await index_inspected_database(InspectedDatabase(database, values), [], Scope("wide"), kit, Run(600))
        rag = RAG(kit)
        await rag.link_schema(QUESTIONS[0], scope="wide")  # reads the schema and loads the models
        linked, embedded = [], []
        for place in range(ROUNDS * len(QUESTIONS)):
            text = f"{QUESTIONS[place % len(QUESTIONS)]} ({place})"  # no text twice: embeddings are remembered
            started = time.process_time()
            await kit.index.embed_queries([f"{text}!"])
            embedded.append((time.process_time() - started) * 1000)
            started = time.process_time()
            await rag.link_schema(text, scope="wide")
            linked.append((time.process_time() - started) * 1000)
    finally:
        await kit.close()
    shown = f"{np.median(linked):.0f} ms CPU a question (95th percentile {np.percentile(linked, 95):.0f})"
    ratio = np.median(linked) / np.median(embedded)
    return f"{len(database.columns)} columns: {shown}; {ratio:.1f} times the embedding of the question"


def build_database(columns: int) -> Database:
    """Return a schema of at least so many columns, in tables of seven that refer to one another."""
    names = _list_names(-(-columns // COLUMNS_OF_TABLE))
    keys = tuple(ForeignKey(name, f"{names[n // 2]}_id", names[n // 2], "id") for n, name in enumerate(names))
    tables = tuple(_build_table(name, key.column) for name, key in zip(names, keys, strict=True))
    return Database("wide", tables, foreign_keys=keys)


def _build_table(name: str, reference: str) -> Table:
    described = [fact.split() for fact in FACTS]
    facts = [Column(fact, type, values=CITIES if "city" in fact else ()) for fact, type in described]
    columns = (Column("id", "integer"), Column(reference, "integer"), *facts)
    return Table(name, columns, ("id",), f"One {name.replace('_', ' ')} a row", ROWS)


def _get_peak_memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
