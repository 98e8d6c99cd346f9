"""Handlers of kept answers: what somebody says of one, the set of those that were rated, and the pages one cites."""

from base64 import b64encode
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from functions.operations import CHANGE_ERRORS, READ_ERRORS, Call, operation
from functions.requests import Identifier, Request
from functions.saved_queries import QueryRequest, open_session
from rag_core.run_reply import Done, format_run
from rag_core.workbench import kept_answers
from rag_core.workbench.kept_answers import FeedbackFields
from rag_core.workbench.rated_answers import MAX_RATED_ANSWERS, RatedAnswerRow


class FeedbackRequest(QueryRequest):
    """What somebody says of the answer of a saved query. A missing rating takes an earlier one back."""

    rating: Literal["up", "down"] | None = None
    comment: Annotated[str, StringConstraints(max_length=2000)] = Field(default="")


class FeedbackReply(Done):
    """What is now kept with the answer."""

    id: int
    feedback: FeedbackFields
    workflow_id: str


@operation(
    "Rate a saved answer, in place of an earlier rating.",
    errors=CHANGE_ERRORS,
    example={"id": 12, "rating": "up", "comment": "Right, and the page is right as well."},
)
async def handle_rate_answer(request: FeedbackRequest, call: Call) -> FeedbackReply:
    """Keep a rating and a comment with a saved answer."""
    said: FeedbackFields = {"rating": request.rating, "comment": request.comment}
    feedback = await kept_answers.rate_answer(request.id, said, open_session(request.workflow_id, call))
    return {**format_run(call.run), "id": request.id, "feedback": feedback, "workflow_id": request.workflow_id}


class RatedAnswersRequest(Request):
    """A request for the newest `limit` answers of a workflow that were rated."""

    limit: Annotated[int, Field(ge=1, le=MAX_RATED_ANSWERS)] = 100
    workflow_id: Identifier = "default"


class RatedAnswersReply(Done):
    """Rated answers, newest first, as the lines of a file for `rag eval answers`; `left_out` counts rated refusals."""

    answers: list[RatedAnswerRow]
    left_out: int
    workflow_id: str


@operation(
    "List the rated answers as a labelled set, newest first.",
    errors=READ_ERRORS,
    example={"limit": 20},
)
async def handle_rated_answers(request: RatedAnswersRequest, call: Call) -> RatedAnswersReply:
    """Reply with the rated answers of a workflow as a labelled set."""
    scope = call.resolve_scope(request.workflow_id)
    rated = await call.rag.rated_answers(scope=scope, limit=request.limit, run=call.run)
    return {
        **format_run(call.run),
        "answers": list(rated.rows),
        "left_out": rated.left_out,
        "workflow_id": request.workflow_id,
    }


class AnswerPromptReply(Done):
    """The prompt of an answer that a model wrote, made again of what is kept with it."""

    id: int
    prompt: str
    workflow_id: str


@operation(
    "Get the prompt that a saved answer was written to.",
    errors=READ_ERRORS,
    example={"id": 12},
)
async def handle_answer_prompt(request: QueryRequest, call: Call) -> AnswerPromptReply:
    """Reply with the prompt of a saved answer."""
    prompt = await kept_answers.rebuild_answer_prompt(request.id, open_session(request.workflow_id, call))
    return {**format_run(call.run), "id": request.id, "prompt": prompt, "workflow_id": request.workflow_id}


class EvidenceReply(Done):
    """A PDF of the cited pages, the cited lines highlighted. `warnings` has the documents that were left out."""

    filename: str
    media_type: Literal["application/pdf"]
    pdf_base64: str
    workflow_id: str


@operation(
    "Get the PDF pages that a saved answer cites, highlighted.",
    errors=(400, 404, 422, 503, 504),
    example={"id": 12},
    heavy=True,
)
async def handle_cited_pages(request: QueryRequest, call: Call) -> EvidenceReply:
    """Return the cited pages of a saved answer."""
    session, limits = open_session(request.workflow_id, call), call.rag.upload_limits
    pdf = await kept_answers.extract_cited_pages(request.id, session, limits)
    return {
        **format_run(call.run),
        "filename": f"answer-{request.id}-cited-pages.pdf",
        "media_type": "application/pdf",
        "pdf_base64": b64encode(pdf).decode(),
        "workflow_id": request.workflow_id,
    }
