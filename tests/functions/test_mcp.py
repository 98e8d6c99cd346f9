"""The Model Context Protocol over the same functions: what a model's client is told is what an HTTP caller is told."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.client import Client as McpClient
from mcp.client.streamable_http import streamable_http_client
from werkzeug.test import Client, TestResponse

import function_app
from functions import mcp, openapi
from functions.mcp import BATCHING_MCP_VERSION, CURRENT_MCP_VERSION, HANDSHAKE_MCP_VERSIONS
from functions.operations import load_operation
from functions.requests import EVENT_FIELDS
from functions.routes import ROUTES
from functions.strict_json import MAX_BODY_BYTES
from local_emulator.host import Host, run_host
from rag_core.core.settings import Settings
from tests.functions.test_http import OID, credential
from tests.varying_fields import drop_varying_fields

TOOLS = {route.tool_name or route.name: route for route in ROUTES if route.tool_hints is not None}
NOTES = "P0700 is stored by the TCM. P0700 often stands beside P0715, the input speed sensor."
CALLS: dict[str, dict[str, Any]] = {
    "consult_rag": {"query": "What stores P0700?", "pipeline": "standard", "filters": {"document_id": ["notes"]}},
    "extract_citations": {"text": "P0700 is stored by the TCM. It is blue."},
    "graph_query": {"operation": "neighbors", "entity": "P0700"},
    "get_document_summary": {"document_id": "notes"},
    "link_schema": {"query": "What stores P0700?"},
    "ask": {"query": "What stores P0700?", "pipeline": "standard"},
    "list_documents": {},
    "read_document": {"document_id": "notes"},
}
SHOP = {"document_id": "shop", "source": "database:shop", "content": "A database without a table."}
REFUSED: dict[str, dict[str, Any]] = {
    "consult_rag": {"query": "   "},
    "extract_citations": {"text": "x", "user_id": "someone"},
    "graph_query": {"operation": "neighbors", "entity": "P9999"},
    "get_document_summary": {"document_id": 5},
    "link_schema": {"query": "What stores P0700?", "database": "elsewhere"},
    "ask": {"query": "What stores P0700?", "pipeline": "nonsense"},
    "list_documents": {"limit": 0},
    "read_document": {"document_id": "elsewhere"},
}
META = {mcp.META_VERSION_FIELD: CURRENT_MCP_VERSION, mcp.META_CAPABILITIES_FIELD: {}}
ACCEPT = "application/json, text/event-stream"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Without models, and with a platform in front that says who calls."""
    return Settings(data_dir=None, models_dir=tmp_path_factory.mktemp("no-models"), trust_principal=True)


@pytest.fixture(scope="module")
def client(app: Settings) -> Iterator[Client]:
    host = Host(function_app.build_app(lambda: app))
    client = Client(host)
    indexed = client.post("/api/index_document", json={"document_id": "notes", "title": "Notes", "content": NOTES})
    assert indexed.status_code == 200
    assert client.post("/api/index_document", json=SHOP).status_code == 200
    yield client
    host.close()


def post(client: Client, message: Any, **headers: str) -> TestResponse:
    """A body as it stands, or a message as JSON."""
    named = {"accept": ACCEPT, "content-type": "application/json"}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return client.post("/api/mcp", data=body, headers=named)


def ask(
    client: Client, method: str, params: Any = None, version: str | None = CURRENT_MCP_VERSION, **headers: str
) -> TestResponse:
    """A request as a client of this version makes it."""
    given = dict(params or {})
    if version:
        headers = {"mcp_protocol_version": version, **headers}
    if version == CURRENT_MCP_VERSION:
        mirrored = {"mcp_method": method} | ({"mcp_name": given["name"]} if "name" in given else {})
        headers, given = mirrored | headers, {**given, "_meta": META}
    return post(client, {"jsonrpc": "2.0", "id": 7, "method": method, "params": given}, **headers)


def called(
    client: Client, name: str, arguments: Any, version: str | None = CURRENT_MCP_VERSION, **headers: str
) -> dict[str, Any]:
    reply = ask(client, "tools/call", {"name": name, "arguments": arguments}, version, **headers)
    assert (reply.status_code, reply.json["id"]) == (200, 7), reply.data
    result: dict[str, Any] = reply.json["result"]
    return result


def documents(client: Client, asked: Any, headers: dict[str, str]) -> list[str]:
    """The ids of the documents of which passages are found."""
    found = called(client, "consult_rag", asked, **headers)["structuredContent"]["documents"]
    return [document["document_id"] for document in found.values()]


def as_over_http(name: str, arguments: Any) -> tuple[str, Any]:
    """The address and the body of a call: a model is answered compactly where it does not say otherwise."""
    compact = {"format": "compact"} if load_operation(TOOLS[name]).compact else {}
    return f"/{TOOLS[name].path}", {**compact, **arguments}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_real_client_lists_and_calls_the_tools(app: Settings, mode: Any) -> None:
    """Over a socket, with a function key, in the version of today and by the handshake of those before."""
    with run_host(function_app.build_app(lambda: app), key="k") as url:
        async with httpx2.AsyncClient(headers={"x-functions-key": "k"}, timeout=60) as http:
            document = {"document_id": "notes", "content": NOTES}
            assert (await http.post(f"{url}/api/index_document", json=document)).status_code == 200
            assert (await http.post(f"{url}/api/index_document", json=SHOP)).status_code == 200
            async with McpClient(streamable_http_client(f"{url}/api/mcp", http_client=http), mode=mode) as talk:
                assert talk.protocol_version == (CURRENT_MCP_VERSION if mode == "auto" else HANDSHAKE_MCP_VERSIONS[0])
                offered = (await talk.list_tools()).tools
                for tool in offered:
                    operation = load_operation(TOOLS[tool.name])
                    assert tool.description == f"{operation.summary} {operation.advice}"
                assert [tool.name for tool in offered] == list(TOOLS)
                assert "call ask" in (talk.instructions or "")
                for name, arguments in CALLS.items():
                    told = await talk.call_tool(name, arguments)
                    path, body = as_over_http(name, arguments)
                    over_http = (await http.post(f"{url}{path}", json=body)).json()
                    assert told.is_error is False
                    assert drop_varying_fields(told.structured_content) == drop_varying_fields(over_http)
                listed = (await talk.list_resources()).resources
                assert [resource.name for resource in listed] == ["notes", "database:shop"]
                (read,) = (await talk.read_resource(listed[0].uri)).contents
                assert read.text == NOTES
                (template,) = (await talk.list_resource_templates()).resource_templates
                assert template.uri_template.startswith("rag://documents/")
                refused = await talk.call_tool("graph_query", {"operation": "neighbors"})
                assert refused.is_error is True
                assert refused.structured_content["error"]["field"] == "entity"


def test_the_tools_are_those_of_the_issue() -> None:
    assert set(TOOLS) == set(CALLS)
    for tool in TOOLS.values():
        assert "POST" in tool.methods, "a call is a POST"
        assert load_operation(tool).required_role is None
        assert load_operation(tool).advice
        assert "{" not in tool.path


@pytest.mark.parametrize("name", CALLS)
def test_a_call_answers_with_the_body_of_http(client: Client, name: str) -> None:
    """As structured content and as text."""
    told = called(client, name, CALLS[name])
    path, body = as_over_http(name, CALLS[name])
    over_http = client.post(path, json=body)
    assert over_http.status_code == 200
    assert drop_varying_fields(told["structuredContent"]) == drop_varying_fields(over_http.json)
    assert [json.loads(part["text"]) for part in told["content"]] == [told["structuredContent"]]
    assert told["isError"] is False


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_a_result_with_the_error_contract(client: Client, name: str) -> None:
    """A model can mend its arguments by what it reads; it is not told of them as a broken protocol."""
    told = called(client, name, REFUSED[name])
    path, body = as_over_http(name, REFUSED[name])
    over_http = client.post(path, json=body)
    assert over_http.status_code >= 400
    assert told["isError"] is True
    assert drop_varying_fields(told["structuredContent"]) == drop_varying_fields(over_http.json)


def test_a_fault_of_ours_is_a_result_that_tells_nothing(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret number 42")

    monkeypatch.setattr("rag_core.rag.RAG.graph", broken)
    told = called(client, "graph_query", CALLS["graph_query"])
    assert (told["isError"], told["structuredContent"]["error"]["code"]) == (True, "internal")
    assert "secret" not in json.dumps(told)


def test_a_caller_sees_only_what_is_theirs(client: Client) -> None:
    """The platform's credential goes with the call, and an argument cannot name another."""
    ann, bob = ({"x-ms-client-principal": credential((OID, user))} for user in ("ann", "bob"))
    diary = {"document_id": "diary", "content": "P0815 is what Ann keeps to herself. P0815 is a secret of hers."}
    assert client.post("/api/index_document", json=diary, headers=ann).status_code == 200
    asked = {"query": "What is P0815?", "pipeline": "standard"}
    seen = {who: documents(client, asked, headers) for who, headers in (("ann", ann), ("bob", bob), ("nobody", {}))}
    assert "diary" in seen["ann"]
    assert "diary" not in seen["bob"] + seen["nobody"]
    assert "diary" in str(ask(client, "resources/list", **ann).json)
    assert "diary" not in str(ask(client, "resources/list", **bob).json)
    uri = "rag://documents/default/diary"
    assert ask(client, "resources/read", {"uri": uri}, mcp_name=uri, **ann).status_code == 200
    assert (
        ask(client, "resources/read", {"uri": uri}, mcp_name=uri, **bob).json["error"]["data"]["code"]
        == "document_not_found"
    )
    hidden = called(client, "get_document_summary", {"document_id": "diary"}, **bob)
    absent = called(client, "get_document_summary", {"document_id": "nothing"}, **bob)
    assert hidden["structuredContent"]["error"] == absent["structuredContent"]["error"]
    claimed = called(client, "consult_rag", {**asked, "user_id": "ann"}, **bob)
    assert claimed["structuredContent"]["error"]["field"] == "user_id"


def test_a_workflow_claim_holds(app: Settings, tmp_path_factory: pytest.TempPathFactory) -> None:
    chosen = Settings(data_dir=None, models_dir=app.models_dir, trust_principal=True, workflow_claim="workflow")
    host = Host(function_app.build_app(lambda: chosen))
    garage = {"x-ms-client-principal": credential((OID, "ann"), ("workflow", "garage"))}
    try:
        for workflow, code in (("garage", None), ("other", "workflow_not_found")):
            asked = {"query": "P0700?", "pipeline": "standard", "workflow_id": workflow}
            told = called(Client(host), "consult_rag", asked, **garage)
            assert told["structuredContent"].get("error", {}).get("code") == code
    finally:
        host.close()


def test_it_wants_the_key_as_every_operation_does(app: Settings) -> None:
    host = Host(function_app.build_app(lambda: app), key="k")
    try:
        assert ask(Client(host), "tools/list").status_code == 401
        assert ask(Client(host), "tools/list", x_functions_key="k").status_code == 200
    finally:
        host.close()


def test_the_schema_of_a_tool_is_the_one_in_openapi(client: Client) -> None:
    """One source: the request model. A client that checks arguments by it refuses nothing that is right."""
    known = openapi.build_openapi()["components"]["schemas"]
    listed = ask(client, "tools/list").json["result"]
    assert listed["resultType"] == "complete"
    assert (listed["ttlMs"] > 0, listed["cacheScope"]) == (True, "public")
    for tool in listed["tools"]:
        inside = json.loads(json.dumps(tool["inputSchema"]).replace("#/$defs/", "#/components/schemas/"))
        parts = inside.pop("$defs", {})
        model = load_operation(TOOLS[tool["name"]]).request
        assert model
        if "format" in inside["properties"]:
            assert inside["properties"]["format"].pop("default") == "compact"
            inside["properties"]["format"]["default"] = "full"
        schema = known[model.__name__]
        told = {name: one for name, one in schema["properties"].items() if name not in EVENT_FIELDS}
        assert inside == {**schema, "properties": told}
        assert parts == {name: known[name] for name in parts}
        jsonschema_rs.meta.validate(tool["inputSchema"])
        jsonschema_rs.validate(tool["inputSchema"], CALLS[tool["name"]])
        assert tool["annotations"] == TOOLS[tool["name"]].tool_hints


def test_an_address_can_name_the_workflow_of_calls_that_name_none(client: Client) -> None:
    """A client's configuration chooses the workflow, and a model need not know of it."""
    document = {"document_id": "in-garage", "content": "P0815 is the upshift switch.", "workflow_id": "garage"}
    assert client.post("/api/index_document", json=document).status_code == 200
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_documents", "arguments": {}}}
    headers = {"accept": ACCEPT, "content-type": "application/json"}
    told = client.post("/api/mcp?workflow_id=garage", json=message, headers=headers).json["result"]["structuredContent"]
    assert told["documents"] == ["in-garage in-garage\nP0815 is the upshift switch."]
    message = {"jsonrpc": "2.0", "id": 1, "method": "resources/list", "params": {}}
    listed = client.post("/api/mcp?workflow_id=garage", json=message, headers=headers).json["result"]["resources"]
    assert [resource["uri"] for resource in listed] == ["rag://documents/garage/in-garage"]


def test_resources_come_in_pages(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("functions.mcp_resources.RESOURCES_PER_PAGE", 1)
    seen, params = list[str](), dict[str, Any]()
    while True:
        result = ask(client, "resources/list", params).json["result"]
        seen += [resource["uri"] for resource in result["resources"]]
        if "nextCursor" not in result:
            break
        params = {"cursor": result["nextCursor"]}
    assert len(seen) == len(set(seen)) >= 2


def test_a_resource_that_goes_on_says_how_to_read_on(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("functions.mcp_resources.MAX_RESOURCE_TOKENS", 100)
    content = "\n\n".join(f"# Part {n}\n\nThe valve {n} opens at {n} bar. " + "It is old. " * 600 for n in range(3))
    assert client.post("/api/index_document", json={"document_id": "long", "content": content}).status_code == 200
    uri = "rag://documents/default/long"
    (read,) = ask(client, "resources/read", {"uri": uri}, mcp_name=uri).json["result"]["contents"]
    assert read["text"].endswith("(The document goes on: read_document with first_passage 1.)")


ORIGINS = {
    "http://localhost:3000": 200,
    "http://127.0.0.1:7071": 200,
    "http://[::1]:80": 200,
    "https://evil.example": 403,
    "http://localhost.evil.example": 403,
    "http://127.0.0.1@evil.example": 403,
    "http://[::1": 403,
    "null": 403,
    "": 403,
}


@pytest.mark.parametrize(
    ("site", "status"), {"cross-site": 403, "same-site": 403, "same-origin": 200, "none": 200}.items()
)
def test_a_page_of_another_site_is_refused_also_without_an_origin(client: Client, site: str, status: int) -> None:
    """A browser says by Sec-Fetch-Site whose page asks; another port of this machine is another's."""
    assert ask(client, "tools/list", **{"sec-fetch-site": site}).status_code == status


@pytest.mark.parametrize(("origin", "status"), ORIGINS.items())
def test_a_page_of_another_origin_is_refused(client: Client, origin: str, status: int) -> None:
    """DNS rebinding: the page's name leads here, so that Host says what the page likes; Origin does not."""
    reply = ask(client, "tools/list", origin=origin, host=origin.rpartition("/")[2] or "x")
    assert reply.status_code == status


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_there_is_no_stream_to_open_and_no_session_to_end(client: Client, method: str) -> None:
    reply = client.open("/api/mcp", method=method, headers={"accept": "text/event-stream"})
    assert (reply.status_code, reply.headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize("accept", ["text/event-stream, */*", "text/event-stream, application/*"])
def test_a_tool_that_can_tell_events_replies_with_json_to_a_client_that_takes_both(client: Client, accept: str) -> None:
    """A client that takes anything, and names events, has a result and no failure of the server."""
    for arguments in (CALLS["ask"], {**CALLS["ask"], "format": "full"}):
        assert called(client, "ask", arguments, accept=accept)["isError"] is False


ACCEPTED = {ACCEPT: 200, "application/json": 200, "*/*": 200, "application/*;q=0.5": 200, "text/event-stream": 406}


@pytest.mark.parametrize(("accept", "status"), ACCEPTED.items())
def test_the_answer_is_json_or_none(client: Client, accept: str, status: int) -> None:
    assert ask(client, "tools/list", accept=accept).status_code == status


@pytest.mark.parametrize("kind", ["text/plain", "application/jsonx", ""])
def test_a_body_must_be_said_to_be_json(client: Client, kind: str) -> None:
    assert ask(client, "tools/list", content_type=kind).status_code == 415


def test_no_session_is_given_and_none_is_looked_at(client: Client) -> None:
    reply = ask(client, "tools/list", mcp_session_id="made-up", last_event_id="9")
    assert reply.status_code == 200
    assert "mcp-session-id" not in reply.headers


def test_discovery_names_the_versions_and_what_there_is(client: Client) -> None:
    told = ask(client, "server/discover").json["result"]
    assert told["supportedVersions"] == [CURRENT_MCP_VERSION, *HANDSHAKE_MCP_VERSIONS]
    assert told["capabilities"] == {"tools": {}, "resources": {}}
    assert told["_meta"][f"{mcp.META_PREFIX}serverInfo"]["name"] == "azure-rag"


AGREED = {version: version for version in HANDSHAKE_MCP_VERSIONS} | {
    "2024-11-05": HANDSHAKE_MCP_VERSIONS[0],
    CURRENT_MCP_VERSION: HANDSHAKE_MCP_VERSIONS[0],
    "x": HANDSHAKE_MCP_VERSIONS[0],
}


@pytest.mark.parametrize(("wanted", "agreed"), AGREED.items())
def test_the_handshake_agrees_on_a_version(client: Client, wanted: str, agreed: str) -> None:
    asked = {"protocolVersion": wanted, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    told = ask(client, "initialize", asked, version=None).json["result"]
    assert (told["protocolVersion"], told["capabilities"]) == (agreed, {"tools": {}, "resources": {}})
    done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert post(client, done, mcp_protocol_version=agreed).status_code == 202


@pytest.mark.parametrize("version", [None, *HANDSHAKE_MCP_VERSIONS])
def test_older_versions_ping_and_are_told_nothing_of_newer_ones(client: Client, version: str | None) -> None:
    assert ask(client, "ping", version=version).json == {"jsonrpc": "2.0", "id": 7, "result": {}}
    told = called(client, "graph_query", CALLS["graph_query"], version)
    assert set(told) == {"content", "structuredContent", "isError"}


FAULTS = {  # method, parameters, headers, and the code of the error
    "an unknown method": ("prompts/list", {}, {}, -32601),
    "a resource of nobody": (
        "resources/read",
        {"uri": "file:///etc/passwd"},
        {"mcp_name": "file:///etc/passwd"},
        -32602,
    ),
    "another resource in the header": ("resources/read", {"uri": "rag://documents/a/b"}, {"mcp_name": "x"}, -32020),
    "a cursor of nobody": ("resources/list", {"cursor": "x"}, {}, -32602),
    "a cursor of a list in one page": ("tools/list", {"cursor": "x"}, {}, -32602),
    "a ping of before": ("ping", {}, {}, -32601),
    "a handshake of before": ("initialize", {}, {}, -32601),
    "an unknown tool": ("tools/call", {"name": "delete_document"}, {}, -32602),
    "a tool of no name": ("tools/call", {}, {}, -32602),
    "arguments that are no object": ("tools/call", {"name": "graph_query", "arguments": []}, {}, -32602),
    "another method in the header": ("tools/list", {}, {"mcp_method": "tools/call"}, -32020),
    "another name in the header": ("tools/call", {"name": "graph_query"}, {"mcp_name": "consult_rag"}, -32020),
    "a broken name in the header": ("tools/call", {"name": "graph_query"}, {"mcp_name": "=?base64?%%?="}, -32020),
    "another version in the header": ("tools/list", {}, {"mcp_protocol_version": HANDSHAKE_MCP_VERSIONS[0]}, -32020),
}


@pytest.mark.parametrize(("method", "params", "headers", "code"), FAULTS.values(), ids=FAULTS)
def test_a_breach_of_the_protocol_has_its_code(
    client: Client, method: str, params: Any, headers: Any, code: int
) -> None:
    reply = ask(client, method, params, **headers)
    assert (reply.json["error"]["code"], reply.json["id"]) == (code, 7)
    assert reply.status_code == (404 if code == -32601 else 400)


@pytest.mark.parametrize("field", META)
def test_a_request_of_today_says_its_version_and_what_its_client_can(client: Client, field: str) -> None:
    meta = {name: value for name, value in META.items() if name != field}
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {"_meta": meta}}
    reply = post(client, message, mcp_protocol_version=CURRENT_MCP_VERSION, mcp_method="tools/list")
    assert (reply.status_code, reply.json["error"]["code"]) == (400, -32602)


def test_a_version_that_is_not_spoken_is_answered_with_those_that_are(client: Client) -> None:
    meta = {**META, mcp.META_VERSION_FIELD: "1900-01-01"}
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {"_meta": meta}}
    reply = post(client, message, mcp_protocol_version="1900-01-01", mcp_method="tools/list")
    assert (reply.status_code, reply.json["error"]["code"]) == (400, -32022)
    assert reply.json["error"]["data"] == {
        "supported": [CURRENT_MCP_VERSION, *HANDSHAKE_MCP_VERSIONS],
        "requested": "1900-01-01",
    }


def test_a_notification_in_a_version_that_is_not_spoken_is_refused(client: Client) -> None:
    reply = post(client, {"jsonrpc": "2.0", "method": "notifications/cancelled"}, mcp_protocol_version="1900-01-01")
    assert (reply.status_code, reply.json["error"]["code"], reply.json["id"]) == (400, -32022, None)


@pytest.mark.parametrize("version", HANDSHAKE_MCP_VERSIONS)
def test_a_resource_that_is_not_there_has_the_code_of_its_version(client: Client, version: str) -> None:
    """-32002, as the specification of these versions says; today's has the code of wrong parameters."""
    uri = "rag://documents/default/none"
    error = ask(client, "resources/read", {"uri": uri}, version).json["error"]
    assert (error["code"], error["data"]["uri"], error["data"]["code"]) == (-32002, uri, "document_not_found")
    today = ask(client, "resources/read", {"uri": uri}, mcp_name=uri).json["error"]
    assert today["code"] == -32602


def test_a_name_that_no_header_can_hold_comes_encoded(client: Client) -> None:
    encoded = f"=?base64?{base64.b64encode(b'graph_query').decode()}?="
    assert called(client, "graph_query", CALLS["graph_query"], mcp_name=encoded)["isError"] is False


def test_an_unknown_method_of_before_is_not_an_address_that_is_gone(client: Client) -> None:
    """404 meant a session that had ended: a client would begin anew for ever."""
    reply = ask(client, "prompts/list", version=HANDSHAKE_MCP_VERSIONS[0])
    assert (reply.status_code, reply.json["error"]["code"]) == (200, -32601)


MALFORMED = {
    b"": -32700,
    b"{": -32700,
    b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}': -32700,
    b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": NaN}}': -32700,
    b"[" * 100_000: -32700,
    b"5": -32600,
    b"null": -32600,
    b"{}": -32600,
    b'{"id": 1, "method": "ping"}': -32600,
    b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}': -32600,
    b'{"jsonrpc": "2.0", "id": 1, "method": 5}': -32600,
    b'{"jsonrpc": "2.0", "id": null, "method": "ping"}': -32600,
    b'{"jsonrpc": "2.0", "id": true, "method": "ping"}': -32600,
    b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}': -32600,
    b'{"jsonrpc": "2.0", "id": [1], "method": "ping"}': -32600,
    b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}': -32600,
    b'{"jsonrpc": "2.0", "id": 1, "result": {}}': -32600,
}


@pytest.mark.parametrize(("body", "code"), MALFORMED.items(), ids=lambda x: str(x)[:50])
def test_what_is_no_message_is_refused(client: Client, body: bytes, code: int) -> None:
    reply = post(client, body)
    assert (reply.status_code, reply.json["error"]["code"], reply.json["jsonrpc"]) == (400, code, "2.0")


def test_a_message_over_the_limit_is_refused(client: Client) -> None:
    assert post(client, b" " * (MAX_BODY_BYTES + 1)).status_code == 413


PING, NOTE = {"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "method": "notifications/initialized"}
BATCHES: dict[str, tuple[list[Any], list[Any] | None]] = {
    "two requests": ([PING, {**PING, "id": "b"}], [1, "b"]),
    "a request and a notification": ([PING, NOTE], [1]),
    "notifications": ([NOTE, NOTE], None),
    "a request and nonsense": ([PING, 5], [1, None]),
}


@pytest.mark.parametrize(("messages", "ids"), BATCHES.values(), ids=BATCHES)
def test_a_batch_is_answered_in_the_version_that_has_them(client: Client, messages: Any, ids: Any) -> None:
    reply = post(client, messages, mcp_protocol_version=BATCHING_MCP_VERSION)
    assert reply.status_code == (200 if ids else 202)
    assert ids is None or [told["id"] for told in reply.json] == ids


@pytest.mark.parametrize("version", [CURRENT_MCP_VERSION, *HANDSHAKE_MCP_VERSIONS[:2]])
def test_a_batch_is_refused_in_the_versions_that_have_none(client: Client, version: str) -> None:
    assert post(client, [PING], mcp_protocol_version=version).json["error"]["code"] == -32600
    assert post(client, [], mcp_protocol_version=BATCHING_MCP_VERSION).status_code == 400
    assert (
        post(client, [PING] * (mcp.MAX_BATCH_MESSAGES + 1), mcp_protocol_version=BATCHING_MCP_VERSION).status_code
        == 400
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
METHODS = st.sampled_from(
    ["initialize", "ping", "server/discover", "tools/list", "tools/call", "resources/list", "resources/read", "x"]
)
PARAMS = JSON | st.fixed_dictionaries(
    {}, optional={"name": st.sampled_from([*TOOLS]) | JSON, "arguments": JSON, "_meta": JSON | st.just(META)}
)
MESSAGES = st.fixed_dictionaries(
    {}, optional={"jsonrpc": st.just("2.0") | JSON, "id": JSON, "method": METHODS | JSON, "params": PARAMS}
)


@settings(max_examples=150)
@given(
    message=MESSAGES | JSON,
    version=st.sampled_from(["", CURRENT_MCP_VERSION, *HANDSHAKE_MCP_VERSIONS, "x"]),
    method=METHODS,
)
def test_whatever_is_sent_is_answered_in_the_protocol(client: Client, message: Any, version: str, method: str) -> None:
    reply = post(client, message, mcp_protocol_version=version, mcp_method=method, mcp_name="graph_query")
    assert reply.status_code in (200, 202, 400, 404)
    if reply.status_code == 202:
        assert reply.data == b""
    else:
        told = reply.json if isinstance(reply.json, list) else [reply.json]
        assert all(one["jsonrpc"] == "2.0" and ("result" in one) != ("error" in one) for one in told)
