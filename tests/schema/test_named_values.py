"""Columns of which a name may be a value that nobody knows, by hand."""

import pytest

from rag_core.schema.model import ColumnKey, ValueMatch
from rag_core.schema.named_values import ALIKE_STRENGTH, find_alike_columns, find_person_columns
from rag_core.schema.question_reading import QuestionReading
from rag_core.schema.value_matching import ScoredMatch

EVENT, PLACE = ("race", "name"), ("race", "place")
FIRST, LAST, OTHER = ("member", "first_name"), ("member", "last_name"), ("guest", "surname")
VALUES = [(EVENT, f"{name} Regatta") for name in ("Summer", "Winter")] + [(PLACE, "Old Harbour"), (PLACE, "Porto")]
MEMBER = ScoredMatch(ValueMatch(*LAST, "Keller", "keller"), 1.0)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("Who won the Autumn Regatta?", {EVENT}),
        ("Who won 'Summer Cup'?", set()),  # one value is no form
        ("Who won the regatta in autumn?", set()),
        ("Regatta names?", set()),
    ],
)
def test_a_name_may_be_a_value_of_a_column_with_several_that_end_as_it_does(text: str, columns: set[ColumnKey]) -> None:
    assert find_alike_columns(QuestionReading(text), VALUES, []) == dict.fromkeys(columns, ALIKE_STRENGTH)


def test_a_name_that_is_a_known_value_is_of_no_other_column() -> None:
    known = ScoredMatch(ValueMatch(*PLACE, "Autumn Regatta", "autumn regatta"), 1.5)
    assert find_alike_columns(QuestionReading("Who won the Autumn Regatta?"), VALUES, [known]) == {}


@pytest.mark.parametrize(
    ("text", "matches", "columns"),
    [
        ("Where does Anna Keller live?", [], {FIRST, LAST, OTHER}),
        ("Where does Anna Keller live?", [MEMBER], {FIRST, LAST}),  # one part is a value of the members
        ("Where does Keller live?", [], set()),
        ("What is the Member Number?", [], set()),  # words of the schema
        ("Who has Form 20?", [], set()),
    ],
)
def test_the_full_name_of_a_person_is_of_the_columns_that_have_its_parts(
    text: str, matches: list[ScoredMatch], columns: set[ColumnKey]
) -> None:
    found = find_person_columns(QuestionReading(text), matches, {FIRST, LAST, OTHER}, {"memb", "numb"})
    assert found == dict.fromkeys(columns, ALIKE_STRENGTH)
