"""True claims that differ from a passage in a word or number, and false ones beside them."""

import pytest

from rag_core.answering.facts.comparison import find_fact_conflicts


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("A room with six seats can be booked.", "Rooms up to 8 seats can be booked by anyone."),
        ("A puppy of 6 weeks is too young.", "Puppies younger than 8 weeks are too young."),
        (
            "Pupils may use it for two months a year at the most.",
            "Pupils may use it not longer than two months a year.",
        ),
        ("The loop takes ninety minutes.", "The loop takes an hour and a half."),
        ("The roof would cost 48,000.", "The roof would cost 48k."),
        ("After 80 minutes parking is not free.", "Parking is free for the first 60 minutes."),
        ("Parking is banned on Sundays, though not on Mondays.", "Parking on Sundays is banned, on Mondays it is not."),
        ("No fee arises from not answering mails.", "Nobody is obliged to answering mails; no fee arises."),
        ("The hook had been released 2,000 times.", "The hook was overhauled after 2,000 releases."),
        ("The line opened at ten.", "The line was opened with 14 stops. It runs from six."),
        ("Regeneration is over by ten past three.", "Regeneration runs at 2 am and takes 70 minutes; target 6 to 8."),
        ("It is avoided in the first three months.", "It is given as 3 g a day and avoided in the first trimester."),
    ],
)
def test_a_fact_that_may_follow_is_no_contradiction(claim: str, passage: str) -> None:
    assert not [conflict for conflict in find_fact_conflicts(claim, passage) if conflict.stated]


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("Rooms up to 12 seats can be booked.", "Rooms up to 8 seats can be booked by anyone."),
        ("Puppies younger than 6 weeks are too young.", "Puppies younger than 8 weeks are too young."),
        ("The loop takes two and a half hours.", "The loop takes an hour and a half."),
        ("The course lasts four days.", "The course lasts four weeks."),
        ("Parking is not allowed.", "Parking is allowed."),
        ("The licence is lost at 18.", "From 4 points you are warned. Licence lost at 8."),
        ("Two exits are required once the load exceeds 94.", "Where the load exceeds 49, two exits are required."),
        ("It is dropped in version 560.", "It works until version 550, where it is dropped."),
    ],
)
def test_another_fact_is_still_one(claim: str, passage: str) -> None:
    assert [conflict for conflict in find_fact_conflicts(claim, passage) if conflict.stated]
