"""Two things that changed places in a comparison or sequence are a conflict; a sentence turned round is none."""

import pytest

from rag_core.answering.facts.comparison import find_contradictions, find_fact_conflicts, is_opposite_of_asked

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


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("It is forbidden to wear boots in the hall.", "Boots are not allowed in the hall."),
        ("Idun is shorter than Freya.", "Freya is longer than her sister Idun."),
        ("The operator must not replace the seal.", "Only a technician may replace the seal."),
    ],
)
def test_what_is_denied_or_compared_from_the_other_side_is_no_conflict(claim: str, passage: str) -> None:
    assert [conflict for conflict in find_fact_conflicts(claim, passage) if conflict.stated] == []


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("It is allowed to wear boots in the hall.", "Boots are not allowed in the hall."),
        ("Idun is longer than Freya.", "Freya is longer than her sister Idun."),
        ("Freya is shorter than Idun.", "Freya is longer than her sister Idun."),
        ("The operator must replace the seal.", "The operator may replace the seal."),
    ],
)
def test_the_same_from_one_side_alone_is_a_conflict(claim: str, passage: str) -> None:
    assert [conflict for conflict in find_fact_conflicts(claim, passage) if conflict.stated]


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("What is not covered?", "Dental check-ups are covered twice a year."),
        ("What is excluded by the warranty?", "The warranty covers the battery."),
        ("What increases the risk?", "Exercise decreases the risk."),
    ],
)
def test_the_opposite_of_what_was_asked_is_told(question: str, statement: str) -> None:
    assert is_opposite_of_asked(question, statement)


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("What is not covered?", "Cosmetic whitening is not covered."),
        ("What does the warranty exclude?", "The warranty excludes scratches."),
        ("What is covered?", "Cosmetic whitening is not covered."),
        ("Is it covered?", "It is not covered."),
        ("How long before the trip must it be booked?", "It must be booked after approval, 72 hours ahead."),
    ],
)
def test_what_may_answer_a_question_is_not_its_opposite(question: str, statement: str) -> None:
    assert not is_opposite_of_asked(question, statement)


@pytest.mark.parametrize(
    ("claim", "passage", "kinds"),
    [
        ("Oil flows from the pump to the valve.", "Oil flows from the valve to the pump.", ["direction", "direction"]),
        ("Oil flows from the valve.", "Oil flows from the valve to the pump.", []),
        ("Idle cash earns nothing.", "Cash that is idle is not earning any interest.", []),
        ("Idle cash earns interest.", "Idle cash earns nothing.", ["negation"]),
        ("The pump cannot start.", "The pump is unable to start.", []),
        ("The pump can start.", "The pump is unable to start.", ["negation"]),
        ("Driving is prohibited with the platform raised.", "Do not drive with the platform raised.", []),
    ],
)
def test_ways_and_negations_are_compared_by_what_they_concern(claim: str, passage: str, kinds: list[str]) -> None:
    assert [conflict.kind for conflict in find_fact_conflicts(claim, passage) if conflict.stated] == kinds


def test_only_in_the_passage_denies_both_and_all() -> None:
    stated = "The discount applies only to members."
    assert [c.kind for c in find_fact_conflicts("The discount applies to all guests.", stated) if c.stated] == [
        "quantity"
    ]
    assert [c for c in find_fact_conflicts("The discount applies to members only.", stated) if c.stated] == []


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("The meter need not be installed by a fitter.", "The meter must only be installed by a fitter."),
        ("It is not necessary to earth the meter of a flat.", "The meter of a flat must be earthed."),
        ("The meter has to be earthed.", "The meter does not have to be earthed."),
    ],
)
def test_a_duty_contradicts_that_there_is_none(claim: str, passage: str) -> None:
    assert [c.kind for c in find_contradictions(claim, passage)].count("modality") == 1


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("The meter need not be read if it is remote.", "The meter must be read unless it is remote."),
        ("Visitors need not register.", "Residents must register."),
        ("Meters must not be opened.", "Meters need not be opened."),
        ("Staff must register within 5 days.", "Staff need not register within 3 days."),
    ],
)
def test_a_condition_another_subject_or_a_prohibition_is_no_duty_denied(claim: str, passage: str) -> None:
    assert not [c for c in find_contradictions(claim, passage) if c.kind == "modality" and c.word.startswith("not ")]
