"""What of a quoted record a question asks for: the name and the one cell, or the one "key: value" line of a list."""

import asyncio
from collections.abc import Sequence

from rag_core.answering.citations import cite_quote
from rag_core.answering.computing.computed_answers import ComputedAnswer, FoundTables, is_row, look_up_quoted_cell
from rag_core.answering.computing.named_cells import has_any, has_term
from rag_core.answering.computing.questions import parse_lookup
from rag_core.answering.records import Record, read_records
from rag_core.answering.verification import judge_claims
from rag_core.core.kit import Kit
from rag_core.core.model import Citation, Claim, Evidence
from rag_core.core.run import Run
from rag_core.text.terms import extract_terms

_UNSAID_TERMS = extract_terms("what which who when where how is the a an of our your this that")


async def narrow_to_field(
    query_text: str, quoted: Sequence[Claim], evidence: Sequence[Evidence], tables: FoundTables, kit: Kit, run: Run
) -> ComputedAnswer | None:
    """Return the asked field of the quoted records; None where other text is quoted, or no field is certain."""
    citations = [citation for claim in quoted for citation in claim.citations]
    if not citations or parse_lookup(query_text) is None:
        return None
    if all(map(is_row, citations)):
        return await look_up_quoted_cell(query_text, citations, tables, run)
    line = await asyncio.to_thread(_find_asked_line, query_text, citations, evidence)
    if line is None:
        return None
    text = line.chunk.content[line.start : line.end].strip()
    cited = cite_quote(
        Claim(text, 0, len(text), "unsupported"), [e for e in evidence if e.hit.chunk.id == line.chunk.id]
    )
    [claim] = await judge_claims([cited], [evidence], kit, run, question=query_text)
    return ComputedAnswer(claim) if claim.verdict == "verified" else None


def _find_asked_line(question: str, citations: Sequence[Citation], evidence: Sequence[Evidence]) -> Record | None:
    """Return the line of a quoted list whose key the question has in full; None for none, and for more than one.

    The question has no other word than the key and those of the title and the headings above.
    """
    asked = extract_terms(question) - _UNSAID_TERMS
    quoted = [(record, extract_terms(record.fields[0].head)) for record in read_records(evidence) if not record.name]
    lines = [(record, key) for record, key in quoted if any(_is_within(record, c) for c in citations)]
    if len({record.chunk.id for record, _ in lines}) != 1 or len(lines) < 2:
        return None
    named = [(record, key) for record, key in lines if key and all(has_term(term, asked) for term in key)]
    best = [(record, key) for record, key in named if not any(key < other for _, other in named)]
    if len(best) != 1:
        return None
    [(record, key)] = best
    left = [term for term in asked if not has_term(term, key | extract_terms(record.about))]
    return None if left or not has_any(key, asked) else record


def _is_within(record: Record, citation: Citation) -> bool:
    at = record.chunk.content.find(citation.quote) if record.chunk.id == citation.chunk_id else -1
    return 0 <= at <= record.start and record.end <= at + len(citation.quote)
