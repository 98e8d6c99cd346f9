"""A question run step by step (S0-10 to S0-39): each step's reply in the words of its document, beside the diary."""

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
    scope, archive = call.scope(asked.workflow_id), call.kit.archive
    kept = await call.run.step("queries", archive.queries(scope, limit=asked.limit, before=asked.before))
    total = await call.run.step("count", archive.count(scope))
    return {**_replied(call, asked), "queries": [_item(query) for query in kept], "total": total}


async def query(asked: "wire.QueryRequest", call: Call) -> dict[str, Any]:
    found = await steps.found(asked.id, _bench(asked, call))
    return {**_replied(call, asked), **_query(found)}


async def edit(asked: "wire.QueryEdit", call: Call) -> dict[str, Any]:
    changes = asked.model_dump(include=set(steps.FIELDS), exclude_none=True)
    changed = await steps.edit(asked.id, changes, _bench(asked, call))
    return {**_replied(call, asked), **_query(changed)}


async def remove(asked: "wire.QueryRequest", call: Call) -> dict[str, Any]:
    removing = call.kit.archive.remove(asked.id, call.scope(asked.workflow_id))
    if not await call.run.step("remove", removing):
        raise no_question()
    return {**_replied(call, asked), "id": asked.id, "deleted": True}


async def embed(asked: "wire.QueryRequest", call: Call) -> dict[str, Any]:
    done = await steps.embed(asked.id, _bench(asked, call))
    return {**_done(call), "message": "Query vectorized successfully", "vector_status": done.vector_status}


async def retrieve(asked: "wire.QueryRequest", call: Call) -> dict[str, Any]:
    done = await steps.retrieve(asked.id, _bench(asked, call))
    count = len(done.retrieved_context or ())
    return {**_done(call), "message": f"Retrieved {count} chunks", "chunks_retrieved": count}


async def consolidate(asked: "wire.QueryRequest", call: Call) -> dict[str, Any]:
    done = await steps.consolidate(asked.id, _bench(asked, call))
    chunks, groups = len(done.retrieved_context or ()), len(done.clean_retrieval_context or ())
    return {
        **_done(call),
        "message": f"Consolidated {chunks} chunks into {groups} groups",
        "original_count": chunks,
        "consolidated_count": groups,
    }


async def augment_prompt(asked: "wire.AugmentRequest", call: Call) -> dict[str, Any]:
    made = await steps.augmented(asked.id, asked.top_n, _bench(asked, call))
    return {**_done(call), "prompt": made.text, "context_count": made.context_count}


async def augment_run(asked: "wire.AugmentRun", call: Call) -> dict[str, Any]:
    bench = _bench(asked, call)
    result = await steps.answer(asked.id, asked.top_n, bench, full_model=asked.use_full_model)
    return {**_done(call), "result_id": result.id, "response_text": result.response_text, "model": result.model}


async def augment_paste(asked: "wire.AugmentPaste", call: Call) -> dict[str, Any]:
    result = await steps.paste_answer(asked.id, asked.response_text, asked.top_n, _bench(asked, call))
    return {**_done(call), "result_id": result.id, "message": "Response saved successfully"}


async def results(asked: "wire.QueryRequest", call: Call) -> dict[str, Any]:
    bench = _bench(asked, call)
    await steps.found(asked.id, bench)
    kept = await call.run.step("results", call.kit.archive.results(asked.id, bench.scope))
    return {**_replied(call, asked), "results": [_result_item(result) for result in kept], "total": len(kept)}


async def result(asked: "wire.ResultRequest", call: Call) -> dict[str, Any]:
    bench = _bench(asked, call)
    await steps.found(asked.id, bench)
    kept = await call.run.step("result", call.kit.archive.result(asked.id, asked.result_id, bench.scope))
    if kept is None:
        raise NotFound("there is no such result of this question", code="result_not_found", field="result_id")
    told = {"query_id": kept.query_id, "details": dict(kept.details), "updated_at": _time(kept.updated_at)}
    return {**_replied(call, asked), **_result_item(kept), **told}


async def replay(asked: "wire.ReplayRequest", call: Call) -> dict[str, Any]:
    bench = _bench(asked, call)
    compared = await runs.replay(asked.id, asked.preset, bench, house=call.settings.house)
    return {**_replied(call, asked), **asdict(compared)}


async def expansion_prompt(asked: "wire.ExpansionRequest", call: Call) -> dict[str, Any]:
    prompt = await steps.expansion_prompt(asked.original_query, _bench(asked, call))
    return {**_done(call), "prompt": prompt.text, "query": asked.original_query}


async def expansion_run(asked: "wire.ExpansionRun", call: Call) -> dict[str, Any]:
    made = await steps.expand(asked.original_query, _bench(asked, call), full_model=asked.use_full_model)
    return {
        **_done(call),
        "query_id": made.id,
        "expanded_queries": list(made.expanded_queries),
        "hyde_answer": made.hyde_answer,
        "intent": made.intent,
        "entities": list(made.entities),
    }


async def expansion_paste(asked: "wire.ExpansionPaste", call: Call) -> dict[str, Any]:
    made = await steps.paste_expansion(asked.original_query, asked.llm_response, _bench(asked, call))
    return {**_done(call), "query_id": made.id, "message": "Query created successfully"}


def _bench(asked: "wire.QueryRequest | wire.ExpansionRequest", call: Call) -> steps.Bench:
    return steps.Bench(call.kit, call.run, call.scope(asked.workflow_id))


def _done(call: Call) -> dict[str, Any]:
    return {"success": True, **replies.diary(call.run)}


def _replied(call: Call, asked: "wire.QueriesRequest | wire.QueryRequest") -> dict[str, Any]:
    return {**_done(call), "workflow_id": asked.workflow_id}


def _item(query: SavedQuery) -> dict[str, Any]:
    """What of a question stands in the list (S0-11), and in the question itself."""
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
    """A question as S0-16 has it, and more; its embeddings are nobody's to read."""
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
    """ISO 8601 in UTC with a Z, to the second, as S0-34 has it."""
    return datetime.fromisoformat(kept).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if kept else ""
