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


READING = """
SELECT 1;
SELECT 1; -- DELETE FROM hero
SELECT 1 /* ; DROP TABLE hero */
SELECT 1; SELECT 2
SELECT name FROM hero WHERE name = 'DELETE FROM hero'
SELECT name AS "delete", deleted, "update" FROM hero
SELECT replace(name, 'a', 'b'), truncate(1.5, 1), insert(name, 1, 1, 'x') FROM hero
SELECT TOP 5 name FROM hero
SELECT @place := @place + 1 FROM hero
(SELECT 1) UNION (SELECT 2)
WITH RECURSIVE a (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a WHERE n < 5) SELECT * FROM a
SELECT pg_size_pretty(pg_total_relation_size('hero')), pg_is_in_recovery(), lo_get(1)
SELECT (
how tall are they?
"""
WRITING = """
DELETE FROM hero
UPDATE hero SET name = ''
UPDATE hero h JOIN colour b ON h.eye_id = b.id SET h.name = ''
MERGE INTO hero USING b ON hero.id = b.id WHEN MATCHED THEN DELETE
REPLACE INTO hero VALUES (1)
UPSERT INTO hero VALUES (1)
DROP TABLE hero
CREATE TEMP TABLE copy AS SELECT name FROM hero
GRANT SELECT ON hero TO bob
SELECT 1; DROP TABLE hero
; ; DELETE FROM hero
SELECT name FROM hero; SHUTDOWN
SELECT TOP 5 name FROM hero; DROP TABLE hero
SELECT name FROM hero DELETE FROM hero
BEGIN; DELETE FROM hero; COMMIT
WITH gone AS (DELETE FROM hero RETURNING id) SELECT id FROM gone
WITH made AS (INSERT INTO hero VALUES (1) RETURNING id) SELECT id FROM made
WITH a AS (SELECT 1) DELETE FROM hero WHERE id IN (SELECT * FROM a)
(DELETE FROM hero)
SELECT * FROM FINAL TABLE (INSERT INTO hero VALUES (1))
SELECT name INTO copy FROM hero
SELECT name INTO OUTFILE '/tmp/x' FROM hero
SELECT name FROM hero INTO DUMPFILE '/tmp/x'
LOAD DATA INFILE 'x' INTO TABLE hero
COPY (SELECT 1) TO PROGRAM 'rm'
EXPLAIN ANALYZE DELETE FROM hero
EXPLAIN (ANALYZE, BUFFERS) UPDATE hero SET name = ''
PREPARE p AS DELETE FROM hero
EXECUTE IMMEDIATE 'DELETE FROM hero'
EXEC xp_cmdshell 'dir'
{call delete_all()}
DO $$ BEGIN DELETE FROM hero; END $$
IF 1 = 1 DROP TABLE hero
BULK INSERT hero FROM 'x'
/* SELECT */ DELETE FROM hero
/*!50000 DELETE FROM hero */
SELECT 1 /*M! INTO OUTFILE '/tmp/x' */
SELECT name FROM (SELECT name FROM hero FOR UPDATE) a
SELECT NEXT VALUE FOR ids
SELECT name FROM hero WHERE id = (SELECT setval('ids', 1))
SELECT PG_TERMINATE_BACKEND(pid) FROM pg_stat_activity
SELECT "pg_terminate_backend"(1)
SELECT * FROM pg_catalog.lo_unlink(1)
SELECT pg_advisory_lock(1)
SELECT set_config('role', 'admin', false)
SELECT * FROM dblink('a', 'DELETE FROM hero') AS t (id int)
SELECT query_to_xml('DELETE FROM hero', true, true, '')
SELECT load_extension('x')
SELECT get_lock('a', 1)
SELECT * FROM OPENROWSET('x', 'y', 'DELETE FROM hero')
PRAGMA writable_schema = 1
SET GLOBAL x = 1
ATTACH DATABASE 'x' AS y
KILL 3
VACUUM
"""


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql", "mysql"])
@pytest.mark.parametrize("sql", READING.strip().splitlines())
def test_sql_that_only_reads_is_kept(sql: str, dialect: str) -> None:
    assert not SqlReader(DATABASE, dialect).is_writing(sql)


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql", "mysql"])
@pytest.mark.parametrize(
    "sql", [*WRITING.strip().splitlines(), "-- SELECT\nDELETE FROM hero", "SELECT 1\nGO\nDROP TABLE a"]
)
def test_sql_that_does_more_than_read_is_known(sql: str, dialect: str) -> None:
    assert SqlReader(DATABASE, dialect).is_writing(sql)


def test_sql_that_is_too_long_to_be_read_is_told_by_its_words() -> None:
    long = "SELECT 1" + " " * MAX_SQL_CHARS
    assert not SqlReader(DATABASE, "sqlite").is_writing(long)
    assert SqlReader(DATABASE, "sqlite").is_writing(f"{long}; drop table hero")


def test_no_log_quotes_a_statement(caplog: pytest.LogCaptureFixture) -> None:
    assert SqlReader(DATABASE, "sqlite").is_writing("EXPLAIN SELECT name FROM hero WHERE name = 'Anna'")
    assert not caplog.records
