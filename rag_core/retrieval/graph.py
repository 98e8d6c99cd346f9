"""The entity graph, derived from the facets of the index: two entities are joined when the same chunks contain them.

Nothing is stored for it, so it cannot disagree with the index. Neighbors are ordered by frequency, ties by name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from rag_core.core.errors import InvalidRequest, NotFound, TooLarge
from rag_core.core.index import Index
from rag_core.core.model import ANY_ENTITY_FIELD, CHUNK_FIELDS, EntityGraph, Filter, GraphEdge, GraphNode, Scope
from rag_core.core.ports import ChunkStore

GraphOperation = Literal["entity", "neighbors", "path", "top", "overview"]

MAX_NEIGHBOR_DEPTH = 3
MAX_GRAPH_NODES = 100
MAX_PATH_HOPS = 6
MAX_PATH_VISITS = 500  # entities expanded in a path search: each costs one facet count
ALL_FACET_VALUES = 1_000_000
MAX_CHUNKS_PER_EDGE = 5
OVERVIEW_CANDIDATES = 60  # most frequent entities among which the most connected are looked for: a facet count each
VALUE_TYPES = ("date", "money")  # that an overview leaves out: they name nothing, and each report has many
OVERVIEW_EDGES = 4  # strongest edges of an entity in an overview: all of them hide each other


async def explore_graph(
    operation: GraphOperation,
    scope: Scope,
    index: Index,
    *,
    entity: str | None = None,
    target: str | None = None,
    depth: int = 1,
    limit: int = 20,
) -> EntityGraph:
    """Return a part of the graph.

    `operation` is "top" (the most frequent entities), "entity" (one), "neighbors" (those within `depth` hops of it),
    "path" (a shortest path from it to `target`; without paths when there is none within MAX_PATH_HOPS) or "overview"
    (of the most frequent entities those with most neighbors, with their strongest edges, whose chunks are not named).

    Raises:
        InvalidRequest: the operation needs a field that is missing, or a number is out of its range.
        NotFound: no chunk in scope has that entity (entity_not_found).
        TooLarge: a path search expanded MAX_PATH_VISITS entities without reaching the target.
    """
    _check_graph_number("depth", depth, MAX_NEIGHBOR_DEPTH)
    _check_graph_number("limit", limit, MAX_GRAPH_NODES)
    nodes = await _load_nodes(scope, index.store)
    if operation == "top":
        return EntityGraph(nodes=tuple(sorted(nodes.values(), key=_frequency_sort_key)[:limit]))
    walker = _GraphWalker(index.store, scope, nodes)
    if operation == "overview":
        return await walker.find_most_connected(limit)
    start = _find_node("entity", entity, nodes)
    if operation == "entity":
        return EntityGraph(nodes=(start,))
    if operation == "neighbors":
        return await walker.find_neighbors(start, depth=depth, limit=limit)
    return await walker.find_path(start, _find_node("target", target, nodes))


@dataclass(frozen=True, slots=True)
class _GraphWalker:
    """A search through the graph of one scope. `nodes_by_id` has every entity in the scope."""

    store: ChunkStore
    scope: Scope
    nodes_by_id: Mapping[str, GraphNode]

    async def find_neighbors(self, start: GraphNode, *, depth: int, limit: int) -> EntityGraph:
        """Return at most `limit` nodes besides the start, found breadth first, and the edges found on the way."""
        nodes, edges, frontier = {start.id: start}, dict[frozenset[str], GraphEdge](), [start.id]
        for _ in range(depth):
            reached = []
            for source in frontier:
                for value, count in await self._count_cooccurring_entities(source):
                    if value not in nodes and len(nodes) <= limit:
                        nodes[value] = self.nodes_by_id[value]
                        reached.append(value)
                    pair = frozenset((source, value))
                    if value in nodes and pair not in edges:
                        edges[pair] = await self._build_edge(source, value, count)
            frontier = reached
        return EntityGraph(nodes=tuple(nodes.values()), edges=tuple(edges.values()))

    async def find_most_connected(self, limit: int) -> EntityGraph:
        """Return at most `limit` nodes, those with most neighbors first, joined by the strongest edges of each."""
        named = [node for node in self.nodes_by_id.values() if node.type not in VALUE_TYPES]
        frequent = sorted(named or self.nodes_by_id.values(), key=_frequency_sort_key)[:OVERVIEW_CANDIDATES]
        neighbors = {node.id: await self._count_cooccurring_entities(node.id) for node in frequent}
        nodes = sorted(frequent, key=lambda node: (-len(neighbors[node.id]), *_frequency_sort_key(node)))[:limit]
        ids = {node.id for node in nodes}
        edges: dict[frozenset[str], GraphEdge] = {}
        for node in nodes:
            shown = [(other, count) for other, count in neighbors[node.id] if other in ids][:OVERVIEW_EDGES]
            for other, count in shown:
                edges.setdefault(frozenset((node.id, other)), GraphEdge(node.id, other, count, ()))
        return EntityGraph(nodes=tuple(nodes), edges=tuple(edges.values()))

    async def find_path(self, start: GraphNode, target: GraphNode) -> EntityGraph:
        """Return one shortest path, the first by frequency among equals; without paths when there is none."""
        predecessors = await self._search_breadth_first(start.id, target.id)
        if target.id not in predecessors:
            return EntityGraph(nodes=(start, target))
        ids = [target.id]
        while ids[-1] != start.id:
            ids.append(predecessors[ids[-1]])
        ids.reverse()
        edges = [await self._build_edge(a, b) for a, b in pairwise(ids)]
        return EntityGraph(tuple(self.nodes_by_id[id] for id in ids), tuple(edges), (tuple(ids),))

    async def _search_breadth_first(self, start: str, target: str) -> dict[str, str]:
        """Return the predecessor of each entity reached from the start, until the target is reached.

        Raises:
            TooLarge: MAX_PATH_VISITS entities were expanded without reaching the target.
        """
        predecessors, frontier, visits = {start: start}, [start], 0
        for _ in range(MAX_PATH_HOPS):
            reached = []
            for source in frontier:
                if target in predecessors:
                    return predecessors
                if visits == MAX_PATH_VISITS:
                    raise TooLarge(
                        f"no path was found through {MAX_PATH_VISITS} entities: name two that are nearer",
                        details={"limit": MAX_PATH_VISITS},
                    )
                visits += 1
                new = [
                    value for value, _ in await self._count_cooccurring_entities(source) if value not in predecessors
                ]
                predecessors.update(dict.fromkeys(new, source))
                reached += new
            frontier = reached
        return predecessors

    async def _count_cooccurring_entities(self, value: str) -> list[tuple[str, int]]:
        """Return the entities that occur in the same chunks, with the number of these chunks, most frequent first."""
        [facet] = await self.store.count_facets(
            [ANY_ENTITY_FIELD], self.scope, filters=[_build_entity_filter(value)], limit=ALL_FACET_VALUES
        )
        return [(str(b.value), b.count) for b in facet.buckets if b.value != value and str(b.value) in self.nodes_by_id]

    async def _build_edge(self, source: str, target: str, count: int | None = None) -> GraphEdge:
        both = [_build_entity_filter(source), _build_entity_filter(target)]
        if count is None:
            count = dict(await self._count_cooccurring_entities(source)).get(
                target, 0
            )  # 0: the document was replaced meanwhile
        chunks = await self.store.select(self.scope, filters=both, limit=MAX_CHUNKS_PER_EDGE)
        return GraphEdge(source, target, count, tuple(chunk.id for chunk in chunks))


async def _load_nodes(scope: Scope, store: ChunkStore) -> dict[str, GraphNode]:
    """Return every entity in scope by its value, with the type under which it is most frequent."""
    types = [field for field in await store.list_facet_fields(scope) if _is_entity_type(field)]
    counted = await store.count_facets(types, scope, limit=ALL_FACET_VALUES) if types else []
    nodes = [GraphNode(str(bucket.value), facet.field, bucket.count) for facet in counted for bucket in facet.buckets]
    return {node.id: node for node in sorted(nodes, key=_frequency_sort_key, reverse=True)}


def _is_entity_type(field: str) -> bool:
    return field not in CHUNK_FIELDS and not field.startswith("metadata.")


def _find_node(field: str, value: str | None, nodes: Mapping[str, GraphNode]) -> GraphNode:
    """Return the node of this spelling, else the most frequent one that differs only in case.

    Raises:
        InvalidRequest: there is no value; `field` is named.
        NotFound: no node has it (entity_not_found).
    """
    if not value:
        raise InvalidRequest(field, "is needed for this operation")
    candidates = [node for id, node in nodes.items() if id.casefold() == value.casefold()]
    if not candidates:
        raise NotFound(
            f"{field} is unknown: no chunk of this workflow names it as an entity", code="entity_not_found", field=field
        )
    return nodes.get(value) or min(candidates, key=_frequency_sort_key)


def _frequency_sort_key(node: GraphNode) -> tuple[int, str]:
    return -node.count, node.id


def _build_entity_filter(value: str) -> Filter:
    return Filter(ANY_ENTITY_FIELD, "eq", value)


def _check_graph_number(field: str, value: int, maximum: int) -> None:
    if not 1 <= value <= maximum:
        raise InvalidRequest(field, f"must be a whole number from 1 to {maximum}")
