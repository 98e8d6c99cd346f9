"""The description of the HTTP surface, held to the surface itself."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from functions.http import STATUS_BY_ERROR
from functions.openapi import build_openapi
from functions.operations import DECLARED_OPERATIONS, load_operation
from functions.requests import parse_request
from functions.routes import ROUTES, Route
from rag_core.core.presets import resolve_preset

DESCRIPTION = build_openapi()
API = (Path(__file__).parents[2] / "docs" / "reference" / "http-api.md").read_text("utf-8")


def test_it_is_a_document_that_refers_to_nothing_missing() -> None:
    """S1-56..60: every function is described."""
    text = json.dumps(DESCRIPTION, allow_nan=False)
    assert DESCRIPTION["openapi"] == "3.1.0"
    schemas = DESCRIPTION["components"]["schemas"]
    assert set(re.findall(r"#/components/schemas/(\w+)", text)) == set(schemas)
    assert set(DESCRIPTION["paths"]) == {f"/{route.path}" for route in ROUTES}
    for schema in schemas.values():
        jsonschema_rs.meta.validate(schema)


def test_a_generated_client_sees_the_fields_of_every_body() -> None:
    """Alternatives beside the properties, as of an upload, once made `openapi-python-client` type the body as Any."""
    for route in ROUTES:
        for told in DESCRIPTION["paths"][f"/{route.path}"].values():
            if "requestBody" in told:
                assert not _model(told["requestBody"]).keys() & {"oneOf", "anyOf", "allOf"}, route.name


def test_operation_ids_are_unique() -> None:
    ids = [told["operationId"] for path in DESCRIPTION["paths"].values() for told in path.values()]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_an_operation_is_whole(route: Route) -> None:
    """Its example passes its own model, its errors are of the contract, and its description says who may call."""
    operation, told = load_operation(route), DESCRIPTION["paths"][f"/{route.path}"]
    assert set(told) == {method.lower() for other in ROUTES if other.path == route.path for method in other.methods}
    assert set(operation.errors) <= set(STATUS_BY_ERROR.values())
    for method in (told[name.lower()] for name in route.methods):
        also = {"207"} if operation.can_be_partial else set()
        also |= {"202"} if operation.accepted else set()
        assert set(method["responses"]) == {"200", *also, *map(str, operation.errors)}
        assert method["security"] == ([] if route.anonymous else [{"key": []}])
    if operation.request:
        parse_request(operation.request, dict(operation.example))


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_what_stands_in_the_address_is_told_as_such_and_in_no_body(route: Route) -> None:
    """S0-10..39: `{id}` is required in the path, a GET or DELETE has no body, and every refusal is of the contract."""
    operation, named = load_operation(route), set(re.findall(r"{\*?(\w+)", route.path))
    for method in route.methods:
        told = DESCRIPTION["paths"][f"/{route.path}"][method.lower()]
        addressed = [parameter for parameter in told.get("parameters", ()) if parameter["in"] == "path"]
        assert {parameter["name"] for parameter in addressed} == named
        assert all(parameter["required"] for parameter in addressed)
        assert ("requestBody" in told) is (method not in ("GET", "DELETE") and operation.request is not None)
        if "requestBody" in told:
            assert not named & set(_model(told["requestBody"]).get("properties", ()))
        for status in operation.errors:
            assert _model(told["responses"][str(status)])["properties"]["error"] == {
                "$ref": "#/components/schemas/ErrorDetail"
            }


def _model(content: dict[str, Any]) -> dict[str, Any]:
    name = content["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    found: dict[str, Any] = DESCRIPTION["components"]["schemas"][name]
    return found


def test_every_handler_that_is_declared_has_a_route_and_only_one() -> None:
    """A route names its handler by its own name: one line in the table, and the handler."""
    assert all(route.module.startswith("functions.") for route in ROUTES)
    routed = [load_operation(route).handler for route in ROUTES]
    assert len(set(routed)) == len(routed)
    assert set(routed) == {handler for handler in DECLARED_OPERATIONS if handler.__module__.startswith("functions.")}


def test_the_page_about_the_api_names_every_route_field_and_status() -> None:
    """docs/reference/http-api.md cannot fall behind the code."""
    schemas = DESCRIPTION["components"]["schemas"]
    operations = {route.name: load_operation(route) for route in ROUTES}
    words = {f"/{route.path}" for route in ROUTES}
    requests = {operation.request.__name__ for operation in operations.values() if operation.request}
    words |= {f"`{field}`" for name in requests & set(schemas) for field in schemas[name]["properties"]}
    words |= {
        f"`{p['name']}`" for path in DESCRIPTION["paths"].values() for p in path.get("get", {}).get("parameters", ())
    }
    replies = {operation.reply.__name__ for name, operation in operations.items() if name != "openapi"}
    words |= {f"`{field}`" for name in replies for field in schemas[name]["properties"]}
    words |= {f"| {status} | `{kind.code}` |" for kind, status in STATUS_BY_ERROR.items()}
    assert [word for word in sorted(words) if word not in API] == []


@pytest.mark.parametrize("path", ["/api/consult_rag", "/api/rag/ask"])
def test_every_name_of_a_preset_that_is_taken_is_listed(path: str) -> None:
    """The documents' name of a preset, "default", is one of them (S0-84, S0-91)."""
    schema = DESCRIPTION["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    request = DESCRIPTION["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    (listed,) = (choice["enum"] for choice in _list_choices(request["properties"]["preset"]) if "enum" in choice)
    assert resolve_preset("default").name in listed
    assert "default" in listed


def _list_choices(field: dict[str, Any]) -> list[dict[str, Any]]:
    return [*field.get("anyOf", []), field]
