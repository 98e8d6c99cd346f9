"""Calls that are kept, opened in the workbench and asked again by another preset, over HTTP."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag_core.core.errors import RagError, StorageFull, Unavailable
from rag_core.core.kit import NoArchive
from rag_core.core.model import SavedQuery, Scope
from rag_core.core.settings import Settings
from tests.functions.test_jobs import signed_in
from tests.functions.test_workbench import ASKED, Caller, kit_of, new, served
from tests.varying_fields import drop_varying_fields

QUESTION = {"query": "What does P0700 mean?", "pipeline": "standard"}


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    with served(tmp_path_factory.mktemp("kept"), keep_runs=True) as caller:
        yield caller


def kept(call: Caller, function: str, **fields: Any) -> str:
    """The address under which a call was kept."""
    reply = call.ok("POST", f"/api/{function}", {**QUESTION, **fields})
    assert isinstance(reply["kept"], int)
    return f"/rag/queries/{reply['kept']}"


def test_a_consulted_question_is_kept_with_its_ranking_its_numbers_and_its_diary(call: Caller) -> None:
    """S0-52, S0-90: what the workbench opens is what the call replied."""
    asked = {"filters": {"document_id": ["manual"]}, "top_k": 2, "pipeline": "advanced"}
    reply = call.ok("POST", "/api/consult_rag", {**QUESTION, **asked})
    query = call.ok("GET", f"/rag/queries/{reply['kept']}")
    assert (query["origin"], query["original_query"]) == ("consult_rag", QUESTION["query"])
    assert [passage["id"] for passage in query["retrieved_context"]] == [d["id"] for d in reply["documents"]]
    assert query["preset"] == reply["preset"]
    assert query["expanded_queries"] == [t for label, t in reply["queries"].items() if label.startswith("expanded")]
    account = query["steps"]["retrieve"]
    assert account["went_in"]["filters"] == [{"field": "document_id", "op": "in", "value": ["manual"]}]
    assert account["went_in"]["asked"] == reply["queries_used"]
    assert account["techniques"] == reply["techniques"]
    assert set(account["timings"]) < set(reply["timings"])
    assert account["came_out"]["run_id"] == reply["run_id"]


def test_an_imagined_answer_is_not_kept(call: Caller) -> None:
    """(RELIABILITY C47): it may tell of persons, and was made to search with only."""
    reply = call.ok("POST", "/api/consult_rag", {**QUESTION, "pipeline": "advanced"})
    assert reply["hyde_used"] is True
    assert call.ok("GET", f"/rag/queries/{reply['kept']}")["hyde_answer"] == ""


def test_an_answer_is_kept_as_a_result_of_its_question(call: Caller) -> None:
    """S0-88."""
    reply = call.ok("POST", "/api/rag/ask", QUESTION)
    address = f"/rag/queries/{reply['kept']}"
    (result,) = call.ok("GET", f"{address}/results")["results"]
    assert result["response_text"] == reply["answer"]
    details = call.ok("GET", f"{address}/results/{result['id']}")["details"]
    assert (details["status"], details["run_id"]) == (reply["status"], reply["run_id"])
    query = call.ok("GET", address)
    assert (query["origin"], query["results_count"]) == ("ask", 1)
    assert [p["id"] for p in query["retrieved_context"]] == list(
        dict.fromkeys(context["chunk_id"] for context in reply["contexts"])
    )


def test_a_question_to_the_proposals_is_kept_in_their_collection(tmp_path: Path) -> None:
    with served(tmp_path, keep_runs=True, collection="default") as call:
        reply = call.ok("POST", "/api/rag/query", {"query": "What does P0700 mean?", "topK": 2})
        query = call.ok("GET", f"/rag/queries/{reply['kept']}")
        assert (query["origin"], query["preset"]["name"], query["preset"]["top_k"]) == ("rag_query", "proposals", 2)


def test_a_kept_call_goes_on_in_the_workbench(call: Caller) -> None:
    """S0-62: its ranking is consolidated and answered from like one that was made there."""
    address = kept(call, "consult_rag")
    assert call.ok("GET", address)["next_step"] == "consolidate"
    assert call.ok("POST", f"{address}/consolidate")["consolidated_count"] > 0
    assert "P0700" in call.ok("POST", f"{address}/augment/run")["response_text"]


def test_nothing_is_kept_unless_the_operator_says_so(tmp_path: Path) -> None:
    with served(tmp_path) as call:
        for function in ("consult_rag", "rag/ask"):
            assert "kept" not in call.ok("POST", f"/api/{function}", QUESTION)
        assert call.ok("GET", "/rag/queries")["total"] == 0


def test_what_is_kept_belongs_to_who_asked(call: Caller) -> None:
    """S0-11, S0-15."""
    ann, bob = (replace(call, who=signed_in(name)) for name in ("ann", "bob"))
    address = kept(ann, "consult_rag")
    assert ann.ok("GET", address)["origin"] == "consult_rag"
    for stranger in (bob, call):
        assert stranger.refused("GET", address)[1]["code"] == "query_not_found"


def test_the_classical_pipeline_keeps_nothing_and_says_so(call: Caller) -> None:
    """S4-01, S4-31, C30: its promise is that nothing of a person goes any further than, redacted, its own account."""
    before = call.ok("GET", "/rag/queries")["total"]
    personal = {"query": "What does P0700 mean for jane.doe@example.org?", "pipeline": "classical"}
    for function in ("consult_rag", "rag/ask"):
        reply = call.ok("POST", f"/api/{function}", personal)
        assert (reply["kept"], "run_not_kept" in [advice["code"] for advice in reply["warnings"]]) == (None, True)
    assert call.ok("GET", "/rag/queries")["total"] == before


class Failing(NoArchive):
    """An archive that takes nothing."""

    failure: RagError

    async def add_query(self, query: SavedQuery, scope: Scope) -> SavedQuery:
        raise self.failure


@pytest.mark.parametrize("failure", [Unavailable("the database is away"), StorageFull("the disk is full")])
def test_a_call_that_cannot_be_kept_is_answered_all_the_same(tmp_path: Path, failure: RagError) -> None:
    """S0-86: the reply is whole, and says that it is not kept."""
    archive = type("Full", (Failing,), {"failure": failure})()
    kit = kit_of(Settings(data_dir=tmp_path, models_dir=tmp_path, keep_runs=True), archive=archive)
    with served(tmp_path, kit, keep_runs=True) as call:
        reply = call.ok("POST", "/api/consult_rag", QUESTION)
        assert (reply["count"] > 0, reply["kept"]) == (True, None)
        assert [(lesser["step"], lesser["code"]) for lesser in reply["degraded"]] == [("keep", "run_not_kept")]
        assert call.ok("POST", "/api/rag/ask", QUESTION)["kept"] is None


def test_a_kept_question_is_asked_again_by_another_preset(call: Caller) -> None:
    """S0-85: both rankings with the numbers that made them, what they have in common and what has moved."""
    address = kept(call, "consult_rag", top_k=3)
    query = call.ok("GET", address)
    replayed = call.ok("POST", f"{address}/replay", {"preset": "rerank"})
    before, after = replayed["before"], replayed["after"]
    assert [p["chunk_id"] for p in before["ranking"]] == [p["id"] for p in query["retrieved_context"]]
    assert (before["preset"], after["preset"]["name"]) == (query["preset"], "rerank")
    assert [p["rank"] for p in after["ranking"]] == list(range(1, 1 + len(after["ranking"])))
    assert 0 < replayed["overlap_at_10"] <= 1
    assert drop_varying_fields(call.ok("GET", address)) == drop_varying_fields(query)


def test_a_replay_by_the_same_preset_moves_nothing(call: Caller) -> None:
    replayed = call.ok("POST", f"{kept(call, 'consult_rag')}/replay", {"preset": "standard"})
    assert (replayed["overlap_at_10"], replayed["moved"]) == (1.0, [])
    assert replayed["before"]["ranking"] == replayed["after"]["ranking"]


def test_a_replay_keeps_to_what_the_question_was_confined_to(call: Caller) -> None:
    for document in ("manual", "nothing"):
        address = kept(call, "consult_rag", filters={"document_id": document})
        found = call.ok("POST", f"{address}/replay", {"preset": "pages"})["after"]["ranking"]
        assert {passage["document_id"] for passage in found} == ({document} if document == "manual" else set())
    confined = call.ok("POST", "/api/rag/ask", {**QUESTION, "document_ids": ["nothing"]})["kept"]
    replayed = call.ok("POST", f"/rag/queries/{confined}/replay", {"preset": "standard"})
    assert replayed["after"]["ranking"] == []


def test_a_replay_is_made_with_edited_numbers(call: Caller) -> None:
    """S0-90."""
    admin = replace(call, who=signed_in("ada", roles="admin"))
    admin.ok("PUT", "/rag/presets/rerank", {"config": {"rrf_k": 7}})
    replayed = call.ok("POST", f"{kept(call, 'consult_rag')}/replay", {"preset": "rerank"})
    assert replayed["after"]["preset"]["rrf_k"] == 7
    assert call.ok("POST", "/api/consult_rag", {**QUESTION, "pipeline": "rerank"})["preset"]["rrf_k"] == 60
    admin.ok("DELETE", "/rag/presets/rerank")


@pytest.mark.parametrize("preset", ["unknown", "facets"])
def test_a_preset_that_does_not_rank_is_refused(call: Caller, preset: str) -> None:
    status, error = call.refused("POST", f"{kept(call, 'consult_rag')}/replay", {"preset": preset})
    assert (status, error["field"]) == (400, "preset")


def test_a_question_of_the_workbench_is_replayed_once_it_has_a_ranking(call: Caller) -> None:
    address = new(call, **ASKED)
    assert call.refused("POST", f"{address}/replay", {"preset": "standard"})[0] == 409
    for step in ("embed", "retrieve"):
        call.ok("POST", f"{address}/{step}")
    assert call.ok("POST", f"{address}/replay", {"preset": "standard"})["overlap_at_10"] > 0
