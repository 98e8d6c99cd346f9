"""Comments that somebody wrote within the definition of a table of SQLite."""

import sqlite3
from pathlib import Path

import pytest

from rag_core.schema.inspection import inspect_database
from rag_core.schema.sqlite_comments import TABLE, read_sqlite_comments


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("create table a -- all of it\n(x int)", {TABLE: "all of it"}),
        ("create table a (x int, -- of x\n y int -- of y\n)", {"x": "of x", "y": "of y"}),
        ("create table a (\n-- of x\n-- and more\nx int,\n/* of y */ y int)", {"x": "of x and more", "y": "of y"}),
        ("create table a (x decimal(10, 2) /* in EUR */, y int)", {"x": "in EUR"}),
        ("create table a (x text default '-- it''s (', y int -- of y\n)", {"y": "of y"}),
        (
            'create table a ("x ""1""" int, -- of x\n [y z] int /* of y */, `w` int -- of w\n)',
            {'x "1"': "of x", "y z": "of y", "w": "of w"},
        ),
        ("create table a (x int,\n-- old int,\ny int)", {}),  # a column that was taken out
        ("create table a (x int check (x > 0), -- of x\n primary key (x))", {"x": "of x"}),
        ("create table a (x int /* never closed", {"x": "never closed"}),
        ("create table a (x int, y int)", {}),
    ],
)
def test_a_comment_is_about_the_column_of_its_line_or_the_next(statement: str, said: dict[str, str]) -> None:
    assert read_sqlite_comments(statement) == said


def test_comments_of_sqlite_describe_tables_and_columns(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "d.sqlite") as db:
        db.execute("create table meter /* devices */ (kind text, -- E electricity, G gas\n no text)")
    db.close()
    read = inspect_database(f"sqlite:///{tmp_path}/d.sqlite", find_personal=lambda column, values: set(), within_s=60)
    (table,) = read.database.tables
    assert table.description == "devices"
    assert [column.description for column in table.columns] == ["E electricity, G gas", ""]
