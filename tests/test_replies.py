"""An answer as plain data."""

import json
from dataclasses import replace
from types import MappingProxyType

import pytest

from rag_core.answering.citation_styles import CitationStyle
from rag_core.answering.claim_replies import format_claims
from rag_core.core.model import Answer, Citation, Claim, Confidence, Evidence, Hit, SearchResult, Span
from rag_core.core.presets import resolve_preset
from rag_core.core.run import Run
from rag_core.replies import AnswerReply, AskReply, ContextReply, SearchReply
from tests.fakes import SCOPE, chunk, hit

BOX = (72.0, 80.0, 300.0, 100.0)
FLUID = Citation(
    "c1", "manual", "Manual", "manual.pdf", "Every 60,000 km.", 0.9, ("Care",), Span(0, 16, 4, 12, 12, BOX)
)
VALVE = Citation("c2", "manual", "Manual", "manual.pdf", "At 7 bar.", 0.4, boxes=(BOX, BOX), page_label="iv")
CLAIMS = (
    Claim("Change it often.", 0, 16, "partial", (FLUID,), ("word: often",)),
    Claim("It opens at 7 bar.", 17, 35, "verified", (VALVE, FLUID)),
)
ANSWER = Answer(
    "Change it often. It opens at 7 bar.",
    "answered",
    "model",
    CLAIMS,
    Confidence(0.8, MappingProxyType({"certainty": 0.8}), "certainty"),
    (Evidence("e1", hit("c1", content="One.\nTwo."), 5, 9),),
)


def format_answer(style: CitationStyle) -> AskReply:
    preset = resolve_preset("advanced")
    return AnswerReply(ANSWER, preset.build_query("How often?", SCOPE), preset, Run(), {}).to_json(style)


def test_a_passage_cited_twice_is_one_citation_with_one_number() -> None:
    """C31, S2-43."""
    reply = format_answer("numbers")
    assert json.loads(json.dumps(reply)) == reply
    assert [(c["number"], c["quote"], c["verdict"]) for c in reply["citations"]] == [
        (1, FLUID.quote, "partial"),
        (2, VALVE.quote, "verified"),
    ]
    assert [[c["number"] for c in claim["citations"]] for claim in reply["claims"]] == [[1], [2, 1]]
    assert reply["cited_answer"].startswith("Change it often. [1] It opens at 7 bar. [2] [1]\n\n[1] Manual · p. 4")
    assert reply["answer"][reply["claims"][1]["start"] :] == reply["claims"][1]["text"]


def test_a_context_is_the_passage_that_was_put_before_the_answerer_and_its_own_lines() -> None:
    """S3-20."""
    [context] = format_answer("pages")["contexts"]
    assert (context["id"], context["content"], context["page"], context["lines"]) == ("e1", "Two.", 1, [2, 2])


SECTIONS = chunk(
    "two-sections",
    "Fill it.\nDrain it.\nOut.",
    heading_path=("Care",),
    spans=(Span(0, 8, 1, 1, 1, section=("Care", "Filling")), Span(9, 18, 2, 2, 2, section=("Care", "Draining"))),
)


def format_context(start: int, end: int) -> ContextReply:
    """Return the only context of an answer that was written from these characters of SECTIONS."""
    preset = resolve_preset("pages")
    answer = replace(ANSWER, evidence=(Evidence("e1", Hit(SECTIONS, 1.0), start, end),))
    [context] = AnswerReply(answer, preset.build_query("?", SCOPE), preset, Run(), {}).to_json()["contexts"]
    return context


@pytest.mark.parametrize(
    ("start", "end", "content", "section"),
    [
        (0, 8, "Fill it.", ["Care", "Filling"]),
        (9, 18, "Drain it.", ["Care", "Draining"]),
        (19, 23, "Out.", ["Care"]),  # no span has these characters
    ],
)
def test_a_context_cites_the_section_of_its_own_passage_else_that_of_its_chunk(
    start: int, end: int, content: str, section: list[str]
) -> None:
    """S3-20: a chunk may join sections; its heading path is then only what they share."""
    context = format_context(start, end)
    assert (context["content"], context["section"]) == (content, section)


def test_a_citation_has_every_part_of_its_place() -> None:
    """S3-05..07: page, box, boxes, lines; what a format does not give is null, never invented."""
    first, other = (citation for claim in format_claims(CLAIMS, "pages") for citation in claim["citations"][:1])
    assert (first["page"], first["lines"], first["bbox"], first["section"]) == (4, [12, 12], list(BOX), ["Care"])
    assert (first["label"], first["verdict"], first["page_label"]) == ("[Source: Page 4, Lines 12-12]", "partial", None)
    assert (other["boxes"], other["page_label"]) == ([list(BOX)] * 2, "iv")
    assert (other["page"], other["lines"], other["bbox"]) == (None, None, None)


def test_a_claim_says_why_it_is_not_verified() -> None:
    first, other = format_claims(CLAIMS, "numbers")
    assert (first["reasons"], other["reasons"]) == (["word: often"], [])


def test_a_passage_says_how_many_others_are_like_it_and_is_silent_of_none() -> None:
    preset = resolve_preset("standard")
    found = SearchResult(hits=(replace(hit("a"), similar_count=81), hit("b")))
    reply = SearchReply(found, preset.build_query("How often?", SCOPE), preset, Run(), {}).to_json()
    assert [passage["metadata"].get("similar_count") for passage in reply["documents"]] == [81, None]
