"""Answers in sentences that hold: not those of superseded pages, replaced clauses or another day."""

from rag_core.retrieval.extractive_answers import select_answer
from tests.fakes import OverlapReranker


async def choose(question: str, *passages: tuple[str, str]) -> list[str]:
    given = [
        {"id": f"e{n}", "title": "Manual", "section": section, "text": text}
        for n, (section, text) in enumerate(passages)
    ]
    return [text for text, _ in (await select_answer(question, given, OverlapReranker())).sentences]


OLD = ("Rev. 5 — SUPERSEDED", "The ferry to Orsa leaves at 09:30.")
NEW = ("7 Transport", "The ferry to Orsa leaves at 10:15.")


async def test_a_superseded_page_does_not_answer_where_another_does() -> None:
    assert await choose("When does the ferry to Orsa leave?", OLD, NEW) == ["The ferry to Orsa leaves at 10:15."]
    assert await choose("When does the ferry to Orsa leave?", OLD) == ["The ferry to Orsa leaves at 09:30."]
    assert OLD[1] in await choose("When did the ferry to Orsa leave?", OLD, NEW)


CLAUSES = "2.1 The client orders 15 tests. 4.2 Invoices are due in 45 days."


async def test_a_clause_that_is_replaced_is_given_as_its_amendment() -> None:
    amendment = "Clause 4.2 is replaced by: “Invoices are due in 20 days.”"
    assert await choose("In how many days are invoices due?", ("", f"{CLAUSES} {amendment}")) == [amendment]


async def test_a_replaced_clause_that_stands_below_its_amendment_is_the_new_one() -> None:
    amendment = "Clause 4.2 is replaced by the following: \n\n4.2 Invoices are due in 20 days."
    chosen = await choose("In how many days are invoices due?", ("", f"{CLAUSES}\n\n{amendment}"))
    assert chosen == ["Clause 4.2 is replaced by the following:", "4.2 Invoices are due in 20 days."]


async def test_a_clause_that_is_amended_in_part_is_given_with_its_amendment() -> None:
    amendment = "In clause 2.1 the number 15 is replaced by 13."
    chosen = await choose("How many tests does the client order?", ("", f"{CLAUSES} {amendment}"))
    assert chosen == ["2.1 The client orders 15 tests.", amendment]


async def test_a_rule_comes_with_the_sentence_that_sets_it_aside() -> None:
    rule, exception = "A bare box is rejected.", "Notwithstanding 3.2, a bare box in a bag is accepted."
    chosen = await choose(
        "Is a bare box rejected?", ("", f"{rule} See 3.5 for the exception. Lids are red. {exception}")
    )
    assert chosen == [rule, "See 3.5 for the exception.", exception]


async def test_a_row_of_another_day_is_no_answer() -> None:
    rows = [("", f"Date: 2026-04-{day}\nUnit: 4\nReading: {value}") for day, value in (("01", "41.6"), ("17", "39.2"))]
    chosen = await choose("What is the reading of unit 4 on 17 April 2026?", *rows)
    assert chosen == ["Date: 2026-04-17 Unit: 4 Reading: 39.2"]
    assert await choose("What is the reading of unit 4 on 17 May 2026?", *rows) == []
