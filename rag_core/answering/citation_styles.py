"""Citation styles: four renderings of an answer's citations.

Every square bracket in a rendered text belongs to a citation: brackets of documents and models become round ones, and
line breaks in titles and quotes become spaces, so that none of them can end a citation or imitate one. An HTML tag in a
title or quote is shown as text.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from rag_core.core.model import Answer, Citation, Claim, Evidence, Span
from rag_core.text.sentences import shorten_at_word

CitationStyle = Literal["numbers", "pages", "sections", "badges"]
MAX_SNIPPET_CHARS = 161  # characters of a badge's quote, with its ellipsis
BRACKETS_TO_ROUND = str.maketrans("[]", "()")
MARKUP_TO_TEXT = str.maketrans("[]<", "()‹")  # "<" as in the screening of model replies
WEB_LINK = re.compile(r"https?://[!#-;=?-Z^-~]+")  # printable ASCII but for quotes, brackets and backslashes

PassageKey = tuple[str, str]  # a chunk's id and the quote


def choose_default_style(pipeline: str) -> CitationStyle:
    """Return the citation style of a pipeline's answers when the request names none (S4-22)."""
    return "sections" if pipeline == "classical" else "numbers"


def render_cited_answer(answer: Answer, style: CitationStyle) -> str:
    """Render an answer with citation marks after each sentence and, for numbers and badges, a list of notes below."""
    numbers = number_citations(answer.claims)
    listed = {
        number: citation
        for claim in reversed(answer.claims)
        for number, citation in list_numbered_citations(claim, numbers)
    }
    notes = (
        [format_citation_note(listed[number], style, number) for number in sorted(listed)]
        if style in ("numbers", "badges")
        else []
    )
    return "\n\n".join(filter(None, (insert_citation_marks(answer, style), "\n".join(notes))))


def insert_citation_marks(answer: Answer, style: CitationStyle) -> str:
    """Insert after each sentence of an answer's text a mark for each of its citations."""
    return insert_marks(answer, lambda citation, number: format_citation_mark(citation, style, number))


def insert_marks(answer: Answer, format_mark: Callable[[Citation, int], str]) -> str:
    """Insert after each sentence the marks of its citations, each once; a mark is made of a citation and its number."""
    numbers, parts, at = number_citations(answer.claims), [], 0
    for claim in answer.claims:
        marks = dict.fromkeys(
            format_mark(citation, number) for number, citation in list_numbered_citations(claim, numbers)
        )
        parts += [" ".join((answer.text[at : claim.end].translate(BRACKETS_TO_ROUND), *marks))]
        at = claim.end
    return "".join((*parts, answer.text[at:].translate(BRACKETS_TO_ROUND)))


def format_citation_mark(citation: Citation, style: CitationStyle, number: int) -> str:
    """Format the mark in the text: "[Source: Page X, Lines Y-Z]" (S3-18), "[Title, Section X]" (S4-22) or "[1]"."""
    if style == "pages":
        return format_page_tag(citation.place)
    if style == "sections":
        return _format_section_tag(citation)
    return f"[{number}]"


def format_citation_label(citation: Citation, style: CitationStyle, number: int) -> str:
    """Format a citation that stands alone: a badge with title, snippet and URL (S2-44), else its mark."""
    return _format_badge(citation) if style == "badges" else format_citation_mark(citation, style, number)


def format_citation_note(citation: Citation, style: CitationStyle, number: int) -> str:
    """Format the note below the text: the badge, or title, place and source."""
    return f"[{number}] {_format_badge(citation) if style == 'badges' else _format_source_line(citation)}"


def format_page_tag(place: Span | None) -> str:
    """Format the tag "[Source: Page X, Lines Y-Z]" (S3-18); without pages it has only lines, without a place neither.

    The page is counted from 1, whatever number is printed on it. A locator takes the place of both.
    """
    if place is None:
        return "[Source]"
    if place.locator:
        return f"[Source: {_escape_markup(place.locator)}]"
    page = f"Page {place.page}, " if place.page else ""
    return f"[Source: {page}Lines {place.line_start}-{place.line_end}]"


def format_evidence_context(evidence: Sequence[Evidence]) -> str:
    """Join passages to one text for a prompt, each below its page tag (S3-18)."""
    return "\n\n".join(
        f"{format_page_tag(passage.place)}\n{passage.text.translate(BRACKETS_TO_ROUND)}" for passage in evidence
    )


def number_citations(claims: Sequence[Claim]) -> Mapping[PassageKey, int]:
    """Number the cited passages from 1 in the order of mention; a passage cited twice has one number."""
    passages = dict.fromkeys(_get_passage_key(citation) for claim in claims for citation in claim.citations)
    return {passage: number for number, passage in enumerate(passages, start=1)}


def list_numbered_citations(claim: Claim, numbers: Mapping[PassageKey, int]) -> list[tuple[int, Citation]]:
    """Return a claim's citations with their numbers, best first."""
    return [(numbers[_get_passage_key(citation)], citation) for citation in claim.citations]


def to_printable_line(text: str) -> str:
    """Return a text on one line, without the control characters that a terminal would obey."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _get_passage_key(citation: Citation) -> PassageKey:
    return citation.chunk_id, citation.quote


def _format_section_tag(citation: Citation) -> str:
    """Format title and innermost heading; without headings the page takes its place, without pages nothing."""
    page = f", Page {citation.place.page}" if citation.place and citation.place.page else ""
    page = f", {_escape_markup(citation.place.locator)}" if citation.place and citation.place.locator else page
    section = f", Section {_escape_markup(citation.section[-1])}" if citation.section else page
    return f"[{_escape_markup(citation.title)}{section}]"


def _format_badge(citation: Citation) -> str:
    stage, url = (str(citation.metadata.get(name, "")) for name in ("stage", "url"))
    badge = f"({_escape_markup(stage)}) " if _escape_markup(stage) else ""
    link = f" <{url}>" if WEB_LINK.fullmatch(url) else ""
    snippet = shorten_at_word(_escape_markup(citation.quote), MAX_SNIPPET_CHARS)
    return f"{badge}{_escape_markup(citation.title)}: “{snippet}”{link}"


def _format_source_line(citation: Citation) -> str:
    parts = (citation.title, format_place(citation.place, citation.page_label), citation.source)
    return " · ".join(filter(None, map(_escape_markup, parts)))


def format_place(place: Span | None, page_label: str | None = None) -> str:
    """Format a page and lines, "p. 3 (printed iii), lines 4-9", or the locator; "" when there is no place.

    `page_label` is the number printed on the page.
    """
    if place is None or place.locator:
        return to_printable_line(place.locator) if place else ""
    printed = f" (printed {to_printable_line(page_label)})" if page_label and to_printable_line(page_label) else ""
    page = f"p. {place.page}{printed}, " if place.page else ""
    is_one_line = place.line_start == place.line_end
    return page + (f"line {place.line_start}" if is_one_line else f"lines {place.line_start}-{place.line_end}")


def _escape_markup(text: str) -> str:
    return to_printable_line(text).translate(MARKUP_TO_TEXT)
