"""A record of another day than the question names is no answer to it."""

import pytest

from rag_core.text.asked_days import read_asked_days, states_other_days

ROW = "No: 4\nDate: 2026-04-03\nTime: 07:40\nReading: 41.6"


@pytest.mark.parametrize(
    "question",
    [
        "What was read on 17 April 2026?",
        "What was read on April 17th?",
        "What was read on 3 May 2026?",
        "What was read on 2025-04-03?",
        "What was read on 17/04/2026?",
    ],
)
def test_a_row_of_another_day_is_told(question: str) -> None:
    assert states_other_days(read_asked_days(question), ROW)


@pytest.mark.parametrize(
    "question",
    [
        "What was read on 3 April 2026?",
        "What was read on the 3rd of April?",
        "What was read on April 3, 2026?",
        "What was read on 3.4.2026?",
        "What was read on 04/03/2026?",
        "What was read after 1 April 2026?",
        "What was read between 1 April and 5 April 2026?",
        "What was read as of 5 April 2026?",
        "What was read in April 2026?",
        "What was read?",
    ],
)
def test_a_row_of_the_asked_day_is_kept_and_so_is_every_row_of_a_span(question: str) -> None:
    assert not states_other_days(read_asked_days(question), ROW)


@pytest.mark.parametrize(
    "record",
    [
        "Name: Kern Start date: 2024-01-01 Role: director",
        "The valve was replaced on 3 April 2026.",
        "Unit: I-4 Reading: 41.6",
        "Date: unknown",
    ],
)
def test_a_record_without_a_day_of_its_own_is_kept(record: str) -> None:
    assert not states_other_days(read_asked_days("What was it on 17 May 2026?"), record)


def test_one_of_several_dates_is_enough() -> None:
    record = "Order date: 2026-05-01 Delivery date: 2026-05-17"
    assert not states_other_days(read_asked_days("What was delivered on 17 May 2026?"), record)
    assert states_other_days(read_asked_days("What was delivered on 18 May 2026?"), record)
