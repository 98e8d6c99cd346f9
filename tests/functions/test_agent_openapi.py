"""The OpenAPI description for agents, as a server gives it: absolute, small, of what only reads, and as it behaves."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from werkzeug.test import Client

import function_app
from functions.operations import load_operation
from functions.routes import ROUTES
from local_emulator.host import Host
from rag_core.core.settings import Settings
from rag_core.text.tokens import count_tokens

NOTES = "P0700 is stored by the TCM. P0700 often stands beside P0715, the input speed sensor."
MOST_TOKENS = 9_000  # an agent may be shown all of it


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    settings = Settings(data_dir=None, models_dir=tmp_path_factory.mktemp("no-models"))
    host = Host(function_app.build_app(lambda: settings))
    client = Client(host)
    assert client.post("/api/index_document", json={"document_id": "notes", "content": NOTES}).status_code == 200
    yield client
    host.close()


@pytest.fixture(scope="module")
def described(client: Client) -> Any:
    return client.get("/api/openapi.json?for=agents", base_url="http://127.0.0.1:7071").json


def test_the_server_is_the_one_that_was_asked(client: Client, described: Any) -> None:
    assert described["servers"] == [{"url": "http://127.0.0.1:7071"}]
    whole = client.get("/api/openapi.json", base_url="http://localhost:9").json
    assert (whole["openapi"], whole["servers"]) == ("3.1.0", [{"url": "http://localhost:9"}])


def test_agents_are_not_offered_the_events_of_an_answer(described: Any) -> None:
    """No agent gets a reply in events, so the field that names them is left out."""
    assert "progress_id" not in json.dumps(described)


def test_agents_are_offered_what_only_reads(described: Any) -> None:
    offered = {path.removeprefix("/"): list(methods) for path, methods in described["paths"].items()}
    reading = {route.path for route in ROUTES if route.tool_hints and route.tool_hints["readOnlyHint"]}
    assert offered == {key: ["post"] for key in reading}
    ids = {item["post"]["operationId"] for item in described["paths"].values()}
    assert {"ask", "consult_rag", "list_documents", "read_document"} <= ids
    assert count_tokens(json.dumps(described)) < MOST_TOKENS


def test_it_is_openapi_3_0(described: Any) -> None:
    """Nothing is left of JSON Schema 2020-12 that 3.0 does not have; validated whole by evals/agent_doors.py."""
    assert described["openapi"] == "3.0.3"
    text = json.dumps(described)
    assert not [word for word in ("const", "patternProperties", "propertyNames", "$defs") if f'"{word}":' in text]
    assert '{"type": "null"}' not in text
    assert "$ref" not in json.dumps([item["post"]["requestBody"] for item in described["paths"].values()])


@pytest.mark.parametrize("route", [route for route in ROUTES if load_operation(route).compact], ids=lambda r: r.name)
def test_the_example_of_an_operation_is_answered_as_it_says(client: Client, described: Any, route: Any) -> None:
    operation = described["paths"][f"/{route.path}"]["post"]
    example = operation["requestBody"]["content"]["application/json"]["example"]
    body = {**example, **({"document_id": "notes"} if "document_id" in example else {})}
    assert body["format"] == "compact"
    reply = client.post(f"/{route.path}", json=body)
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema_rs.validate({**schema, "components": described["components"]}, _drop_nulls(reply.json))


def _drop_nulls(value: Any) -> Any:
    """Stand in for `nullable`, which JSON Schema does not know: the one field that can be null is given a number."""
    return {**value, "pages": value["pages"] or 0} if "pages" in value else value


def test_another_audience_is_refused(client: Client) -> None:
    reply = client.get("/api/openapi.json?for=people")
    assert (reply.status_code, reply.json["error"]["field"]) == (400, "for")
