"""Two things that have changed places in a comparison or a sequence are a conflict, and a sentence turned round is none."""

import pytest

from rag_core.answering.facts.comparison import find_fact_conflicts

SWAPPED = [
    ("The pump is larger than the motor.", "The motor is larger than the pump."),
    ("The audit came before the launch.", "The launch came before the audit."),
    ("Plan Alpha preceded plan Beta.", "Plan Beta preceded plan Alpha."),
    ("Copper conducts better than steel.", "Steel conducts better than copper."),
    ("The invoice is sent after the delivery note.", "The delivery note is sent after the invoice."),
    ("Fees were higher in Boston than in Denver.", "Fees were higher in Denver than in Boston."),
]
KEPT = [
    ("The pump is larger than the motor.", "The pump, which is red, is larger than the motor."),
    ("Revenue was higher in 2023 than in 2022.", "In 2023, revenue was higher than revenue in 2022."),
    ("The audit came before the launch.", "The audit of the plant came two weeks before the launch."),
    ("The tank holds more than 50 litres.", "The tank holds more than 50 litres of oil."),
]


@pytest.mark.parametrize(("claim", "passage"), SWAPPED)
def test_changed_sides_are_a_conflict_of_order(claim: str, passage: str) -> None:
    assert "order" in [conflict.kind for conflict in find_fact_conflicts(claim, passage) if conflict.stated]


@pytest.mark.parametrize(("claim", "passage"), KEPT)
def test_kept_sides_are_none(claim: str, passage: str) -> None:
    assert [conflict for conflict in find_fact_conflicts(claim, passage) if conflict.kind == "order"] == []
