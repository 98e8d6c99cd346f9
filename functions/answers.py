"""Handlers that answer a question with checked citations, and that check the sentences of any text (S1-59)."""

from typing import Annotated, Any, Literal, TypedDict, cast

from pydantic import Field, StringConstraints

from functions.consult import QuestionRequest, choice_from_request, filters_from_request, history_from_request
from functions.event_stream import END_OF_LOG, Event, decode_events
from functions.http import accepts_events
from functions.operations import READ_ERRORS, Call, operation
from functions.requests import MAX_EXACT_INT, DocumentIds, Identifier, NonBlankText, RecordId, Request
from rag_core.answering.citation_styles import CitationStyle
from rag_core.answering.claim_replies import ClaimReply, format_claims
from rag_core.compact_replies import CompactAskReply, format_compact_answer
from rag_core.core.errors import InvalidRequest
from rag_core.core.presets import RANKING_PRESETS
from rag_core.replies import AskReply
from rag_core.run_reply import Done, format_run

ANSWERING_PIPELINES = ["standard", "rerank", "advanced", "classical", "agentic"]
PassageCount = Annotated[int, Field(ge=1, le=20)]
ProgressId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{22,64}$")]  # 22 characters have 128 bits


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
    progress_id: ProgressId | None = Field(
        default=None, description="random, new for each question: names the events of the reply for `answer_events`"
    )


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
    if request.progress_id and not accepts_events(call.headers):
        raise InvalidRequest("progress_id", "must be left out without `Accept: text/event-stream`")
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


class AnswerEventsRequest(Request):
    """A request for the events after number `after` of an answer that was asked for with this `progress_id`."""

    progress_id: ProgressId
    after: Annotated[int, Field(ge=0, le=MAX_EXACT_INT)] = 0
    workflow_id: Identifier = "default"


class NumberedEvent(TypedDict):
    """An event of an answer, with its number from 1; `done` and `error` are told by the answer alone."""

    number: int
    name: Literal["step", "citation", "sentence"]
    data: dict[str, Any]


class AnswerEventsReply(Done):
    """The events so far. `waiting`: there are none, as for an id that nobody has; `ended`: no more will come."""

    events: list[NumberedEvent]
    state: Literal["waiting", "running", "ended"]
    workflow_id: str


@operation(
    "Get the events so far of an answer under way.",
    errors=READ_ERRORS,
    example={"progress_id": "c0b7d9f1e86a4b52a1f3d84e9b6c7a05", "after": 3},
)
async def handle_answer_events(request: AnswerEventsRequest, call: Call) -> AnswerEventsReply:
    """Reply with the events of an answer that the same user asked for in the same workflow, and with none of others."""
    text = await call.kit.answer_log.read(request.progress_id, call.resolve_scope(request.workflow_id))
    told = enumerate(decode_events(text or ""), start=1)
    return {
        **format_run(call.run),
        "events": [_number_event(number, event) for number, event in told if number > request.after],
        "state": "waiting" if text is None else "ended" if text.endswith(END_OF_LOG) else "running",
        "workflow_id": request.workflow_id,
    }


def _number_event(number: int, event: Event) -> NumberedEvent:
    name, data = event
    return cast(NumberedEvent, {"number": number, "name": name, "data": data})


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
