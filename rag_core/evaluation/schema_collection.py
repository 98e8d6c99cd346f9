"""Labelled questions of databases: a folder with `schemas.json` and `queries.jsonl`, as `rag eval schema` reads it.

`schemas.json` describes tables, columns, keys and sample values; where `NAME.sqlite` stands beside, its values are kept
as `rag index --database` keeps them. A line of `queries.jsonl` has `text`, and in `metadata` the database `db`, the
`columns` that its SQL reads as "table.column", and that SQL as `gold_sql`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rag_core.core.errors import Misconfigured, describe_os_error
from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.core.run import Run
from rag_core.evaluation import beir
from rag_core.schema.documents import PastQuestion
from rag_core.schema.ingest import index_inspected_database
from rag_core.schema.inspection import InspectedDatabase, inspect_database
from rag_core.schema.model import Column, ColumnKey, Database, ForeignKey, Table
from rag_core.schema.personal_values import find_personal_values

SCHEMAS_FILE = "schemas.json"
TEXT_FIELDS = ("original_name", "description", "value_description")
INSPECTION_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class SchemaQuestion:
    """A question of a database with its SQL and the columns that this needs."""

    text: str
    database: str
    needed: frozenset[ColumnKey]
    sql: str = ""


@dataclass(frozen=True, slots=True)
class SchemaCollection:
    """The databases of a folder by name, and the questions that are asked of them."""

    folder: Path
    databases: Mapping[str, Database]
    questions: Sequence[SchemaQuestion]


def load_schema_collection(folder: Path) -> SchemaCollection:
    """Return the databases and questions of a folder.

    Raises:
        Misconfigured: a file is not there or not in this form, or a question names what no schema has.
    """
    beir.require_folder(folder)
    try:
        described = json.loads((folder / SCHEMAS_FILE).read_text(encoding="utf-8"))
        databases = {one["name"]: _build_database(one) for one in described}
        questions = _load_questions(folder, databases)
    except OSError as error:
        raise Misconfigured(f"{folder / SCHEMAS_FILE} cannot be read: {describe_os_error(error)}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{error} is missing or not in the schema" if isinstance(error, KeyError) else str(error)
        raise Misconfigured(f"{folder} has no readable {SCHEMAS_FILE} and {beir.QUERIES_FILE}: {reason}") from error
    if not questions:
        raise Misconfigured(f"{folder / beir.QUERIES_FILE} has no question")
    return SchemaCollection(folder, databases, questions)


def _load_questions(folder: Path, databases: Mapping[str, Database]) -> list[SchemaQuestion]:
    """Return the questions with the columns that their SQL reads in the spelling of the schema."""
    spelled = {
        name: {f"{table}.{column}".casefold(): (table, column) for table, column in database.columns}
        for name, database in databases.items()
    }
    return [
        SchemaQuestion(
            record["text"],
            (name := record["metadata"]["db"]),
            frozenset(spelled[name][column.casefold()] for column in record["metadata"]["columns"]),
            record["metadata"]["gold_sql"],
        )
        for record in beir.read_jsonl_records(folder / beir.QUERIES_FILE)
    ]


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


async def index_databases(
    collection: SchemaCollection,
    kit: Kit,
    *,
    suffix: str = "",
    past: Mapping[str, Sequence[PastQuestion]] | None = None,
) -> None:
    """Index every database as a workflow of its own: its name with a suffix, with its `past` questions by database."""
    for name, database in collection.databases.items():
        values = {table.name: _list_values(table, database) for table in database.tables}
        if (file := collection.folder / f"{name}.sqlite").is_file():
            values |= _read_values(file, kit)
        inspected = InspectedDatabase(database, {table: kept for table, kept in values.items() if kept})
        asked_before = list((past or {}).get(name, ()))
        await index_inspected_database(inspected, asked_before, Scope(f"{name}{suffix}"), kit, Run())


def _list_values(table: Table, database: Database) -> dict[str, list[str]]:
    keys = database.key_columns
    return {one.name: list(one.values) for one in table.columns if one.values and (table.name, one.name) not in keys}


def _read_values(file: Path, kit: Kit) -> dict[str, dict[str, list[str]]]:
    def find_personal(column: str, values: list[str]) -> set[str]:
        return find_personal_values(column, values, kit.redactor)

    read = inspect_database(f"sqlite:///{file}", find_personal=find_personal, within_s=INSPECTION_TIMEOUT_S)
    return read.values
