"""A document that the index took in part is answered with 207, and says which chunks are missing."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import azure.functions as func
import pytest
from werkzeug.test import Client

from functions import http
from functions.openapi import build_openapi
from functions.routes import ROUTES
from local_emulator.host import Host
from rag_core.core.index import Index
from rag_core.core.ports import ReplacementResult
from rag_core.core.settings import Settings
from rag_core.stores.embedded import EmbeddedStore
from tests.fakes import ConceptEmbedder, kit
from tests.functions.contract import check_reply


class Failing(EmbeddedStore):
    """Takes everything, and says that it has not."""

    async def replace_document(self, document: Any, chunks: Any, *more: Any, **named: Any) -> ReplacementResult:
        done = await super().replace_document(document, chunks, *more, **named)
        return replace(done, failed=tuple(chunk.id for chunk in chunks))


@pytest.fixture
def client() -> Iterator[Client]:
    app = func.FunctionApp()
    parts = kit(Index(Failing(None), ConceptEmbedder()))
    http.mount_operations(app, ROUTES, http.Service(lambda: Settings(data_dir=None), lambda: parts))
    host = Host(app)
    yield Client(host)
    host.close()


def test_a_document_indexed_in_part_is_answered_with_207(client: Client) -> None:
    """C51: every failed item is named, and the reply says what stands in for the new version."""
    reply = client.post("/api/index_document", json={"document_id": "notes", "content": "P0700 is stored by the TCM."})
    body = json.loads(reply.data)
    check_reply("IndexReply", body)
    assert (reply.status_code, body["success"], len(body["failed"])) == (207, True, body["chunks"])
    assert [degraded["code"] for degraded in body["degraded"]] == ["index_partial"]


def test_207_is_documented_where_it_is_answered() -> None:
    described = {
        path: set(item["post"]["responses"]) for path, item in build_openapi()["paths"].items() if "post" in item
    }
    partly = {path for path, statuses in described.items() if "207" in statuses}
    assert partly == {"/api/index_document", "/api/rag/ingest"}
