"""What the documents say to a text (S1-59)."""

from typing import TYPE_CHECKING, Any

from functions.routes import Call
from rag_core import reply, service
from rag_core.model import Citation, Claim

if TYPE_CHECKING:
    from functions.wire import CitationsRequest


async def extract_citations(asked: "CitationsRequest", call: Call) -> dict[str, Any]:
    scope = call.scope(asked.workflow_id, tuple(asked.document_ids))
    claims = await service.cite(asked.text, scope, call.kit, call.run)
    return {
        "success": True,
        "claims": [_claim(claim) for claim in claims],
        "about_run": asked.run_id,
        "workflow_id": asked.workflow_id,
        **reply.diary(call.run),
    }


def _claim(claim: Claim) -> dict[str, Any]:
    return {
        "text": claim.text,
        "start": claim.start,
        "end": claim.end,
        "verdict": claim.verdict,
        "citations": [_citation(citation) for citation in claim.citations],
    }


def _citation(citation: Citation) -> dict[str, Any]:
    place = citation.place
    return {
        "chunk_id": citation.chunk_id,
        "document_id": citation.document_id,
        "title": citation.title,
        "source": citation.source,
        "quote": citation.quote,
        "score": citation.score,
        "section": list(citation.section),
        "page": place and place.page,
        "bbox": place and place.bbox,
        "lines": place and [place.line_start, place.line_end],
    }
