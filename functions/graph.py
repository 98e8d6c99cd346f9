"""The handler of graph_query, which queries the entity graph (S1-60)."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from functions.routes import Call
from rag_core import replies
from rag_core.retrieval import graph

if TYPE_CHECKING:
    from functions.wire import GraphRequest


async def graph_query(asked: "GraphRequest", call: Call) -> dict[str, Any]:
    """Reply with the part of the entity graph that the request asks for."""
    exploration = graph.explore(
        asked.operation,
        call.scope(asked.workflow_id),
        call.kit.index,
        entity=asked.entity,
        target=asked.target,
        depth=asked.depth,
        limit=asked.limit,
    )
    subgraph = await call.run.step("graph", exploration)
    return {"success": True, **asdict(subgraph), "workflow_id": asked.workflow_id, **replies.diary(call.run)}
