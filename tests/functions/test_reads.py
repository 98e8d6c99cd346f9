"""A GET changes nothing and asks no model, for any page can have its visitor's browser send one: as an image."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from werkzeug.test import Client

import function_app
from functions.routes import ROUTES
from local_emulator.host import Host
from rag_core.core.kit import Kit
from rag_core.core.settings import Settings
from rag_core.stores.archive import ArchiveDatabase, SqlArchive
from tests.fakes import SCOPE, ScriptedLLM, chunk, filled, kit

FACT = "P0700 is stored by the TCM."
WHERE = f"workflow_id={SCOPE.workflow_id}"
ADDRESSES = {  # of every route that answers to GET, and what it may answer
    "answer_events": (f"/api/rag/answer_events?progress_id=c0b7d9f1e86a4b52a1f3d84e9b6c7a05&{WHERE}", 200),
    "index_job": ("/api/index_jobs/none", 404),
    "get_document_summary": (f"/api/get_document_summary?document_id=manual&{WHERE}", 200),
    "documents": (f"/api/documents?{WHERE}", 200),
    "document": (f"/api/document?document_id=manual&{WHERE}", 200),
    "document_page": (f"/api/document_page?document_id=manual&page=1&{WHERE}", 404),
    "document_original": (f"/api/document_original?document_id=manual&{WHERE}", 404),
    "graph_query": (f"/api/graph_query?operation=neighbors&entity=P0700&{WHERE}", 200),
    "list_queries": (f"/rag/queries?{WHERE}", 200),
    "get_query": (f"/rag/queries/1?{WHERE}", 200),
    "augmented_prompt": (f"/rag/queries/1/augment/prompt?{WHERE}", 200),
    "list_results": (f"/rag/queries/1/results?{WHERE}", 200),
    "get_result": (f"/rag/queries/1/results/1?{WHERE}", 200),
    "answer_prompt": (f"/rag/queries/1/prompt?{WHERE}", 404),
    "rated_answers": (f"/rag/ratings?{WHERE}", 200),
    "usage": (f"/rag/usage?{WHERE}", 200),
    "cited_pages": (f"/rag/queries/1/evidence?{WHERE}", 404),
    "list_presets": ("/rag/presets", 200),
    "list_prompts": ("/rag/prompts", 200),
    "health": ("/api/health", 200),
    "openapi": ("/api/openapi.json", 200),
}
SUMMARY = f"/api/get_document_summary?document_id=manual&{WHERE}"
POSTED = {"document_id": "manual", "workflow_id": SCOPE.workflow_id}


class Service:
    """The app over real parts in memory, with a model that counts, a document, and a query that was answered."""

    def __init__(self) -> None:
        said = {"query_expansion": json.dumps({"queries": ["Which part stores P0700?"], "hyde": FACT})}
        self.llm = ScriptedLLM(summary="A summary.", rag_augmentation=FACT, **said)
        self.kit: Kit = asyncio.run(self._build())
        self.host = Host(function_app.build_app(lambda: Settings(data_dir=None), lambda: self.kit))
        self.client = Client(self.host)
        self._post("/rag/expansion/run", original_query="What stores P0700?")
        for step in ("embed", "retrieve", "consolidate", "augment/run"):
            self._post(f"/rag/queries/1/{step}")

    async def _build(self) -> Kit:
        parts = kit(await filled(chunk("c1", FACT, "P0700")), llm=self.llm)
        return replace(parts, archive=SqlArchive(ArchiveDatabase(None)), keep_runs=True)

    def _post(self, path: str, **fields: Any) -> None:
        reply = self.client.post(path, json={"workflow_id": SCOPE.workflow_id, **fields})
        assert reply.status_code == 200, reply.data

    def state(self) -> Any:
        """All that a call may change: the document, what is saved, and what the model was asked."""

        async def load() -> Any:
            archive, store = self.kit.archive, self.kit.index.store
            return (
                await store.load_document("manual", SCOPE),
                await store.load_corpus_version(SCOPE),
                await archive.list_queries(SCOPE, limit=100),
                await archive.list_results(1, SCOPE),
                await archive.load_edited_presets(),
                await archive.load_edited_prompts(),
                len(self.llm.prompts),
            )

        return asyncio.run_coroutine_threadsafe(load(), self.host._loop).result()


@pytest.fixture
def service() -> Any:
    made = Service()
    yield made
    made.host.close()


def test_no_get_changes_anything_or_asks_a_model(service: Service) -> None:
    """Every route of the table that answers to GET; a new one has to be added here."""
    assert set(ADDRESSES) == {route.name for route in ROUTES if "GET" in route.methods}
    before = service.state()
    answered = {name: service.client.get(path).status_code for name, (path, _) in ADDRESSES.items()}
    assert answered == {name: status for name, (_, status) in ADDRESSES.items()}
    assert service.state() == before


def test_a_get_gives_the_stored_summary_or_the_documents_own_sentences(service: Service) -> None:
    """S1-58: only a POST writes one, and refreshes it."""
    got: Any = service.client.get(SUMMARY).get_json()
    assert (got["summary"], got["origin"]) == (FACT, "extractive")
    assert [warning["code"] for warning in got["warnings"]] == ["summary_not_written"]
    written: Any = service.client.post("/api/get_document_summary", json=POSTED).get_json()
    assert (written["summary"], written["origin"]) == ("A summary.", "model")
    stored: Any = service.client.get(SUMMARY).get_json()
    assert (stored["summary"], stored["origin"], stored["warnings"]) == ("A summary.", "stored", [])


def test_a_refresh_by_get_is_refused_and_told_how(service: Service) -> None:
    """An image on a page of another site could have every summary written anew, at the operator's cost."""
    before = service.state()
    refused = service.client.get(f"{SUMMARY}&refresh=true", headers={"Sec-Fetch-Site": "cross-site"})
    error = refused.get_json()["error"]  # type: ignore[index]
    assert (refused.status_code, error["field"]) == (400, "refresh")
    assert "POST" in error["message"]
    assert service.state() == before
    refreshed = service.client.post("/api/get_document_summary", json={**POSTED, "refresh": True})
    assert refreshed.status_code == 200
    assert service.state() != before
