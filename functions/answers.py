"""Handlers that answer a question with checked citations, and that check the sentences of any text (S1-59)."""

from typing import Annotated

from pydantic import Field, StringConstraints

from functions.consult import QuestionRequest, choice_from_request, filters_from_request, history_from_request
from functions.http import accepts_events
from functions.operations import Call, operation
from functions.requests import DocumentIds, Identifier, NonBlankText, RecordId, Request
from rag_core.answering.citation_styles import CitationStyle
from rag_core.answering.claim_replies import ClaimReply, format_claims
from rag_core.compact_replies import CompactAskReply, format_compact_answer
from rag_core.core.errors import InvalidRequest
from rag_core.core.presets import RANKING_PRESETS
from rag_core.replies import AskReply
from rag_core.run_reply import Done, format_run

ANSWERING_PIPELINES = ["standard", "rerank", "advanced", "classical", "agentic"]
PassageCount = Annotated[int, Field(ge=1, le=20)]


class AskRequest(QuestionRequest):
    """A question to be answered. `document_ids` restricts it to these documents; an empty list means all of them."""

    pipeline: Annotated[str, Field(json_schema_extra={"enum": ANSWERING_PIPELINES})] | None = Field(
        default=None, description="default: advanced, unless `preset` is given"
    )
    preset: Annotated[str, Field(json_schema_extra={"enum": list(RANKING_PRESETS)})] | None = None
    document_ids: DocumentIds = Field(default=[])
    top_n: PassageCount | None = Field(default=None, description="passages to answer from")
    max_results: PassageCount | None = Field(default=None, description="sets top_k and top_n where these are not given")
    style: CitationStyle | None = Field(
        default=None, description="default: sections for classical, numbers for the others"
    )
    keep: bool = False
    follows: RecordId | None = None


@operation(
    "Answer a question from the documents; each sentence has citations checked against their sources.",
    advice="Use it for a question that wants an answer; use `consult_rag` to read passages yourself. The status "
    "`unknown` says that the documents do not answer it: say so, and do not answer from elsewhere. Keep the citations.",
    errors=(400, 404, 409, 413, 415, 503, 504),
    example={"query": "What stores P0700?", "pipeline": "standard", "style": "pages"},
    tells=True,
    heavy=True,
)
async def handle_ask(request: AskRequest, call: Call) -> AskReply | CompactAskReply:
    """Answer a question with citations. A reply that the documents do not say it (status `unknown`) is a 200 too."""
    if request.format == "compact" and accepts_events(call.headers):
        raise InvalidRequest("format", "must be full for a reply in events")
    limit = request.max_results
    limited = request.model_copy(update={"top_k": request.top_k or limit, "top_n": request.top_n or limit})
    reply = await call.rag.answer(
        request.query,
        scope=call.resolve_scope(request.workflow_id, tuple(request.document_ids)),
        filters=filters_from_request(request),
        history=history_from_request(request),
        keep=request.keep,
        follows=request.follows,
        run=call.run,
        **choice_from_request(limited),
    )
    is_compact = request.format == "compact"
    return format_compact_answer(reply, request.query) if is_compact else reply.to_json(request.style)


class CitationsRequest(Request):
    """A text whose sentences are checked against the documents. `run_id` is returned in `about_run`."""

    text: Annotated[NonBlankText, StringConstraints(max_length=20_000)]
    workflow_id: Identifier = "default"
    document_ids: DocumentIds = Field(default=[])
    style: CitationStyle = "numbers"
    run_id: Identifier | None = None


class CitationsReply(Done):
    """The sentences of a text with their verdicts; `about_run` is the `run_id` of the request."""

    claims: list[ClaimReply]
    about_run: str | None
    workflow_id: str


@operation(
    "Check each sentence of a text against the indexed documents, with the passages that support it.",
    advice="Use it to check what you wrote before you show it: `verified` is borne out, `partial` in part.",
    errors=(400, 404, 409, 413, 415, 503, 504),
    example={"text": "P0700 is stored by the TCM."},
    heavy=True,
)
async def handle_extract_citations(request: CitationsRequest, call: Call) -> CitationsReply:
    """Check each sentence of a text against the documents."""
    scope = call.resolve_scope(request.workflow_id, tuple(request.document_ids))
    claims = await call.rag.cite(request.text, scope=scope, run=call.run)
    return {
        **format_run(call.run),
        "claims": format_claims(claims, request.style),
        "about_run": request.run_id,
        "workflow_id": request.workflow_id,
    }
