"""The two routes of the proposal corpus, over HTTP and on the real parts."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

import function_app
from functions.proposals import ProposalQuery
from functions.requests import parse_request
from local_emulator.host import Host
from rag_core.core import settings as reading
from rag_core.core.errors import Misconfigured
from rag_core.core.settings import Settings
from tests.functions.test_functions import Caller, serving
from tests.proposal_records import RECORDS

AAVE = Path(__file__).parents[1] / "data" / "proposals" / "aave.jsonl"


def who(*claims: tuple[str, str]) -> dict[str, str]:
    told = json.dumps({"claims": [{"typ": typ, "val": value} for typ, value in claims]})
    return {"x-ms-client-principal": base64.b64encode(told.encode()).decode()}


ADMIN = who(("oid", "ada"), ("roles", "admin"))
READER = who(("oid", "rob"), ("roles", "reader"))


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """With the local models, where they are installed, and proposals ingested by an administrator."""
    source = tmp_path_factory.mktemp("source") / "dao.jsonl"
    source.write_text(AAVE.read_text("utf-8") + "\n".join(map(json.dumps, RECORDS)))
    for caller in serving(Settings(data_dir=None, trust_principal=True, proposals_source=str(source))):
        reply = ingested(caller, ADMIN)
        assert (reply["proposals"], reply["skipped"]) == (8, ["aip-20231103-TestEModesUpdate"])
        yield caller


def ingested(call: Caller, headers: Any, **fields: Any) -> dict[str, Any]:
    return call.ok("rag/ingest", headers, **fields)


def test_an_answer_comes_with_each_proposal_and_stage_cited_once(call: Caller) -> None:
    """S2-33, S2-34, S2-43, S2-44, C15, C27: in, camelCase; out, badge, title, snippet and address."""
    asked = {"filters": {"stage": ["forum", "snapshot"], "status": []}, "topK": 5}
    reply = call.ok("rag/query", query="What is the supply cap of FXS?", **asked)
    assert reply["status"] == "answered"
    assert "800,000" in reply["answer"]
    first = reply["citations"][0]
    assert (first["proposal_id"], first["stage"]) == ("aip-20231025-AddFXSToEthereumV3", "forum")
    assert (first["title"], first["source_id"]) == ("Add FXS to Ethereum V3", "15112")
    assert "800,000" in first["snippet"]
    assert first["url"] == "https://governance.aave.com/t/arfc-add-fxs-to-ethereum-v3/15112"
    assert first["label"].startswith("(forum) Add FXS to Ethereum V3: “")
    keys = [(citation["proposal_id"], citation["stage"]) for citation in reply["citations"]]
    assert len(keys) == len(set(keys))
    assert reply["topK"] == 5


def test_the_options_of_a_vote_can_be_asked_for(call: Caller) -> None:
    """S2-12, S2-21: and the answer stands at every stage, whose text is one."""
    reply = call.ok("rag/query", query="What were the scores For and Against the audit on Snapshot?", topK=1)
    assert "299.5" in reply["answer"]
    assert [citation["stage"] for citation in reply["citations"]] == ["forum", "snapshot", "tally"]


def test_the_status_narrows_what_is_answered_from(call: Caller) -> None:
    """S2-37, S2-39."""
    reply = call.ok("rag/query", query="What is audited?", filters={"status": ["closed"]})
    assert {(c["proposal_id"], c["status"]) for c in reply["citations"]} <= {("aip-7", "closed")}
    assert call.ok("rag/query", query="What is audited?", filters={"status": ["draft"]})["citations"] == []


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"query": ""}, "query", "must"),
        ({"query": "   "}, "query", "more than spaces"),
        ({"query": "x" * 1001}, "query", "at most 1000 characters"),
        ({}, "query", "is required"),
        ({"query": "?", "filters": {"stage": ["onchain"]}}, "filters.stage.0", "'forum', 'snapshot' or 'tally'"),
        ({"query": "?", "filters": {"status": ["Active"]}}, "filters.status.0", "'draft', 'pending', 'active'"),
        ({"query": "?", "filters": {"author": ["Ann"]}}, "filters.author", "is not a field"),
        ({"query": "?", "topK": 0}, "topK", "greater than or equal to 1"),
        ({"query": "?", "topK": "5"}, "topK", "valid integer"),
        ({"query": "?", "top_k": 5}, "top_k", "is not a field"),
        ({"query": "?", "workflow_id": "other"}, "workflow_id", "is not a field"),
    ],
)
def test_a_request_outside_of_its_limits_is_refused(
    call: Caller, fields: dict[str, Any], field: str, message: str
) -> None:
    """S2-35, S2-36, S2-37, C16: 400, with the field and what would be right."""
    status, error = call.refused("rag/query", **fields)
    assert (status, error["field"]) == (400, field)
    assert message in error["message"]


def test_a_thousand_characters_and_any_number_of_passages_are_taken(call: Caller) -> None:
    """S2-35, S2-38: topK above 20 is 20, and the reply says so."""
    assert parse_request(ProposalQuery, {"query": "x" * 1000}).query
    reply = call.ok("rag/query", query="What does the audit cost?", topK=21)
    assert reply["topK"] == 20
    assert "top_k_capped" in [advice["code"] for advice in reply["warnings"]]


def test_five_passages_are_asked_for_unless_something_else_is_said(tmp_path: Path) -> None:
    """S2-38, S2-50: 5, or RAG_TOP_K."""
    for said, top_k in (({}, 5), ({"RAG_TOP_K": "7"}, 7)):
        for caller in serving(reading.load_settings({"RAG_DATA_DIR": ":memory:", **said})):
            assert caller.ok("rag/query", query="Which proposals are there?")["topK"] == top_k


def test_the_request_ends_at_its_own_limit(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """S2-45, S2-50: 30 s by default, RAG_TIMEOUT_MS where it is set."""
    assert reading.load_settings({}).proposals_timeout_s == 30
    allowed: list[float] = []
    monkeypatch.setattr("rag_core.core.run.Run.shorten_deadline", lambda run, within_s: allowed.append(within_s))
    for caller in serving(reading.load_settings({"RAG_DATA_DIR": ":memory:", "RAG_TIMEOUT_MS": "2500"})):
        caller.ok("rag/query", query="Which proposals are there?")
    assert allowed == [2.5]


@pytest.mark.parametrize("headers", [{}, READER, who(("oid", "eve"), ("name", "admin"))])
def test_only_an_administrator_ingests(call: Caller, headers: dict[str, str]) -> None:
    """S2-09, S2-51, C18: by a role of the credential; nothing in the body makes one."""
    status, error = call.refused("rag/ingest", headers, clear=True)
    assert (status, error["code"]) == (403, "forbidden")
    assert call.ok("rag/query", query="What is the supply cap of FXS?")["citations"]
    assert call.refused("rag/ingest", headers, role="admin")[0] == 403


def test_a_credential_is_believed_only_where_the_platform_vouches_for_it(tmp_path: Path) -> None:
    """S2-51, C18."""
    for caller in serving(Settings(data_dir=None, models_dir=tmp_path, proposals_source=str(AAVE))):
        assert caller.refused("rag/ingest", ADMIN)[0] == 403


def test_what_an_administrator_ingests_is_everyones(call: Caller) -> None:
    """S2-52, S3-15: and the second time nothing is embedded."""
    again = ingested(call, ADMIN)
    assert (again["embedded"], again["unchanged"], again["cleared"]) == (0, again["chunks"], 0)
    for headers in ({}, READER):
        assert call.ok("rag/query", headers, query="What is the supply cap of FXS?")["citations"]


def test_clearing_and_leaving_out_bodies_are_asked_for_in_the_body(call: Caller) -> None:
    """S2-10, S2-20, C21."""
    cleared = ingested(call, ADMIN, clear=True, includeBodies=False)
    assert cleared["cleared"] == cleared["documents"] > 0
    assert "800,000" not in call.ok("rag/query", query="What is the supply cap of FXS?")["answer"]
    ingested(call, ADMIN)


def test_without_a_source_there_is_nothing_to_ingest(tmp_path: Path) -> None:
    for caller in serving(Settings(data_dir=None, models_dir=tmp_path, trust_principal=True)):
        status, error = caller.refused("rag/ingest", ADMIN)
        assert (status, error["field"]) == (503, "RAG_PROPOSALS_SOURCE")


def test_a_record_that_cannot_be_read_is_told_in_a_partial_reply(tmp_path: Path) -> None:
    source = tmp_path / "dao.json"
    source.write_text(json.dumps([{"id": "a:b"}, RECORDS[1]]))
    settings = Settings(data_dir=None, models_dir=tmp_path, trust_principal=True, proposals_source=str(source))
    for caller in serving(settings):
        reply = caller.client.post("/api/rag/ingest", json={}, headers=ADMIN)
        assert reply.status_code == 207
        assert json.loads(reply.data)["documents"] == 1


@pytest.mark.parametrize("public", [False, True])
def test_a_query_wants_a_key_unless_it_is_made_public(public: bool, tmp_path: Path) -> None:
    """S2-52, C18: off by default; nothing else is opened with it."""
    chosen = Settings(data_dir=None, models_dir=tmp_path)
    host = Host(function_app.build_app(lambda: chosen, public_query=public), key="k")
    caller = Client(host)
    query = {"query": "Which proposals are there?"}
    assert caller.post("/api/rag/query", json=query).status_code == (503 if public else 401)
    assert caller.post("/api/rag/query", json=query, headers={"x-functions-key": "k"}).status_code == 503
    for route in ("rag/ingest", "rag/ask", "consult_rag"):
        assert caller.post(f"/api/{route}", json=query).status_code == 401
    host.close()


def test_a_query_is_made_public_by_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """S2-52, C18: and by exactly its value."""
    for said, public in (("1", True), ("0", False), ("true", False), ("", False)):
        monkeypatch.setenv("RAG_PUBLIC_QUERY", said)
        assert reading.is_public_query_enabled() is public
    assert reading.load_settings({"RAG_PUBLIC_QUERY": "1"}).public_query is True
    with pytest.raises(Misconfigured, match="RAG_PUBLIC_QUERY"):
        reading.load_settings({"RAG_PUBLIC_QUERY": "true"})


def test_a_credential_that_names_other_collections_asks_nothing_of_this_one(tmp_path: Path) -> None:
    """C17, C18."""
    chosen = Settings(data_dir=None, models_dir=tmp_path, trust_principal=True, workflow_claim="tenant")
    for caller in serving(chosen):
        theirs = who(("oid", "rob"), ("roles", "admin"), ("tenant", "other-dao"))
        for route, fields in (("rag/query", {"query": "?"}), ("rag/ingest", {})):
            status, error = caller.refused(route, theirs, **fields)
            assert status in (404, 503), route
            assert error["code"] in ("workflow_not_found", "misconfigured")
