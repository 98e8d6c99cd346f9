"""The entity graph, read off the index's own facets: two entities are joined when they stand in the same chunks.

Nothing is stored for it, so it cannot disagree with the index. Neighbours come most frequent first, ties by name.
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
VISITS = 500  # entities opened while looking for a path: each costs one facet count
EVERY_VALUE = 1_000_000
NAMED_CHUNKS = 5  # an edge names so many of the chunks that bear it out


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
    """A part of the graph: the most frequent entities ("top"), one ("entity"), those within `depth` steps of it
    ("neighbors"), or a shortest way from it to `target` ("path": no paths when there is none within six steps).

    Raises:
        InvalidRequest: the operation needs a field that is missing, or a number is out of its range.
        NotFound: no chunk in scope has that entity.
        TooLarge: a path was looked for through `VISITS` entities, and there are more.
    """
    _check("depth", depth, MAX_DEPTH)
    _check("limit", limit, MAX_LIMIT)
    known = await _known(scope, index.store)
    if operation == "top":
        return Graph(nodes=tuple(sorted(known.values(), key=_frequent_first)[:limit]))
    start = _named("entity", entity, known)
    if operation == "entity":
        return Graph(nodes=(start,))
    around = _Around(index.store, scope, known)
    if operation == "neighbors":
        return await around.neighbors(start, depth=depth, limit=limit)
    return await around.path(start, _named("target", target, known))


@dataclass(frozen=True, slots=True)
class _Around:
    """The index as a graph that is walked."""

    store: ChunkStore
    scope: Scope
    known: Mapping[str, Node]

    async def neighbors(self, start: Node, *, depth: int, limit: int) -> Graph:
        """Breadth first: `limit` nodes besides the first, and the edges found on the way."""
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
        """One shortest way, the first by frequency among equals."""
        before = await self._searched(start.id, target.id)
        if target.id not in before:
            return Graph(nodes=(start, target))
        way = [target.id]
        while way[-1] != start.id:
            way.append(before[way[-1]])
        way.reverse()
        edges = [await self._edge(a, b) for a, b in pairwise(way)]
        return Graph(tuple(self.known[value] for value in way), tuple(edges), (tuple(way),))

    async def _searched(self, start: str, target: str) -> dict[str, str]:
        """From where each entity was first reached, up to the target."""
        before, frontier, visits = {start: start}, [start], 0
        for _ in range(MAX_HOPS):
            reached = []
            for source in frontier:
                if target in before:
                    return before
                if visits == VISITS:
                    raise TooLarge(
                        f"no path was found through {VISITS} entities: name two that are nearer",
                        details={"limit": VISITS},
                    )
                visits += 1
                fresh = [value for value, _ in await self._beside(source) if value not in before]
                before.update(dict.fromkeys(fresh, source))
                reached += fresh
            frontier = reached
        return before

    async def _beside(self, value: str) -> list[tuple[str, int]]:
        """The entities in the same chunks and in how many, most frequent first."""
        [facet] = await self.store.facets([ANY_ENTITY], self.scope, filters=[_has(value)], limit=EVERY_VALUE)
        return [(str(b.value), b.count) for b in facet.buckets if b.value != value and str(b.value) in self.known]

    async def _edge(self, source: str, target: str, count: int | None = None) -> Edge:
        both = [_has(source), _has(target)]
        if count is None:
            count = dict(await self._beside(source)).get(target, 0)  # 0: replaced since the path was found
        chunks = await self.store.select(self.scope, filters=both, limit=NAMED_CHUNKS)
        return Edge(source, target, count, tuple(chunk.id for chunk in chunks))


async def _known(scope: Scope, store: ChunkStore) -> dict[str, Node]:
    """Every entity in scope by its value, as the type in which it is most frequent."""
    types = [field for field in await store.facet_fields(scope) if _is_type(field)]
    counted = await store.facets(types, scope, limit=EVERY_VALUE) if types else []
    nodes = [Node(str(bucket.value), facet.field, bucket.count) for facet in counted for bucket in facet.buckets]
    return {node.id: node for node in sorted(nodes, key=_frequent_first, reverse=True)}


def _is_type(field: str) -> bool:
    return field not in FIELDS and not field.startswith("metadata.")


def _named(field: str, value: str | None, known: Mapping[str, Node]) -> Node:
    """The entity as it is spelt, else in whatever case it is most frequent."""
    if not value:
        raise InvalidRequest(field, "is needed for this operation")
    alike = [node for name, node in known.items() if name.casefold() == value.casefold()]
    if not alike:
        raise NotFound(f"{field} is unknown: no chunk of this workflow has it", code="entity_not_found", field=field)
    return known.get(value) or min(alike, key=_frequent_first)


def _frequent_first(node: Node) -> tuple[int, str]:
    return -node.count, node.id


def _has(value: str) -> Filter:
    return Filter(ANY_ENTITY, "eq", value)


def _check(field: str, value: int, highest: int) -> None:
    if not 1 <= value <= highest:
        raise InvalidRequest(field, f"must be a whole number from 1 to {highest}")
