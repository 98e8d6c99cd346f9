"""How well questions are linked to schemas: `python -m evals.sql_schema DIR`, where DIR has `schemas.json`.

Each database is a workflow. Where `NAME.sqlite` stands beside, its values are kept as `rag index --database` keeps
them, else the sample values of `schemas.json`. Beside the linker, on the same columns: the whole schema, the question
itself, and columns whose names or values stand in the question (S1-53 to S1-55). The gold SQL of each question is run
on a copy of its database that has the linked columns only.
"""

import json
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from evals.restricted_databases import FilledDatabase
from evals.schema_weights import LabelledQuestion
from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.core.run import Run
from rag_core.evaluation import beir
from rag_core.rag import RAG
from rag_core.schema.ddl import write_ddl, write_whole_ddl
from rag_core.schema.documents import COLUMN_PART, filter_part, parse_column_key
from rag_core.schema.ingest import index_inspected_database
from rag_core.schema.inspection import InspectedDatabase, inspect_database
from rag_core.schema.joins import list_key_ends
from rag_core.schema.linking import LinkBudget
from rag_core.schema.model import Column, ColumnKey, Database, ForeignKey, LinkedColumn, SchemaLinks, Table
from rag_core.schema.personal_values import find_personal_values
from rag_core.schema.question_reading import QuestionReading
from rag_core.schema.stored_schema import gather_evidence, load_schema
from rag_core.schema.value_matching import match_values
from rag_core.text.identifiers import list_roots, split_identifier
from rag_core.text.tokens import count_tokens

SCHEMAS_FILE = "schemas.json"
LIMIT, SHORT_LIMIT, TABLE_LIMIT = 20, 10, 4
SHARES = ("columns_short", "columns", "tables", "joins", "runs", "tokens")  # of LinkScores, as the table has them
TEXT_FIELDS = ("original_name", "description", "value_description")
INSPECTION_TIMEOUT_S = 120.0

Find = Callable[[LabelledQuestion], Awaitable[SchemaLinks]]


@dataclass(frozen=True, slots=True)
class LinkScores:
    """The figures of one question: shares 0..1, and milliseconds of processor time.

    `runs` is 1 where the gold SQL runs on the linked columns, and None where it does not on the whole database either.
    """

    columns_short: float
    columns: float
    tables: float
    joins: float | None
    runs: float | None
    tokens: float
    cpu_ms: float


def load_labelled_questions(folder: Path, databases: Mapping[str, Database]) -> list[LabelledQuestion]:
    """Return the questions of a folder with the columns that their SQL touches, in the spelling of the schema."""
    spelled = {
        name: {f"{table}.{column}".casefold(): (table, column) for table, column in database.columns}
        for name, database in databases.items()
    }
    return [
        LabelledQuestion(
            record["text"],
            (name := record["metadata"]["db"]),
            frozenset(spelled[name][column.casefold()] for column in record["metadata"]["columns"]),
            record["metadata"]["gold_sql"],
        )
        for record in beir.read_jsonl_records(folder / beir.QUERIES_FILE)
    ]


def load_databases(folder: Path) -> dict[str, Database]:
    """Return the databases of `schemas.json` by name."""
    described = json.loads((folder / SCHEMAS_FILE).read_text(encoding="utf-8"))
    return {one["name"]: _build_database(one) for one in described}


def _build_database(described: Mapping[str, Any]) -> Database:
    tables = tuple(_build_table(table) for table in described["tables"])
    unkeyed = Database(described["name"], tables)
    spelled = {(table.casefold(), column.casefold()): (table, column) for table, column in unkeyed.columns}
    pairs = [
        ((table["name"], column["name"]), spelled.get(_fold_reference(key)))
        for table in described["tables"]
        for column in table["columns"]
        for key in column["foreign_keys"]
    ]
    primary = {(table.name, table.primary_key[0]) for table in tables if len(table.primary_key) == 1}
    keys = dict.fromkeys(_direct_key(one, other, primary) for one, other in pairs if other)
    return replace(unkeyed, foreign_keys=tuple(keys))


def _fold_reference(key: Mapping[str, str]) -> tuple[str, str]:
    return key["reference_table"].casefold(), key["reference_column"].casefold()


def _direct_key(one: ColumnKey, other: ColumnKey, primary: set[ColumnKey]) -> ForeignKey:
    """Return the key from a column to a primary key: `schemas.json` has each at both of its ends."""
    if (one in primary) != (other in primary):
        one, other = (other, one) if one in primary else (one, other)
    else:
        one, other = sorted((one, other))
    return ForeignKey(*one, *other)


def _build_table(described: Mapping[str, Any]) -> Table:
    columns = tuple(_build_column(column) for column in described["columns"])
    return Table(described["name"], columns, tuple(described["primary_key"]), "", described["row_count"])


def _build_column(described: Mapping[str, Any]) -> Column:
    texts = dict.fromkeys(text for field in TEXT_FIELDS if (text := described[field]))
    values = tuple(str(value) for value in described["sample_values"] or ())
    return Column(
        described["name"],
        described["type"] or "",
        ". ".join(texts),
        values,
        described["unique_count"],
        described["null_fraction"],
    )


async def index_databases(folder: Path, databases: Mapping[str, Database], kit: Kit) -> None:
    """Index every database as a workflow of its own."""
    for name, database in databases.items():
        values = {table.name: _list_values(table, database) for table in database.tables}
        if (file := folder / f"{name}.sqlite").is_file():
            values |= _read_values(file, kit)
        inspected = InspectedDatabase(database, {table: kept for table, kept in values.items() if kept})
        await index_inspected_database(inspected, [], Scope(name), kit, Run())


def _list_values(table: Table, database: Database) -> dict[str, list[str]]:
    keys = database.key_columns
    return {one.name: list(one.values) for one in table.columns if one.values and (table.name, one.name) not in keys}


def _read_values(file: Path, kit: Kit) -> dict[str, dict[str, list[str]]]:
    def find_personal(column: str, values: list[str]) -> set[str]:
        return find_personal_values(column, values, kit.redactor)

    read = inspect_database(f"sqlite:///{file}", find_personal=find_personal, within_s=INSPECTION_TIMEOUT_S)
    return read.values


async def gather_all_evidence(questions: Iterable[LabelledQuestion], kit: Kit) -> list[LabelledQuestion]:
    """Return the questions with what the index says of each, for the fitting of weights."""
    gathered = []
    for one in questions:
        scope, reading = Scope(one.database), QuestionReading(one.text)
        schema = await load_schema(one.database, scope, kit.index)
        vectors = await kit.index.embed_queries([one.text, *reading.phrases])
        evidence = await gather_evidence(reading, vectors, schema, scope, kit.index)
        gathered.append(replace(one, evidence=evidence))
    return gathered


def list_link_ways(databases: Mapping[str, Database], kit: Kit) -> Iterator[tuple[str, Find]]:
    """Yield the ways to find columns, by name."""
    rag = RAG(kit)

    async def find_all(one: LabelledQuestion) -> SchemaLinks:
        return _give_columns(databases[one.database], databases[one.database].columns, limit=10**6)

    async def search(one: LabelledQuestion) -> SchemaLinks:
        filters = filter_part(one.database, COLUMN_PART)
        reply = await rag.search(one.text, scope=one.database, filters=filters, pipeline="standard", top_k=LIMIT)
        found = [key for hit in reply.hits if (key := parse_column_key(hit.chunk))]
        return _give_columns(databases[one.database], found)

    async def match_names(one: LabelledQuestion) -> SchemaLinks:
        database = databases[one.database]
        return _give_columns(database, _rank_by_names(one.text, database))

    async def link(one: LabelledQuestion) -> SchemaLinks:
        return (await rag.link_schema(one.text, scope=one.database, budget=LinkBudget(LIMIT))).links

    yield "the whole schema", find_all
    yield "the question, `standard`", search
    yield "names and values in the question", match_names
    yield "`link_schema`", link


def _give_columns(database: Database, found: Sequence[ColumnKey], *, limit: int = LIMIT) -> SchemaLinks:
    """Return the first columns as links, with the keys between them and their DDL."""
    columns = {(table.name, column.name): column for table, column in database.iterate_columns()}
    first = tuple(LinkedColumn(key[0], columns[key], 1.0) for key in found[:limit])
    joins = tuple(key for key in database.foreign_keys if set(list_key_ends(key)) <= set(found[:limit]))
    return write_ddl(SchemaLinks(database.name, (), first, joins, ()), database, 10**6)


def _rank_by_names(text: str, database: Database) -> list[ColumnKey]:
    """Rank columns as the linking of RAT-SQL does: whole names before parts of names, and values (ACL 2020)."""
    roots = set(list_roots(text))
    listed = [((t.name, c.name), v) for t, c in database.iterate_columns() for v in c.values]
    valued = {one.column for one in match_values(QuestionReading(text), listed)}

    def score(key: ColumnKey) -> float:
        table, column = (set(list_roots(split_identifier(name))) for name in key)
        whole = 2 * (column <= roots) + (table <= roots)
        return whole + 0.5 * bool(column & roots) + 0.25 * bool(table & roots) + 2 * (key in valued)

    return sorted(database.columns, key=lambda key: -score(key))


async def score_links(
    find: Find, questions: Sequence[LabelledQuestion], databases: Mapping[str, FilledDatabase]
) -> list[LinkScores]:
    """Return the figures of each question by one way of finding columns."""
    whole = {name: count_tokens(write_whole_ddl(filled.database)) for name, filled in databases.items()}
    return [await _score_one(find, one, databases[one.database], whole[one.database]) for one in questions]


async def _score_one(find: Find, one: LabelledQuestion, filled: FilledDatabase, whole: int) -> LinkScores:
    database = filled.database
    started = time.process_time()
    links = await find(one)
    cpu_ms = (time.process_time() - started) * 1000
    found = [(linked.table, linked.column.name) for linked in links.columns]
    tables = list(dict.fromkeys(table.name for table in links.tables)) or list(dict.fromkeys(t for t, _ in found))
    joined = [key for key in database.foreign_keys if set(list_key_ends(key)) <= one.needed]
    limit = len(found) if len(found) == len(database.columns) else LIMIT  # the whole schema has no order
    return LinkScores(
        columns_short=_share(one.needed, found[: min(SHORT_LIMIT, limit) if limit == LIMIT else limit]),
        columns=_share(one.needed, found[:limit]),
        tables=_share({table for table, _ in one.needed}, tables[: TABLE_LIMIT if limit == LIMIT else None]),
        joins=_share(joined, links.joins) if joined else None,
        runs=filled.runs_on(one.sql, found[:limit]),
        tokens=links.ddl_tokens / whole,
        cpu_ms=cpu_ms,
    )


def _share(needed: Iterable[Any], found: Iterable[Any]) -> float:
    wanted = set(needed)
    return len(wanted & set(found)) / len(wanted)


def format_link_table(scores: Mapping[str, Sequence[LinkScores]], title: str) -> str:
    """Format a Markdown table, a row a way."""
    columns = f"column recall@{SHORT_LIMIT} | @{LIMIT} | table recall@{TABLE_LIMIT} | join recall | SQL runs"
    lines = [
        title,
        "",
        f"| found by | {columns} | tokens, share | CPU ms |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, rows in scores.items():
        shown = [_format_share([getattr(row, field) for row in rows]) for field in SHARES]
        cpu_ms = np.mean([row.cpu_ms for row in rows])
        lines.append(f"| {name} | {' | '.join(shown)} | {cpu_ms:.0f} |")
    return "\n".join(lines)


def _format_share(values: Sequence[float | None]) -> str:
    """Format a mean with half the width of its 95 % interval, by the normal approximation."""
    counted = np.array([value for value in values if value is not None], dtype=float)
    if not len(counted):
        return "-"
    half = 1.96 * np.std(counted) / np.sqrt(len(counted))
    return f"{np.mean(counted):.3f} ± {half:.3f}"
