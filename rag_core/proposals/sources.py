"""Sources of proposal records: a JSON file or the tables of a database. Nothing is downloaded."""

import gzip
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any

from rag_core.core.errors import InvalidRequest, Misconfigured, NotFound, Unavailable, describe_read_error
from rag_core.proposals.records import STAGE_NAMES, ProposalRecord

POSTGRES_SCHEMES = ("postgres://", "postgresql://")
SQLITE_SUFFIXES = (".db", ".sqlite", ".sqlite3")
TABLE_QUERIES = {"proposal": "SELECT * FROM proposal ORDER BY id"} | {
    stage: f"SELECT * FROM {stage}_stage ORDER BY proposal_id, id"  # noqa: S608 our own names
    for stage in STAGE_NAMES
}


def read_proposal_records(source: str) -> Iterator[ProposalRecord]:
    """Yield the proposals of a source, each with its stages.

    A source is a .json file (a list), a .jsonl file (one record per line), either of them with .gz; an SQLite file; or
    the URL of a PostgreSQL database. A database has the tables `proposal`, `forum_stage`, `snapshot_stage` and
    `tally_stage`, which are joined here (S2-11); of several rows of a stage the last one counts.

    Raises:
        NotFound: there is no such file.
        InvalidRequest: the source is none of these, or not JSON; the line is named.
        Misconfigured: the database lacks a table or column.
        Unavailable: the database did not answer.
    """
    if source.startswith(POSTGRES_SCHEMES):
        return _join_stages(_read_postgres_tables(source))
    path = Path(source)
    if path.is_dir():
        raise InvalidRequest("source", f"must be a file: {source} is a folder")
    if not path.is_file():
        raise NotFound(f"{source}: no such file", field="source")
    if not path.stat().st_size:
        raise InvalidRequest("source", f"must have records: {source} is empty")
    if path.suffix in SQLITE_SUFFIXES:
        return _join_stages(_read_sqlite_tables(path))
    return _read_json_records(path)


def _read_json_records(path: Path) -> Iterator[ProposalRecord]:
    kind = "".join(path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:]).removesuffix(".gz")
    if kind not in (".json", ".jsonl"):
        raise InvalidRequest("source", "must be a .json, .jsonl, .db or .sqlite file, or a postgresql:// URL")
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            yield from _parse_json_array(file) if kind == ".json" else _parse_json_lines(file)
    except UnicodeDecodeError as error:
        raise InvalidRequest("source", f"must be UTF-8 text: {path} is not") from error
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidRequest("source", f"must be readable: {describe_read_error(error)}") from error


def _parse_json_array(file: IO[str]) -> Iterator[ProposalRecord]:
    parsed = _parse_source_json(file.read(), "the file")
    if not isinstance(parsed, list) or not all(isinstance(record, dict) for record in parsed):
        raise InvalidRequest("source", "must be a list of objects")
    yield from parsed


def _parse_json_lines(file: IO[str]) -> Iterator[ProposalRecord]:
    for number, text in enumerate(file, start=1):
        if text.strip():
            record = _parse_source_json(text, f"line {number}")
            if not isinstance(record, dict):
                raise InvalidRequest("source", f"must have one object per line; line {number} has none")
            yield record


def _parse_source_json(text: str, where: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidRequest("source", f"must be JSON; {where} is not") from None


TableRows = list[dict[str, Any]]


def _join_stages(tables: dict[str, TableRows]) -> Iterator[ProposalRecord]:
    """Yield the rows of the table `proposal`, each with the row of each of its stages by the stage's name."""
    stage_rows = {
        stage: {str(row["proposal_id"]): _decode_comments(row) for row in tables[stage]} for stage in STAGE_NAMES
    }
    for row in tables["proposal"]:
        yield {**row, **{stage: rows.get(str(row["id"])) for stage, rows in stage_rows.items()}}


def _decode_comments(row: dict[str, Any]) -> dict[str, Any]:
    """Return a stage's row with its comments decoded, which SQLite, without a JSON type, has as text."""
    comments = row.get("comments")
    return {**row, "comments": _parse_source_json(comments, "a comments column")} if isinstance(comments, str) else row


def _read_sqlite_tables(path: Path) -> dict[str, TableRows]:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            return _query_tables(connection.execute)
    except sqlite3.Error as error:
        raise Misconfigured(f"the database cannot be read: {error}", field="source") from error


def _read_postgres_tables(address: str) -> dict[str, TableRows]:
    import psycopg

    try:
        with psycopg.connect(address, connect_timeout=10) as connection:
            return _query_tables(connection.execute)
    except psycopg.OperationalError as error:
        raise Unavailable("the database of the proposals did not answer", code="source_unavailable") from error
    except psycopg.Error as error:
        message = error.diag.message_primary or type(error).__name__
        raise Misconfigured(f"the database cannot be read: {message}", field="source") from error


def _query_tables(execute: Callable[[Any], Any]) -> dict[str, TableRows]:
    """Return all rows of the four tables, each as values by column name."""
    tables = {}
    for name, query in TABLE_QUERIES.items():
        cursor = execute(query)
        columns = [column[0] for column in cursor.description]
        tables[name] = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
    return tables
