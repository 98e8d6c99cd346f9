"""Of a quoted record the field that is asked for is the answer, where it is certain which that is."""

import pytest

from rag_core.composition.assembly import build_in_memory_kit
from rag_core.core.model import Answer
from rag_core.core.run import Run
from rag_core.ingestion.upload import Upload
from rag_core.rag import RAG
from tests.fakes import SCOPE

ARTICLES = """Article,Description,Price EUR,Stock,Weight kg,Supplier
NP-310,Pump NP-310,2150,3,14.5,Halden Works
NP-320,Pump NP-320,2650,0,17,Orbis Works
"""
INVOICE = (
    "Invoice 4471\n\nOrder number: PO-118\nNet amount: 4,300.00 EUR\nTotal: 5,117.00 EUR\nDue date: 8 April 2026\n"
)


async def ask(question: str, run: Run | None = None) -> Answer:
    rag = RAG(build_in_memory_kit())
    await rag.index(Upload(data=ARTICLES.encode(), filename="articles.csv"), scope=SCOPE)
    await rag.index(Upload(data=INVOICE.encode(), filename="invoice.txt"), scope=SCOPE)
    return (await rag.answer(question, scope=SCOPE, preset="standard", run=run)).answer


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who is the supplier of the NP-310?", "NP-310, Supplier: Halden Works."),
        ("What does the NP-320 cost?", "NP-320, Price EUR: 2650."),
        ("What is the due date of the invoice?", "Due date: 8 April 2026"),
    ],
)
async def test_the_name_and_the_asked_cell_are_the_answer(question: str, text: str) -> None:
    answer = await ask(question)
    [claim] = answer.claims
    assert (answer.text, claim.verdict) == (text, "verified")
    assert claim.text.split(": ")[-1].rstrip(".") in claim.citations[0].quote
    assert any(claim.citations[0].quote in passage.text for passage in answer.evidence)


@pytest.mark.parametrize("question", ["What is the minimum stock of the NP-310?", "What is the NP-310?"])
async def test_where_no_one_cell_is_asked_for_none_is_chosen(question: str) -> None:
    answer = await ask(question)
    assert answer.status == "unknown" or "Halden Works" in answer.text


async def test_the_tables_of_a_question_are_read_once_though_they_are_computed_over_and_then_looked_up_in() -> None:
    steps: list[str] = []
    run = Run(listener=lambda _, value: steps.append(f"{value['step']} {value['state']}"))
    assert (await ask("What is the total price of the NP-310?", run)).text == "NP-310, Price EUR: 2150."
    assert {"compute started", "look_up started"} <= set(steps)
    assert steps.count("tables started") == 1
