"""A question's names and conditions must be in the passages that are quoted; otherwise there is no answer."""

import pytest

from rag_core.answering.conditions import find_missing_periods, find_unknown_names, find_unmet_conditions
from rag_core.core.model import Chunk, Evidence, Hit

ACUPUNCTURE = "Northwind Standard covers up to 12 acupuncture visits per year for members in Boston."
FEES = "The minimum gas price on Arbitrum One is 0.1 gwei."


def evidence(*texts: str, title: str = "Handbook") -> tuple[Evidence, ...]:
    chunks = (Chunk(f"c{n}", "d", n, text, title, "", f"c{n}") for n, text in enumerate(texts))
    return tuple(Evidence(f"e{n}", Hit(chunk, 1.0), 0, len(chunk.content)) for n, chunk in enumerate(chunks, 1))


@pytest.mark.parametrize(
    ("question", "unmet"),
    [
        ("How many acupuncture visits are covered during pregnancy?", ("pregnancy",)),
        ("Which plan is best for frail patients?", ("frail patients",)),
        ("How many acupuncture visits does Northwind Platinum cover?", ("Platinum",)),
        ("What is the minimum gas price on Polygon?", ("Polygon",)),
        ("What share of women went?", ("women went",)),
        ("How many acupuncture visits are covered for members in Boston?", ()),
        ("How many acupuncture visits are covered for one person in one year?", ()),
        ("Who is next in line for the visits?", ()),
        ("What should members be aware of regarding the acupuncture visits?", ()),
        ("What should members be aware of regarding the massages?", ("massages",)),
        ("What does Northwind cover in terms of acupuncture?", ()),
        ("What helps in making the most of the visits mentioned in the text?", ()),
        ("What is the minimum gas price on Arbitrum One?", ()),
        ("How many visits were covered in fiscal 2022?", ()),
        ("Acupuncture?", ()),
        ("", ()),
    ],
)
def test_a_condition_that_no_cited_passage_has_is_named(question: str, unmet: tuple[str, ...]) -> None:
    """Issue 14, part 2: the named product, chain or group, and the condition."""
    found = evidence(ACUPUNCTURE, FEES)
    missing = (*find_unknown_names(question, found), *find_unmet_conditions(question, found))
    assert tuple(dict.fromkeys(missing)) == unmet


def test_a_condition_must_be_in_what_is_cited_and_a_name_in_any_evidence() -> None:
    found = evidence(ACUPUNCTURE, FEES)
    assert find_unmet_conditions("What is the price in Boston?", found[1:]) == ("Boston",)
    assert find_unknown_names("Does Boston pay Arbitrum a price?", found) == ()


def test_a_title_meets_a_condition() -> None:
    found = evidence(FEES, title="Fees on Polygon")
    assert find_unmet_conditions("What is the price on Polygon?", found) == ()


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("What was the revenue in FY 2019?", ("FY 2019",)),
        ("What was the revenue in FY21?", ()),
        ("What was the revenue in fiscal 2022?", ()),
        ("What was the revenue?", ()),
    ],
)
def test_a_period_in_whose_place_every_passage_has_another_is_missing(question: str, missing: tuple[str, ...]) -> None:
    found = evidence("Revenue was 5 million in fiscal 2021.", "Revenue was 6 million in fiscal 2022.")
    assert find_missing_periods(question, found) == missing
    assert find_missing_periods(question, (*found, *evidence("Revenue grew."))) == ()
    assert find_missing_periods(question, ()) == ()


def test_a_currency_in_which_the_answer_is_wanted_is_no_name() -> None:
    found = evidence("Net income was 5.")
    assert find_unknown_names("What was the net income, in USD millions?", found) == ()
    assert find_unknown_names("What was the net income, in GAAP terms?", found) == ("GAAP",)
