import time

import pytest

from rag_core.errors import Unavailable
from rag_core.model import Claim, Hit, Span
from rag_core.stages.cite import claims, figures, judge, judge_by_rule
from tests.fakes import Down, OverlapReranker, chunk

SAYS = "Scope of the manual.\nThe pump of model BP-4471 runs at 30 bar since March 2024.\nIt must not run dry.\n"


class Convinced:
    """Finds everything relevant."""

    name = "convinced"

    async def scores(self, text: str, passages: list[str]) -> list[float]:
        return [0.99] * len(passages)


def found(content: str = SAYS, **fields: object) -> list[list[Hit]]:
    spans = (Span(0, len(content), 4, 10, 10 + content.count("\n")),)
    return [[Hit(chunk("c1", content, spans=spans, heading_path=("Pumps",), **fields), 1.0)]]


async def judged(claim: str, content: str = SAYS) -> Claim:
    [made] = await judge([Claim(claim, 0, len(claim), "unsupported")], found(content), Convinced())
    return made


def test_each_sentence_is_a_claim_with_its_place_in_the_text() -> None:
    """S1-59."""
    text = "The pump runs. It must not run dry."
    assert [(c.text, text[c.start : c.end]) for c in claims(text)] == [
        ("The pump runs.", "The pump runs."),
        ("It must not run dry.", "It must not run dry."),
    ]
    assert claims(" \n ") == []


async def test_a_claim_that_a_passage_says_is_verified_and_cited_with_page_and_line() -> None:
    """S1-59, C31: quote, page, exact line and section."""
    claim = await judged("The BP-4471 pump runs at 30 bar since March 2024.")
    assert claim.verdict == "verified"
    [citation] = claim.citations
    assert citation.quote == "The pump of model BP-4471 runs at 30 bar since March 2024."
    assert citation.place is not None
    assert (citation.place.page, citation.place.line_start, citation.place.line_end) == (4, 11, 11)
    assert (citation.document_id, citation.section, citation.score) == ("manual", ("Pumps",), 0.99)


@pytest.mark.parametrize(
    "changed",
    [
        "The pump of model BP-4471 runs at 80 bar since March 2024.",
        "The pump of model BP-4417 runs at 30 bar since March 2024.",
        "The pump of model BP-4471 runs at 30 bar since April 2024.",
        "The pump of model BP-4471 runs at 30 bar since March 2025.",
        "The pump of model BP-4471 runs at thirty-two or twelve bar since March 2024.",
        "The pump of model BP-4471 does not run at 30 bar since March 2024.",
        "The pump of model BP-4471 never runs at 30 bar since March 2024.",
        "The ISO pump of model BP-4471 runs at 30 bar since March 2024.",
        "The pump of model BP-4471 leaks at 30 bar since March 2024.",
    ],
)
async def test_a_changed_number_code_date_name_verb_or_negation_is_never_verified(changed: str) -> None:
    """S1-59: however relevant the ranker finds the passage."""
    assert (await judged(changed)).verdict == "partial"


async def test_the_same_digits_in_another_order_are_another_number() -> None:
    """S1-59: 3.5 is not 5.3, and a part of a range or a date may be cited."""
    content = "The valve opens at 5.3 bar. The limit is 20-30 bar since 2024-03-01."
    assert (await judged("The valve opens at 3.5 bar.", content)).verdict == "partial"
    assert (await judged("The valve opens at 5.3 bar.", content)).verdict == "verified"
    assert (await judged("The limit is 30 bar since 2024.", content)).verdict == "verified"


async def test_a_turned_statement_is_not_verified_either_way() -> None:
    assert (await judged("It must run dry.")).verdict == "partial"
    assert (await judged("It must not run dry.")).verdict == "verified"


async def test_a_relevant_passage_about_something_else_supports_nothing() -> None:
    assert (await judged("Bananas grow quickly near warm rivers.")) == Claim(
        "Bananas grow quickly near warm rivers.", 0, 38, "unsupported"
    )


async def test_shared_words_alone_are_partial_at_most() -> None:
    """S1-59: token overlap never verifies."""

    class Unconvinced(Convinced):
        async def scores(self, text: str, passages: list[str]) -> list[float]:
            return [0.1] * len(passages)

    claim = Claim("It must not run dry.", 0, 20, "unsupported")
    [by_ranker] = await judge([claim], found(), Unconvinced())
    [by_rule] = judge_by_rule([claim], found())
    assert by_ranker.verdict == by_rule.verdict == "partial"
    assert by_rule.citations[0].quote == "It must not run dry."


async def test_a_claim_without_hits_is_unsupported() -> None:
    claim = Claim("Anything.", 0, 9, "unsupported")
    assert await judge([claim], [[]], Down()) == judge_by_rule([claim], [[]]) == [claim]


async def test_without_a_ranker_it_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        await judge(claims("It must not run dry."), found(), Down())


async def test_one_citation_a_chunk_and_three_in_all() -> None:
    hits = [Hit(chunk(f"c{n}", "It must not run dry. It must not run dry now."), 1.0) for n in range(5)]
    [claim] = await judge(claims("It must not run dry."), [hits], OverlapReranker())
    assert len({citation.chunk_id for citation in claim.citations}) == len(claim.citations) == 3


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("P0700 costs 1,200.50 on 2024-03-01", {"p0700", "1200.50", "2024-03-01"}),
        ("rev. 3.5 of the TCM in May", {"3.5"}),
        ("I agree", set()),
    ],
)
def test_figures_are_numbers_codes_and_dates(text: str, stated: set[str]) -> None:
    assert figures(text) == stated


@pytest.mark.parametrize("text", ["a" * 100_000, "1," * 50_000, "n'" * 50_000, "A" * 99_999 + "a", "no " * 33_000])
def test_no_text_makes_the_expressions_slow(text: str) -> None:
    """C11 (RELIABILITY): linear in the text; the quadratic form took minutes."""
    began = time.process_time()
    figures(text)
    assert time.process_time() - began < 2
