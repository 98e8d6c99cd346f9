"""Descriptions of tables and columns, and questions asked before, from files beside a database."""

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rag_core.core.errors import InvalidRequest
from rag_core.schema.documents import PastQuestion
from rag_core.schema.model import Database, Table

SUFFIXES = (".csv", ".yml", ".yaml")
NAME_FIELD = "original_column_name"
TEXT_FIELDS = ("column_name", "column_description", "value_description")  # as the BIRD data sets name them


@dataclass(frozen=True, slots=True)
class Description:
    """What a file says of a column, or of a table."""

    text: str
    unit: str = ""


Descriptions = Mapping[
    tuple[str, str], Description
]  # by table and column in lower case; "" stands for the table itself


def read_descriptions(path: Path) -> dict[tuple[str, str], Description]:
    """Return the descriptions in a YAML file, or in the CSV and YAML files of a folder and the folders in it.

    A CSV file is of one table and has a column `original_column_name` and any of `column_name`, `column_description`,
    `value_description`. YAML is as `rag_core/schema/yaml_descriptions.py` says; a later file adds to an earlier one.

    Raises:
        InvalidRequest: there is no such file, or one of them cannot be read.
    """
    files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES) if path.is_dir() else [path]
    found: dict[tuple[str, str], Description] = {}
    for file in files:
        for key, said in _read_file(file):
            found[key] = _join_descriptions(found.get(key), said)
    if not found:
        raise InvalidRequest(
            "descriptions", "must be a YAML file that describes tables, or a folder of CSV or YAML files"
        )
    return found


def describe_database(database: Database, descriptions: Descriptions) -> Database:
    """Return the database with these descriptions beside the comments that it has itself."""
    return replace(database, tables=tuple(_describe_table(table, descriptions) for table in database.tables))


def list_unknown_descriptions(database: Database, descriptions: Descriptions) -> list[str]:
    """Return the described tables and columns that the database does not have, in lower case."""
    known = {(table.casefold(), column.casefold()) for table, column in database.columns}
    known |= {(table.name.casefold(), "") for table in database.tables}
    return sorted(".".join(filter(None, key)) for key in descriptions.keys() - known)


def read_past_questions(file: Path) -> list[PastQuestion]:
    """Return the questions of a JSON Lines file, each a line with `question` and `sql`.

    Raises:
        InvalidRequest: a line is not that.
    """
    return [_parse_past_question(number, line) for number, line in _iterate_lines(file)]


def _read_file(file: Path) -> Iterator[tuple[tuple[str, str], Description]]:
    if file.suffix == ".csv":
        table = file.stem.casefold()
        yield from (((table, name.casefold()), Description(text)) for name, text in _read_csv_file(file))
        return
    from rag_core.schema.yaml_descriptions import read_yaml_descriptions  # PyYAML comes with the extra `local`

    for one in read_yaml_descriptions(file):
        if one.text or one.unit:
            yield (one.table.casefold(), one.column.casefold()), Description(one.text, one.unit)


def _join_descriptions(first: Description | None, second: Description) -> Description:
    if first is None:
        return second
    texts = dict.fromkeys(filter(None, (first.text, second.text)))
    return Description(". ".join(texts), second.unit or first.unit)


def _read_csv_file(file: Path) -> Iterator[tuple[str, str]]:
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


def _describe_table(table: Table, descriptions: Descriptions) -> Table:
    columns = []
    for column in table.columns:
        said = descriptions.get((table.name.casefold(), column.name.casefold()), Description(""))
        columns.append(replace(column, description=_add_text(column.description, said), unit=said.unit))
    said = descriptions.get((table.name.casefold(), ""), Description(""))
    return replace(table, columns=tuple(columns), description=_add_text(table.description, said))


def _add_text(comment: str, said: Description) -> str:
    return ". ".join(filter(None, (comment, said.text)))


def _iterate_lines(file: Path) -> Iterator[tuple[int, str]]:
    return ((n, line) for n, line in enumerate(_read_text(file).splitlines(), start=1) if line.strip())


def _parse_past_question(number: int, line: str) -> PastQuestion:
    try:
        parsed = json.loads(line)
        return PastQuestion(str(parsed["question"]), str(parsed["sql"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        message = f"must have an object with question and sql on each line; line {number} has none"
        raise InvalidRequest("questions", message) from None
