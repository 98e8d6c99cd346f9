"""Recall, precision and matched values of linked schemas, worked by hand."""

from rag_core.evaluation.schema_budgets import GivenParts, find_literals, judge_values, list_given
from rag_core.evaluation.schema_collection import SchemaQuestion
from rag_core.schema.model import Column, LinkedColumn, SchemaLinks, ValueMatch

LINKS = SchemaLinks(
    "d",
    (),
    tuple(LinkedColumn(table, Column(name), 1.0) for table, name in ("ta", "tb", "uc")),
    (),
    (ValueMatch("t", "a", "Lima", "lima"), ValueMatch("u", "c", "LIMA", "lima")),
    dropped=("t.b",),
)
QUESTION = SchemaQuestion(
    "Who lives in Lima or Elm?",
    "d",
    frozenset({("t", "a"), ("t", "b")}),
    "SELECT 1 WHERE a = 'LIMA' OR a IN ('Elm', 'x')",
)


def test_a_column_that_was_left_out_of_the_ddl_is_not_given() -> None:
    assert list_given(LINKS) == {("t", "a"), ("u", "c")}
    assert GivenParts(list_given(LINKS), QUESTION.needed).compare() == (0.5, 0.5, 1.0, 0.5)
    assert GivenParts(frozenset(), QUESTION.needed).compare() == (0.0, 0.0, 0.0, 0.0)


def test_a_value_counts_where_the_sql_reads_its_column() -> None:
    assert judge_values(QUESTION, LINKS) == [True, False]
    assert list(find_literals(QUESTION, LINKS)) == [True, False]  # 'x' does not stand in the question
