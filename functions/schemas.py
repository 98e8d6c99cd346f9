"""JSON schemas of the replies, derived from their TypedDicts."""

from collections.abc import Iterable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from functions.strict_json import JsonObject

COMPONENT_REF = "#/components/schemas/{}"
OPEN_ENDED = frozenset(["PassageMetadata", "OpenApiReply"])  # may have more keys (extra_items of PEP 728, Python 3.15)
SCALAR_SCHEMAS: Mapping[Any, JsonObject] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    NoneType: {"type": "null"},
    Any: {},
}


def build_reply_schemas(replies: Iterable[type]) -> JsonObject:
    """Return the JSON schemas, by class name, of these TypedDicts and of those they refer to.

    Raises:
        TypeError: a field has a type that no reply has had so far, or two TypedDicts have one name.
    """
    schemas: JsonObject = {}
    described: dict[str, type] = {}
    pending = list(replies)
    while pending:
        reply = pending.pop()
        if described.setdefault(reply.__name__, reply) is not reply:
            raise TypeError(f"two replies are named {reply.__name__}")
        if reply.__name__ not in schemas:
            schemas[reply.__name__] = _describe_typed_dict(reply, pending)
    return schemas


def _describe_typed_dict(reply: Any, referenced: list[type]) -> JsonObject:
    """Return the schema of a TypedDict, and add those its fields refer to to `referenced`."""
    hints = get_type_hints(reply, include_extras=True)
    properties = {name: _describe_type(hint, referenced) for name, hint in hints.items()}
    required = [name for name in properties if name in reply.__required_keys__]
    return {
        "type": "object",
        **({"description": " ".join(reply.__doc__.split())} if reply.__doc__ else {}),
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": reply.__name__ in OPEN_ENDED,
    }


def _describe_type(hint: Any, referenced: list[type]) -> JsonObject:
    """Return the schema of a field's type. In Annotated, a text is a description, a number the length of a list.

    Raises:
        TypeError: no reply has had such a type so far.
    """
    if hint in SCALAR_SCHEMAS:
        return dict(SCALAR_SCHEMAS[hint])
    if is_typeddict(hint):
        referenced.append(hint)
        return {"$ref": COMPONENT_REF.format(hint.__name__)}
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is NotRequired:
        return _describe_type(arguments[0], referenced)
    if origin is Annotated:
        schema, note = _describe_type(hint.__origin__, referenced), hint.__metadata__[0]
        return schema | ({"description": note} if isinstance(note, str) else {"minItems": note, "maxItems": note})
    if origin in (Union, UnionType):
        return {"anyOf": [_describe_type(argument, referenced) for argument in arguments]}
    if origin is Literal:
        kind = SCALAR_SCHEMAS[type(arguments[0])]
        return {**kind, "const": arguments[0]} if len(arguments) == 1 else {**kind, "enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": _describe_type(arguments[0], referenced)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _describe_type(arguments[1], referenced) or True}
    raise TypeError(f"no JSON schema is known for {hint!r}")
