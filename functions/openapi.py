"""The OpenAPI description of the operations, made from their routes, request models and reply types."""

from collections.abc import Sequence
from functools import cache
from typing import Literal, TypedDict, cast
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field

from functions import operations
from functions.agent_openapi import build_agent_openapi
from functions.http import Refusal
from functions.operations import Call, Operation, load_operation
from functions.requests import Request, build_request_schemas
from functions.routes import HTTP_API_VERSION, ROUTES, Route
from functions.schemas import COMPONENT_REF, build_reply_schemas
from functions.strict_json import JsonObject

ERROR_DESCRIPTIONS = {
    400: "The request is invalid; `field` names the wrong field.",
    403: "The credential lacks the required role.",
    404: "It does not exist, or the caller may not see it.",
    409: "An earlier step is missing, or the index holds vectors of another embedding model.",
    413: "A size is over its limit.",
    415: "The body is not JSON, or the document is of an unsupported type.",
    422: "The document cannot be read.",
    429: "Too many requests are running; `Retry-After` says when to repeat it.",
    503: "A component is not configured or does not answer.",
    504: "The time limit of the request is over.",
    507: "The disk is full.",
}
QUERY_STRING_METHODS = frozenset(["GET", "DELETE"])

RoutedOperation = tuple[Route, Operation]


class OpenApiRequest(Request):
    """A request for this description, or for the one of the operations that agents may call."""

    model_config = ConfigDict(validate_by_alias=True)

    audience: Literal["agents"] | None = Field(default=None, alias="for")


class OpenApiReply(TypedDict):
    """An OpenAPI document: 3.1, or for agents 3.0."""

    openapi: Literal["3.1.0", "3.0.3"]


@operations.operation(
    "Get this OpenAPI description; it has nothing that the public source does not have.",
    errors=(400,),
)
async def handle_openapi(request: OpenApiRequest, call: Call) -> OpenApiReply:
    """Reply with the OpenAPI description; its server is the one that was asked."""
    description = build_agent_openapi() if request.audience == "agents" else build_openapi()
    asked = urlsplit(call.url)
    servers = [{"url": f"{asked.scheme}://{asked.netloc}"}] if asked.netloc else []
    return cast(OpenApiReply, {**description, "servers": [*servers, {"url": "/"}][:1]})


@cache
def build_openapi() -> JsonObject:
    """Return the operations as an OpenAPI 3.1 document. The first call imports the module of every handler."""
    routed = [(route, load_operation(route)) for route in ROUTES]
    requests = [operation.request for _, operation in routed if operation.request]
    replies = [
        reply for _, operation in routed for reply in (operation.reply, operation.compact, operation.accepted) if reply
    ]
    request_schemas = build_request_schemas(requests)
    bodies = {
        operation.request.__name__: _drop_route_fields(request_schemas[operation.request.__name__], route)
        for route, operation in routed
        if operation.request and set(route.methods) - QUERY_STRING_METHODS
    }
    names = {request.__name__ for request in requests}
    parts = {name: schema for name, schema in request_schemas.items() if name not in names}
    return {
        "openapi": "3.1.0",
        "info": {"title": "azure-rag", "version": HTTP_API_VERSION},
        "paths": _build_paths(routed, request_schemas),
        "components": {
            "schemas": parts | build_reply_schemas([Refusal, *replies]) | bodies,
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "x-functions-key"}},
        },
    }


def _build_paths(routed: Sequence[RoutedOperation], request_schemas: JsonObject) -> JsonObject:
    paths: JsonObject = {}
    for route, operation in routed:
        schema = request_schemas[operation.request.__name__] if operation.request else {}
        described = {method.lower(): _describe_operation(route, operation, method, schema) for method in route.methods}
        paths.setdefault(f"/{route.path}", {}).update(described)
    return paths


def _describe_operation(route: Route, operation: Operation, method: str, schema: JsonObject) -> JsonObject:
    is_main_method = method == route.methods[-1]  # the others get the method as a suffix of their id
    errors = {str(status): _describe_json_response(ERROR_DESCRIPTIONS[status], Refusal) for status in operation.errors}
    return {
        "operationId": route.name if is_main_method else f"{route.name}_{method.lower()}",
        "summary": operation.summary,
        **({"description": operation.advice} if operation.advice else {}),
        "security": [] if route.anonymous else [{"key": []}],
        **(_describe_request(route, operation, method, schema) if operation.request else {}),
        "responses": {
            "200": _describe_json_response("Success.", operation.reply, operation.compact),
            **_describe_incomplete_responses(operation),
            **errors,
        },
    }


def _describe_incomplete_responses(operation: Operation) -> JsonObject:
    """Return the responses 202 and 207, for work that goes on or was done in part."""
    partial_reply = operation.reply if operation.can_be_partial else None
    responses = {
        "202": ("The work goes on; `status_url` has its progress.", operation.accepted),
        "207": ("Partial success; `failed` names what is missing.", partial_reply),
    }
    return {status: _describe_json_response(text, reply) for status, (text, reply) in responses.items() if reply}


def _describe_request(route: Route, operation: Operation, method: str, schema: JsonObject) -> JsonObject:
    """Return the parameters of a method, and its request body when it has one."""
    parameters = _describe_parameters(route, operation, schema)
    if method in QUERY_STRING_METHODS:
        return {"parameters": parameters}
    in_route = [parameter for parameter in parameters if parameter["in"] == "path"]
    return {**({"parameters": in_route} if in_route else {}), "requestBody": _describe_request_body(route, operation)}


def _describe_parameters(route: Route, operation: Operation, schema: JsonObject) -> list[JsonObject]:
    return [
        {
            "name": name,
            "in": "path" if _is_route_field(name, route) else "query",
            "required": name in schema.get("required", ()),
            "schema": field,
            **({"example": operation.example[name]} if name in operation.example else {}),
        }
        for name, field in schema["properties"].items()
    ]


def _describe_request_body(route: Route, operation: Operation) -> JsonObject:
    example = {name: value for name, value in operation.example.items() if not _is_route_field(name, route)}
    content = {**_refer_to(operation.request), "example": example}
    return {"required": not operation.body_optional, "content": {"application/json": content}}


def _drop_route_fields(schema: JsonObject, route: Route) -> JsonObject:
    """Return the schema of a request without the fields that are in its route."""
    properties = {name: field for name, field in schema["properties"].items() if not _is_route_field(name, route)}
    required = [name for name in schema.get("required", ()) if name in properties]
    others = {name: value for name, value in schema.items() if name != "required"}
    return {**others, "properties": properties, **({"required": required} if required else {})}


def _is_route_field(name: str, route: Route) -> bool:
    return f"{{{name}}}" in route.path


def _describe_json_response(description: str, reply: type, compact: type | None = None) -> JsonObject:
    described = {"schema": {"anyOf": [_refer_to(one)["schema"] for one in (reply, compact)]}} if compact else None
    return {"description": description, "content": {"application/json": described or _refer_to(reply)}}


def _refer_to(model: type | None) -> JsonObject:
    return {"schema": {"$ref": COMPONENT_REF.format(model.__name__)}} if model else {}
