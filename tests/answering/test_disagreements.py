"""Cited documents that say one sentence with other figures."""

import pytest

from rag_core.answering.disagreements import describe_disagreements
from rag_core.core.model import Citation, Claim
from rag_core.core.run import Run
from rag_core.pipelines import answer_in_conversation
from tests.fakes import OverlapReranker, chunk, filled, kit, query

OLD, NEW = "The maximum hotel rate is 140 EUR per night.", "The maximum hotel rate is 165 EUR\nper night."


def cite(quote: str, document: str, title: str = "Travel Policy", source: str = "", column: str = "") -> Claim:
    citation = Citation(document, document, title, source, quote, 1.0, metadata={column: ""})
    return Claim("?", 0, 1, "verified", (citation,))


def test_each_document_is_named_with_its_figures_and_its_file_where_titles_are_the_same() -> None:
    (found,) = describe_disagreements(
        [cite(OLD, "a", source="/docs/policy-2024.docx"), cite(NEW, "b", source="p.docx")]
    )
    assert found == "the cited documents differ: policy-2024.docx has 140; p.docx has 165"
    (found,) = describe_disagreements([cite(OLD, "a", "Old"), cite(NEW, "b", "New")])
    assert found == "the cited documents differ: Old has 140; New has 165"


@pytest.mark.parametrize(
    "quotes",
    [
        [(OLD, "a"), (NEW, "a")],
        [(OLD, "a"), (OLD, "b")],
        [(OLD, "a"), ("The maximum meal rate is 30 EUR per night.", "b")],
        [("Fee: 3", "a"), ("Fee: 4", "b")],
        [
            ("T1001 | 12 May | Harbour Hospital in Malmo | 40", "a"),
            ("T1002 | 13 May | Harbour Hospital in Malmo | 20", "b"),
        ],
        [("Name of the part: pump\nPrice in EUR: 3", "a"), ("Name of the part: pump\nPrice in EUR: 4", "b")],
    ],
)
def test_one_document_equal_figures_other_words_and_rows_are_no_disagreement(quotes: list[tuple[str, str]]) -> None:
    assert describe_disagreements([cite(quote, document) for quote, document in quotes]) == []


def test_rows_of_one_cell_are_no_disagreement() -> None:
    """They are rows of the same table to whoever looks a cell up."""
    rows = [("Seats of a room in the new building: 40", "a"), ("Seats of a room in the new building: 60", "b")]
    column = "Seats of a room in the new building"
    assert describe_disagreements([cite(quote, document) for quote, document in rows]) != []
    assert describe_disagreements([cite(quote, document, column=column) for quote, document in rows]) == []


async def test_an_answer_from_two_versions_says_that_they_differ() -> None:
    parts = kit(await filled(chunk("a", OLD, document="a"), chunk("b", NEW, document="b")), reranker=OverlapReranker())
    run = Run()
    _, answer = await answer_in_conversation(query("What is the maximum hotel rate per night?", "standard"), parts, run)
    assert len(answer.claims) == 2
    assert [w.message for w in run.warnings if w.code == "sources_disagree"] == [
        "the cited documents differ: The a has 140; The b has 165"
    ]
