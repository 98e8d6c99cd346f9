"""The emulated search service answers as the real one was recorded to (tests/data/search_recordings/README.md)."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client, TestResponse

from local_emulator.search_service import SearchService, WordRanker
from local_emulator.search_service.query import Leg, fuse_legs

RECORDINGS = Path(__file__).parents[1] / "data" / "search_recordings"
HOTELS = json.loads((RECORDINGS / "hotels.json").read_text("utf-8"))
CASES = sorted(p for p in RECORDINGS.glob("*.json") if p.stem not in ("hotels", "fusion"))
VERSION = "api-version=2026-04-01"


def asked(client: Client, step: dict[str, Any]) -> TestResponse:
    none = {"Accept": "application/json;odata.metadata=none"} if "/docs" in step["path"] else {}  # as the SDKs ask
    headers = {"api-key": "k", **none, **step.get("sent", {})}
    return client.open(f"{step['path']}?{VERSION}", method=step["method"], json=step.get("body"), headers=headers)


def with_documents(client: Client, case: dict[str, Any]) -> None:
    if "index" in case:
        with_hotels(client, [{"hotelId": str(i)} for i in range(1, case.get("numbered", 0) + 1)])


def with_hotels(client: Client, numbered: Sequence[dict[str, Any]] = ()) -> None:
    assert client.post(f"/indexes?{VERSION}", json=HOTELS["index"], headers={"api-key": "k"}).status_code == 201
    path = f"/indexes('hotels')/docs/search.index?{VERSION}"
    body = {"value": numbered or HOTELS["documents"]}
    assert client.post(path, json=body, headers={"api-key": "k"}).status_code == 200


def assert_holds(found: Any, wanted: Any) -> None:
    """Objects hold at least what is wanted; lists are as long as wanted."""
    if isinstance(wanted, dict):
        assert wanted.keys() <= found.keys()
        for name, value in wanted.items():
            assert_holds(found[name], value)
    elif isinstance(wanted, list):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_holds(one, other)
    else:
        assert found == wanted


def assert_hits(reply: dict[str, Any], step: dict[str, Any]) -> None:
    ids = [hit.get("hotelId") for hit in reply.get("value", ())]
    assert ids == step.get("ids", ids)
    assert ids[: len(step.get("first", ()))] == step.get("first", [])
    assert sorted(ids) == sorted(step["members"]) if "members" in step else True
    assert len(ids) == step.get("count", len(ids))
    assert ("@odata.nextLink" in reply) == step.get("link", "@odata.nextLink" in reply)
    assert not reply.keys() & set(step.get("absent", ()))
    if "whole" in step:
        assert [{k: v for k, v in hit.items() if k != "@search.score"} for hit in reply["value"]] == step["whole"]
    if "keys" in step:
        assert sorted(reply["value"][0]) == step["keys"]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_recorded_conversation_goes_the_same_way(path: Path) -> None:
    case = json.loads(path.read_text("utf-8"))
    client = Client(SearchService(None, keys={"k"}, reranker=WordRanker()))
    with_documents(client, case)
    for step in case["steps"]:
        response = asked(client, step)
        assert response.status_code == step["status"], response.text
        assert response.text == step.get("text", response.text)
        assert {name: response.headers.get(name) for name in step.get("headers", {})} == step.get("headers", {})
        if response.is_json:
            assert_holds(response.json, step.get("answer", {}))
            assert_hits(response.json, step)


def test_the_recordings_name_their_source_and_licence() -> None:
    told = [json.loads(path.read_text("utf-8")) for path in CASES]
    assert all(case["source"].startswith("Azure/") and case["licence"] == "MIT" for case in told)
    assert len({case["source"] for case in told}) >= 15


def test_fused_scores_are_those_of_the_service_to_the_last_bit() -> None:
    recorded = json.loads((RECORDINGS / "fusion.json").read_text("utf-8"))["score_by_rank"]
    leg = [(f"{rank:02}", 0.0) for rank in range(30)]
    scores = dict(fuse_legs([Leg("", leg)]))
    assert {rank: scores[f"{int(rank):02}"] for rank in recorded} == recorded
