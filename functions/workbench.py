"""Handlers of the workbench (S0-10 to S0-39): saved queries, their steps one at a time, and their results."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from functions.routes import Call
from rag_core import replies
from rag_core.core.errors import NotFound, no_question
from rag_core.core.model import SavedQuery, SavedResult
from rag_core.workbench import runs, steps

if TYPE_CHECKING:
    from functions import wire


async def queries(asked: "wire.QueriesRequest", call: Call) -> dict[str, Any]:
    """List the saved queries of a workflow, newest first."""
    scope, archive = call.scope(asked.workflow_id), call.kit.archive
    saved = await call.run.step("queries", archive.queries(scope, limit=asked.limit, before=asked.before))
    total = await call.run.step("count", archive.count(scope))
    return {**_replied(call, asked), "queries": [_item(query) for query in saved], "total": total}


async def query(asked: "wire.QueryRequest", call: Call) -> dict[str, Any]:
    """Reply with a saved query and what each step made of it."""
    saved = await steps.found(asked.id, _bench(asked, call))
    return {**_replied(call, asked), **_query(saved)}


async def edit(asked: "wire.QueryEdit", call: Call) -> dict[str, Any]:
    """Change fields of a saved query; what was derived from them is discarded."""
    changes = asked.model_dump(include=set(steps.FIELDS), exclude_none=True)
    saved = await steps.edit(asked.id, changes, _bench(asked, call))
    return {**_replied(call, asked), **_query(saved)}


async def remove(asked: "wire.QueryRequest", call: Call) -> dict[str, Any]:
    """Delete a saved query with its results."""
    removal = call.kit.archive.remove(asked.id, call.scope(asked.workflow_id))
    if not await call.run.step("remove", removal):
        raise no_question()
    return {**_replied(call, asked), "id": asked.id, "deleted": True}


async def embed(asked: "wire.QueryRequest", call: Call) -> dict[str, Any]:
    """Embed a saved query, its expanded queries and its hypothetical answer."""
    saved = await steps.embed(asked.id, _bench(asked, call))
    return {**_done(call), "message": "Query vectorized successfully", "vector_status": saved.vector_status}


async def retrieve(asked: "wire.QueryRequest", call: Call) -> dict[str, Any]:
    """Retrieve the passages for an embedded query."""
    saved = await steps.retrieve(asked.id, _bench(asked, call))
    count = len(saved.retrieved_context or ())
    return {**_done(call), "message": f"Retrieved {count} chunks", "chunks_retrieved": count}


async def consolidate(asked: "wire.QueryRequest", call: Call) -> dict[str, Any]:
    """Merge the retrieved chunks into groups."""
    saved = await steps.consolidate(asked.id, _bench(asked, call))
    chunks, groups = len(saved.retrieved_context or ()), len(saved.clean_retrieval_context or ())
    return {
        **_done(call),
        "message": f"Consolidated {chunks} chunks into {groups} groups",
        "original_count": chunks,
        "consolidated_count": groups,
    }


async def augment_prompt(asked: "wire.AugmentRequest", call: Call) -> dict[str, Any]:
    """Reply with the prompt that holds the best contexts, without calling a model."""
    augmented = await steps.augmented(asked.id, asked.top_n, _bench(asked, call))
    return {**_done(call), "prompt": augmented.text, "context_count": augmented.context_count}


async def augment_run(asked: "wire.AugmentRun", call: Call) -> dict[str, Any]:
    """Answer the prompt with a model, and save the response."""
    bench = _bench(asked, call)
    result = await steps.answer(asked.id, asked.top_n, bench, full_model=asked.use_full_model)
    return {**_done(call), "result_id": result.id, "response_text": result.response_text, "model": result.model}


async def augment_paste(asked: "wire.AugmentPaste", call: Call) -> dict[str, Any]:
    """Save a response that was written elsewhere."""
    result = await steps.paste_answer(asked.id, asked.response_text, asked.top_n, _bench(asked, call))
    return {**_done(call), "result_id": result.id, "message": "Response saved successfully"}


async def results(asked: "wire.QueryRequest", call: Call) -> dict[str, Any]:
    """List the saved results of a query, newest first."""
    bench = _bench(asked, call)
    await steps.found(asked.id, bench)
    saved = await call.run.step("results", call.kit.archive.results(asked.id, bench.scope))
    return {**_replied(call, asked), "results": [_result_item(result) for result in saved], "total": len(saved)}


async def result(asked: "wire.ResultRequest", call: Call) -> dict[str, Any]:
    """Reply with a saved result and the inputs that it was made from."""
    bench = _bench(asked, call)
    await steps.found(asked.id, bench)
    saved = await call.run.step("result", call.kit.archive.result(asked.id, asked.result_id, bench.scope))
    if saved is None:
        raise NotFound("this query has no such result", code="result_not_found", field="result_id")
    details = {"query_id": saved.query_id, "details": dict(saved.details), "updated_at": _time(saved.updated_at)}
    return {**_replied(call, asked), **_result_item(saved), **details}


async def replay(asked: "wire.ReplayRequest", call: Call) -> dict[str, Any]:
    """Run a saved query again with another preset, and compare the two rankings."""
    bench = _bench(asked, call)
    comparison = await runs.replay(asked.id, asked.preset, bench, house=call.settings.house)
    return {**_replied(call, asked), **asdict(comparison)}


async def expansion_prompt(asked: "wire.ExpansionRequest", call: Call) -> dict[str, Any]:
    """Reply with the expansion prompt of a question, without calling a model."""
    prompt = await steps.expansion_prompt(asked.original_query, _bench(asked, call))
    return {**_done(call), "prompt": prompt.text, "query": asked.original_query}


async def expansion_run(asked: "wire.ExpansionRun", call: Call) -> dict[str, Any]:
    """Expand a question with a model, and save it as a query."""
    saved = await steps.expand(asked.original_query, _bench(asked, call), full_model=asked.use_full_model)
    return {
        **_done(call),
        "query_id": saved.id,
        "expanded_queries": list(saved.expanded_queries),
        "hyde_answer": saved.hyde_answer,
        "intent": saved.intent,
        "entities": list(saved.entities),
    }


async def expansion_paste(asked: "wire.ExpansionPaste", call: Call) -> dict[str, Any]:
    """Save a question with an expansion that was written elsewhere."""
    saved = await steps.paste_expansion(asked.original_query, asked.llm_response, _bench(asked, call))
    return {**_done(call), "query_id": saved.id, "message": "Query created successfully"}


def _bench(asked: "wire.QueryRequest | wire.ExpansionRequest", call: Call) -> steps.Bench:
    return steps.Bench(call.kit, call.run, call.scope(asked.workflow_id))


def _done(call: Call) -> dict[str, Any]:
    return {"success": True, **replies.diary(call.run)}


def _replied(call: Call, asked: "wire.QueriesRequest | wire.QueryRequest") -> dict[str, Any]:
    return {**_done(call), "workflow_id": asked.workflow_id}


def _item(query: SavedQuery) -> dict[str, Any]:
    """Return the fields of a saved query that a list of queries has (S0-11)."""
    return {
        "id": query.id,
        "original_query": query.original_query,
        "intent": query.intent,
        "vector_status": query.vector_status,
        "has_retrieved_context": query.retrieved_context is not None,
        "has_clean_context": query.clean_retrieval_context is not None,
        "results_count": query.results_count,
        "origin": query.origin,
        "created_at": _time(query.created_at),
        "next_step": steps.next_step(query),
    }


def _query(query: SavedQuery) -> dict[str, Any]:
    """Return all fields of a saved query (S0-16 and more) except its embeddings, which no reply has."""
    return {
        **_item(query),
        "expanded_queries": list(query.expanded_queries),
        "hyde_answer": query.hyde_answer,
        "entities": list(query.entities),
        "retrieved_context": _plain(query.retrieved_context),
        "clean_retrieval_context": _plain(query.clean_retrieval_context),
        "available_context_count": len(query.clean_retrieval_context or query.retrieved_context or ()),
        "preset": dict(query.preset),
        "steps": {name: dict(account) for name, account in query.steps.items()},
        "version": query.version,
        "updated_at": _time(query.updated_at),
    }


def _plain(context: tuple[Mapping[str, Any], ...] | None) -> list[dict[str, Any]]:
    return [dict(item) for item in context or ()]


def _result_item(result: SavedResult) -> dict[str, Any]:
    return {
        "id": result.id,
        "response_text": result.response_text,
        "model": result.model,
        "created_at": _time(result.created_at),
    }


def _time(kept: str) -> str:
    """Return the time as ISO 8601 in UTC with a Z, to the second (S0-34); "" for none."""
    return datetime.fromisoformat(kept).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if kept else ""
