"""How citations are written: four renderings of one record (C31).

In what is rendered every square bracket is a citation's: those of documents and models become round ones, and their
line breaks spaces, so that no title or quote can end a citation or pass for one. A tag in a title or quote is text.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from rag_core.core.model import Answer, Citation, Claim, Evidence, Span

Style = Literal["numbers", "pages", "sections", "badges"]
SNIPPET = 160  # characters of a badge's quote
ROUND = str.maketrans("[]", "()")
PLAIN = str.maketrans("[]<", "()‹")  # also a tag, as in what is answered
LINK = re.compile(r"https?://[!#-;=?-Z^-~]+")  # printable ASCII but for quotes, brackets and backslashes

Passage = tuple[str, str]  # a chunk's id and the words quoted


def usual(pipeline: str) -> Style:
    """The style in which a pipeline's answers are cited unless another is asked for (S4-22)."""
    return "sections" if pipeline == "classical" else "numbers"


def cited_text(answer: Answer, style: Style) -> str:
    """The answer with its citations: after each sentence and, for numbers and badges, listed below."""
    numbers = numbered(answer.claims)
    listed = {number: citation for claim in reversed(answer.claims) for number, citation in cited(claim, numbers)}
    notes = [note(listed[number], style, number) for number in sorted(listed)] if style in ("numbers", "badges") else []
    return "\n\n".join(filter(None, (marked(answer, style), "\n".join(notes))))


def marked(answer: Answer, style: Style) -> str:
    """The answer's text with a mark after each sentence for every citation of it."""
    numbers, parts, at = numbered(answer.claims), [], 0
    for claim in answer.claims:
        marks = dict.fromkeys(mark(citation, style, number) for number, citation in cited(claim, numbers))
        parts += [" ".join((answer.text[at : claim.end].translate(ROUND), *marks))]
        at = claim.end
    return "".join((*parts, answer.text[at:].translate(ROUND)))


def mark(citation: Citation, style: Style, number: int) -> str:
    """What stands in the text: "[Source: Page X, Lines Y-Z]" (S3-18), "[Document Name, Section X]" (S4-22) or "[1]"."""
    if style == "pages":
        return page_tag(citation.place)
    if style == "sections":
        return _section_tag(citation)
    return f"[{number}]"


def label(citation: Citation, style: Style, number: int) -> str:
    """What names a citation by itself: a badge with title, snippet and URL (S2-44), else its mark."""
    return _badge(citation) if style == "badges" else mark(citation, style, number)


def note(citation: Citation, style: Style, number: int) -> str:
    """What stands below the text: the badge, or the place in words."""
    return f"[{number}] {_badge(citation) if style == 'badges' else _place(citation)}"


def page_tag(place: Span | None) -> str:
    """S3-18's tag; its page is the one counted from 1, whatever is printed there, and absent without pages."""
    if place is None:
        return "[Source]"
    page = f"Page {place.page}, " if place.page else ""
    return f"[Source: {page}Lines {place.line_start}-{place.line_end}]"


def context(evidence: Sequence[Evidence]) -> str:
    """Passages as one text for a prompt, each below its tag (S3-18)."""
    return "\n\n".join(f"{page_tag(place_of(passage))}\n{passage.text.translate(ROUND)}" for passage in evidence)


def place_of(passage: Evidence) -> Span | None:
    """Where a passage stands in its document."""
    return passage.hit.chunk.place(passage.start, passage.end)


def numbered(claims: Sequence[Claim]) -> Mapping[Passage, int]:
    """The number of each cited passage, from 1, in the order of mention; a passage cited twice has one."""
    passages = dict.fromkeys(_passage(citation) for claim in claims for citation in claim.citations)
    return {passage: number for number, passage in enumerate(passages, start=1)}


def cited(claim: Claim, numbers: Mapping[Passage, int]) -> list[tuple[int, Citation]]:
    """A claim's citations with their numbers, best first."""
    return [(numbers[_passage(citation)], citation) for citation in claim.citations]


def plain(text: str) -> str:
    """Text on one line, without what could steer a terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _passage(citation: Citation) -> Passage:
    return citation.chunk_id, citation.quote


def _section_tag(citation: Citation) -> str:
    """The innermost heading names the section; without headings the page stands in, without pages nothing."""
    page = f", Page {citation.place.page}" if citation.place and citation.place.page else ""
    section = f", Section {_escaped(citation.section[-1])}" if citation.section else page
    return f"[{_escaped(citation.title)}{section}]"


def _badge(citation: Citation) -> str:
    stage, url = (str(citation.metadata.get(name, "")) for name in ("stage", "url"))
    badge = f"({_escaped(stage)}) " if _escaped(stage) else ""
    link = f" <{url}>" if LINK.fullmatch(url) else ""
    return f"{badge}{_escaped(citation.title)}: “{_shortened(_escaped(citation.quote))}”{link}"


def _place(citation: Citation) -> str:
    words = (citation.title, where(citation.place, citation.page_label), citation.source)
    return " · ".join(filter(None, map(_escaped, words)))


def where(place: Span | None, page_label: str | None = None) -> str:
    """A page and lines; empty when neither is known. `page_label` is what is printed on the page."""
    if place is None:
        return ""
    printed = f" (printed {plain(page_label)})" if page_label and plain(page_label) else ""
    page = f"p. {place.page}{printed}, " if place.page else ""
    one = place.line_start == place.line_end
    return page + (f"line {place.line_start}" if one else f"lines {place.line_start}-{place.line_end}")


def _escaped(text: str) -> str:
    return plain(text).translate(PLAIN)


def _shortened(text: str) -> str:
    return text if len(text) <= SNIPPET else text[:SNIPPET].rsplit(" ", 1)[0] + " …"
