"""Sentences are chosen as answers only from passages about the period that was asked for, with the local model."""

from collections.abc import Sequence

import pytest

from rag_core.retrieval.extractive_answers import READ_SENTENCES, select_answer
from tests import local
from tests.fakes import OverlapReranker

REPORT = [
    {
        "id": "e1",
        "title": "Halden annual report",
        "section": "Results",
        "text": "Operating income was $212 million for the year ended January 28, 2023.",
    },
    {
        "id": "e2",
        "title": "Halden annual report",
        "section": "Fiscal year",
        "text": "Fiscal 2022 refers to the 52-week year ended January 28, 2023.",
    },
    {
        "id": "e3",
        "title": "Tallow interim report",
        "section": "Income",
        "text": "Fee income of Tallow was 121 million euros in 2Q23 and 117 million euros in 1Q23.",
    },
]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What was the operating income of Halden in FY2022?", "$212 million"),
        ("What was the operating income of Halden in FY22?", "$212 million"),
        ("What was the operating income of Halden in fiscal 2022?", "$212 million"),
        ("What was the operating income of Halden in FY2021?", ""),  # the year before, as the report names it
        ("What was the operating income of Halden in fiscal 2019?", ""),
        ("What was the fee income of Tallow in Q2 2023?", "121 million"),
        ("What was the fee income of Tallow in the second quarter of 2023?", "121 million"),
        ("What was the fee income of Tallow in the third quarter of 2023?", ""),
    ],
)
async def test_a_period_is_answered_in_whatever_spelling_and_no_other_one_for_it(question: str, answer: str) -> None:
    chosen = (await select_answer(question, REPORT, local.reranker())).sentences
    assert bool(chosen) == bool(answer)
    assert answer in " ".join(text for text, _ in chosen)


async def test_of_later_passages_fewer_sentences_are_read_those_that_share_most_terms() -> None:
    """A later one has to score far better to be chosen; the best passage is read whole."""
    ranker = OverlapReranker()
    text = " ".join(f"Tyre {n} is worn." for n in range(20)) + " The gearbox overheats at 140 degrees. Stop."
    passages = [{"id": f"e{n}", "title": "Manual", "section": "", "text": text} for n in range(6)]
    chosen = (await select_answer("When does the gearbox overheat?", passages, ranker)).sentences
    assert chosen == [("The gearbox overheats at 140 degrees.", "e0")]
    [read] = ranker.calls
    assert len(read) == 22 + READ_SENTENCES + 4 + 2 + 1 + 1
    assert read.count("Manual: The gearbox overheats at 140 degrees.") == 6


TABLE = "|  | 2024 | 2023 |\nGarden | 870 | 815\nToys | (173) | (90)\nMarine | 38 | 12"


async def test_a_row_is_quoted_with_the_names_of_its_columns() -> None:
    passages = [{"id": "e1", "title": "Report", "section": "Profit", "text": TABLE}]
    chosen = (await select_answer("What was the profit of Toys in the report?", passages, OverlapReranker())).sentences
    assert [text for text, _ in chosen][:2] == ["| | 2024 | 2023 |", "Toys | (173) | (90)"]


@pytest.mark.parametrize(
    "heads", ["| | 52 Weeks Ended August 28, 2016 | At 1 m³/h |", "Kind | At 1 m³/h | After 2 days"]
)
async def test_a_digit_in_the_name_of_a_column_makes_it_no_figure(heads: str) -> None:
    """A stranger's question was answered by a row without the names of its columns."""
    text = f"{heads}\nGate fees | 2,646 | 2,533\nBar | 12 | 9"
    passages = [{"id": "e1", "title": "Report", "section": "Data", "text": text}]
    chosen = (await select_answer("What were the gate fees?", passages, OverlapReranker())).sentences
    assert [row for row, _ in chosen] == text.split("\n")[:2]


class SubjectReranker(OverlapReranker):
    """Scores what names the subject, as the cross-encoder does with the names of columns above many rows."""

    async def score_passages(self, query_text: str, passages: Sequence[str]) -> list[float]:
        return [0.99 if "limit per night" in passage else 0.01 for passage in passages]


HOTELS = "City | Hotel limit per night | Allowance\nOslo | 2,100 | 980\nCopenhagen | 2,450 | 1,050"


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("What is the hotel limit per night in Copenhagen?", ["Copenhagen | 2,450 | 1,050"]),
        ("What is the hotel limit per night in Paris?", []),
    ],
)
async def test_the_names_of_columns_alone_are_no_answer(question: str, rows: list[str]) -> None:
    passages = [{"id": "e1", "title": "Handbook", "section": "Travel", "text": HOTELS}]
    chosen = (await select_answer(question, passages, SubjectReranker())).sentences
    assert [text for text, _ in chosen] == ([HOTELS.split("\n")[0], *rows] if rows else [])


async def test_a_record_is_quoted_whole() -> None:
    """Its first fields look like titles above the first one with a sign at its end, as the unit of another has."""
    record = "Name: {}\nRole: Laminator\nHired: {}\nMonthly salary (NOK): 45800"
    passages = [
        {"id": f"e{n}", "title": "Staff", "section": "Staff", "text": record.format(*one)}
        for n, one in enumerate([("Siri Lund", "2023-06-12"), ("Per Nes", "2012-10-29")])
    ]
    chosen = (await select_answer("When was Siri Lund hired?", passages, local.reranker())).sentences
    assert chosen == [(" ".join(record.format("Siri Lund", "2023-06-12").split()), "e0")]


def page(number: int, section: str, text: str, title: str = "Manual") -> dict[str, object]:
    return {"id": f"e{number}", "title": title, "section": section, "text": text, "page": number}


async def test_a_line_of_a_slide_is_quoted_by_itself() -> None:
    """Its lines have no marks and no full stops, and look like titles above the last one."""
    slide = "Plan for Q2\n\nLaunch of the NP-500 in June\nHire two technicians\nClose the Gdansk site by 30 June"
    passages = [{"id": "e1", "title": "Sales review", "section": "Plan for Q2", "text": slide}]
    chosen = (await select_answer("When is the NP-500 launched?", passages, local.reranker())).sentences
    assert chosen == [("Launch of the NP-500 in June", "e1")]


async def test_a_list_is_quoted_over_the_end_of_its_page() -> None:
    """In its order, whichever passage is ranked first; the text after it and lists of other documents are not in it."""
    lead_in = "The vans stand in these depots:"
    pages = [
        page(1, "Vans", f"{lead_in}\n- Depot 1\n- Depot 2"),
        page(3, f"Vans > {lead_in}", "- Depot 4\n- Depot 5\n\nAnother paragraph says how they are cleaned."),
        page(2, f"Vans > {lead_in}", "- Depot 3"),
        page(4, f"Vans > {lead_in}", "- Depot 9 of another book", title="Another"),
    ]
    chosen = (await select_answer("In which depots do the vans stand?", pages, OverlapReranker())).sentences
    assert [text for text, _ in chosen] == [
        lead_in,
        *(f"- Depot {number}" for number in range(1, 6)),
    ]


async def test_a_list_is_quoted_beyond_eight_items() -> None:
    items = "\n".join(f"- Depot {n}" for n in range(1, 13))
    passages = [{"id": "e1", "title": "Manual", "section": "", "text": f"The vans stand in these depots:\n{items}"}]
    chosen = (await select_answer("In which depots do the vans stand?", passages, OverlapReranker())).sentences
    assert [text for text, _ in chosen][1:] == items.split("\n")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What does the allowance not pay for?", ["Meals and drinks"]),
        ("Name something that the allowance won't cover.", ["Meals and drinks"]),
        ("What does the allowance pay for?", ["Train tickets"]),
    ],
)
async def test_what_is_not_is_quoted_where_it_is_asked_for(question: str, answer: list[str]) -> None:
    """What is paid is no answer, and the items of "These include:" are of the sentence before it."""
    text = (
        "The allowance pays for travel to customers, including but not limited to:\n\n- Train tickets\n\n"
        "The allowance is paid with the salary.\n\nWhat is not covered?\n\n"
        "There is also a list of things that the allowance does not cover. These include:\n\n- Meals and drinks\n"
    )
    passages = [{"id": "e1", "title": "Travel allowance", "section": "", "text": text}]
    chosen = " ".join(
        part for part, _ in (await select_answer(question, passages, local.reranker(), least=0)).sentences
    )
    assert all(part in chosen for part in answer)
    assert ("Train tickets" in chosen) != ("Meals and drinks" in chosen)


async def test_without_a_denial_a_question_for_what_is_not_has_no_answer() -> None:
    text = "The allowance pays for travel to customers. Train tickets are covered in full."
    passages = [{"id": "e1", "title": "Travel allowance", "section": "", "text": text}]
    assert (await select_answer("What does the allowance not cover?", passages, local.reranker())).sentences == []


async def test_the_margin_is_over_the_best_sentence_of_another_passage_that_says_something_else() -> None:
    """Of one passage there is none; nor is a passage another that says the same in nearly the same words."""

    async def find_margin(*texts: str) -> float | None:
        passages = [{"id": f"e{n}", "title": "Manual", "section": "", "text": text} for n, text in enumerate(texts)]
        selected = await select_answer("When does the gearbox overheat?", passages, OverlapReranker())
        assert selected.sentences
        return selected.margin

    answer, repeated = "The gearbox overheats at 140 degrees.", "At 140 degrees the old gearbox overheats."
    assert await find_margin(answer) is None
    assert await find_margin(answer, repeated) is None
    other = "The gearbox whines in reverse."
    margin = await find_margin(answer, other)
    assert margin is not None
    assert margin > 0.5
    assert margin == await find_margin(answer, repeated, other)


HEADER = (
    "From: Ann Lee (ann@example.org)\nTo: Bob Roy (bob@example.org)\nDate: Mon, 04 Mar 2024 08:00:00 +0000\n"
    "Subject: Replacement of the pump in hall 4"
)
MAIL = [
    {"id": "e1", "title": "Replacement of the pump in hall 4", "section": "", "text": HEADER},
    {
        "id": "e2",
        "title": "Replacement of the pump in hall 4",
        "section": "",
        "text": "The pump in hall 4 must be replaced before June. The new one delivers 12 litres.",
    },
]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who wrote about the replacement of the pump in hall 4?", "From: Ann Lee (ann@example.org)"),
        ("When was the mail about the replacement of the pump sent?", "Date: Mon, 04 Mar 2024 08:00:00 +0000"),
        ("What does the new pump in hall 4 deliver?", "The new one delivers 12 litres."),
        ("When must the pump in hall 4 be replaced?", "The pump in hall 4 must be replaced before June."),
        ("What is the replacement of the pump in hall 4?", "The new one delivers 12 litres."),
    ],
)
async def test_the_header_of_a_mail_answers_what_is_asked_about_the_mail_alone(question: str, answer: str) -> None:
    """It shares most words with any question on the subject, which it names, and was quoted as a whole."""
    for ranker in (OverlapReranker(), local.reranker()):
        quoted = [text for text, _ in (await select_answer(question, MAIL, ranker, least=0.0)).sentences]
        assert answer in quoted
        assert [text for text in quoted if ": " in text] == ([answer] if ": " in answer else [])


@pytest.mark.parametrize("salutation", ["Dear all,", "Hello Tomas,", "Good morning Mrs. Okafor,", "Tomas,"])
async def test_the_first_sentence_of_a_letter_is_quoted_by_itself(salutation: str) -> None:
    """It begins in lower case after the salutation, and was taken for the rest of a sentence that was cut off."""
    text = f"{salutation}\n\nthe substrate arrives on 12 March at ramp B. Two people unload it.\n\nIda"
    passages = [{"id": "e1", "title": "Delivery", "section": "", "text": text}]
    chosen = (await select_answer("When does the substrate arrive?", passages, local.reranker())).sentences
    assert chosen == [("the substrate arrives on 12 March at ramp B.", "e1")]
    rest = [{**passages[0], "text": "as was said,\n\nthe substrate arrives on 12 March. Two people unload it."}]
    quoted = (await select_answer("When does the substrate arrive?", rest, local.reranker(), least=0.0)).sentences
    assert [text for text, _ in quoted] == ["Two people unload it."]
