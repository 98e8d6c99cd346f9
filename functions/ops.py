"""The handler of health, and the OpenAPI description of the operations."""

from functools import cache
from typing import Any

from functions.routes import OPERATIONS, VERSION, Call, Operation
from rag_core import replies

STATUSES = {
    400: "The request is invalid; `field` names the wrong field.",
    403: "The credential lacks the required role.",
    404: "It does not exist, or the caller may not see it.",
    409: "An earlier step is missing, or the index holds vectors of another embedding model.",
    413: "A size is over its limit.",
    415: "The body is not JSON, or the document is of an unsupported type.",
    422: "The document cannot be read.",
    503: "A component is not configured or does not answer.",
    504: "The time limit of the request is over.",
    507: "The disk is full.",
}
REFUSAL = "Refusal"
IN_QUERY = frozenset(["GET", "DELETE"])


async def health(_: None, call: Call) -> dict[str, Any]:
    """Reply with the components in use.

    The store is queried, so that a damaged one is noticed. There are no counts in the reply: anyone may call this.
    """
    store = await call.run.step("store", call.kit.index.store.describe())
    parts = {
        "store": store.kind,
        "embedder": call.kit.index.embedder.space or "none",
        "reranker": call.kit.reranker.name,
        "llm": call.kit.llm.name,
        "documents": call.kit.layout.name,
        "archive": call.kit.archive.name,
    }
    return {"success": True, "parts": parts, **replies.diary(call.run)}


async def openapi(_: None, call: Call) -> dict[str, Any]:
    """Reply with the OpenAPI description."""
    return description()


@cache
def description() -> dict[str, Any]:
    """Return the operations as an OpenAPI 3.1 document."""
    from functions import wire

    requests = [operation.request for operation in OPERATIONS if operation.request]
    models = [name for operation in OPERATIONS for name in (operation.reply, operation.accepted) if name]
    schemas = wire.schemas(requests, [REFUSAL, *models])
    bodies = {o.request: _bodily(schemas[o.request], o) for o in OPERATIONS if o.request and set(o.methods) - IN_QUERY}
    return {
        "openapi": "3.1.0",
        "info": {"title": "azure-rag", "version": VERSION},
        "paths": _paths(schemas),
        "components": {
            "schemas": {name: schemas[name] for name in schemas if name not in requests} | bodies,
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "x-functions-key"}},
        },
    }


def _paths(schemas: dict[str, Any]) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        described = {method.lower(): _operation(operation, method, schemas) for method in operation.methods}
        paths.setdefault(f"/{operation.route}", {}).update(described)
    return paths


def _operation(operation: Operation, method: str, schemas: dict[str, Any]) -> dict[str, Any]:
    is_main_method = method == operation.methods[-1]  # the others get the method as a suffix of their id
    refusals = {str(status): _content(STATUSES[status], REFUSAL) for status in operation.refusals}
    return {
        "operationId": operation.name if is_main_method else f"{operation.name}_{method.lower()}",
        "summary": operation.summary,
        "security": [] if operation.anonymous else [{"key": []}],
        **(_asked(operation, method, schemas) if operation.request else {}),
        "responses": {"200": _content("Success.", operation.reply), **_unfinished(operation), **refusals},
    }


def _unfinished(operation: Operation) -> dict[str, Any]:
    """Return the responses 202 and 207, for work that goes on or was done in part."""
    responses = {
        "202": ("The work goes on; `status_url` has its progress.", operation.accepted),
        "207": ("Partial success; `failed` names what is missing.", operation.reply if operation.partial else None),
    }
    return {status: _content(text, model) for status, (text, model) in responses.items() if model}


def _asked(operation: Operation, method: str, schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a method, and its request body when it has one."""
    parameters = _parameters(operation, schemas)
    if method in IN_QUERY:
        return {"parameters": parameters}
    in_route = [parameter for parameter in parameters if parameter["in"] == "path"]
    return {**({"parameters": in_route} if in_route else {}), "requestBody": _body(operation)}


def _parameters(operation: Operation, schemas: dict[str, Any]) -> list[dict[str, Any]]:
    model, example = schemas[operation.request or ""], operation.example or {}
    return [
        {
            "name": name,
            "in": "path" if f"{{{name}}}" in operation.route else "query",
            "required": name in model.get("required", ()),
            "schema": schema,
            **({"example": example[name]} if name in example else {}),
        }
        for name, schema in model["properties"].items()
    ]


def _body(operation: Operation) -> dict[str, Any]:
    example = {name: value for name, value in (operation.example or {}).items() if f"{{{name}}}" not in operation.route}
    content = {"schema": {"$ref": f"#/components/schemas/{operation.request}"}, "example": example}
    return {"required": not operation.bodiless, "content": {"application/json": content}}


def _bodily(model: dict[str, Any], operation: Operation) -> dict[str, Any]:
    """Return the schema of a request without the fields that are in its route."""
    properties = {name: schema for name, schema in model["properties"].items() if f"{{{name}}}" not in operation.route}
    required = [name for name in model.get("required", ()) if name in properties]
    others = {name: value for name, value in model.items() if name != "required"}
    return {**others, "properties": properties, **({"required": required} if required else {})}


def _content(description: str, model: str) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{model}"}
    return {"description": description, "content": {"application/json": {"schema": schema}}}
