"""The evaluation of databases that nobody described: its questions, and its figures worked by hand."""

import sqlite3
from pathlib import Path

import pytest

from evals.undescribed_schemas import Outcome, _format_outcomes, _group, load_questions, write_database


@pytest.mark.parametrize("name", ["ferries", "gym", "wholesale"])
def test_the_questions_run_on_their_databases(name: str, tmp_path: Path) -> None:
    write_database(name, tmp_path / "made.sqlite")
    asked = [one for one in load_questions() if one.database == name]
    db = sqlite3.connect(tmp_path / "made.sqlite")
    for one in asked:
        db.execute(one.sql or "SELECT 1")
    db.close()
    assert (len(asked), sum(not one.sql for one in asked)) == (20, 8)


def test_every_second_question_is_kept() -> None:
    grouped = _group(load_questions())
    assert {key: len(asked) for key, asked in grouped.items()} == {
        (name, half): count
        for name, count in (("ferries", 10), ("gym", 10), ("wholesale", 10), ("all", 30))
        for half in ("first", "second")
    }


def test_a_row_has_the_refused_of_each_kind_and_the_mean_recalls() -> None:
    outcomes = [Outcome(True, True, (0.5, 1.0)), Outcome(False, True, (0.0, 0.5)), Outcome(True, False, None)]
    assert _format_outcomes(outcomes) == ["1 of 2", "1 of 1", "0.250", "0.750"]
