"""The OpenAPI description for agents: the operations that change nothing, as their clients read such descriptions.

It is OpenAPI 3.0, which Azure AI Foundry and Semantic Kernel take; requests are POSTs, replies are compact, and each
operation says when to call it. The schema of a request stands in its operation whole: Semantic Kernel follows no
reference in a description that is given to it parsed, and sends an empty body instead.
"""

from collections.abc import Mapping
from typing import Any

from functions.operations import Operation, load_operation
from functions.requests import build_request_schemas, drop_event_fields
from functions.routes import HTTP_API_VERSION, ROUTES, Route
from functions.schemas import COMPONENT_REF, build_reply_schemas
from functions.strict_json import JsonObject


def build_agent_openapi() -> JsonObject:
    """Return the operations that only read as an OpenAPI 3.0 document, without its servers."""
    routed = [(route, load_operation(route)) for route in ROUTES if (route.tool_hints or {}).get("readOnlyHint")]
    requests = [operation.request for _, operation in routed if operation.request]
    replies = [operation.compact or operation.reply for _, operation in routed]
    request_schemas = build_request_schemas(requests)
    for operation in (one for _, one in routed if one.compact and one.request):
        _make_compact(request_schemas[operation.request.__name__])  # type: ignore[union-attr]
    bodies: JsonObject = _translate_schema(
        {name: _inline(one, request_schemas) for name, one in request_schemas.items()}
    )
    return {
        "openapi": "3.0.3",
        "info": {
            "title": "azure-rag",
            "version": HTTP_API_VERSION,
            "description": "Questions about indexed documents.",
        },
        "paths": {f"/{route.path}": {"post": _describe_operation(route, one, bodies)} for route, one in routed},
        "components": {
            "schemas": _translate_schema(build_reply_schemas(replies)),
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "x-functions-key"}},
        },
    }


def _describe_operation(route: Route, operation: Operation, bodies: JsonObject) -> JsonObject:
    reply = operation.compact or operation.reply
    schema = bodies[operation.request.__name__] if operation.request else {"type": "object"}
    body = {"schema": schema, "example": _make_example(operation)}
    return {
        "operationId": route.tool_name or route.name,
        "summary": operation.summary,
        "description": f"{operation.summary} {operation.advice}",
        "security": [{"key": []}],
        "requestBody": {"required": True, "content": {"application/json": body}},
        "responses": {
            "200": {
                "description": "Success.",
                "content": {"application/json": {"schema": {"$ref": COMPONENT_REF.format(reply.__name__)}}},
            },
            "default": {"description": "An error: `error.field` names the wrong field, `error.message` what is right."},
        },
    }


def _make_example(operation: Operation) -> JsonObject:
    return {**operation.example, **({"format": "compact"} if operation.compact else {})}


def _make_compact(schema: JsonObject) -> None:
    """Leave of the formats the compact one, and require it: what is optional an agent leaves out."""
    drop_event_fields(schema)
    schema["properties"]["format"] = {"type": "string", "enum": ["compact"], "description": "always compact"}
    schema["required"] = [*schema.get("required", ()), "format"]


def _inline(schema: Any, schemas: JsonObject) -> Any:
    """Return a schema with what it refers to in place of each reference."""
    if isinstance(schema, list):
        return [_inline(one, schemas) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    if "$ref" in schema:
        return _inline(schemas[str(schema["$ref"]).rpartition("/")[2]], schemas)
    return {name: _inline(value, schemas) for name, value in schema.items()}


def _translate_schema(schema: Any) -> Any:
    """Return a schema of JSON Schema 2020-12 as OpenAPI 3.0 writes it."""
    if isinstance(schema, list):
        return [_translate_schema(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    translated = {name: _translate_schema(value) for name, value in schema.items()}
    if "const" in translated:
        translated["enum"] = [translated.pop("const")]
    if isinstance(translated.get("title"), str):  # pydantic's, which says the name again
        del translated["title"]
    if "propertyNames" in translated or "patternProperties" in translated:  # 3.0 has neither
        translated = {**translated, "additionalProperties": True}
        translated.pop("propertyNames", None)
        translated.pop("patternProperties", None)
    options = translated.get("anyOf")
    if isinstance(options, list) and {"type": "null"} in options:
        others = [option for option in options if option != {"type": "null"}]
        del translated["anyOf"]
        translated |= {"nullable": True, **(others[0] if len(others) == 1 else {"anyOf": others})}
    return translated
