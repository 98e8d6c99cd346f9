"""Citation styles: four renderings of an answer's citations.

Every square bracket in a rendered text belongs to a citation: brackets of documents and models become round ones, and
line breaks in titles and quotes become spaces, so that none of them can end a citation or imitate one. An HTML tag in a
title or quote is shown as text.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from rag_core.core.model import Answer, Citation, Claim, Evidence, Span

Style = Literal["numbers", "pages", "sections", "badges"]
SNIPPET = 160  # characters of a badge's quote
ROUND = str.maketrans("[]", "()")
PLAIN = str.maketrans("[]<", "()‹")  # "<" as in the screening of model replies
LINK = re.compile(r"https?://[!#-;=?-Z^-~]+")  # printable ASCII but for quotes, brackets and backslashes

Passage = tuple[str, str]  # a chunk's id and the quote


def usual(pipeline: str) -> Style:
    """Return the citation style of a pipeline's answers when the request names none (S4-22)."""
    return "sections" if pipeline == "classical" else "numbers"


def cited_text(answer: Answer, style: Style) -> str:
    """Render an answer with citation marks after each sentence and, for numbers and badges, a list of notes below."""
    numbers = numbered(answer.claims)
    listed = {number: citation for claim in reversed(answer.claims) for number, citation in cited(claim, numbers)}
    notes = [note(listed[number], style, number) for number in sorted(listed)] if style in ("numbers", "badges") else []
    return "\n\n".join(filter(None, (marked(answer, style), "\n".join(notes))))


def marked(answer: Answer, style: Style) -> str:
    """Insert after each sentence of an answer's text a mark for each of its citations."""
    numbers, parts, at = numbered(answer.claims), [], 0
    for claim in answer.claims:
        marks = dict.fromkeys(mark(citation, style, number) for number, citation in cited(claim, numbers))
        parts += [" ".join((answer.text[at : claim.end].translate(ROUND), *marks))]
        at = claim.end
    return "".join((*parts, answer.text[at:].translate(ROUND)))


def mark(citation: Citation, style: Style, number: int) -> str:
    """Format the mark in the text: "[Source: Page X, Lines Y-Z]" (S3-18), "[Title, Section X]" (S4-22) or "[1]"."""
    if style == "pages":
        return page_tag(citation.place)
    if style == "sections":
        return _section_tag(citation)
    return f"[{number}]"


def label(citation: Citation, style: Style, number: int) -> str:
    """Format a citation that stands alone: a badge with title, snippet and URL (S2-44), else its mark."""
    return _badge(citation) if style == "badges" else mark(citation, style, number)


def note(citation: Citation, style: Style, number: int) -> str:
    """Format the note below the text: the badge, or title, place and source."""
    return f"[{number}] {_badge(citation) if style == 'badges' else _place(citation)}"


def page_tag(place: Span | None) -> str:
    """Format the tag "[Source: Page X, Lines Y-Z]" (S3-18); without pages it has only lines, without a place neither.

    The page is counted from 1, whatever number is printed on it.
    """
    if place is None:
        return "[Source]"
    page = f"Page {place.page}, " if place.page else ""
    return f"[Source: {page}Lines {place.line_start}-{place.line_end}]"


def context(evidence: Sequence[Evidence]) -> str:
    """Join passages to one text for a prompt, each below its page tag (S3-18)."""
    return "\n\n".join(f"{page_tag(place_of(passage))}\n{passage.text.translate(ROUND)}" for passage in evidence)


def place_of(passage: Evidence) -> Span | None:
    """Return the page and lines of a passage in its document; None when they are not known."""
    return passage.hit.chunk.place(passage.start, passage.end)


def numbered(claims: Sequence[Claim]) -> Mapping[Passage, int]:
    """Number the cited passages from 1 in the order of mention; a passage cited twice has one number."""
    passages = dict.fromkeys(_passage(citation) for claim in claims for citation in claim.citations)
    return {passage: number for number, passage in enumerate(passages, start=1)}


def cited(claim: Claim, numbers: Mapping[Passage, int]) -> list[tuple[int, Citation]]:
    """Return a claim's citations with their numbers, best first."""
    return [(numbers[_passage(citation)], citation) for citation in claim.citations]


def plain(text: str) -> str:
    """Return a text on one line, without the control characters that a terminal would obey."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _passage(citation: Citation) -> Passage:
    return citation.chunk_id, citation.quote


def _section_tag(citation: Citation) -> str:
    """Format title and innermost heading; without headings the page takes its place, without pages nothing."""
    page = f", Page {citation.place.page}" if citation.place and citation.place.page else ""
    section = f", Section {_escaped(citation.section[-1])}" if citation.section else page
    return f"[{_escaped(citation.title)}{section}]"


def _badge(citation: Citation) -> str:
    stage, url = (str(citation.metadata.get(name, "")) for name in ("stage", "url"))
    badge = f"({_escaped(stage)}) " if _escaped(stage) else ""
    link = f" <{url}>" if LINK.fullmatch(url) else ""
    return f"{badge}{_escaped(citation.title)}: “{_shortened(_escaped(citation.quote))}”{link}"


def _place(citation: Citation) -> str:
    parts = (citation.title, where(citation.place, citation.page_label), citation.source)
    return " · ".join(filter(None, map(_escaped, parts)))


def where(place: Span | None, page_label: str | None = None) -> str:
    """Format a page and lines, "p. 3 (printed iii), lines 4-9"; "" when there is no place.

    `page_label` is the number printed on the page.
    """
    if place is None:
        return ""
    printed = f" (printed {plain(page_label)})" if page_label and plain(page_label) else ""
    page = f"p. {place.page}{printed}, " if place.page else ""
    is_one_line = place.line_start == place.line_end
    return page + (f"line {place.line_start}" if is_one_line else f"lines {place.line_start}-{place.line_end}")


def _escaped(text: str) -> str:
    return plain(text).translate(PLAIN)


def _shortened(text: str) -> str:
    return text if len(text) <= SNIPPET else text[:SNIPPET].rsplit(" ", 1)[0] + " …"
