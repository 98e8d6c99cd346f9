"""Amounts in words are those that another text writes in digits, and a sum of two stated amounts is no other amount."""

import pytest

from rag_core.answering.facts.comparison import find_fact_conflicts
from rag_core.answering.facts.notations import rewrite_amounts


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        ("You owe a quarter of the cost.", "You owe 0.2500 fraction of the cost."),
        ("Two thirds of that is paid.", "0.6667 fraction of that is paid."),
        ("Roughly three in five leases run out.", "Roughly 0.6000 fraction leases run out."),
        ("Wait half a year.", "Wait 6 months."),
        ("It takes half an hour, or three quarters of an hour.", "It takes 30 minutes, or 45 minutes."),
        ("It ends at half past eight, 4 p.m. at 20 °C.", "It ends at 8:30, 4 pm at 20  celsius."),
        ("The third quarter was weak, and five days late.", "The third quarter was weak, and five days late."),
        ("Ten of them came in March, a third visitor in the first half of May.",) * 2,
        ("A 12-week course of 1½ litres for 12 300 people.", "A 12 week course of 1.5 litres for 12300 people."),
    ],
)
def test_amounts_in_words_are_written_as_a_number(text: str, rewritten: str) -> None:
    assert rewrite_amounts(text) == rewritten


def test_both_numbers_of_a_range_are_millions_and_a_year_within_a_limit_is_no_contradiction() -> None:
    revenue = "Revenue rose from 41 to 46 million kroner. Pumps built before 2019 need a gasket."
    assert find_fact_conflicts("Revenue went up by 5 million kroner from 41 million.", revenue) == ()
    assert [conflict.stated for conflict in find_fact_conflicts("A pump of 2015 needs a gasket.", revenue)] == [""]
    assert find_fact_conflicts("Revenue was 41 billion kroner.", revenue)[0].kind == "number"


def test_half_a_year_is_not_three_months() -> None:
    stated = "Surgery waits at least {} after an infarction.".format
    claim = stated("half a year")
    assert find_fact_conflicts(claim, stated("6 months")) == ()
    assert [conflict.kind for conflict in find_fact_conflicts(claim, stated("3 months"))] == ["number"]


@pytest.mark.parametrize(
    ("claim", "kinds"),
    [
        ("The fee is $750 in all.", []),
        ("The fee is $250 and $500, so $750.", []),
        ("The second fee is $250 more.", []),
        ("The fee is $250 for one and $750 for two.", ["number"]),
    ],
)
def test_a_sum_of_stated_amounts_is_computed_and_another_amount_beside_one_of_them_is_not(
    claim: str, kinds: list[str]
) -> None:
    found = find_fact_conflicts(claim, "The fee is $250 for one and $500 for two.")
    assert [conflict.kind for conflict in found if conflict.kind == "number"] == kinds
