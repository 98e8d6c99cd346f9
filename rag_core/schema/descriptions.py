"""Descriptions of tables and columns, and questions asked before, from files beside a database."""

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from rag_core.core.errors import InvalidRequest
from rag_core.schema.documents import PastQuestion
from rag_core.schema.model import ColumnKey, Database, Table

NAME_FIELD = "original_column_name"
TEXT_FIELDS = ("column_name", "column_description", "value_description")  # as the BIRD data sets name them


def read_descriptions(folder: Path) -> dict[ColumnKey, str]:
    """Return the descriptions in a folder of CSV files, one a table, by table and column in lower case.

    Each has a column `original_column_name` and any of `column_name`, `column_description`, `value_description`.

    Raises:
        InvalidRequest: the folder has no such file.
    """
    files = sorted(folder.glob("*.csv"))
    if not files:
        raise InvalidRequest("descriptions", "must be a folder of CSV files, one a table")
    return {
        (file.stem.casefold(), name.casefold()): text for file in files for name, text in _read_description_file(file)
    }


def describe_database(database: Database, descriptions: Mapping[ColumnKey, str]) -> Database:
    """Return the database with these descriptions beside the comments that it has itself."""
    return replace(database, tables=tuple(_describe_table(table, descriptions) for table in database.tables))


def read_past_questions(file: Path) -> list[PastQuestion]:
    """Return the questions of a JSON Lines file, each a line with `question` and `sql`.

    Raises:
        InvalidRequest: a line is not that.
    """
    return [_parse_past_question(number, line) for number, line in _iterate_lines(file)]


def _read_description_file(file: Path) -> Iterator[tuple[str, str]]:
    for row in csv.DictReader(_read_text(file).splitlines()):
        name = (row.get(NAME_FIELD) or "").strip()
        parts = dict.fromkeys(part for field in TEXT_FIELDS if (part := (row.get(field) or "").strip()))
        text = ". ".join(part for part in parts if part != name)
        if name and text:
            yield name, text


def _read_text(file: Path) -> str:
    """Return the text of a file in UTF-8, or in the encoding of Windows that spreadsheets still write."""
    data = file.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def _describe_table(table: Table, descriptions: Mapping[ColumnKey, str]) -> Table:
    columns = []
    for column in table.columns:
        described = descriptions.get((table.name.casefold(), column.name.casefold()), "")
        columns.append(replace(column, description=". ".join(filter(None, (column.description, described)))))
    return replace(table, columns=tuple(columns))


def _iterate_lines(file: Path) -> Iterator[tuple[int, str]]:
    return ((n, line) for n, line in enumerate(_read_text(file).splitlines(), start=1) if line.strip())


def _parse_past_question(number: int, line: str) -> PastQuestion:
    try:
        parsed = json.loads(line)
        return PastQuestion(str(parsed["question"]), str(parsed["sql"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        message = f"must have an object with question and sql on each line; line {number} has none"
        raise InvalidRequest("questions", message) from None
