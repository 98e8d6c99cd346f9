"""Questions to the entity graph (S1-60)."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from functions.routes import Call
from rag_core import replies
from rag_core.retrieval import graph

if TYPE_CHECKING:
    from functions.wire import GraphRequest


async def graph_query(asked: "GraphRequest", call: Call) -> dict[str, Any]:
    found = graph.explore(
        asked.operation,
        call.scope(asked.workflow_id),
        call.kit.index,
        entity=asked.entity,
        target=asked.target,
        depth=asked.depth,
        limit=asked.limit,
    )
    part = await call.run.step("graph", found)
    return {"success": True, **asdict(part), "workflow_id": asked.workflow_id, **replies.diary(call.run)}
