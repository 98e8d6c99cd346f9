"""The Model Context Protocol, read off the operation table: a tool call is the HTTP call in another envelope.

Streamable HTTP as of 2026-07-28, in which every request says its version, and of the three versions before it, which
open with a handshake. Each POST is answered by itself, as JSON: nothing is kept between two, no stream is offered.
The authority is https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http.
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
UNSAID = BATCHING = "2025-03-26"  # what no header means, and the one version with several messages in a body
MOST_MESSAGES = 16

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
STATUS = {METHOD_NOT_FOUND: 404}  # 400 for the others

META = "io.modelcontextprotocol/"
VERSION_FIELD, CAPABILITIES_FIELD = f"{META}protocolVersion", f"{META}clientCapabilities"
SERVER = {"name": "azure-rag", "version": VERSION}
CAPABILITIES: dict[str, Any] = {"tools": {}}
UNCHANGING = {"ttlMs": 300_000, "cacheScope": "public"}  # the tools are those of the deployment, for everyone

READABLE = ("application/json", "application/*", "*/*")

Json = dict[str, Any]


class Fault(Exception):
    """A JSON-RPC error: the protocol is broken. What an operation refuses is a result."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.told = {"code": code, "message": message} | ({"data": data} if data else {})


@dataclass(frozen=True, slots=True)
class Tool:
    """An operation, and its function as the platform would call it."""

    operation: Operation
    call: Callable[[func.HttpRequest], Awaitable[func.HttpResponse]]


def mount(
    app: func.FunctionApp,
    operations: Iterable[Operation],
    get_settings: Callable[[], Settings],
    get_kit: Callable[[], "Kit"],
) -> None:
    """Make the operations that are tools callable at one route. The host's own answer to a method it lacks is 404."""
    tools = {o.name: Tool(o, http.handler(o, get_settings, get_kit)) for o in operations if o.tool is not None}

    async def mcp(req: func.HttpRequest) -> func.HttpResponse:
        return _turned_away(req) or await _answered(req, tools)

    routed = app.route(ROUTE, methods=("POST", "GET", "DELETE"), auth_level=func.AuthLevel.FUNCTION)
    app.function_name("mcp")(routed(mcp))


def _turned_away(req: func.HttpRequest) -> func.HttpResponse | None:
    """What is refused for its headers. A page of another site must not reach a server on its visitor's machine."""
    accepted = [kind.partition(";")[0].strip().lower() for kind in req.headers.get("accept", "*/*").split(",")]
    if not _ours(req.headers.get("origin")):
        return _refused(403, "pages of other origins may not call this")
    if req.method != "POST":
        return _refused(405, "there is no stream and no session: POST a message", {"Allow": "POST"})
    if not http.says_json(req):
        return _refused(415, "the body must be application/json")
    if not any(kind in READABLE for kind in accepted):
        return _refused(406, "the answer is application/json: accept it")
    return None


def _ours(origin: str | None) -> bool:
    """Whether no browser asks, or a page of this machine does. The name in Host proves nothing: DNS can be rebound."""
    return origin is None or http.is_here(origin)


async def _answered(req: func.HttpRequest, tools: Mapping[str, Tool]) -> func.HttpResponse:
    try:
        message = await asyncio.to_thread(http.read_json, req.get_body())
    except RagError as unread:
        return _refused(413 if isinstance(unread, TooLarge) else 400, unread.message, code=PARSE_ERROR)
    if isinstance(message, list):
        return await _answered_together(message, req, tools)
    status, reply = await _reply(message, req, tools)
    return http.written(status, reply) if reply else func.HttpResponse(status_code=status)


async def _answered_together(
    messages: list[Any], req: func.HttpRequest, tools: Mapping[str, Tool]
) -> func.HttpResponse:
    if req.headers.get("mcp-protocol-version", UNSAID) != BATCHING or not 0 < len(messages) <= MOST_MESSAGES:
        return _refused(400, f"must be one message, or in version {BATCHING} 1 to {MOST_MESSAGES}")
    replies = await asyncio.gather(*(_reply(message, req, tools) for message in messages))
    told = [reply for _, reply in replies if reply]
    return http.written(200, told) if told else func.HttpResponse(status_code=202)


async def _reply(message: Any, req: func.HttpRequest, tools: Mapping[str, Tool]) -> tuple[int, Json | None]:
    """The status of a message and what is said to it: nothing to a notification."""
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
    """The method, the parameters and the id of a message; a notification has none."""
    match message:
        case {"id": bool() | float() | None | dict() | list()}:
            raise Fault(INVALID_REQUEST, "id must be a text or a whole number")
        case {"jsonrpc": "2.0", "method": str(method)} if isinstance(message.get("params", {}), dict):
            return method, message.get("params", {}), message.get("id")
    raise Fault(INVALID_REQUEST, "must be a JSON-RPC 2.0 request or notification, its params an object")


def _version(method: str, params: Json, headers: Mapping[str, str]) -> str:
    """The version that a message is in; one of today's repeats in its headers what it says."""
    said, meta = headers.get("mcp-protocol-version"), params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    if VERSION_FIELD in meta and meta[VERSION_FIELD] != said:
        raise Fault(HEADER_MISMATCH, f"the header MCP-Protocol-Version must be the {VERSION_FIELD} of _meta")
    if (said or UNSAID) in HANDSHAKE:
        return said or UNSAID
    if said != MODERN:
        raise Fault(UNSUPPORTED_VERSION, "Unsupported protocol version", {"supported": VERSIONS, "requested": said})
    if not isinstance(meta.get(CAPABILITIES_FIELD), dict) or VERSION_FIELD not in meta:
        raise Fault(INVALID_PARAMS, f"params._meta must have {VERSION_FIELD} and {CAPABILITIES_FIELD}")
    mirrored = {"Mcp-Method": method} | ({"Mcp-Name": params.get("name")} if method == "tools/call" else {})
    for header, meant in mirrored.items():
        if _decoded(headers.get(header.lower())) != meant:
            raise Fault(HEADER_MISMATCH, f"the header {header} must be what the body says")
    return MODERN


def _decoded(value: str | None) -> str | None:
    """A mirrored header: as it stands, or as "=?base64?…?=" where it could not. None where it is neither."""
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


async def _result(method: str, params: Json, version: str, req: func.HttpRequest, tools: Mapping[str, Tool]) -> Json:
    match method, version == MODERN:
        case "tools/call", _:
            return await _called(params, req, tools)
        case "tools/list", _:
            offered = [await asyncio.to_thread(_described, tool.operation) for tool in tools.values()]
            return {"tools": offered, **UNCHANGING}
        case "server/discover", True:
            return {"supportedVersions": VERSIONS, "capabilities": CAPABILITIES, **UNCHANGING}
        case "initialize", False:
            agreed = params["protocolVersion"] if params.get("protocolVersion") in HANDSHAKE else HANDSHAKE[0]
            return {"protocolVersion": agreed, "capabilities": CAPABILITIES, "serverInfo": SERVER}
        case "ping", False:
            return {}
    raise Fault(METHOD_NOT_FOUND, f"there is no method {method[:100]}")


async def _called(params: Json, req: func.HttpRequest, tools: Mapping[str, Tool]) -> Json:
    """What the operation answers over HTTP, body and all: to the same credential, under the same limits."""
    name, arguments = params.get("name"), params.get("arguments", {})
    if not isinstance(name, str) or name not in tools:
        raise Fault(INVALID_PARAMS, f"there is no tool {str(name)[:100]}")
    if not isinstance(arguments, dict):
        raise Fault(INVALID_PARAMS, "arguments must be an object")
    posted = func.HttpRequest(method="POST", url=req.url, headers=req.headers, body=json.dumps(arguments).encode())
    response = await tools[name].call(posted)
    body = response.get_body().decode()
    content = [{"type": "text", "text": body}]
    return {"content": content, "structuredContent": json.loads(body), "isError": response.status_code >= 400}


def _described(tool: Operation) -> Json:
    from functions import wire

    schema = wire.schema(tool.request) if tool.request else {"type": "object", "additionalProperties": False}
    return {"name": tool.name, "description": tool.summary, "inputSchema": schema, "annotations": tool.tool}


def _refused(
    status: int, message: str, headers: Mapping[str, str] | None = None, *, code: int = INVALID_REQUEST
) -> func.HttpResponse:
    fault = {"jsonrpc": "2.0", "id": None, "error": Fault(code, message).told}
    return http.written(status, fault, headers)
