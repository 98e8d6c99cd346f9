"""Handlers of the workbench's saved results (S0-32 to S0-34), and of a query's replay with another preset."""

from typing import Annotated, TypedDict

from pydantic import Field

from functions.operations import CHANGE_ERRORS, READ_ERRORS, Call, operation
from functions.requests import RecordId
from functions.saved_queries import QueryRequest, format_utc_time, open_session
from functions.strict_json import JsonObject
from rag_core.core.errors import make_unknown_result_error
from rag_core.core.model import SavedResult
from rag_core.core.presets import RANKING_PRESETS
from rag_core.prompts.screening import screen_stored_text
from rag_core.run_reply import Done, format_run
from rag_core.workbench.saved_runs import RankingSnapshot
from rag_core.workbench.session import load_saved_query


class ResultItem(TypedDict):
    """A saved result in a list; `model` is "" for a pasted response."""

    id: int
    response_text: str
    model: str
    created_at: str


class ResultsReply(Done):
    """The saved results of a query, newest first."""

    results: list[ResultItem]
    total: int
    workflow_id: str


@operation(
    "List the saved results of a query, newest first.",
    errors=READ_ERRORS,
    example={"id": 12},
)
async def handle_list_results(request: QueryRequest, call: Call) -> ResultsReply:
    """List the saved results of a query, newest first."""
    session = open_session(request.workflow_id, call)
    await load_saved_query(request.id, session)
    saved = await call.run.step("results", call.kit.archive.list_results(request.id, session.scope))
    return {
        **format_run(call.run),
        "results": [_format_result_item(result) for result in saved],
        "total": len(saved),
        "workflow_id": request.workflow_id,
    }


class ResultRequest(QueryRequest):
    """The id of a saved result."""

    result_id: RecordId


class ResultReply(ResultItem, Done):
    """A saved result; `details` has the inputs that it was made from, and its cost."""

    query_id: int
    details: JsonObject
    updated_at: str
    workflow_id: str


@operation(
    "Get a saved result with the inputs that it was made from.",
    errors=READ_ERRORS,
    example={"id": 12, "result_id": 1},
)
async def handle_get_result(request: ResultRequest, call: Call) -> ResultReply:
    """Reply with a saved result and the inputs that it was made from."""
    session = open_session(request.workflow_id, call)
    await load_saved_query(request.id, session)
    saved = await call.run.step("result", call.kit.archive.load_result(request.id, request.result_id, session.scope))
    if saved is None:
        raise make_unknown_result_error()
    return {
        **format_run(call.run),
        **_format_result_item(saved),
        "query_id": saved.query_id,
        "details": dict(saved.details),
        "updated_at": format_utc_time(saved.updated_at),
        "workflow_id": request.workflow_id,
    }


class ReplayRequest(QueryRequest):
    """A saved query to be run again with another preset, one that ranks."""

    preset: Annotated[str, Field(json_schema_extra={"enum": list(RANKING_PRESETS)})]


class PlacedReply(TypedDict):
    """A passage of a ranking, with its rank from 1."""

    rank: int
    chunk_id: str
    document_id: str
    title: str
    section: list[str]
    page: int | None
    score: float


class RankedReply(TypedDict):
    """A ranking with the numbers of its preset."""

    preset: JsonObject
    ranking: list[PlacedReply]


class MovedReply(TypedDict):
    """The ranks of a passage before and after; null where it was not found."""

    chunk_id: str
    before: int | None
    after: int | None


class ReplayReply(Done):
    """The saved ranking and the new one. `overlap_at_10` is the share of the first ten that both have."""

    before: RankedReply
    after: RankedReply
    overlap_at_10: float
    moved: list[MovedReply]
    workflow_id: str


@operation(
    "Run a saved query again with another preset, and compare the rankings.",
    errors=CHANGE_ERRORS,
    example={"id": 12, "preset": "standard"},
    heavy=True,
)
async def handle_replay_query(request: ReplayRequest, call: Call) -> ReplayReply:
    """Run a saved query again with another preset, and compare the two rankings."""
    scope = call.resolve_scope(request.workflow_id)
    replay = await call.rag.replay(request.id, request.preset, scope=scope, run=call.run)
    return {
        **format_run(call.run),
        "before": _format_ranking(replay.before),
        "after": _format_ranking(replay.after),
        "overlap_at_10": replay.overlap_at_10,
        "moved": [
            {"chunk_id": change.chunk_id, "before": change.before, "after": change.after} for change in replay.moved
        ],
        "workflow_id": request.workflow_id,
    }


def _format_result_item(result: SavedResult) -> ResultItem:
    return {
        "id": result.id,
        "response_text": screen_stored_text(result.response_text),
        "model": result.model,
        "created_at": format_utc_time(result.created_at),
    }


def _format_ranking(snapshot: RankingSnapshot) -> RankedReply:
    return {
        "preset": dict(snapshot.preset),
        "ranking": [
            {
                "rank": passage.rank,
                "chunk_id": passage.chunk_id,
                "document_id": passage.document_id,
                "title": passage.title,
                "section": list(passage.section),
                "page": passage.page,
                "score": passage.score,
            }
            for passage in snapshot.ranking
        ],
    }
