"""The format compact over HTTP: replies for a model to read."""

from collections.abc import Iterator
from typing import Any

import pytest
from werkzeug.test import Client

import function_app
from functions.http import EVENT_STREAM
from functions.operations import load_operation
from functions.routes import ROUTES
from local_emulator.host import Host
from rag_core.core.settings import Settings
from tests.functions.contract import check_reply

NOTES = "P0700 is stored by the TCM. P0700 often stands beside P0715, the input speed sensor."
COMPACT_CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "consult_rag": ("api/consult_rag", {"query": "What stores P0700?", "pipeline": "standard"}),
    "ask": ("api/rag/ask", {"query": "What stores P0700?", "pipeline": "standard"}),
    "documents": ("api/documents", {}),
    "document": ("api/document", {"document_id": "notes"}),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    settings = Settings(data_dir=None, models_dir=tmp_path_factory.mktemp("no-models"))
    host = Host(function_app.build_app(lambda: settings))
    client = Client(host)
    indexed = client.post("/api/index_document", json={"document_id": "notes", "title": "Notes", "content": NOTES})
    assert indexed.status_code == 200
    yield client
    host.close()


def test_every_operation_with_a_format_is_tried() -> None:
    assert {route.name for route in ROUTES if load_operation(route).compact} == set(COMPACT_CALLS)


@pytest.mark.parametrize("name", COMPACT_CALLS)
def test_a_compact_reply_is_as_openapi_describes_it(client: Client, name: str) -> None:
    path, body = COMPACT_CALLS[name]
    reply = client.post(f"/{path}", json={**body, "format": "compact"})
    assert reply.status_code == 200
    operation = load_operation(next(route for route in ROUTES if route.name == name))
    assert operation.compact
    check_reply(operation.compact.__name__, reply.json)
    assert "notes" in str(reply.json)
    assert len(reply.data) < len(client.post(f"/{path}", json=body).data)


def test_counted_values_stay_in_a_compact_reply(client: Client) -> None:
    body = {"query": "codes", "pipeline": "facets", "facets": ["document_id"], "format": "compact"}
    reply = client.post("/api/consult_rag", json=body).json
    check_reply("CompactConsultReply", reply)
    assert reply["facets"] == {"document_id": {"notes": 1}}


def test_a_reply_in_events_is_never_compact(client: Client) -> None:
    body = {"query": "What stores P0700?", "format": "compact"}
    reply = client.post("/api/rag/ask", json=body, headers={"accept": EVENT_STREAM})
    assert (reply.status_code, reply.json["error"]["field"]) == (400, "format")


@pytest.mark.parametrize(("path", "field"), [("documents", "limit"), ("document", "first_passage")])
def test_what_only_the_compact_format_heeds_is_warned_of(client: Client, path: str, field: str) -> None:
    reply = client.post(f"/{COMPACT_CALLS[path][0]}", json={**COMPACT_CALLS[path][1], field: 1}).json
    assert [warning["code"] for warning in reply["warnings"]] == ["no_effect"]
