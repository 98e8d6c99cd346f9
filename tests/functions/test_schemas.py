"""The JSON schemas that are made of reply types."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest

from functions.openapi import build_openapi
from functions.schemas import build_reply_schemas

Pair = Annotated[list[int], 2]


class Leaf(TypedDict):
    """A leaf, which
    knows its tree.
    """

    tree: "Tree | None"


class Tree(TypedDict):
    leaves: list[Leaf]


class Base(TypedDict):
    """The base."""

    text: str


class Every(Base):
    yes: bool
    whole: int
    number: Annotated[float, "from 0 to 1"]
    anything: Any
    perhaps: int | None
    pair: Pair
    pairs: list[Pair]
    always: Literal[True]
    one_of: Literal["a", "b"]
    by_name: dict[str, str | int]
    free: dict[str, Any]
    leaf: Leaf
    absent: NotRequired[Annotated[int | None, "an id"]]


PAIR = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}


def test_each_kind_of_field_has_its_schema() -> None:
    every = build_reply_schemas([Every])["Every"]
    assert every["properties"] == {
        "text": {"type": "string"},
        "yes": {"type": "boolean"},
        "whole": {"type": "integer"},
        "number": {"type": "number", "description": "from 0 to 1"},
        "anything": {},
        "perhaps": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "pair": PAIR,
        "pairs": {"type": "array", "items": PAIR},
        "always": {"type": "boolean", "const": True},
        "one_of": {"type": "string", "enum": ["a", "b"]},
        "by_name": {"type": "object", "additionalProperties": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
        "free": {"type": "object", "additionalProperties": True},
        "leaf": {"$ref": "#/components/schemas/Leaf"},
        "absent": {"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "an id"},
    }
    assert set(every["properties"]) - set(every["required"]) == {"absent"}
    assert (every["type"], every["additionalProperties"], "description" in every) == ("object", False, False)


def test_a_type_that_refers_to_itself_stands_there_once() -> None:
    schemas = build_reply_schemas([Tree, Every, Leaf])
    assert set(schemas) == {"Tree", "Leaf", "Every"}
    assert schemas["Leaf"]["description"] == "A leaf, which knows its tree."
    assert schemas["Leaf"]["properties"]["tree"]["anyOf"][0] == {"$ref": "#/components/schemas/Tree"}


def test_a_type_that_is_not_known_is_an_error_and_no_empty_schema() -> None:
    class Odd(TypedDict):
        odd: set[str]

    with pytest.raises(TypeError, match="no JSON schema is known for set"):
        build_reply_schemas([Odd])


def test_two_types_of_one_name_are_an_error() -> None:
    def another() -> type:
        class Leaf(TypedDict):
            other: int

        return Leaf

    with pytest.raises(TypeError, match="two replies are named Leaf"):
        build_reply_schemas([Leaf, another()])


def test_only_what_is_meant_to_be_open_takes_other_keys() -> None:
    schemas = build_openapi()["components"]["schemas"]
    assert {name for name, schema in schemas.items() if schema["additionalProperties"] is not False} == {
        "OpenApiReply",
        "PassageMetadata",
    }
