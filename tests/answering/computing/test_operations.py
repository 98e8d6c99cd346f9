"""A result is computed again from the cells as they are quoted."""

from dataclasses import replace
from decimal import Decimal

import pytest

from rag_core.answering.computing.operations import CitedCell, OperationKind, compute, is_recomputed
from rag_core.answering.computing.questions import parse_operation
from rag_core.answering.computing.stated_results import list_labels
from rag_core.answering.computing.stored_tables import CitedRow
from tests.fakes import chunk

CONTENT = "Garden | $ 1,200 | (300)"
ROW = CitedRow(chunk("c", CONTENT), 0, len(CONTENT), ("Garden", "$ 1,200", "(300)"))
CELLS = (CitedCell(ROW, "2024", "$ 1,200"), CitedCell(ROW, "2023", "(300)"))


@pytest.mark.parametrize(
    ("kind", "result"),
    [("sum", "900"), ("difference", "-1500"), ("ratio", "-125"), ("count", "2"), ("extreme", "1200")],
)
def test_an_operation_is_computed_over_the_cells(kind: OperationKind, result: str) -> None:
    computation = compute(kind, CELLS)
    assert computation.result == Decimal(result)
    assert is_recomputed(computation)


def test_another_result_and_a_cell_that_is_not_quoted_are_found() -> None:
    computation = compute("sum", CELLS)
    assert not is_recomputed(replace(computation, result=Decimal(901)))
    assert not is_recomputed(compute("sum", (CELLS[0], CitedCell(ROW, "2023", "(301)"))))
    assert not is_recomputed(compute("sum", (CELLS[0], CitedCell(ROW, "name", "Garden"))))


@pytest.mark.parametrize(
    ("question", "kind", "is_highest"),
    [
        ("How many orders are open?", "count", True),
        ("Which plan has the lowest fee?", "extreme", False),
        ("Is the fee of Plus higher than that of Basic?", "compare", True),
        ("Is Basic or Plus cheaper?", "compare", False),
        ("Who is younger, Ann or Ben?", "compare", False),
        ("Which plan is the least expensive?", "extreme", False),
        ("Which plan was added most recently?", "extreme", True),
        ("How many cold drinks are there?", "count", True),
        ("By how much did sales fall?", "difference", True),
        ("Which plans cost less than $10?", "filter", False),
        ("By what percentage did sales grow from 2023 to 2024?", "ratio", True),
    ],
)
def test_a_question_says_what_is_to_be_computed(question: str, kind: str, is_highest: bool) -> None:
    asked = parse_operation(question)
    assert asked is not None
    assert (asked.kind, asked.is_highest) == (kind, is_highest)


@pytest.mark.parametrize(
    "question", ["What is the fee of Plus?", "Who wrote the report?", "Does the fee apply?", "When was it opened?"]
)
def test_a_question_for_a_fact_asks_for_no_operation(question: str) -> None:
    assert parse_operation(question) is None


def test_rows_of_one_name_are_told_apart_by_their_first_cell_where_that_does_not_name_them() -> None:
    dated = [replace(ROW, cells=(day, "Garden"), name_at=1) for day in ("3 May", "4 May")]
    assert list_labels([CitedCell(row, "", "x") for row in dated]) == "Garden (3 May), Garden (4 May)"
    other = replace(dated[1], cells=("4 May", "Hall"))
    assert list_labels([CitedCell(row, "", "x") for row in (dated[0], other)]) == "Garden (x), Hall (x)"
    assert list_labels([CELLS[0], CELLS[1]]) == "Garden ($ 1,200), Garden ((300))"
