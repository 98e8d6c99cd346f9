import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from rag_core.answering.citations import (
    cite_quote,
    evidence_from_hits,
    split_into_claims,
    verify_by_rule,
    verify_with_cross_encoder,
)
from rag_core.answering.entailment import Entailment, check_entailment
from rag_core.core.errors import Unavailable
from rag_core.core.model import Claim, Evidence, Hit, Span
from tests.fakes import Down, OverlapReranker, chunk

SAYS = "Scope of the manual.\nThe pump of model BP-4471 runs at 30 bar since March 2024.\nIt must not run dry.\n"


class Convinced:
    """Finds everything relevant."""

    name = "convinced"

    async def score_passages(self, text: str, passages: list[str]) -> list[float]:
        return [0.99] * len(passages)


def found(content: str = SAYS, **fields: object) -> list[tuple[Evidence, ...]]:
    spans = (Span(0, len(content), 4, 10, 10 + content.count("\n")),)
    return [evidence_from_hits([Hit(chunk("c1", content, spans=spans, heading_path=("Pumps",), **fields), 1.0)])]


async def judged(claim: str, content: str = SAYS) -> Claim:
    [made] = await verify_with_cross_encoder([Claim(claim, 0, len(claim), "unsupported")], found(content), Convinced())
    return made


def test_each_sentence_is_a_claim_with_its_place_in_the_text() -> None:
    """S1-59."""
    text = "The pump runs. It must not run dry."
    assert [(c.text, text[c.start : c.end]) for c in split_into_claims(text)] == [
        ("The pump runs.", "The pump runs."),
        ("It must not run dry.", "It must not run dry."),
    ]
    assert split_into_claims(" \n ") == []


CLAUSES = """4.1 Prices are fixed until December.

4.2 Invoices are payable within 30 days.

(iv) Risk passes on unloading.
"""


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("Invoices are payable within 30 days.", "4.2 Invoices are payable within 30 days."),
        ("Risk passes on unloading.", "(iv) Risk passes on unloading."),
    ],
)
async def test_a_claim_without_the_number_of_a_clause_cites_that_clause_alone(claim: str, quote: str) -> None:
    """It was verified by two clauses together, of which the first may leave out a number."""
    made = await judged(claim, CLAUSES)
    assert (made.verdict, [citation.quote for citation in made.citations]) == ("verified", [quote])


async def test_a_figure_at_the_beginning_of_a_sentence_is_no_number_of_a_clause() -> None:
    content = "4.2 million people use the pump.\n"
    assert (await judged("4.2 million people use the pump.", content)).verdict == "verified"
    assert (await judged("5.2 million people use the pump.", content)).verdict != "verified"
    assert (await judged("5.2 Invoices are payable within 30 days.", CLAUSES)).verdict != "verified"


@pytest.mark.parametrize("words", ["It must not run dry.", "BP-4471 runs at 30 bar since March 2024. It must"])
def test_a_quote_is_verified_by_its_words_wherever_the_lines_of_the_passage_end(words: str) -> None:
    """Issue 14: quotes that the ranker found little relevant were unsupported, and their answer was refused."""
    [passages] = found()
    claim = cite_quote(Claim(words, 0, len(words), "unsupported"), passages)
    assert claim.verdict == "verified"
    assert [citation.quote.split() for citation in claim.citations] == [words.split()]
    assert claim.citations[0].place is not None


@pytest.mark.parametrize("words", ["It must run dry.", "It must not run dry. The pump", "", " "])
def test_words_that_no_passage_has_one_after_another_are_no_quote(words: str) -> None:
    [passages] = found()
    claim = Claim(words, 0, len(words), "unsupported")
    assert cite_quote(claim, passages) is claim


async def test_a_claim_that_a_passage_says_is_verified_and_cited_with_page_and_line() -> None:
    """S1-59, C31: quote, page, exact line and section."""
    claim = await judged("Since March 2024, the pump of model BP-4471 runs at 30 bar.")
    assert claim.verdict == "verified"
    [citation] = claim.citations
    assert citation.quote == "The pump of model BP-4471 runs at 30 bar since March 2024."
    assert citation.place is not None
    assert (citation.place.page, citation.place.line_start, citation.place.line_end) == (4, 11, 11)
    assert (citation.document_id, citation.section, citation.score) == ("manual", ("Pumps",), 0.99)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ("The pump of model BP-4471 runs at 80 bar since March 2024.", "number: 80"),
        ("The pump of model BP-4417 runs at 30 bar since March 2024.", "code: BP-4417"),
        ("The pump of model BP-4471 runs at 30 bar since April 2024.", "date: April"),
        ("The pump of model BP-4471 runs at 30 bar since March 2025.", "number: 2025"),
        ("The pump of model BP-4471 never runs at 30 bar since March 2024.", "negation: never"),
        ("The pump of model BP-4471 may run at 30 bar since March 2024.", "modality: may"),
    ],
)
async def test_a_changed_number_code_date_negation_or_modal_is_unsupported_with_the_reason(
    changed: str, reason: str
) -> None:
    """S1-59, S4-27: however relevant the ranker finds the passage, which is shown."""
    claim = await judged(changed)
    assert (claim.verdict, claim.reasons[0]) == ("unsupported", reason)
    assert [c.quote for c in claim.citations] == ["The pump of model BP-4471 runs at 30 bar since March 2024."]


@pytest.mark.parametrize(
    "changed",
    [
        "The pump of model BP-4471 leaks at 30 bar since March 2024.",
        "The ISO pump of model BP-4471 runs at 30 bar since March 2024.",
        "The pump of model BP-4471 is run at thirty bar or so since March 2024.",
    ],
)
async def test_what_is_said_in_other_words_is_partial(changed: str) -> None:
    """S1-59."""
    assert (await judged(changed)).verdict == "partial"


async def test_the_same_digits_in_another_order_are_another_number() -> None:
    """S1-59: 3.5 is not 5.3, and a part of a date may be cited, but not one of a range."""
    content = "The valve opens at 5.3 bar. The limit is 20-30 bar since 2024-03-01."
    assert (await judged("The valve opens at 3.5 bar.", content)).verdict == "unsupported"
    assert (await judged("The valve opens at 5.3 bar.", content)).verdict == "verified"
    assert (await judged("The limit is 20-30 bar since 2024.", content)).verdict == "verified"
    assert (await judged("The limit is 30 bar since 2024.", content)).verdict == "partial"


async def test_a_turned_statement_is_not_verified_either_way() -> None:
    """S4-27."""
    assert (await judged("It must run dry.")).verdict == "unsupported"
    assert (await judged("It must not run dry.")).verdict == "verified"


async def test_a_sentence_of_two_statements_is_verified_by_a_passage_for_each() -> None:
    """S1-59: both are cited; with one of them false it is not verified."""
    hits = [
        Hit(chunk("a", "The pump runs at 30 bar. It hums."), 1.0),
        Hit(chunk("b", "The valve opens at 5 bar."), 1.0),
    ]
    said = "The pump runs at 30 bar, and the valve opens at {} bar."
    [true] = await verify_with_cross_encoder(split_into_claims(said.format(5)), [evidence_from_hits(hits)], Convinced())
    [false] = await verify_with_cross_encoder(
        split_into_claims(said.format(6)), [evidence_from_hits(hits)], Convinced()
    )
    assert true.verdict == "verified"
    assert {citation.chunk_id for citation in true.citations} == {"a", "b"}
    assert false.verdict != "verified"


async def test_both_statements_are_cited_where_one_chunk_has_them_apart() -> None:
    """S1-59: a verdict on the whole sentence has the words for the whole of it."""
    content = "The pump runs at 30 bar. Oil is changed once a year. The valve opens at 5 bar."
    said = "The pump runs at 30 bar, and the valve opens at 5 bar."
    claim = await judged(said, content)
    assert claim.verdict == "verified"
    assert [c.quote for c in claim.citations] == ["The pump runs at 30 bar.", "The valve opens at 5 bar."]


async def test_words_are_compared_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY: a long text that is checked keeps no other request waiting."""
    where: set[str] = set()

    def noted(said: str, passage: str) -> Entailment:
        where.add(threading.current_thread().name)
        return check_entailment(said, passage)

    monkeypatch.setattr("rag_core.answering.citations.check_entailment", noted)
    assert (await judged("The pump of model BP-4471 runs.")).verdict == "verified"
    assert where
    assert threading.main_thread().name not in where


async def test_only_the_evidence_is_searched_and_cited() -> None:
    """C43 (RELIABILITY): what stands in the chunk outside of the evidence bears nothing out."""
    at = SAYS.index("It must")
    [whole] = found()[0]
    outside = replace(whole, end=at)
    [inside] = await verify_with_cross_encoder(
        split_into_claims("It must not run dry."), [(replace(whole, start=at),)], Convinced()
    )
    [missed] = await verify_with_cross_encoder(split_into_claims("It must not run dry."), [(outside,)], Convinced())
    assert (inside.verdict, missed.verdict) == ("verified", "unsupported")
    assert inside.citations[0].place is not None
    assert inside.citations[0].place.line_start == 12


async def test_a_citation_has_the_boxes_and_the_printed_page_and_the_document_s_metadata() -> None:
    """C31: the label is no part of the metadata."""
    spans = (Span(0, 20, 4, 10, 10, (1.0, 2.0, 3.0, 4.0)), Span(21, 79, 4, 11, 11, (1.0, 4.0, 3.0, 6.0)))
    one = chunk("c1", SAYS, spans=spans, metadata={"page_label": "iv", "stage": "draft"})
    said = "The pump of model BP-4471 runs at 30 bar since March 2024."
    [claim] = await verify_with_cross_encoder(
        split_into_claims(said), [evidence_from_hits([Hit(one, 1.0)])], Convinced()
    )
    [citation] = claim.citations
    assert (citation.boxes, citation.page_label) == (((1.0, 4.0, 3.0, 6.0),), "iv")
    assert citation.metadata == {"stage": "draft"}


async def test_the_ranker_is_asked_only_where_words_have_not_decided() -> None:
    """Eight passages a claim at most, none when the nearest contradicts it, only those that agree when some do."""
    content = " ".join(f"Pump {n} runs at {n} bar." for n in range(20, 40))
    ranker = OverlapReranker()
    for said in ("Pump 25 runs at 25 bar.", "Pump 25 runs at 99 bar.", "Some pump leaks and runs hot."):
        await verify_with_cross_encoder(
            split_into_claims(said), [evidence_from_hits([Hit(chunk("c", content), 1.0)])], ranker
        )
    agreeing, *rest = ranker.calls
    assert all("Pump 25 runs at 25 bar." in passage for passage in agreeing)
    assert len(rest) <= 1
    assert all(len(call) <= 8 for call in ranker.calls)


async def test_a_relevant_passage_about_something_else_supports_nothing() -> None:
    assert (await judged("Bananas grow quickly near warm rivers.")) == Claim(
        "Bananas grow quickly near warm rivers.", 0, 38, "unsupported"
    )


async def test_shared_words_alone_are_partial_at_most() -> None:
    """S1-59: token overlap never verifies."""

    class Unconvinced(Convinced):
        async def score_passages(self, text: str, passages: list[str]) -> list[float]:
            return [0.1] * len(passages)

    claim = Claim("It must not run dry.", 0, 20, "unsupported")
    [by_ranker] = await verify_with_cross_encoder([claim], found(), Unconvinced())
    assert by_ranker.verdict == "partial"
    [copied, shared] = verify_by_rule([claim, Claim("It must run dry.", 0, 16, "unsupported")], found() * 2)
    assert (copied.verdict, shared.verdict) == ("verified", "partial")
    assert copied.citations[0].quote == "It must not run dry."


async def test_a_claim_without_hits_is_unsupported() -> None:
    claim = Claim("Anything.", 0, 9, "unsupported")
    assert await verify_with_cross_encoder([claim], [[]], Down()) == verify_by_rule([claim], [[]]) == [claim]


async def test_without_a_ranker_it_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        await verify_with_cross_encoder(split_into_claims("It must not run dry."), found(), Down())


async def test_the_shortest_passage_that_says_it_is_quoted_even_if_the_ranker_likes_a_longer_one() -> None:
    class LongWinded:
        name = "long-winded"

        async def score_passages(self, text: str, passages: list[str]) -> list[float]:
            return [1 - 1 / len(passage) for passage in passages]

    evidence = found("The pump stands idle.\nIt must not run dry.\nThe lamp is lit.\n")
    [claim] = await verify_with_cross_encoder(split_into_claims("It must not run dry."), evidence, LongWinded())
    assert [citation.quote for citation in claim.citations] == ["It must not run dry."]


async def test_a_longer_passage_is_read_only_where_the_ranker_likes_no_shorter_one_in_it() -> None:
    class OnlyLong(OverlapReranker):
        async def score_passages(self, text: str, passages: Sequence[str]) -> Sequence[float]:
            self.calls.append(passages)
            return [float("idle" in passage) for passage in passages]

    evidence = found("The pump stands idle.\nIt must not run dry.\nThe lamp is lit.\n")
    for ranker, quotes, calls in (
        (OverlapReranker(), ["It must not run dry."], 1),
        (OnlyLong(), ["The pump stands idle.\nIt must not run dry."], 2),
    ):
        [claim] = await verify_with_cross_encoder(split_into_claims("It must not run dry."), evidence, ranker)
        assert ([citation.quote for citation in claim.citations], len(ranker.calls)) == (quotes, calls)
        assert ranker.calls[0] == ["It must not run dry."]


async def test_one_citation_a_chunk_and_three_in_all() -> None:
    hits = [Hit(chunk(f"c{n}", "It must not run dry. It must not run dry now."), 1.0) for n in range(5)]
    [claim] = await verify_with_cross_encoder(
        split_into_claims("It must not run dry."), [evidence_from_hits(hits)], OverlapReranker()
    )
    assert len({citation.chunk_id for citation in claim.citations}) == len(claim.citations) == 3


async def test_a_claim_in_other_words_is_unclear_where_the_ranker_finds_a_passage_with_one_of_them() -> None:
    """Issue 14: 15 of 30 true claims in a person's own words were said to be unsupported."""
    claim = await judged("Whoever looks after it has to keep the pump wet at all times, day and night.")
    assert (claim.verdict, claim.reasons) == ("partial", ("unclear: a passage on the subject has other words",))
    assert claim.citations
