"""The plan of the semantic ranker is used up: every question is still answered, and its reply says what it lacks."""

import json
from collections.abc import AsyncIterator, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from local_emulator.host import run_service
from local_emulator.search_service import SearchService
from local_emulator.search_service.serving import serve_wsgi
from rag_core.composition import assembly
from rag_core.core.errors import Misconfigured
from rag_core.core.ports import Probe
from rag_core.core.run import Run
from rag_core.core.settings import Settings, load_settings
from rag_core.providers import local_models
from rag_core.stores.azure_search import AzureSearchStore, semantic_ranker
from tests.fakes import OverlapReranker
from tests.faults.semantic_quota import REFUSALS, Refusal, SemanticQuota
from tests.stores.sample import SCOPE, SPACE, ids, put, vector

QUESTION = "How often are the signing keys rotated?"
TEXT = "The signing keys are rotated every 90 days.\n\nThe warning lamp is lit when a key is older than 120 days."
PROBE = Probe("original", "pads of brakes", vector("pads"), "Which pads?")


@pytest.fixture
def service() -> SemanticQuota:
    return SemanticQuota(SearchService(None, keys={"key"}, reranker=OverlapReranker()))


@pytest.fixture
def url(service: SemanticQuota) -> Iterator[str]:
    with serve_wsgi(service) as address:
        yield address


@pytest.fixture
async def store(url: str) -> AsyncIterator[AzureSearchStore]:
    made = AzureSearchStore(url, "key", "index", dimensions=16, space=SPACE)
    await made.setup()
    await put(made, "doc", ["pads of brakes", "lamps of doors"])
    yield made
    await made.close()


@pytest.fixture
async def settings(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The deployed composition: no cross-encoder beside the service's own ranker."""
    find = local_models.find_model_folder
    monkeypatch.setattr(
        local_models, "find_model_folder", lambda kind, folder: None if kind == "reranker" else find(kind, folder)
    )
    variables = {"AZURE_SEARCH_ENDPOINT": url, "AZURE_SEARCH_API_KEY": "key", "RAG_LLM_PROVIDER": "local"}
    made = load_settings(variables | {"RAG_DATA_DIR": str(tmp_path)})
    await assembly.set_up_stores(made)
    return made


def post(app: str, route: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    connection = HTTPConnection(app.removeprefix("http://"), timeout=60)
    connection.request("POST", route, json.dumps(body), {"content-type": "application/json"})
    reply = connection.getresponse()
    told = json.loads(reply.read())
    connection.close()
    return reply.status, told


@pytest.mark.parametrize("name", REFUSALS)
def test_the_whole_app_answers_when_the_ranker_s_plan_is_used_up(
    name: str, service: SemanticQuota, settings: Settings
) -> None:
    with run_service(settings) as app:
        status, indexed = post(app, "/api/index_document", {"content": TEXT, "title": "Keys", "document_id": "keys"})
        assert (status, indexed["success"]) == (200, True)
        service.refusal = REFUSALS[name]
        for route, body in (
            ("/api/consult_rag", {"query": QUESTION, "pipeline": "standard"}),
            ("/api/consult_rag", {"query": QUESTION, "pipeline": "rerank"}),
            ("/api/consult_rag", {"query": QUESTION, "pipeline": "advanced"}),
            ("/api/rag/ask", {"query": QUESTION, "pipeline": "rerank"}),
        ):
            status, reply = post(app, route, body)
            assert status == 200, reply
            assert "every 90 days" in json.dumps(reply)
            assert "AZURE_SEARCH_API_KEY" not in json.dumps(reply)
            assert "role" not in json.dumps(reply.get("degraded", []))
            if body["pipeline"] != "advanced":  # which asks no ranker of the service
                said = [each for each in reply["degraded"] if each["code"] == "semantic_ranker_refused"]
                assert said, reply["degraded"]
                assert said[0]["fallback"] == "the order of the search"
                assert str(service.refusal.status) in said[0]["reason"]


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_query_gets_the_order_of_the_search_and_its_run_says_so(
    name: str, service: SemanticQuota, store: AzureSearchStore
) -> None:
    service.refusal = REFUSALS[name]
    run = Run()
    (hits,) = await run.step("search", store.search([PROBE], SCOPE, limit=5))
    assert ids(hits)[0] == "doc:000"
    assert not any("semantic" in hit.signals for hit in hits)
    assert [(each.step, each.code) for each in run.degraded] == [("semantic", "semantic_ranker_refused")]
    assert service.asked[-2:] == ["semantic", "simple"], (
        "one refused query, not three: a plan does not recover by retries"
    )


async def test_after_a_refusal_the_ranker_is_left_alone_for_a_while_and_each_reply_still_says_so(
    service: SemanticQuota, store: AzureSearchStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.refusal = Refusal(402, "")
    service.asked.clear()
    for _ in range(3):
        run = Run()
        await run.step("search", store.search([PROBE], SCOPE, limit=5))
        assert run.degraded
    assert service.asked == ["semantic", "simple", "simple", "simple"]
    monkeypatch.setattr(semantic_ranker, "PAUSE_S", 0.0)
    store._ranker._asked_again_at = 0.0
    service.refusal = None
    run = Run()
    (hits,) = await run.step("search", store.search([PROBE], SCOPE, limit=5))
    assert "semantic" in hits[0].signals
    assert not run.degraded


async def test_a_credential_that_is_refused_for_every_query_is_no_quota(
    service: SemanticQuota, store: AzureSearchStore
) -> None:
    service.refusal, service.refuses_everything = Refusal(403, "Forbidden"), True
    run = Run()
    with pytest.raises(Misconfigured, match="refuses the credential"):
        await run.step("search", store.search([PROBE], SCOPE, limit=5))
    assert not run.degraded


async def test_a_ranker_that_gives_no_scores_is_named(
    service: SemanticQuota, store: AzureSearchStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `semanticErrorHandling` partial the service answers 200 or 206 without scores."""
    monkeypatch.setattr(OverlapReranker, "score_passages", fail)
    run = Run()
    (hits,) = await run.step("search", store.search([PROBE], SCOPE, limit=5))
    assert hits
    assert [each.code for each in run.degraded] == ["semantic_ranker_partial"]


async def fail(*_: object) -> Any:
    from local_emulator.search_service import RankerUnavailable

    raise RankerUnavailable("planted")
