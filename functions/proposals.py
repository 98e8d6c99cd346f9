"""Handlers of the corpus of proposals: questions in its own wire format (S2-33, S2-34), ingestion by admins (S2-51)."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal, NotRequired, TypedDict, cast

from pydantic import AfterValidator, Field, StringConstraints

from functions.operations import Call, operation
from functions.requests import CountFromOne, Request, check_not_blank
from rag_core.answering.citation_styles import format_citation_label
from rag_core.core.errors import Misconfigured
from rag_core.core.model import Citation
from rag_core.proposals import sources
from rag_core.proposals.ingest import ingest_proposals
from rag_core.proposals.records import STAGE_NAMES, STATUSES
from rag_core.replies import ConfidenceReply, SavedQueryId
from rag_core.run_reply import Done, format_run


class ProposalFilters(Request):
    """Filters of the proposals: any of these values; an empty list does not filter."""

    stage: Annotated[list[Literal[*STAGE_NAMES]], Field(max_length=len(STAGE_NAMES))] = Field(default=[])  # type: ignore[valid-type]
    status: Annotated[list[Literal[*STATUSES]], Field(max_length=len(STATUSES))] = Field(default=[])  # type: ignore[valid-type]


class ProposalQuery(Request):
    """A question to be answered from the proposals."""

    query: Annotated[  # the length first: pydantic words it as a count of items after a validator of ours
        str,
        StringConstraints(max_length=1000),
        AfterValidator(check_not_blank),
        Field(json_schema_extra={"pattern": r"\S"}),
    ]
    filters: ProposalFilters = ProposalFilters()
    top_k: CountFromOne | None = Field(
        default=None, alias="topK", description="default: 5; a number above 20 becomes 20, with a warning"
    )


class ProposalCitation(TypedDict):
    """A citation of a proposal at a stage; fields are null for other documents of the collection."""

    label: str
    proposal_id: str | None
    stage: str | None
    status: str | None
    title: str
    snippet: str
    url: str | None
    source_id: str | None
    score: float


class ProposalReply(Done):
    """An answer from the proposals; `citations` has each proposal and stage once, `topK` is the number of passages."""

    answer: str
    status: Literal["answered", "unknown"]
    origin: Literal["model", "extractive"]
    citations: list[ProposalCitation]
    confidence: ConfidenceReply
    topK: int
    kept: NotRequired[SavedQueryId]


@operation(
    "Answer a question from the proposals; each proposal and stage is cited once.",
    errors=(400, 404, 409, 413, 415, 503, 504),
    example={"query": "Which proposals add FXS?", "filters": {"stage": ["forum"], "status": ["active"]}, "topK": 5},
    heavy=True,
)
async def handle_rag_query(request: ProposalQuery, call: Call) -> ProposalReply:
    """Answer a question from the proposals, citing each proposal and stage once."""
    call.run.shorten_deadline(call.settings.proposals_timeout_s)
    reply, citations = await call.rag.answer_proposals(
        request.query,
        metadata_filters=request.filters.model_dump(),
        top_k=request.top_k,
        scope=call.resolve_scope(call.settings.collection),
        run=call.run,
    )
    confidence = reply.answer.confidence
    return {
        **format_run(call.run),
        "answer": reply.answer.text,
        "status": reply.answer.status,
        "origin": reply.answer.origin,
        "citations": [
            _format_proposal_citation(citation, number) for number, citation in enumerate(citations, start=1)
        ],
        "confidence": {
            "value": confidence.value,
            "inputs": dict(confidence.inputs),
            "formula": confidence.formula,
        },
        "topK": reply.preset.search.top_k,
        **reply.saved,
    }


class IngestRequest(Request):
    """An order to index the configured source.

    `clear` first removes the indexed proposals; `includeBodies` false indexes their metadata only.
    """

    clear: bool = False
    include_bodies: bool = Field(default=True, alias="includeBodies")


class IngestReply(Done):
    """Counts of an ingestion. `skipped` are proposals without a stage, `failed` names what is not searchable and why,
    and `stopped` says why the rest was not begun, "" when all of it was.
    """

    proposals: int
    documents: int
    chunks: int
    embedded: int
    unchanged: int
    removed: int
    cleared: int
    skipped: list[str]
    failed: list[str]
    stopped: str


@operation(
    "Index the proposals of the configured source (administrators only).",
    errors=(400, 403, 404, 409, 413, 415, 503, 504, 507),
    example={"clear": False},
    required_role="admin",
    can_be_partial=True,
    heavy=True,
)
async def handle_rag_ingest(request: IngestRequest, call: Call) -> IngestReply:
    """Index the configured source. The operator names it, because a caller who could would read any file."""
    source = call.settings.proposals_source
    if source is None:
        raise Misconfigured("RAG_PROPOSALS_SOURCE is not set: it names what is ingested", field="RAG_PROPOSALS_SOURCE")
    records = await call.run.step("read", asyncio.to_thread(lambda: list(sources.read_proposal_records(source))))
    scope = replace(call.resolve_scope(call.settings.collection), user_id=None, groups=())  # everyone may see them
    report = await ingest_proposals(
        records, scope, call.kit, call.run, include_bodies=request.include_bodies, clear=request.clear
    )
    return {
        **format_run(call.run),
        "proposals": report.proposals,
        "documents": report.documents,
        "chunks": report.chunks,
        "embedded": report.embedded,
        "unchanged": report.unchanged,
        "removed": report.removed,
        "cleared": report.cleared,
        "skipped": report.skipped,
        "failed": report.failed,
        "stopped": report.stopped,
    }


def _format_proposal_citation(citation: Citation, number: int) -> ProposalCitation:
    metadata = cast(Mapping[str, str], citation.metadata)  # of a proposal these five are texts
    return {
        "label": format_citation_label(citation, "badges", number),
        "proposal_id": metadata.get("proposal_id"),
        "stage": metadata.get("stage"),
        "status": metadata.get("status"),
        "url": metadata.get("url"),
        "source_id": metadata.get("source_id"),
        "title": citation.title,
        "snippet": citation.quote,
        "score": citation.score,
    }
