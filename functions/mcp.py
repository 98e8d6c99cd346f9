"""The Model Context Protocol over the table of operations: a tool call is the HTTP call in a JSON-RPC envelope.

The transport is Streamable HTTP in version 2026-07-28, in which every request states its version, and in the three
versions before it, which open with a handshake. Each POST is answered on its own with JSON; there are no sessions and
no streams. Specification: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http.
"""

import asyncio
import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import azure.functions as func

from functions import http
from functions.routes import VERSION, Operation
from rag_core.core.errors import RagError, TooLarge
from rag_core.core.settings import Settings

if TYPE_CHECKING:
    from rag_core.core.kit import Kit

ROUTE = "api/mcp"
MODERN = "2026-07-28"
HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26")
VERSIONS = [MODERN, *HANDSHAKE]
UNSAID = BATCHING = "2025-03-26"  # meant by a missing header; the only one with several messages in a body
MOST_MESSAGES = 16

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
STATUS = {METHOD_NOT_FOUND: 404}  # every other code is 400

META = "io.modelcontextprotocol/"
VERSION_FIELD, CAPABILITIES_FIELD = f"{META}protocolVersion", f"{META}clientCapabilities"
SERVER = {"name": "azure-rag", "version": VERSION}
CAPABILITIES: dict[str, Any] = {"tools": {}}
UNCHANGING = {"ttlMs": 300_000, "cacheScope": "public"}  # the same for every caller until the next deployment

READABLE = ("application/json", "application/*", "*/*")

Json = dict[str, Any]


class Fault(Exception):
    """A JSON-RPC error, for a message that breaks the protocol; what an operation refuses is a result instead."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.told = {"code": code, "message": message} | ({"data": data} if data else {})


@dataclass(frozen=True, slots=True)
class Tool:
    """An operation offered as a tool, with its function as the worker would call it."""

    operation: Operation
    call: Callable[[func.HttpRequest], Awaitable[func.HttpResponse]]


def mount(
    app: func.FunctionApp,
    operations: Iterable[Operation],
    get_settings: Callable[[], Settings],
    get_kit: Callable[[], "Kit"],
) -> None:
    """Add the route at which the operations that are tools can be called.

    GET and DELETE are routed too, so that they are answered with 405; the host would answer 404.
    """
    tools = {o.name: Tool(o, http.handler(o, get_settings, get_kit)) for o in operations if o.tool is not None}

    async def mcp(req: func.HttpRequest) -> func.HttpResponse:
        return _turned_away(req) or await _answered(req, tools)

    routed = app.route(ROUTE, methods=("POST", "GET", "DELETE"), auth_level=func.AuthLevel.FUNCTION)
    app.function_name("mcp")(routed(mcp))


def _turned_away(req: func.HttpRequest) -> func.HttpResponse | None:
    """Return the refusal of a request with wrong method or headers, None for one that may be read.

    The origin is checked so that a page of another site cannot reach a server on its visitor's machine.
    """
    accepted = [media.partition(";")[0].strip().lower() for media in req.headers.get("accept", "*/*").split(",")]
    if not _ours(req.headers.get("origin")):
        return _refused(403, "pages of other origins must not call this")
    if req.method != "POST":
        return _refused(405, "there are no streams and no sessions: POST a message", {"Allow": "POST"})
    if not http.says_json(req):
        return _refused(415, "the body must be application/json")
    if not any(media in READABLE for media in accepted):
        return _refused(406, "the reply is application/json: accept it")
    return None


def _ours(origin: str | None) -> bool:
    """Return whether the caller is no browser, or a page of this machine. Host proves nothing: DNS can be rebound."""
    return origin is None or http.is_here(origin)


async def _answered(req: func.HttpRequest, tools: Mapping[str, Tool]) -> func.HttpResponse:
    """Answer the message or the batch in a body; a notification is answered by its status alone."""
    try:
        message = await asyncio.to_thread(http.read_json, req.get_body())
    except RagError as error:
        return _refused(413 if isinstance(error, TooLarge) else 400, error.message, code=PARSE_ERROR)
    if isinstance(message, list):
        return await _answered_together(message, req, tools)
    status, reply = await _reply(message, req, tools)
    return http.written(status, reply) if reply else func.HttpResponse(status_code=status)


async def _answered_together(
    messages: list[Any], req: func.HttpRequest, tools: Mapping[str, Tool]
) -> func.HttpResponse:
    """Answer several messages at once, which only one version of the protocol allows."""
    if req.headers.get("mcp-protocol-version", UNSAID) != BATCHING or not 0 < len(messages) <= MOST_MESSAGES:
        return _refused(400, f"the body must be one message, or in version {BATCHING} 1 to {MOST_MESSAGES} messages")
    answers = await asyncio.gather(*(_reply(message, req, tools) for message in messages))
    replies = [reply for _, reply in answers if reply]
    return http.written(200, replies) if replies else func.HttpResponse(status_code=202)


async def _reply(message: Any, req: func.HttpRequest, tools: Mapping[str, Tool]) -> tuple[int, Json | None]:
    """Return the HTTP status for a message and its JSON-RPC reply, None for a notification."""
    version, id = MODERN, None
    try:
        method, params, id = _read(message)
        if id is None:
            return 202, None
        version = _version(method, params, req.headers)
        result = await _result(method, params, version, req, tools)
    except Fault as fault:
        status = STATUS.get(fault.code, 400) if version == MODERN else 200
        return status, {"jsonrpc": "2.0", "id": id, "error": fault.told}
    if version == MODERN:
        result = {"resultType": "complete", **result, "_meta": {f"{META}serverInfo": SERVER}}
    return 200, {"jsonrpc": "2.0", "id": id, "result": result}


def _read(message: Any) -> tuple[str, Json, str | int | None]:
    """Return the method, the parameters and the id of a message; the id of a notification is None."""
    match message:
        case {"id": bool() | float() | None | dict() | list()}:
            raise Fault(INVALID_REQUEST, "id must be a string or an integer")
        case {"jsonrpc": "2.0", "method": str(method)} if isinstance(message.get("params", {}), dict):
            return method, message.get("params", {}), message.get("id")
    raise Fault(INVALID_REQUEST, "the message must be a JSON-RPC 2.0 request or notification, its params an object")


def _version(method: str, params: Json, headers: Mapping[str, str]) -> str:
    """Return the protocol version of a message.

    Raises JsonRpcError for an unknown version, and in the current one for headers that do not repeat the body.
    """
    version, meta = headers.get("mcp-protocol-version"), params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    if VERSION_FIELD in meta and meta[VERSION_FIELD] != version:
        raise Fault(HEADER_MISMATCH, f"the header MCP-Protocol-Version must be the {VERSION_FIELD} of _meta")
    if (version or UNSAID) in HANDSHAKE:
        return version or UNSAID
    if version != MODERN:
        raise Fault(UNSUPPORTED_VERSION, "Unsupported protocol version", {"supported": VERSIONS, "requested": version})
    if not isinstance(meta.get(CAPABILITIES_FIELD), dict) or VERSION_FIELD not in meta:
        raise Fault(INVALID_PARAMS, f"params._meta must have {VERSION_FIELD} and {CAPABILITIES_FIELD}")
    mirrored = {"Mcp-Method": method} | ({"Mcp-Name": params.get("name")} if method == "tools/call" else {})
    for header, expected in mirrored.items():
        if _decoded(headers.get(header.lower())) != expected:
            raise Fault(HEADER_MISMATCH, f"the header {header} must repeat the value in the body")
    return MODERN


def _decoded(value: str | None) -> str | None:
    """Return the text of a header that repeats a value of the body, decoded when it is written as "=?base64?…?=".

    None stands for a missing header and for one whose base64 cannot be decoded.
    """
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


async def _result(method: str, params: Json, version: str, req: func.HttpRequest, tools: Mapping[str, Tool]) -> Json:
    """Return the result of a method. Raises JsonRpcError for a method that the version does not have."""
    match method, version == MODERN:
        case "tools/call", _:
            return await _called(params, req, tools)
        case "tools/list", _:
            descriptions = [await asyncio.to_thread(_described, tool.operation) for tool in tools.values()]
            return {"tools": descriptions, **UNCHANGING}
        case "server/discover", True:
            return {"supportedVersions": VERSIONS, "capabilities": CAPABILITIES, **UNCHANGING}
        case "initialize", False:
            negotiated = params["protocolVersion"] if params.get("protocolVersion") in HANDSHAKE else HANDSHAKE[0]
            return {"protocolVersion": negotiated, "capabilities": CAPABILITIES, "serverInfo": SERVER}
        case "ping", False:
            return {}
    raise Fault(METHOD_NOT_FOUND, f"there is no method {method[:100]}")


async def _called(params: Json, req: func.HttpRequest, tools: Mapping[str, Tool]) -> Json:
    """Call a tool as its HTTP operation, with the same headers and limits; its JSON reply is the result."""
    name, arguments = params.get("name"), params.get("arguments", {})
    if not isinstance(name, str) or name not in tools:
        raise Fault(INVALID_PARAMS, f"there is no tool {str(name)[:100]}")
    if not isinstance(arguments, dict):
        raise Fault(INVALID_PARAMS, "arguments must be an object")
    request = func.HttpRequest(method="POST", url=req.url, headers=req.headers, body=json.dumps(arguments).encode())
    response = await tools[name].call(request)
    body = response.get_body().decode()
    content = [{"type": "text", "text": body}]
    return {"content": content, "structuredContent": json.loads(body), "isError": response.status_code >= 400}


def _described(tool: Operation) -> Json:
    """Return a tool as `tools/list` shows it, with the JSON schema of its arguments."""
    from functions import wire

    schema = wire.schema(tool.request) if tool.request else {"type": "object", "additionalProperties": False}
    return {"name": tool.name, "description": tool.summary, "inputSchema": schema, "annotations": tool.tool}


def _refused(
    status: int, message: str, headers: Mapping[str, str] | None = None, *, code: int = INVALID_REQUEST
) -> func.HttpResponse:
    """Return a JSON-RPC error that belongs to no message, with this HTTP status."""
    body = {"jsonrpc": "2.0", "id": None, "error": Fault(code, message).told}
    return http.written(status, body, headers)
