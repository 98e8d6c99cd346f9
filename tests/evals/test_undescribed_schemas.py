"""The evaluation of written questions of databases: its questions, and its figures worked by hand."""

import json
import sqlite3
from pathlib import Path

import pytest

from evals.company_databases import COMPANIES
from evals.undescribed_schemas import (
    COMPANY,
    DATA,
    UNDESCRIBED,
    Found,
    Outcome,
    _format_outcomes,
    _group,
    _iterate_halves,
    load_questions,
    write_database,
)


@pytest.mark.parametrize("name", ["ferries", "gym", "wholesale"])
def test_the_questions_run_on_their_databases(name: str, tmp_path: Path) -> None:
    write_database(name, tmp_path / "made.sqlite")
    asked = [one for one in load_questions(UNDESCRIBED) if one.database == name]
    db = sqlite3.connect(tmp_path / "made.sqlite")
    for one in asked:
        db.execute(one.sql or "SELECT 1")
    db.close()
    assert (len(asked), sum(not one.sql for one in asked)) == (20, 8)


@pytest.mark.parametrize("name", list(COMPANIES))
def test_the_questions_of_a_company_find_rows(name: str, tmp_path: Path) -> None:
    write_database(name, tmp_path / "made.sqlite")
    asked = [one for one in load_questions(COMPANY) if one.database == name]
    past = [json.loads(line) for line in (DATA / COMPANY / f"{name}_past.jsonl").read_text("utf-8").splitlines()]
    db = sqlite3.connect(tmp_path / "made.sqlite")
    for sql in [*(one.sql for one in asked if one.sql), *(one["sql"] for one in past)]:
        assert db.execute(sql).fetchone() not in (None, (None,), (0,)), sql
    db.close()
    assert (len(asked), sum(not one.sql for one in asked), len(past)) == (26, 6, 5)


def test_every_second_question_is_kept() -> None:
    grouped = _group(_iterate_halves(load_questions(UNDESCRIBED)))
    assert {key: len(asked) for key, asked in grouped.items()} == {
        (name, half): count
        for name, count in (("ferries", 10), ("gym", 10), ("wholesale", 10), ("all", 30))
        for half in ("first", "second")
    }


def test_a_row_has_the_refused_of_each_kind_and_the_mean_recalls() -> None:
    found = (Found(0.5, 1.0, 1.0, 1.0, 0.5), Found(0.0, 0.5, 0.5, 0.0, None))
    outcomes = [Outcome(True, found[0]), Outcome(False, found[1]), Outcome(True, None)]
    assert _format_outcomes(outcomes) == ["1 of 2", "1 of 1", "0.250", "0.750", "0.750", "0.500", "0.500"]
