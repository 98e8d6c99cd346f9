"""Handlers of the corpus of proposals: questions in its own wire format (S2-33, S2-34), ingestion by admins (S2-51)."""

import asyncio
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from functions.routes import Call
from rag_core import replies
from rag_core.answering import citation_styles
from rag_core.core.errors import Misconfigured
from rag_core.core.model import Citation
from rag_core.proposals import answering, sources
from rag_core.proposals.ingest import ingest as ingested
from rag_core.workbench import runs

if TYPE_CHECKING:
    from functions.wire import IngestRequest, ProposalQuery


async def query(asked: "ProposalQuery", call: Call) -> dict[str, Any]:
    """Answer a question from the proposals, citing each proposal and stage once."""
    call.run.end_within(call.settings.proposals_timeout_s)
    top_k = asked.top_k or call.settings.proposals_top_k
    scope = call.scope(call.settings.collection)
    allowed = asked.filters.model_dump()
    answer, citations = await answering.ask(asked.query, scope, call.kit, call.run, top_k=top_k, allowed=allowed)
    scoped_query, preset = answering.meant(asked.query, scope, top_k=top_k, allowed=allowed)
    archived = await runs.keep_answer(scoped_query, answer, preset, "rag_query", call.kit, call.run)
    return {
        "success": True,
        "answer": answer.text,
        "status": answer.status,
        "origin": answer.origin,
        "citations": [_citation(citation, number) for number, citation in enumerate(citations, start=1)],
        "confidence": asdict(answer.confidence),
        "topK": min(top_k, answering.MOST),
        **archived,
        **replies.diary(call.run),
    }


async def ingest(asked: "IngestRequest", call: Call) -> dict[str, Any]:
    """Index the configured source. The operator names it, because a caller who could would read any file."""
    source = call.settings.proposals_source
    if source is None:
        raise Misconfigured("RAG_PROPOSALS_SOURCE is not set: it names what is ingested", field="RAG_PROPOSALS_SOURCE")
    records = await call.run.step("read", asyncio.to_thread(lambda: list(sources.records(source))))
    scope = replace(call.scope(call.settings.collection), user_id=None, groups=())  # everyone may see them
    ingestion = ingested(records, scope, call.kit, call.run, bodies=asked.include_bodies, clear=asked.clear)
    return {"success": True, **asdict(await ingestion), **replies.diary(call.run)}


def _citation(citation: Citation, number: int) -> dict[str, Any]:
    metadata = citation.metadata
    return {
        "label": citation_styles.label(citation, "badges", number),
        **{name: metadata.get(name) for name in ("proposal_id", "stage", "status", "url", "source_id")},
        "title": citation.title,
        "snippet": citation.quote,
        "score": citation.score,
    }
