from dataclasses import replace

import pytest

from rag_core.core.errors import InvalidRequest, NotFound, TooLarge
from rag_core.core.index import Index
from rag_core.core.model import Entity, EntityGraph, GraphEdge, GraphNode, Scope
from rag_core.retrieval.graph import _GraphWalker, explore_graph
from tests.fakes import SCOPE, chunk, filled

# P0700 - TCM - pump - BP-4471, and apart from them P0300 - P0301
CHUNKS = (
    chunk("a", "1", entities=(Entity("dtc", "P0700"), Entity("acronym", "TCM"))),
    chunk("b", "2", entities=(Entity("dtc", "P0700"), Entity("acronym", "TCM")), ordinal=1),
    chunk("c", "3", entities=(Entity("acronym", "TCM"), Entity("phrase", "pump")), ordinal=2),
    chunk("d", "4", entities=(Entity("phrase", "pump"), Entity("part", "BP-4471")), ordinal=3),
    chunk("e", "5", entities=(Entity("dtc", "P0300"), Entity("dtc", "P0301")), ordinal=4),
)
P0700, TCM, PUMP = GraphNode("P0700", "dtc", 2), GraphNode("TCM", "acronym", 3), GraphNode("pump", "phrase", 2)
TO_TCM = GraphEdge("P0700", "TCM", 2, ("a", "b"))
TO_PUMP = GraphEdge("TCM", "pump", 1, ("c",))


@pytest.fixture
async def index() -> Index:
    return await filled(*CHUNKS)


async def test_an_entity_is_found_with_its_type_and_count_in_any_case(index: Index) -> None:
    """S1-60: the codes are found however they are typed."""
    assert await explore_graph("entity", SCOPE, index, entity="p0700") == EntityGraph(nodes=(P0700,))


async def test_neighbors_stand_in_the_same_chunks_and_name_them(index: Index) -> None:
    """S1-60: nodes, and edges with counts and the chunks that bear them out."""
    assert await explore_graph("neighbors", SCOPE, index, entity="P0700") == EntityGraph((P0700, TCM), (TO_TCM,))


async def test_depth_is_how_many_steps_are_taken(index: Index) -> None:
    graph = await explore_graph("neighbors", SCOPE, index, entity="P0700", depth=2)
    assert graph == EntityGraph((P0700, TCM, PUMP), (TO_TCM, TO_PUMP))
    assert len((await explore_graph("neighbors", SCOPE, index, entity="P0700", depth=3)).nodes) == 4


async def test_a_limit_keeps_the_most_frequent_neighbors(index: Index) -> None:
    graph = await explore_graph("neighbors", SCOPE, index, entity="TCM", limit=1)
    assert graph == EntityGraph((TCM, P0700), (GraphEdge("TCM", "P0700", 2, ("a", "b")),))


async def test_a_path_is_a_shortest_way(index: Index) -> None:
    """S1-60."""
    graph = await explore_graph("path", SCOPE, index, entity="P0700", target="BP-4471")
    assert graph.paths == (("P0700", "TCM", "pump", "BP-4471"),)
    assert graph.edges == (TO_TCM, TO_PUMP, GraphEdge("pump", "BP-4471", 1, ("d",)))


async def test_a_path_whose_passages_are_removed_meanwhile_is_still_an_answer(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = _GraphWalker._search_breadth_first

    async def then_dropped(around: _GraphWalker, start: str, target: str) -> dict[str, str]:
        before = await searched(around, start, target)
        await index.store.delete("manual", SCOPE)
        return before

    monkeypatch.setattr(_GraphWalker, "_search_breadth_first", then_dropped)
    graph = await explore_graph("path", SCOPE, index, entity="P0700", target="TCM")
    assert graph.edges == (GraphEdge("P0700", "TCM", 0),)


async def test_a_path_that_was_given_up_is_not_told_as_none(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_core.retrieval.graph.MAX_PATH_VISITS", 2)
    with pytest.raises(TooLarge):
        await explore_graph("path", SCOPE, index, entity="P0700", target="BP-4471")


async def test_there_is_no_path_between_parts_that_do_not_touch(index: Index) -> None:
    graph = await explore_graph("path", SCOPE, index, entity="P0700", target="P0301")
    assert graph == EntityGraph(nodes=(P0700, GraphNode("P0301", "dtc", 1)))


async def test_a_path_to_itself_is_the_entity(index: Index) -> None:
    assert (await explore_graph("path", SCOPE, index, entity="TCM", target="tcm")).paths == (("TCM",),)


async def test_top_is_the_most_frequent_ties_by_name(index: Index) -> None:
    graph = await explore_graph("top", SCOPE, index, limit=4)
    assert [node.id for node in graph.nodes] == ["TCM", "P0700", "pump", "BP-4471"]


async def test_an_overview_has_the_most_connected_first_with_their_strongest_edges(index: Index) -> None:
    graph = await explore_graph("overview", SCOPE, index, limit=3)
    assert [node.id for node in graph.nodes] == ["TCM", "pump", "P0700"]
    assert [(edge.source, edge.target, edge.count) for edge in graph.edges] == [("TCM", "P0700", 2), ("TCM", "pump", 1)]


async def test_an_overview_of_a_document_has_its_entities_alone(index: Index) -> None:
    graph = await explore_graph("overview", replace(SCOPE, document_ids=("nothing",)), index)
    assert graph == EntityGraph()


async def test_the_graph_is_the_index_s_own(index: Index) -> None:
    """S1-60: what is dropped from the index is not in the graph any more."""
    await index.store.delete("manual", SCOPE)
    assert await explore_graph("top", SCOPE, index) == EntityGraph()


@pytest.mark.parametrize("operation", ["entity", "neighbors", "path"])
async def test_an_unknown_entity_is_not_found(index: Index, operation: str) -> None:
    """S1-60: 404, also for another workflow's entity."""
    for scope, name in ((SCOPE, "P9999"), (Scope("other"), "P0700")):
        with pytest.raises(NotFound, match="entity is unknown") as failure:
            await explore_graph(operation, scope, index, entity=name, target="TCM")  # type: ignore[arg-type]
        assert failure.value.field == "entity"


async def test_an_unknown_target_is_named(index: Index) -> None:
    with pytest.raises(NotFound, match="target is unknown"):
        await explore_graph("path", SCOPE, index, entity="TCM", target="nothing")


@pytest.mark.parametrize(
    ("fields", "field"),
    [({}, "entity"), ({"entity": "TCM", "depth": 4}, "depth"), ({"entity": "TCM", "limit": 0}, "limit")],
)
async def test_what_is_missing_or_out_of_range_is_named(index: Index, fields: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await explore_graph("neighbors", SCOPE, index, **fields)  # type: ignore[arg-type]
    assert refused.value.field == field


async def test_one_name_with_two_types_is_one_entity_of_the_more_frequent_type() -> None:
    index = await filled(
        chunk("a", "1", entities=(Entity("acronym", "ABS"),)),
        chunk("b", "2", entities=(Entity("acronym", "ABS"),), ordinal=1),
        chunk("c", "3", entities=(Entity("phrase", "ABS"),), ordinal=2),
    )
    assert (await explore_graph("entity", SCOPE, index, entity="abs")).nodes == (GraphNode("ABS", "acronym", 2),)


async def test_an_overview_is_of_names_and_has_no_amounts_and_dates() -> None:
    """S1-60: each report has many of them, and they are asked for by name."""
    amounts = tuple(Entity("money", f"${n}") for n in range(5))
    index = await filled(chunk("a", "1", entities=(Entity("place", "Graz"), Entity("date", "2024"), *amounts)))
    assert (await explore_graph("overview", SCOPE, index)).nodes == (GraphNode("Graz", "place", 1),)
    only_amounts = await filled(chunk("a", "1", entities=amounts))
    assert len((await explore_graph("overview", SCOPE, only_amounts)).nodes) == 5
