"""The description of the HTTP surface, held to the surface itself."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from functions import ops, wire
from functions.http import STATUS
from functions.routes import OPERATIONS, Operation

DESCRIPTION = ops.description()
API = (Path(__file__).parents[2] / "docs" / "api.md").read_text("utf-8")


def test_it_is_a_document_that_refers_to_nothing_missing() -> None:
    """S1-56..60: every function is described."""
    text = json.dumps(DESCRIPTION, allow_nan=False)
    assert DESCRIPTION["openapi"] == "3.1.0"
    schemas = DESCRIPTION["components"]["schemas"]
    assert set(re.findall(r"#/components/schemas/(\w+)", text)) == set(schemas)
    assert set(DESCRIPTION["paths"]) == {f"/{operation.route}" for operation in OPERATIONS}
    for schema in schemas.values():
        jsonschema_rs.meta.validate(schema)


def test_operation_ids_are_unique() -> None:
    ids = [told["operationId"] for path in DESCRIPTION["paths"].values() for told in path.values()]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
def test_an_operation_is_whole(operation: Operation) -> None:
    """Its example passes its own model, its refusals are of the contract, and its description says who may call."""
    told = DESCRIPTION["paths"][f"/{operation.route}"]
    assert set(told) == {method.lower() for o in OPERATIONS if o.route == operation.route for method in o.methods}
    assert set(operation.refusals) <= set(STATUS.values())
    for method in (told[name.lower()] for name in operation.methods):
        also = {"207"} if operation.partial else set()
        also |= {"202"} if operation.accepted else set()
        assert set(method["responses"]) == {"200", *also, *map(str, operation.refusals)}
        assert method["security"] == ([] if operation.anonymous else [{"key": []}])
    if operation.request:
        wire.parse(getattr(wire, operation.request), dict(operation.example or {}))


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
def test_what_stands_in_the_address_is_told_as_such_and_in_no_body(operation: Operation) -> None:
    """S0-10..39: `{id}` is required in the path, a GET or DELETE has no body, and every refusal is of the contract."""
    named = set(re.findall(r"{\*?(\w+)", operation.route))
    for method in operation.methods:
        told = DESCRIPTION["paths"][f"/{operation.route}"][method.lower()]
        addressed = [parameter for parameter in told.get("parameters", ()) if parameter["in"] == "path"]
        assert {parameter["name"] for parameter in addressed} == named
        assert all(parameter["required"] for parameter in addressed)
        assert ("requestBody" in told) is (method not in ("GET", "DELETE") and operation.request is not None)
        if "requestBody" in told:
            assert not named & set(_model(told["requestBody"]).get("properties", ()))
        for status in operation.refusals:
            assert _model(told["responses"][str(status)])["properties"]["error"] == {
                "$ref": "#/components/schemas/ErrorDetail"
            }


def _model(content: dict[str, Any]) -> dict[str, Any]:
    name = content["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    found: dict[str, Any] = DESCRIPTION["components"]["schemas"][name]
    return found


def test_the_page_about_the_api_names_every_route_field_and_status() -> None:
    """docs/api.md cannot fall behind the code."""
    schemas = DESCRIPTION["components"]["schemas"]
    words = {f"/{operation.route}" for operation in OPERATIONS}
    words |= {f"`{field}`" for o in OPERATIONS if o.request in schemas for field in schemas[o.request]["properties"]}
    words |= {
        f"`{p['name']}`" for path in DESCRIPTION["paths"].values() for p in path.get("get", {}).get("parameters", ())
    }
    words |= {f"`{field}`" for o in OPERATIONS if o.name != "openapi" for field in schemas[o.reply]["properties"]}
    words |= {f"| {status} | `{kind.code}` |" for kind, status in STATUS.items()}
    assert [word for word in sorted(words) if word not in API] == []
