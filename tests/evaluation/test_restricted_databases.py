"""SQL on a copy of a database that has only some of its columns."""

import sqlite3
from pathlib import Path

import pytest

from rag_core.evaluation.restricted_databases import FilledDatabase, fill_database
from rag_core.schema.model import Column, Database, ForeignKey, Table

ALL = {("hero", "name"), ("hero", "eye id"), ("colour", "id"), ("colour", "colour")}


@pytest.fixture
def heroes(tmp_path: Path) -> FilledDatabase:
    hero = Table("hero", (Column("name", "TEXT", values=("Ann", "Bob")), Column("eye id", "INTEGER")))
    colour = Table("colour", (Column("id", "INTEGER", values=("1", "2")), Column("colour", "TEXT", values=("Blue",))))
    key = ForeignKey("hero", "eye id", "colour", "id")
    return fill_database(Database("heroes", (hero, colour), (key,)), tmp_path)


@pytest.mark.parametrize(
    ("sql", "missing", "runs"),
    [
        ("SELECT name FROM hero", ("hero", "eye id"), True),
        ("SELECT name FROM hero", ("hero", "name"), False),
        ("SELECT COUNT(*) FROM hero JOIN colour ON `eye id` = id", ("hero", "eye id"), False),
        ('SELECT "colour" FROM colour', ("colour", "colour"), False),  # SQLite would take it for a text
        ("SELECT * FROM hero", ("hero", "name"), False),
        ("SELECT age FROM hero", ("hero", "name"), None),
    ],
)
def test_sql_runs_where_all_its_columns_are(
    heroes: FilledDatabase, sql: str, missing: tuple[str, str], runs: bool | None
) -> None:
    assert heroes.runs_on(sql, ALL - {missing}) is runs


def test_a_table_without_linked_columns_is_not_there(heroes: FilledDatabase) -> None:
    assert heroes.runs_on("SELECT COUNT(*) FROM hero", {("colour", "id")}) is False


def test_made_rows_join(heroes: FilledDatabase) -> None:
    ids = {str(row[0]) for row in heroes.rows["colour"]}
    assert {str(row[1]) for row in heroes.rows["hero"]} <= ids


def test_the_rows_of_a_file_are_taken_where_there_is_one(heroes: FilledDatabase, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "heroes.sqlite") as file:
        file.execute('CREATE TABLE hero (name TEXT, "eye id" INTEGER)')
        file.execute("CREATE TABLE colour (id INTEGER, colour TEXT)")
        file.execute("INSERT INTO hero VALUES ('Zoe', 7)")
    assert fill_database(heroes.database, tmp_path).rows == {"hero": [("Zoe", 7)], "colour": []}
