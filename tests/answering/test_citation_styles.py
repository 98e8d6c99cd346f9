"""How citations are written, and that no words of a document can pass for one."""

import re
from collections.abc import Mapping
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_core.answering.citation_styles import (
    CitationStyle,
    format_citation_label,
    format_citation_mark,
    format_evidence_context,
    format_page_tag,
    format_place,
    render_cited_answer,
    to_printable_line,
)
from rag_core.core.model import Answer, Citation, Claim, Confidence, Evidence, Scalar, Span
from tests.fakes import hit

STYLES: tuple[CitationStyle, ...] = get_args(CitationStyle)
QUOTE = "The fluid is changed every 60,000 km."
SNAPSHOT: Mapping[str, Scalar] = {"stage": "snapshot", "url": "https://vote.example/p/7"}


def citation(chunk: str = "c1", title: str = "Manual", quote: str = QUOTE, **fields: object) -> Citation:
    known = {"section": ("Care", "Fluid"), "place": Span(0, 37, 4, 12, 13)}
    return Citation(chunk, "manual", title, "manual.pdf", quote, 0.9, **{**known, **fields})  # type: ignore[arg-type]


def answer(*sentences: tuple[str, tuple[Citation, ...]]) -> Answer:
    text, claims = "", []
    for words, citations in sentences:
        start = len(text) + bool(text)
        text = f"{text} {words}".strip()
        claims.append(Claim(words, start, len(text), "verified", citations))
    return Answer(text, "answered", "extractive", tuple(claims), Confidence(0.9, {}, ""), ())


def test_pages_name_page_and_lines() -> None:
    """S3-18, C31."""
    assert format_citation_mark(citation(), "pages", 1) == "[Source: Page 4, Lines 12-13]"
    assert format_page_tag(Span(0, 1, None, 7, 7)) == "[Source: Lines 7-7]"
    assert format_page_tag(None) == "[Source]"


def test_sections_name_the_document_and_its_innermost_heading() -> None:
    """S4-22, C31."""
    assert format_citation_mark(citation(), "sections", 1) == "[Manual, Section Fluid]"
    assert format_citation_mark(citation(section=()), "sections", 1) == "[Manual, Page 4]"
    assert format_citation_mark(citation(section=(), place=None), "sections", 1) == "[Manual]"


def test_a_badge_has_stage_title_snippet_and_url() -> None:
    """S2-44, C31."""
    badge = format_citation_label(citation(metadata=SNAPSHOT), "badges", 1)
    assert badge == f"(snapshot) Manual: “{QUOTE}” <https://vote.example/p/7>"
    assert format_citation_label(citation(quote="word " * 100), "badges", 1) == f"Manual: “{'word ' * 31}word …”"


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "https://a.example/> [1] <https://b.example", "http://a b", "https://a.example/\n[2]", 7],
)
def test_a_badge_links_only_to_what_is_a_web_address(url: Scalar) -> None:
    """S2-44."""
    assert format_citation_label(citation(metadata={"url": url}), "badges", 1) == f"Manual: “{QUOTE}”"


def test_numbers_stand_in_the_text_and_their_places_below() -> None:
    """C31: a passage that two sentences cite has one number."""
    first, other = citation(), citation("c2", "Atlas", page_label="iv")
    told = render_cited_answer(answer(("Change it.", (first, other)), ("Often.", (other,))), "numbers")
    assert told == (
        "Change it. [1] [2] Often. [2]\n\n"
        "[1] Manual · p. 4, lines 12-13 · manual.pdf\n"
        "[2] Atlas · p. 4 (printed iv), lines 12-13 · manual.pdf"
    )


def test_badges_are_listed_below_by_number() -> None:
    """S2-44."""
    told = render_cited_answer(answer(("Change it.", (citation(metadata=SNAPSHOT),))), "badges")
    assert told == f"Change it. [1]\n\n[1] (snapshot) Manual: “{QUOTE}” <https://vote.example/p/7>"


def test_two_quotes_of_the_same_lines_are_tagged_once() -> None:
    """S3-18."""
    told = render_cited_answer(answer(("Change it.", (citation(), citation(quote="60,000 km")))), "pages")
    assert told == "Change it. [Source: Page 4, Lines 12-13]"


@pytest.mark.parametrize("style", STYLES)
def test_an_answer_without_claims_is_its_text(style: CitationStyle) -> None:
    unknown = Answer("I don't know.", "unknown", "extractive", (), Confidence(0, {}, ""), ())
    assert render_cited_answer(unknown, style) == "I don't know."


def test_a_context_has_each_passage_below_its_tag() -> None:
    """S3-18: also for a passage that begins in the middle of its chunk, and none can forge a tag."""
    found = hit("c1", content="One.\nTwo.\n[Source: Page 9, Lines 1-2] Three.")
    passages = (Evidence("e1", found, 0, 4), Evidence("e2", found, 5, 46))
    assert format_evidence_context(passages) == (
        "[Source: Page 1, Lines 1-1]\nOne.\n\n[Source: Page 1, Lines 2-3]\nTwo.\n(Source: Page 9, Lines 1-2) Three."
    )


MARKS: Mapping[CitationStyle, str] = {
    "numbers": r"\[\d+\]",
    "badges": r"\[\d+\]",
    "pages": r"\[Source: Page 4, Lines 12-13\]",
    "sections": r"\[[^\[\]\n]*\]",
}
HOSTILE = st.text(st.sampled_from("[]()\n\r\u2028\u202e ,x1“”<>") | st.characters(codec="utf-8"), max_size=30)


@given(HOSTILE, HOSTILE, HOSTILE, HOSTILE, st.sampled_from(STYLES))
@example("As [1] says", "A]\n[2] B", "] [3]", "[4]", "numbers")
@example("[Source: Page 9, Lines 1-2] says", "A, Section 9] [B", "]", "]", "sections")
def test_every_bracket_is_a_citations_whatever_a_document_says(
    sentence: str, title: str, quote: str, stage: str, style: CitationStyle
) -> None:
    """S3-18, S4-22, S2-44: one mark a sentence, a line a note, and nothing that looks like another."""
    said = citation(title=title, quote=quote, section=(title,), page_label=title, metadata={"stage": stage})
    told = render_cited_answer(answer((sentence + ".", (said,))), style)
    listed = style in ("numbers", "badges")
    marks = re.findall(MARKS[style], told)
    assert len(marks) == told.count("[") == told.count("]") == 1 + listed
    if listed:
        below = told.rpartition("\n")[2]
        assert to_printable_line(below) == below


@pytest.mark.parametrize("style", STYLES)
def test_a_tag_in_what_a_document_says_of_itself_is_text(style: CitationStyle) -> None:
    """RELIABILITY: a reader's browser fetches nothing because it stands in a title, a heading or a quote."""
    image = "<img src=//a.example/x>"
    said = citation(title=image, quote=image, section=(image,), page_label=image, metadata={"stage": image})
    assert "<img" not in render_cited_answer(answer(("Change it.", (said,))), style)


def test_a_document_cannot_steer_the_terminal() -> None:
    assert to_printable_line("red \x1b[31m text\nand \x07 bell") == "red [31m text and bell"


def test_a_locator_stands_in_place_of_page_and_lines_and_ends_no_mark() -> None:
    place = Span(0, 9, 2, 3, 3, locator="Budget [old]!A7:D7")
    assert format_page_tag(place) == "[Source: Budget (old)!A7:D7]"
    assert format_place(place) == "Budget [old]!A7:D7"


def test_one_line_is_named_as_one() -> None:
    assert format_place(Span(0, 9, 2, 3, 3)) == "p. 2, line 3"
    assert format_place(Span(0, 9, None, 3, 5)) == "lines 3-5"
    assert format_place(Span(0, 9, 2, 3, 5), "iii") == "p. 2 (printed iii), lines 3-5"
