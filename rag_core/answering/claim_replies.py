"""Claims and citations as plain data, in the field names of the documents' replies."""

from collections.abc import Sequence
from typing import Annotated, Literal, TypedDict

from rag_core.answering.citation_styles import (
    CitationStyle,
    format_citation_label,
    list_numbered_citations,
    number_citations,
)
from rag_core.core.json_codec import lines_to_json
from rag_core.core.model import Citation, Claim
from rag_core.text.sentences import shorten_at_word

BoxReply = Annotated[list[float], 4]  # x0, y0, x1, y1; the number is how many items there are, for OpenAPI
LinesReply = Annotated[list[int], 2]  # the first and the last line
VerdictReply = Literal["verified", "partial", "unsupported"]
FindingReply = Literal["supported", "contradicted", "not_stated", "unclear"]
MAX_NEAREST_CHARS = 300


class CitationReply(TypedDict):
    """A citation, its `label` in the requested style; `boxes` has one for each line on the quote's first page.

    `locator` is its place in the words of a format without pages or lines, such as `Budget!A7:D7`, else "".
    """

    number: int
    label: str
    verdict: VerdictReply
    chunk_id: str
    document_id: str
    title: str
    source: str
    quote: str
    score: float
    section: list[str]
    page: int | None
    page_label: str | None
    bbox: BoxReply | None
    boxes: list[BoxReply]
    lines: LinesReply | None
    locator: str


class ClaimReply(TypedDict):
    """A sentence with its verdict, and what that follows from.

    `reasons` say why it is not verified, as "kind: word", and `explanation` says so in plain words. `finding` is by
    `judge`, and `support` the probability that the documents support the sentence; both are null where nobody judged.
    `nearest` has the words of the documents that decide, or come nearest, cut at 300 characters; "" for none.
    """

    text: str
    start: int
    end: int
    verdict: VerdictReply
    reasons: list[str]
    explanation: str
    finding: FindingReply | None
    support: float | None
    judge: str
    nearest: str
    citations: list[CitationReply]


def format_claims(claims: Sequence[Claim], style: CitationStyle) -> list[ClaimReply]:
    """Return claims with their verdicts and citations, whose numbers run through all claims."""
    numbers = number_citations(claims)
    return [_format_claim(claim, list_numbered_citations(claim, numbers), style) for claim in claims]


def _format_claim(claim: Claim, numbered: Sequence[tuple[int, Citation]], style: CitationStyle) -> ClaimReply:
    from rag_core.answering.explanations import explain_verdict  # loaded late: a search has no claims

    judgement = claim.judgement
    return {
        "text": claim.text,
        "start": claim.start,
        "end": claim.end,
        "verdict": claim.verdict,
        "reasons": list(claim.reasons),
        "explanation": explain_verdict(claim),
        "finding": judgement.finding if judgement else None,
        "support": round(judgement.support, 4) if judgement else None,
        "judge": judgement.judge if judgement else "",
        "nearest": shorten_at_word(judgement.words, MAX_NEAREST_CHARS) if judgement else "",
        "citations": [_format_citation(citation, number, claim.verdict, style) for number, citation in numbered],
    }


def _format_citation(citation: Citation, number: int, verdict: VerdictReply, style: CitationStyle) -> CitationReply:
    place = citation.place
    return {
        "number": number,
        "label": format_citation_label(citation, style, number),
        "verdict": verdict,
        "chunk_id": citation.chunk_id,
        "document_id": citation.document_id,
        "title": citation.title,
        "source": citation.source,
        "quote": citation.quote,
        "score": citation.score,
        "section": list(citation.section),
        "page": place.page if place else None,
        "page_label": citation.page_label,
        "bbox": list(place.bbox) if place and place.bbox else None,
        "boxes": [list(box) for box in citation.boxes],
        "lines": lines_to_json(place),
        "locator": place.locator if place else "",
    }
