"""What kind of thing a question asks for, and whether an answer has it."""

import pytest

from rag_core.text.answer_types import asks_for_figure, find_missing_kinds

ANSWER = "Anna Kern opened the plant in 1998 because the old one had burnt down; it cost $12 million."
NOTHING = "The plant makes pumps."


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many pumps does the plant make?", "number"),
        ("what share of pumps is sold abroad", "number"),
        ("What does a pump cost?", "money"),
        ("monthly fee, in dollars", "money"),
        ("When was the plant opened?", "time"),
        ("By what date must it close?", "time"),
        ("On which date was the plant opened?", "date"),
        ("Who opened the plant?", "person"),
        ("name of the director", "person"),
        ("Why was the plant built?", "reason"),
    ],
)
def test_an_answer_without_the_kind_of_thing_asked_for_lacks_it(question: str, kind: str) -> None:
    assert kind in find_missing_kinds(question, NOTHING)
    assert find_missing_kinds(question, ANSWER) == ()


def test_a_price_is_no_date() -> None:
    assert find_missing_kinds("On which date did the pump arrive?", "The pump costs 41 200.") == ("date",)
    assert find_missing_kinds("Which day is it collected?", "It is collected on Tuesdays.") == ()


@pytest.mark.parametrize("question", ["What does the plant make?", "Does it make pumps?", "pumps", ""])
def test_a_question_for_no_such_thing_misses_nothing(question: str) -> None:
    assert find_missing_kinds(question, NOTHING) == ()


@pytest.mark.parametrize(
    "question",
    [
        "What does the pump do when the water is too hot?",
        "What is the longest stay that gets paid?",
        "Which parts of it are charged to the battery?",
    ],
)
def test_a_condition_is_no_question_for_a_time_and_what_is_paid_none_for_money(question: str) -> None:
    assert find_missing_kinds(question, NOTHING) == ()


@pytest.mark.parametrize(
    ("question", "is_name"),
    [
        ("Who gets the training?", False),
        ("who can switch the pump off", False),
        ("Who is responsible for the pumps?", False),
        ("Who pays when it breaks?", False),
        ("Who is the director?", True),
        ("Who's our first director?", True),
        ("Who is named as director?", True),
        ("and who founded it?", True),
    ],
)
def test_who_may_or_pays_is_answered_by_a_group_and_who_is_the_director_by_a_name(question: str, is_name: bool) -> None:
    assert find_missing_kinds(question, "The team leads of each plant.") == (("person",) if is_name else ())


def test_what_stands_in_the_question_is_no_answer() -> None:
    assert find_missing_kinds("How many pumps were made in 2024?", "Pumps were made in 2024.") == ("number",)
    assert find_missing_kinds("Who followed Anna Kern?", "Anna Kern had a successor.") == ("person",)


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("What was the revenue of Oakhollow in FY2023?", True),
        ("How much did Oakhollow owe its suppliers?", True),
        ("Take days payable outstanding of Oakhollow for FY2023.", True),
        ("Who audits Oakhollow?", False),
        ("Why did sales fall?", False),
    ],
)
def test_a_figure_is_asked_for_by_how_much_or_what_something_was(question: str, asks: bool) -> None:
    assert asks_for_figure(question) is asks
