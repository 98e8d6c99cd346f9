"""Replies held against the OpenAPI description."""

from functools import cache
from typing import Any

import jsonschema_rs

from functions.openapi import build_openapi
from functions.operations import load_operation
from functions.routes import ROUTES

ROUTES_BY_NAME = {route.name: route for route in ROUTES}
EXAMPLES = {route.name: dict(load_operation(route).example) for route in ROUTES}


def check_reply(name: str, body: object) -> None:
    """Raise jsonschema_rs.ValidationError unless the body is as the component of this name describes it."""
    _validator(name).validate(body)


@cache
def _validator(name: str) -> Any:
    components = build_openapi()["components"]
    assert name in components["schemas"], name
    return jsonschema_rs.validator_for({"$ref": f"#/components/schemas/{name}", "components": components})
