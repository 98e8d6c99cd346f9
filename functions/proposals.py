"""The corpus of proposals: ingested by administrators (S2-51), asked in its document's wire format (S2-33, S2-34)."""

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
    call.run.end_within(call.settings.proposals_timeout_s)
    top_k = asked.top_k or call.settings.proposals_top_k
    scope = call.scope(call.settings.collection)
    allowed = asked.filters.model_dump()
    answer, cited = await answering.ask(asked.query, scope, call.kit, call.run, top_k=top_k, allowed=allowed)
    question, preset = answering.meant(asked.query, scope, top_k=top_k, allowed=allowed)
    told = await runs.keep_answer(question, answer, preset, "rag_query", call.kit, call.run)
    return {
        "success": True,
        "answer": answer.text,
        "status": answer.status,
        "origin": answer.origin,
        "citations": [_citation(citation, number) for number, citation in enumerate(cited, start=1)],
        "confidence": asdict(answer.confidence),
        "topK": min(top_k, answering.MOST),
        **told,
        **replies.diary(call.run),
    }


async def ingest(asked: "IngestRequest", call: Call) -> dict[str, Any]:
    """The source is the operator's to name: a caller could read any file by one of their own."""
    source = call.settings.proposals_source
    if source is None:
        raise Misconfigured("RAG_PROPOSALS_SOURCE is not set: it names what is ingested", field="RAG_PROPOSALS_SOURCE")
    records = await call.run.step("read", asyncio.to_thread(lambda: list(sources.records(source))))
    scope = replace(call.scope(call.settings.collection), user_id=None, groups=())  # everyone's, not its ingester's
    work = ingested(records, scope, call.kit, call.run, bodies=asked.include_bodies, clear=asked.clear)
    return {"success": True, **asdict(await work), **replies.diary(call.run)}


def _citation(citation: Citation, number: int) -> dict[str, Any]:
    told = citation.metadata
    return {
        "label": citation_styles.label(citation, "badges", number),
        **{name: told.get(name) for name in ("proposal_id", "stage", "status", "url", "source_id")},
        "title": citation.title,
        "snippet": citation.quote,
        "score": citation.score,
    }
