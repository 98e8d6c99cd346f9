"""Rows are known by the noun of a cell that says what they are, and by having none of something."""

import pytest

from rag_core.composition.assembly import build_in_memory_kit
from rag_core.ingestion.upload import Upload
from rag_core.rag import RAG
from tests.fakes import SCOPE

ARTICLES = """Article,Description,Price EUR,Stock
NP-310,Pump NP-310,2150,3
NP-320,"Pump NP-320, cast iron",2650,0
GV-15,Gate valve GV-15,46,0
BV-20,Ball valve BV-20,39,12
"""


SURVEY = """# Car deck

The bow door of the Aurelia is locked by eight hydraulic pins; each is tested at 210 bar.

| Item | Found | Verdict |
| --- | --- | --- |
| CAR-01 | 53 mm | fail |
| CAR-02 | 46 mm | pass |
| CAR-03 | 75 mm | fail |
"""


async def ask(question: str, text: str = ARTICLES, filename: str = "articles.csv") -> tuple[str, str]:
    rag = RAG(build_in_memory_kit())
    await rag.index(Upload(data=text.encode(), filename=filename), scope=SCOPE)
    answer = (await rag.answer(question, scope=SCOPE, preset="standard")).answer
    return answer.status, answer.text


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Which articles are out of stock?", "NP-320 (0), GV-15 (0)."),
        ("Which articles are in stock?", "NP-310 (3), BV-20 (12)."),
        ("Which is the cheapest pump?", "NP-310: 2150."),
        ("Which is the cheapest valve?", "BV-20: 39."),
        ("Which is the cheapest gate valve?", "GV-15: 46."),
    ],
)
async def test_rows_of_the_kind_that_is_asked_for_are_chosen(question: str, first: str) -> None:
    status, text = await ask(question)
    assert (status, text.startswith(first)) == ("answered", True), text


@pytest.mark.parametrize(
    "question",
    ["Which is the cheapest heat pump?", "Which compressors are out of stock?", "Which articles are out of print?"],
)
async def test_a_kind_that_no_row_has_is_not_answered_by_another(question: str) -> None:
    assert (await ask(question))[0] == "unknown"


async def test_rows_that_are_named_are_all_added_whatever_their_kind() -> None:
    status, text = await ask("What do the NP-310 and the BV-20 cost together?")
    assert (status, text.startswith("2,189. Sum of Price EUR: NP-310 2150, BV-20 39.")) == ("answered", True), text


async def test_a_count_that_the_text_above_a_table_states_is_quoted_and_its_rows_are_not_counted() -> None:
    """A stranger was told "12", the rows of the survey below the sentence on the pins."""
    status, text = await ask("How many pins lock the bow door of the Aurelia?", SURVEY, "survey.md")
    assert (status, "eight hydraulic pins" in text) == ("answered", True), text
    status, text = await ask("How many items of the car deck fail?", SURVEY, "survey.md")
    assert (status, text[:2]) == ("answered", "2."), text


async def test_rows_without_a_figure_that_are_not_named_are_counted() -> None:
    priced = "".join(f"AB-{n},{n}\n" for n in range(10, 30))
    unpriced = "".join(f"CD-{n},unknown\n" for n in range(10, 17))
    _, text = await ask("Which article has the highest price?", f"Article,Price EUR\n{priced}{unpriced}")
    assert text.endswith("Without a figure: CD-10, CD-11, CD-12, CD-13, CD-14 and 2 more.")


async def test_rules_of_a_table_without_rows_do_not_stand_in_the_way_of_the_answer() -> None:
    """A computation over a document that had them failed with an internal error."""
    rules = f"{SURVEY}\n# Stern door\n\n| --- | --- |\n| --- | --- |\n"
    status, text = await ask("How many items of the car deck fail?", rules, "survey.md")
    assert (status, text[:2]) == ("answered", "2."), text


async def test_the_items_of_a_list_are_counted_only_where_the_line_above_them_says_what_they_are() -> None:
    """A stranger was told "1", a plan below the heading "People", when asked how many people work there."""
    plan = "# Our people at Halden\n\nBy 2027 Halden will:\n\n- open a school\n- hire apprentices\n"
    assert "Counted" not in (await ask("How many people work at Halden?", plan, "plan.md"))[1]
    plan = plan.replace("will:", "will open these schools:").replace("open a school", "Oslo")
    status, text = await ask("How many schools will Halden open?", plan, "plan.md")
    assert (status, text[:2]) == ("answered", "2."), text
