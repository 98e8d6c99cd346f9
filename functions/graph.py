"""The handler of graph_query, which queries the entity graph (S1-60)."""

from typing import Annotated, Literal, TypedDict

from pydantic import Field

from functions.operations import Call, operation
from functions.requests import Identifier, LineText, Request
from rag_core.run_reply import Done, format_run


class GraphRequest(Request):
    """A query to the entity graph: `path` leads from `entity` to `target`; `top` and `overview` need neither.

    With `document_id` the graph is that of one document.
    """

    operation: Literal["entity", "neighbors", "path", "top", "overview"]
    entity: LineText | None = None
    target: LineText | None = None
    depth: Annotated[int, Field(ge=1, le=3)] = 1
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    document_id: Identifier | None = None
    workflow_id: Identifier = "default"


class NodeReply(TypedDict):
    """An entity, and in how many chunks it occurs."""

    id: str
    type: str
    count: int


class EdgeReply(TypedDict):
    """Two entities that occur together in `count` chunks, some of which are named."""

    source: str
    target: str
    count: int
    chunk_ids: list[str]


class GraphReply(Done):
    """A part of the entity graph; `paths` lists the ids of the nodes from the entity to the target."""

    nodes: list[NodeReply]
    edges: list[EdgeReply]
    paths: list[list[str]]
    workflow_id: str


@operation(
    "Query the graph of entities that occur in the same chunks.",
    advice="Use it to see what a code or a name stands beside, and how two of them are connected.",
    errors=(400, 404, 413, 415, 503, 504),
    example={"operation": "neighbors", "entity": "P0700"},
)
async def handle_graph_query(request: GraphRequest, call: Call) -> GraphReply:
    """Reply with the part of the entity graph that the request asks for."""
    graph = await call.rag.graph(
        request.operation,
        entity=request.entity,
        target=request.target,
        depth=request.depth,
        limit=request.limit,
        scope=call.resolve_scope(request.workflow_id, (request.document_id,) if request.document_id else ()),
        run=call.run,
    )
    return {
        **format_run(call.run),
        "nodes": [{"id": node.id, "type": node.type, "count": node.count} for node in graph.nodes],
        "edges": [
            {"source": edge.source, "target": edge.target, "count": edge.count, "chunk_ids": list(edge.chunk_ids)}
            for edge in graph.edges
        ],
        "paths": [list(path) for path in graph.paths],
        "workflow_id": request.workflow_id,
    }
