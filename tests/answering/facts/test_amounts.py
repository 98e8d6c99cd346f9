"""Amounts in words that another text writes as a number do not overrule a judge."""

import pytest

from rag_core.answering.facts.amounts import rewrite_fractions
from rag_core.answering.facts.comparison import find_fact_conflicts


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        ("You owe a quarter of the cost.", "You owe   the cost."),
        ("Two thirds of that is paid.", "  that is paid."),
        ("Roughly three in five leases run out.", "Roughly   leases run out."),
        ("One out of every ten is lost.", "  is lost."),
        ("Wait half a year.", "Wait 6 months."),
        ("It takes half an hour.", "It takes 30 minutes."),
        ("The third quarter was weak, and five days late.", "The third quarter was weak, and five days late."),
        ("Ten of them came in March.", "Ten of them came in March."),
    ],
)
def test_fractions_are_left_out_or_written_as_a_number(text: str, rewritten: str) -> None:
    assert rewrite_fractions(text) == rewritten


def test_half_a_year_is_not_three_months() -> None:
    stated = "Surgery waits at least {} after an infarction.".format
    claim = rewrite_fractions(stated("half a year"))
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
