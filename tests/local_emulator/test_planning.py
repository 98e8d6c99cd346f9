"""The emulated chat model plans by the words of the question, from what stands in the request alone."""

from typing import Any

import pytest

from local_emulator.planning import NO_PROGRAM, plan_by_words
from rag_core import prompts
from rag_core.core.ports import Prompt

PUPILS = {
    "Pupil": ["Ben", "Amira", "Chloe", "Dev", "Ewan", "Total"],
    "Score": ["22", "41", "35", "48", "19", "165"],
    "Target": ["30", "38", "35", "42", "28"],
    "Resit": ["yes", ""],
    "Sat on": ["2026-03-02", "2026-03-09"],
}
LOG = {"Machine": ["Lathe 1", "Saw"], "Fault": ["Belt", "Motor", "Blade"], "Minutes": ["20", "35", "50", "10"]}
LATE = {"Lodge": ["Otter", "Heron"], "Beds": ["4", "6"]}


def build_prompt(question: str, *tables: dict[str, list[str]], rows: int = 6) -> Prompt:
    shown = {
        f"t{n}": {
            "about": "pupils",
            "rows": rows,
            "columns": [
                {"id": f"t{n}.c{k}", "name": name, "cells": cells} for k, (name, cells) in enumerate(table.items(), 1)
            ],
        }
        for n, table in enumerate(tables, 1)
    }
    columns = [f"t{n}.c{k}" for n, table in enumerate(tables, 1) for k in range(1, len(table) + 1)]
    return prompts.build_planning_prompt(question, shown, columns)


def plan(question: str, *tables: dict[str, list[str]], rows: int = 6) -> dict[str, Any]:
    """Return the fields in which the reply is another than that with no program."""
    sent = prompts.parse_fenced_data(build_prompt(question, *tables, rows=rows).user)
    assert isinstance(sent, dict)
    return {name: value for name, value in plan_by_words(sent).items() if value != NO_PROGRAM[name]}


def match(column: str, relation: str, value: str) -> list[dict[str, str]]:
    return [{"column": f"t1.{column}", "relation": relation, "value": value}]


@pytest.mark.parametrize(
    ("question", "program"),
    [
        ("How many pupils have a score over 40?", {"operation": "count", "where": match("c2", ">", "40")}),
        (
            "How many pupils with a resit have a target of at least 30?",
            {"operation": "count", "where": [*match("c4", "=", "yes"), *match("c3", ">=", "30")]},
        ),
        ("Which pupils have a resit?", {"operation": "lookup", "give": "t1.c1", "where": match("c4", "=", "yes")}),
        ("Which pupil has the highest target?", {"operation": "highest", "column": "t1.c3", "give": "t1.c1"}),
        ("Which pupil has the lowest score?", {"operation": "lowest", "column": "t1.c2", "give": "t1.c1"}),
        ("What is the total target?", {"operation": "sum", "column": "t1.c3"}),
        (
            "What is the average score of the pupils with a resit?",
            {"operation": "average", "column": "t1.c2", "where": match("c4", "=", "yes")},
        ),
        (
            "What is the difference between the target of Dev and Ewan?",
            {
                "operation": "difference",
                "column": "t1.c3",
                "where": match("c1", "=", "Dev"),
                "other_column": "t1.c3",
                "other_where": match("c1", "=", "Ewan"),
            },
        ),
        (
            "How much higher is the target than the score of Amira?",
            {
                "operation": "difference",
                "column": "t1.c3",
                "where": match("c1", "=", "Amira"),
                "other_column": "t1.c2",
                "other_where": match("c1", "=", "Amira"),
            },
        ),
        (
            "What share of the total score has Dev?",
            {
                "operation": "share",
                "column": "t1.c2",
                "where": match("c1", "=", "Dev"),
                "other_column": "t1.c2",
                "other_where": match("c1", "=", "Total"),
            },
        ),
    ],
)
def test_the_words_of_a_question_become_a_program(question: str, program: dict[str, Any]) -> None:
    assert plan(question, PUPILS) == {"table": "t1", **program}


@pytest.mark.parametrize(
    "question",
    [
        "Why did Ben fail?",  # asks for no operation
        "Which is higher, the target of Dev or of Ewan?",  # no program compares
        "How many pupils come by bus?",  # a condition that the table does not have
        "How many pupils sat on 2026-03-02 or on 2026-03-09?",  # one of two values
        "How many lodges have more than 4 beds?",  # another table
    ],
)
def test_what_no_program_says_is_none(question: str) -> None:
    assert plan(question, PUPILS) == {}


def test_the_table_that_has_the_words_is_taken() -> None:
    program = plan("How many lodges have more than 4 beds?", PUPILS, LATE)
    assert (program["table"], program["where"]) == ("t2", [{"column": "t2.c2", "relation": ">", "value": "4"}])


def test_labels_that_rows_share_are_a_condition_and_name_no_row() -> None:
    asked = "How many minutes in total did the saw take?"
    assert plan(asked, LOG, rows=9) == {
        "table": "t1",
        "operation": "sum",
        "column": "t1.c3",
        "where": match("c1", "=", "Saw"),
    }


def test_a_prompt_without_rows_or_columns_is_answered_with_none() -> None:
    assert plan("How many pupils are there?", {"Pupil": [], "Score": []}, rows=0) == {}
    assert plan("How many pupils are there?") == {}
