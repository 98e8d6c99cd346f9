"""Where records of proposals are read from: a JSON file or the tables of a database. Nothing is fetched."""

import gzip
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any

from rag_core.core.errors import InvalidRequest, Misconfigured, NotFound, Unavailable
from rag_core.proposals.records import STAGES, Record

POSTGRES = ("postgres://", "postgresql://")
SQLITE = (".db", ".sqlite", ".sqlite3")
QUERIES = {"proposal": "SELECT * FROM proposal ORDER BY id"} | {
    stage: f"SELECT * FROM {stage}_stage ORDER BY proposal_id, id"  # noqa: S608 our own names
    for stage in STAGES
}


def records(source: str) -> Iterator[Record]:
    """The proposals of a source, each with the stages it has.

    A source is a .json file (a list), a .jsonl file (one a line), either of them with .gz; an SQLite file; or the
    address of a PostgreSQL database. A database has the tables `proposal`, `forum_stage`, `snapshot_stage` and
    `tally_stage`, which are joined here (S2-11): of several rows of a stage the last one stands.

    Raises:
        NotFound: no such file.
        InvalidRequest: it is none of these, or not JSON; the line is named.
        Misconfigured: the database lacks a table or column.
        Unavailable: the database did not answer.
    """
    if source.startswith(POSTGRES):
        return _joined(_of_postgres(source))
    path = Path(source)
    if not path.is_file():
        raise NotFound(f"{source}: no such file", field="source")
    if path.suffix in SQLITE:
        return _joined(_of_sqlite(path))
    return _of_json(path)


def _of_json(path: Path) -> Iterator[Record]:
    kind = "".join(path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:]).removesuffix(".gz")
    if kind not in (".json", ".jsonl"):
        raise InvalidRequest("source", "must be a .json, .jsonl, .db or .sqlite file, or a postgresql:// address")
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            yield from _listed(file) if kind == ".json" else _by_line(file)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as failure:
        raise InvalidRequest("source", f"must be readable as UTF-8: {type(failure).__name__}") from failure


def _listed(file: IO[str]) -> Iterator[Record]:
    found = _parsed(file.read(), "the file")
    if not isinstance(found, list) or not all(isinstance(record, dict) for record in found):
        raise InvalidRequest("source", "must be a list of objects")
    yield from found


def _by_line(file: IO[str]) -> Iterator[Record]:
    for number, text in enumerate(file, start=1):
        if text.strip():
            record = _parsed(text, f"line {number}")
            if not isinstance(record, dict):
                raise InvalidRequest("source", f"must have an object a line; line {number} has none")
            yield record


def _parsed(text: str, where: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidRequest("source", f"must be JSON; {where} is not") from None


Table = list[dict[str, Any]]


def _joined(tables: dict[str, Table]) -> Iterator[Record]:
    by_proposal = {stage: {str(row["proposal_id"]): _decoded(row) for row in tables[stage]} for stage in STAGES}
    for row in tables["proposal"]:
        yield {**row, **{stage: rows.get(str(row["id"])) for stage, rows in by_proposal.items()}}


def _decoded(row: dict[str, Any]) -> dict[str, Any]:
    """SQLite has no JSON type: comments come as text. Options are read in any form."""
    comments = row.get("comments")
    return {**row, "comments": _parsed(comments, "a comments column")} if isinstance(comments, str) else row


def _of_sqlite(path: Path) -> dict[str, Table]:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            return _tables(connection.execute)
    except sqlite3.Error as failure:
        raise Misconfigured(f"the database cannot be read: {failure}", field="source") from failure


def _of_postgres(address: str) -> dict[str, Table]:
    import psycopg

    try:
        with psycopg.connect(address, connect_timeout=10) as connection:
            return _tables(connection.execute)
    except psycopg.OperationalError as failure:
        raise Unavailable("the database of the proposals did not answer", code="source_unavailable") from failure
    except psycopg.Error as failure:
        message = failure.diag.message_primary or type(failure).__name__
        raise Misconfigured(f"the database cannot be read: {message}", field="source") from failure


def _tables(execute: Callable[[Any], Any]) -> dict[str, Table]:
    """Every row of the four tables, by column name."""
    tables = {}
    for name, query in QUERIES.items():
        cursor = execute(query)
        columns = [column[0] for column in cursor.description]
        tables[name] = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
    return tables
