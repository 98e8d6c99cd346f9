"""Which columns a statement reads, in each kind of SQL, and what of a log is refused."""

import pytest

from rag_core.schema.model import Column, Database, Table
from rag_core.schema.sql_reading import MAX_SQL_CHARS, SqlReader

DATABASE = Database(
    "d",
    (
        Table("Hero", (Column("id"), Column("name"), Column("eye_id"), Column("Height (cm)"))),
        Table("colour", (Column("id"), Column("colour"))),
    ),
)


def read(sql: str, dialect: str = "sqlite") -> list[str]:
    columns = SqlReader(DATABASE, dialect).list_read_columns(sql)
    return ["unread"] if columns is None else sorted(".".join(column) for column in columns)


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT name FROM hero WHERE `Height (cm)` > 180", ["Hero.Height (cm)", "Hero.name"]),
        (
            "SELECT COUNT(*) FROM hero AS a JOIN colour b ON a.eye_id = b.id WHERE b.colour = 'Blue'",
            ["Hero.eye_id", "colour.colour", "colour.id"],
        ),
        ("WITH a AS (SELECT name AS n FROM HERO) SELECT n FROM a ORDER BY n", ["Hero.name"]),
        ("SELECT 1 FROM hero h WHERE EXISTS (SELECT 1 FROM colour WHERE id = h.eye_id)", ["Hero.eye_id", "colour.id"]),
        ('SELECT "NAME" FROM main."hero"', ["Hero.name"]),
    ],
)
def test_columns_are_read_in_the_spelling_of_the_database(sql: str, columns: list[str]) -> None:
    assert read(sql) == columns


def test_each_server_has_its_own_sql() -> None:
    assert read("SELECT name::text FROM public.hero WHERE name ILIKE 'a%' AND \"id\" = 1", "postgresql") == [
        "Hero.id",
        "Hero.name",
    ]
    assert read("SELECT name FROM `hero` LIMIT 2, 3", "mariadb") == ["Hero.name"]


@pytest.mark.parametrize("sql", ["DROP TABLE hero", "SELECT price FROM invoice", "SELECT nothing FROM hero"])
def test_what_the_database_does_not_have_reads_nothing(sql: str) -> None:
    assert read(sql) == []


@pytest.mark.parametrize(
    "sql",
    ["", "how tall are they?", "SELECT (", "SELECT " + "(" * 3000, "SELECT 1" + " " * MAX_SQL_CHARS],
    ids=["empty", "a sentence", "half", "deep", "long"],
)
def test_what_is_no_sql_is_not_read(sql: str) -> None:
    assert read(sql) == ["unread"]


@pytest.mark.parametrize("sql", ["SELECT TOP 5 name FROM hero", "SELECT name FROM hero WHERE name ~* 'a'"])
def test_a_log_of_another_server_is_read_in_its_own_kind(sql: str) -> None:
    assert read(sql) == ["Hero.name"]


@pytest.mark.parametrize(
    ("sql", "is_writing"),
    [
        ("DELETE FROM hero", True),
        ("UPDATE hero SET name = ''", True),
        ("SELECT name INTO copy FROM hero", True),
        ("WITH gone AS (DELETE FROM hero RETURNING id) SELECT id FROM gone", True),
        ("DROP TABLE hero", True),
        ("SELECT name FROM hero WHERE name = 'DELETE FROM hero'", False),
        ("how tall are they?", False),
    ],
)
def test_sql_that_changes_anything_is_known(sql: str, is_writing: bool) -> None:
    assert SqlReader(DATABASE, "sqlite").is_writing(sql) is is_writing
