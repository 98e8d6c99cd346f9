"""What operators and clients' tools ask: is it well, and what can it do."""

from functools import cache
from typing import Any

from functions.routes import OPERATIONS, VERSION, Call, Operation
from rag_core import replies

STATUSES = {
    400: "The request is wrong; `field` says where.",
    403: "Not with this credential.",
    404: "Not there, or not the caller's.",
    409: "An earlier step is missing, or the index holds another model's vectors.",
    413: "Over a stated limit.",
    415: "Not JSON, or a kind of document that is not read.",
    422: "The document cannot be read.",
    503: "A part is missing or does not answer.",
    504: "No time was left.",
    507: "The disk is full.",
}
REFUSAL = "Refusal"
IN_QUERY = frozenset(["GET", "DELETE"])


async def health(_: None, call: Call) -> dict[str, Any]:
    """Which parts are in use. Asks the store, so that a damaged one shows; gives no counts, as anyone may ask."""
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
    return description()


@cache
def description() -> dict[str, Any]:
    """The operations as OpenAPI 3.1."""
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
        told = {method.lower(): _operation(operation, method, schemas) for method in operation.methods}
        paths.setdefault(f"/{operation.route}", {}).update(told)
    return paths


def _operation(operation: Operation, method: str, schemas: dict[str, Any]) -> dict[str, Any]:
    first = method == operation.methods[-1]
    refusals = {str(status): _content(STATUSES[status], REFUSAL) for status in operation.refusals}
    return {
        "operationId": operation.name if first else f"{operation.name}_{method.lower()}",
        "summary": operation.summary,
        "security": [] if operation.anonymous else [{"key": []}],
        **(_asked(operation, method, schemas) if operation.request else {}),
        "responses": {"200": _content("Done.", operation.reply), **_unfinished(operation), **refusals},
    }


def _unfinished(operation: Operation) -> dict[str, Any]:
    """The good answers of which something is still to come."""
    told = {
        "202": ("Taken on; `status_url` says how far it is.", operation.accepted),
        "207": ("Done in part: `failed` names what is not.", operation.reply if operation.partial else None),
    }
    return {status: _content(words, model) for status, (words, model) in told.items() if model}


def _asked(operation: Operation, method: str, schemas: dict[str, Any]) -> dict[str, Any]:
    """What stands in the address and the query string, and the body of a method that has one."""
    parameters = _parameters(operation, schemas)
    if method in IN_QUERY:
        return {"parameters": parameters}
    addressed = [parameter for parameter in parameters if parameter["in"] == "path"]
    return {**({"parameters": addressed} if addressed else {}), "requestBody": _body(operation)}


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
    """A request's schema without the fields that stand in the address."""
    named = {name: schema for name, schema in model["properties"].items() if f"{{{name}}}" not in operation.route}
    required = [name for name in model.get("required", ()) if name in named]
    bare = {name: value for name, value in model.items() if name != "required"}
    return {**bare, "properties": named, **({"required": required} if required else {})}


def _content(description: str, model: str) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{model}"}
    return {"description": description, "content": {"application/json": {"schema": schema}}}
