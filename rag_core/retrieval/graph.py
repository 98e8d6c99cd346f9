"""The entity graph, derived from the facets of the index: two entities are joined when the same chunks contain them.

Nothing is stored for it, so it cannot disagree with the index. Neighbors are ordered by frequency, ties by name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from rag_core.core.errors import InvalidRequest, NotFound, TooLarge
from rag_core.core.index import Index
from rag_core.core.model import ANY_ENTITY, FIELDS, Edge, Filter, Graph, Node, Scope
from rag_core.core.ports import ChunkStore

Operation = Literal["entity", "neighbors", "path", "top"]

MAX_DEPTH = 3
MAX_LIMIT = 100
MAX_HOPS = 6
VISITS = 500  # entities expanded in a path search: each costs one facet count
EVERY_VALUE = 1_000_000
NAMED_CHUNKS = 5


async def explore(
    operation: Operation,
    scope: Scope,
    index: Index,
    *,
    entity: str | None = None,
    target: str | None = None,
    depth: int = 1,
    limit: int = 20,
) -> Graph:
    """Return a part of the graph.

    `operation` is "top" (the most frequent entities), "entity" (one), "neighbors" (those within `depth` hops of it) or
    "path" (a shortest path from it to `target`; without paths when there is none within MAX_PATH_HOPS).

    Raises:
        InvalidRequest: the operation needs a field that is missing, or a number is out of its range.
        NotFound: no chunk in scope has that entity (entity_not_found).
        TooLarge: a path search expanded MAX_PATH_VISITS entities without reaching the target.
    """
    _check("depth", depth, MAX_DEPTH)
    _check("limit", limit, MAX_LIMIT)
    nodes = await _known(scope, index.store)
    if operation == "top":
        return Graph(nodes=tuple(sorted(nodes.values(), key=_frequent_first)[:limit]))
    start = _named("entity", entity, nodes)
    if operation == "entity":
        return Graph(nodes=(start,))
    walker = _Around(index.store, scope, nodes)
    if operation == "neighbors":
        return await walker.neighbors(start, depth=depth, limit=limit)
    return await walker.path(start, _named("target", target, nodes))


@dataclass(frozen=True, slots=True)
class _Around:
    """A search through the graph of one scope. `nodes_by_id` has every entity in the scope."""

    store: ChunkStore
    scope: Scope
    known: Mapping[str, Node]

    async def neighbors(self, start: Node, *, depth: int, limit: int) -> Graph:
        """Return at most `limit` nodes besides the start, found breadth first, and the edges found on the way."""
        nodes, edges, frontier = {start.id: start}, dict[frozenset[str], Edge](), [start.id]
        for _ in range(depth):
            reached = []
            for source in frontier:
                for value, count in await self._beside(source):
                    if value not in nodes and len(nodes) <= limit:
                        nodes[value] = self.known[value]
                        reached.append(value)
                    pair = frozenset((source, value))
                    if value in nodes and pair not in edges:
                        edges[pair] = await self._edge(source, value, count)
            frontier = reached
        return Graph(nodes=tuple(nodes.values()), edges=tuple(edges.values()))

    async def path(self, start: Node, target: Node) -> Graph:
        """Return one shortest path, the first by frequency among equals; without paths when there is none."""
        predecessors = await self._searched(start.id, target.id)
        if target.id not in predecessors:
            return Graph(nodes=(start, target))
        ids = [target.id]
        while ids[-1] != start.id:
            ids.append(predecessors[ids[-1]])
        ids.reverse()
        edges = [await self._edge(a, b) for a, b in pairwise(ids)]
        return Graph(tuple(self.known[id] for id in ids), tuple(edges), (tuple(ids),))

    async def _searched(self, start: str, target: str) -> dict[str, str]:
        """Return the predecessor of each entity reached from the start, until the target is reached.

        Raises:
            TooLarge: MAX_PATH_VISITS entities were expanded without reaching the target.
        """
        predecessors, frontier, visits = {start: start}, [start], 0
        for _ in range(MAX_HOPS):
            reached = []
            for source in frontier:
                if target in predecessors:
                    return predecessors
                if visits == VISITS:
                    raise TooLarge(
                        f"no path was found through {VISITS} entities: name two that are nearer",
                        details={"limit": VISITS},
                    )
                visits += 1
                new = [value for value, _ in await self._beside(source) if value not in predecessors]
                predecessors.update(dict.fromkeys(new, source))
                reached += new
            frontier = reached
        return predecessors

    async def _beside(self, value: str) -> list[tuple[str, int]]:
        """Return the entities that occur in the same chunks, with the number of these chunks, most frequent first."""
        [facet] = await self.store.facets([ANY_ENTITY], self.scope, filters=[_has(value)], limit=EVERY_VALUE)
        return [(str(b.value), b.count) for b in facet.buckets if b.value != value and str(b.value) in self.known]

    async def _edge(self, source: str, target: str, count: int | None = None) -> Edge:
        both = [_has(source), _has(target)]
        if count is None:
            count = dict(await self._beside(source)).get(target, 0)  # 0: the document was replaced meanwhile
        chunks = await self.store.select(self.scope, filters=both, limit=NAMED_CHUNKS)
        return Edge(source, target, count, tuple(chunk.id for chunk in chunks))


async def _known(scope: Scope, store: ChunkStore) -> dict[str, Node]:
    """Return every entity in scope by its value, with the type under which it is most frequent."""
    types = [field for field in await store.facet_fields(scope) if _is_type(field)]
    counted = await store.facets(types, scope, limit=EVERY_VALUE) if types else []
    nodes = [Node(str(bucket.value), facet.field, bucket.count) for facet in counted for bucket in facet.buckets]
    return {node.id: node for node in sorted(nodes, key=_frequent_first, reverse=True)}


def _is_type(field: str) -> bool:
    return field not in FIELDS and not field.startswith("metadata.")


def _named(field: str, value: str | None, nodes: Mapping[str, Node]) -> Node:
    """Return the node of this spelling, else the most frequent one that differs only in case.

    Raises:
        InvalidRequest: there is no value; `field` is named.
        NotFound: no node has it (entity_not_found).
    """
    if not value:
        raise InvalidRequest(field, "is needed for this operation")
    candidates = [node for id, node in nodes.items() if id.casefold() == value.casefold()]
    if not candidates:
        raise NotFound(f"{field} is unknown: no chunk of this workflow has it", code="entity_not_found", field=field)
    return nodes.get(value) or min(candidates, key=_frequent_first)


def _frequent_first(node: Node) -> tuple[int, str]:
    return -node.count, node.id


def _has(value: str) -> Filter:
    return Filter(ANY_ENTITY, "eq", value)


def _check(field: str, value: int, maximum: int) -> None:
    if not 1 <= value <= maximum:
        raise InvalidRequest(field, f"must be a whole number from 1 to {maximum}")
