import json
from typing import Any

import pytest

from rag_core.agent import RAGRetrievalAgent
from rag_core.composition import assembly
from rag_core.core.errors import InvalidRequest
from rag_core.core.model import Document, Entity, Scope, Span
from tests.fakes import ScriptedLLM, chunk, filled, grades, kit

MANUAL = chunk(
    "doc-123",
    "The gearbox is quiet.\nP0700 is set by the TCM when it finds a fault.",
    ordinal=3,
    title="TCU Diagnostics Manual",
    source="manual.pdf",
    summary="Explains TCU diagnostic codes",
    spans=(Span(0, 71, 45, 12, 13),),
    heading_path=("Codes", "P07xx"),
    entities=(Entity("dtc", "P0700"), Entity("acronym", "TCM")),
    metadata={"make": "ACME"},
)
IMAGINED = "P0700 indicates a fault of the transmission."
SCRIPT = {
    "query_expansion": json.dumps({"queries": ["transmission code", "gearbox code"], "hyde": IMAGINED}),
    "rerank": grades(8),
}


@pytest.fixture
async def agent() -> RAGRetrievalAgent:
    return RAGRetrievalAgent(kit(await filled(MANUAL, scope=Scope("default")), llm=ScriptedLLM(**SCRIPT)))  # type: ignore[arg-type]


async def test_a_reply_has_every_field_of_the_document(agent: RAGRetrievalAgent) -> None:
    """S1-37..43, S1-06, C08, C27, C45."""
    reply = await agent.advanced_rag_retrieve("What is P0700?", search_type="semantic")
    [document] = reply["documents"]
    assert reply["success"] is True
    assert (reply["count"], reply["pipeline"], reply["reranked"], reply["hyde_used"]) == (1, "advanced", True, True)
    assert reply["queries_used"] == ["original", "expanded1", "expanded2", "hyde"]
    assert document["score"] == pytest.approx((3 + 1 + 1 + 1) / 61)
    assert document["reranker_score"] == 1.0
    assert document["rerank_score"] == 8
    assert {name: document[name] for name in ("id", "title", "doc_type", "summary", "entities")} == {
        "id": "doc-123",
        "title": "TCU Diagnostics Manual",
        "doc_type": "chunk",
        "summary": "Explains TCU diagnostic codes",
        "entities": ["P0700", "TCM"],
    }
    assert document["content"] == MANUAL.content
    assert document["metadata"] == {
        "source": "manual.pdf",
        "page": 45,
        "chunk_id": "3",
        "document_id": "manual",
        "lines": [12, 13],
        "section": ["Codes", "P07xx"],
        "make": "ACME",
    }
    assert document["captions"] == [
        {
            "text": "P0700 is set by the TCM when it finds a fault.",
            "highlights": "<em>P0700</em> is set by the TCM when it finds a fault.",
        }
    ]
    assert reply["semantic_answers"] == [
        {"text": "P0700 is set by the TCM when it finds a fault.", "score": 1.0, "chunk_id": "doc-123"}
    ]
    json.dumps(reply, allow_nan=False)


def count_values(reply: dict[str, Any]) -> dict[str, dict[str, int]]:
    """The counts of a reply's facets, without where each value is counted."""
    return {field: {count["value"]: count["count"] for count in counts} for field, counts in reply["facets"].items()}


async def test_an_imagined_answer_is_never_shown(agent: RAGRetrievalAgent) -> None:
    """C47 (RELIABILITY): it is used for searching only."""
    assert IMAGINED not in json.dumps(await agent.advanced_rag_retrieve("What is P0700?"))


async def test_the_four_ways_to_ask(agent: RAGRetrievalAgent) -> None:
    """S1-07..10, S1-36: the documented methods without HTTP, on the store in memory."""
    standard = await agent.consult_rag_tool("P0700")
    rerank = await agent.consult_rag_with_rerank("P0700")
    advanced = await agent.advanced_rag_retrieve("P0700")
    facets = await agent.get_entity_facets("How many unique DTC codes?")
    assert [r["pipeline"] for r in (standard, rerank, advanced, facets)] == ["standard", "rerank", "advanced", "facets"]
    assert [r["reranked"] for r in (standard, rerank, advanced, facets)] == [False, True, True, False]
    assert (facets["documents"], facets["count"]) == ([], 0)
    assert count_values(facets) == {"dtc": {"P0700": 1}}
    assert facets["facet_totals"] == {"dtc": 1}


async def test_a_field_can_be_counted_by_name(agent: RAGRetrievalAgent) -> None:
    """S1-10."""
    reply = await agent.get_entity_facets(field="acronym")
    assert count_values(reply) == {"acronym": {"TCM": 1}}
    assert reply["facets"]["acronym"][0]["cited"]["chunk_id"] == "doc-123"


async def test_a_reply_echoes_the_numbers_it_was_made_with(agent: RAGRetrievalAgent) -> None:
    """S1-44..49, C01: the resolved preset."""
    reply = await agent.advanced_rag_retrieve("P0700", top_k=5, enable_hyde=False)
    assert reply["preset"]["top_k"] == 5
    assert reply["preset"]["imaginings"] == 0
    assert reply["preset"]["search_type"] == "hybrid"
    assert reply["hyde_used"] is False


async def test_asking_for_a_stage_that_is_not_there_is_told(agent: RAGRetrievalAgent) -> None:
    """C10."""
    reply = await agent.consult_rag_tool("P0700", enable_rerank=True)
    assert [warning["code"] for warning in reply["warnings"]] == ["no_effect"]


async def test_a_workflow_is_a_wall(agent: RAGRetrievalAgent) -> None:
    """S1-25: and the workflow asked is echoed."""
    reply = await agent.consult_rag_tool("P0700", "another")
    assert (reply["documents"], reply["workflow_id"]) == ([], "another")
    assert [warning["code"] for warning in reply["warnings"]] == ["nothing_indexed"]


async def test_a_number_out_of_range_is_refused(agent: RAGRetrievalAgent) -> None:
    with pytest.raises(InvalidRequest, match="top_k must be a whole number from 1 to 100"):
        await agent.consult_rag_tool("P0700", top_k=101)


async def test_the_agent_needs_nothing_but_this_machine() -> None:
    """S1-36: the in-memory store, the local models, and techniques that are named as local ones."""
    parts = assembly.build_in_memory_kit()
    await parts.index.add_document(
        Document("manual", "default", "Manual", "manual.pdf", "h", "test"), [MANUAL], Scope("default")
    )
    reply = await RAGRetrievalAgent(parts).advanced_rag_retrieve("What sets P0700?")
    assert [d["id"] for d in reply["documents"]] == ["doc-123"]
    assert reply["documents"][0]["captions"][0]["text"] == "P0700 is set by the TCM when it finds a fault."
    assert {step: done.split(":")[0] for step, done in reply["techniques"].items() if step != "ranker"} == {
        "query_expansion": "local",
        "rerank": "local",
    }
    assert reply["degraded"] == []
