"""Handlers of the workbench's saved queries (S0-10 to S0-18): list, show, change and delete."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypedDict, cast

from pydantic import Field, StringConstraints

from functions.operations import CHANGE_ERRORS, READ_ERRORS, Call, operation
from functions.requests import Identifier, LineText, NonBlankText, RecordId, Request
from functions.strict_json import JsonObject
from rag_core.answering.claim_replies import BoxReply, LinesReply
from rag_core.core.errors import make_unknown_query_error
from rag_core.core.model import SavedQuery, VectorStatus
from rag_core.prompts.screening import screen_stored_text
from rag_core.replies import EntityReply
from rag_core.run_reply import Advice, DegradationReply, Done, format_run
from rag_core.workbench import expansion_step
from rag_core.workbench.session import WorkbenchSession, find_next_step, load_saved_query

NextStep = Literal["embed", "retrieve", "consolidate", "augment"]
QueryText = Annotated[NonBlankText, StringConstraints(max_length=8000)]


class QueriesRequest(Request):
    """A page of a workflow's saved queries, newest first: at most `limit`, with ids below `before`."""

    workflow_id: Identifier = "default"
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    before: RecordId | None = None


class QueryItem(TypedDict):
    """A saved query in a list. `origin` is "workbench" or the operation that saved it."""

    id: int
    original_query: str
    intent: str
    vector_status: VectorStatus
    has_retrieved_context: bool
    has_clean_context: bool
    results_count: int
    origin: str
    created_at: str
    next_step: NextStep


class QueriesReply(Done):
    """A page of saved queries; `total` counts all that the caller may see."""

    queries: list[QueryItem]
    total: int
    workflow_id: str


@operation(
    "List the saved queries with their status, newest first.",
    errors=READ_ERRORS,
    example={"limit": 20},
)
async def handle_list_queries(request: QueriesRequest, call: Call) -> QueriesReply:
    """List the saved queries of a workflow, newest first."""
    scope, archive = call.resolve_scope(request.workflow_id), call.kit.archive
    saved = await call.run.step("queries", archive.list_queries(scope, limit=request.limit, before=request.before))
    total = await call.run.step("count", archive.count_queries(scope))
    return {
        **format_run(call.run),
        "queries": [_format_query_item(query) for query in saved],
        "total": total,
        "workflow_id": request.workflow_id,
    }


class QueryRequest(Request):
    """The id of a saved query."""

    id: RecordId
    workflow_id: Identifier = "default"


class SpanReply(TypedDict):
    """The position in the document of characters `start` to `end` of a content."""

    start: int
    end: int
    page: int | None
    line_start: int
    line_end: int
    bbox: BoxReply | None
    section: list[str]


class FoundReply(TypedDict):
    """A retrieved passage. `scores` and `ranks` (from 1) are by the stage that gave them; "final" is the last."""

    id: str
    content: str
    title: str
    document_id: str
    source: str
    section: list[str]
    page: int | None
    line_start: int | None
    line_end: int | None
    boxes: list[BoxReply]
    scores: dict[str, float]
    ranks: dict[str, int]
    found_by: list[str]
    entities: list[EntityReply]
    metadata: JsonObject
    parent_id: str | None
    ordinal: int
    spans: list[SpanReply]


class PartReply(TypedDict):
    """The lines of a consolidated passage that come from one chunk."""

    chunk_id: str
    lines: LinesReply | None


class GroupReply(TypedDict):
    """Consolidated passages. `coverage` is their share of the section, 0 to 1; `parts` has the lines of each."""

    chunk_ids: list[str]
    parent_id: str | None
    work_id: str | None
    content: str
    heading_chain: list[str]
    score: float
    title: str
    document_id: str
    source: str
    page: int | None
    line_start: int | None
    line_end: int | None
    coverage: float
    enriched: bool
    parts: list[PartReply]
    spans: list[SpanReply]


class StepReply(TypedDict):
    """The record of a completed step, with its input and output."""

    ms: float
    timings: dict[str, float]
    went_in: JsonObject
    came_out: JsonObject
    techniques: dict[str, str]
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    degraded: list[DegradationReply]
    warnings: list[Advice]


class SavedQueryFields(QueryItem):
    """The fields of a saved query with the output of each step, without its embeddings, which no reply has."""

    expanded_queries: list[str]
    hyde_answer: str
    entities: list[str]
    retrieved_context: list[FoundReply]
    clean_retrieval_context: list[GroupReply]
    available_context_count: int
    preset: JsonObject
    steps: dict[str, StepReply]
    version: int
    updated_at: str


class QueryReply(SavedQueryFields, Done):
    """A saved query with the output of each step; a context is empty until its step is done."""

    workflow_id: str


@operation(
    "Get a saved query with the output of each step.",
    errors=READ_ERRORS,
    example={"id": 12},
)
async def handle_get_query(request: QueryRequest, call: Call) -> QueryReply:
    """Reply with a saved query and what each step made of it."""
    saved = await load_saved_query(request.id, open_session(request.workflow_id, call))
    return {**format_run(call.run), **_format_query(saved), "workflow_id": request.workflow_id}


class QueryEdit(QueryRequest):
    """New values for fields of a saved query; outputs of steps that used a changed field are discarded."""

    original_query: QueryText | None = None
    expanded_queries: Annotated[list[QueryText], Field(max_length=20)] | None = None
    hyde_answer: Annotated[str, StringConstraints(max_length=20_000)] | None = None
    intent: Annotated[str, StringConstraints(max_length=50)] | None = None
    entities: Annotated[list[LineText], Field(max_length=100)] | None = None


@operation(
    "Change a saved query; the outputs of steps that used the changed fields are discarded.",
    errors=CHANGE_ERRORS,
    example={"id": 12, "intent": "MECHANISM"},
)
async def handle_edit_query(request: QueryEdit, call: Call) -> QueryReply:
    """Change fields of a saved query; what was derived from them is discarded."""
    changes = request.model_dump(include=set(expansion_step.EDITABLE_FIELDS), exclude_none=True)
    saved = await expansion_step.edit_saved_query(request.id, changes, open_session(request.workflow_id, call))
    return {**format_run(call.run), **_format_query(saved), "workflow_id": request.workflow_id}


class QueryDeleted(Done):
    """A saved query that was deleted."""

    id: int
    deleted: Literal[True]
    workflow_id: str


@operation(
    "Delete a saved query with its results.",
    errors=CHANGE_ERRORS,
    example={"id": 11},
)
async def handle_delete_query(request: QueryRequest, call: Call) -> QueryDeleted:
    """Delete a saved query with its results."""
    removal = call.kit.archive.delete_query(request.id, call.resolve_scope(request.workflow_id))
    if not await call.run.step("remove", removal):
        raise make_unknown_query_error()
    return {**format_run(call.run), "id": request.id, "deleted": True, "workflow_id": request.workflow_id}


def open_session(workflow_id: str, call: Call) -> WorkbenchSession:
    """Return the workbench session of a call, in the scope of a workflow."""
    return WorkbenchSession(call.kit, call.run, call.resolve_scope(workflow_id))


def format_utc_time(timestamp: str) -> str:
    """Return the time as ISO 8601 in UTC with a Z, to the second (S0-34); "" for none."""
    return datetime.fromisoformat(timestamp).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if timestamp else ""


def _format_query_item(query: SavedQuery) -> QueryItem:
    """Return the fields of a saved query that a list of queries has (S0-11)."""
    return {
        "id": query.id,
        "original_query": query.original_query,
        "intent": screen_stored_text(query.intent),
        "vector_status": query.vector_status,
        "has_retrieved_context": query.retrieved_context is not None,
        "has_clean_context": query.clean_retrieval_context is not None,
        "results_count": query.results_count,
        "origin": query.origin,
        "created_at": format_utc_time(query.created_at),
        "next_step": cast(NextStep, find_next_step(query)),
    }


def _format_query(query: SavedQuery) -> SavedQueryFields:
    """Return all fields of a saved query that a reply has (S0-16 and more)."""
    return {
        **_format_query_item(query),
        "expanded_queries": [screen_stored_text(text) for text in query.expanded_queries],
        "hyde_answer": screen_stored_text(query.hyde_answer),
        "entities": [screen_stored_text(text) for text in query.entities],
        "retrieved_context": cast(list[FoundReply], _copy_items(query.retrieved_context)),
        "clean_retrieval_context": cast(list[GroupReply], _copy_items(query.clean_retrieval_context)),
        "available_context_count": len(query.clean_retrieval_context or query.retrieved_context or ()),
        "preset": dict(query.preset),
        "steps": cast(dict[str, StepReply], {name: dict(record) for name, record in query.steps.items()}),
        "version": query.version,
        "updated_at": format_utc_time(query.updated_at),
    }


def _copy_items(context: tuple[Mapping[str, Any], ...] | None) -> list[JsonObject]:
    return [dict(item) for item in context or ()]
