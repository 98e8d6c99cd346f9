"""The base of the request models, the field types that they share, and how a request is parsed.

The module imports pydantic, so it is itself first imported by a request.
"""

import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from functions.schemas import COMPONENT_REF
from functions.strict_json import JsonObject
from rag_core.core.errors import InvalidRequest

RequestT = TypeVar("RequestT", bound=BaseModel)


def check_not_blank(text: str) -> str:
    """Return the text. Raises ValueError when it is blank."""
    if not text.strip():
        raise ValueError("the text should hold more than spaces")
    return text


def _parse_record_id(digits: object) -> int:
    """Return the record id written in an address: digits from 1 on, without sign, space or leading zeros."""
    if not re.fullmatch(r"[1-9][0-9]{0,15}", str(digits)):
        raise ValueError("the number should be a whole number from 1 on, in digits")
    return int(str(digits))


MAX_EXACT_INT = 2**53  # integers up to here survive a JSON parser that turns every number into a float
ExactInt = Annotated[int, Field(ge=-MAX_EXACT_INT, le=MAX_EXACT_INT)]
ReplyFormat = Annotated[Literal["full", "compact"], Field(description="compact: for a model to read, in fewer tokens")]
CountFromOne = Annotated[int, Field(ge=1, le=MAX_EXACT_INT)]
NonBlankText = Annotated[str, AfterValidator(check_not_blank), Field(json_schema_extra={"pattern": r"\S"})]
LineText = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:-]{1,128}$")]
DocumentIds = Annotated[list[Identifier], Field(max_length=100)]
FieldName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,127}$")]
RecordId = Annotated[int, Field(ge=1, le=MAX_EXACT_INT), BeforeValidator(_parse_record_id)]
NO_OTHER_KEYS: JsonObject = {"json_schema_extra": {"additionalProperties": False}}  # than names of the pattern


class Request(BaseModel):
    """The base of all requests: unknown fields are refused and nothing is coerced ("5" is not 5, 1 is not true)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


EVENT_FIELDS = ("progress_id",)  # of a reply in events, which no agent gets


def drop_event_fields(schema: JsonObject) -> None:
    """Take the fields of a reply in events out of a request's schema that is for agents."""
    for name in EVENT_FIELDS:
        schema["properties"].pop(name, None)


class _RequestSchemaGenerator(GenerateJsonSchema):
    """A generator that leaves null out of the schemas: null is accepted for an omitted field but not documented."""

    def nullable_schema(self, schema: Any) -> JsonObject:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: Any) -> JsonObject:
        return self.generate_inner(schema["schema"]) if schema["default"] is None else super().default_schema(schema)


def build_request_schema(request: type[BaseModel]) -> JsonObject:
    """Return the JSON schema of a request model, with the models it refers to in `$defs`."""
    return request.model_json_schema(schema_generator=_RequestSchemaGenerator)


def build_request_schemas(requests: Iterable[type[BaseModel]]) -> JsonObject:
    """Return the JSON schemas, by class name, of request models and of the models they refer to."""
    models: list[tuple[type[BaseModel], Literal["validation"]]] = [(model, "validation") for model in requests]
    ref_template = COMPONENT_REF.format("{model}")
    _, schemas = models_json_schema(models, ref_template=ref_template, schema_generator=_RequestSchemaGenerator)
    return dict(schemas["$defs"])


def parse_request(model: type[RequestT], data: JsonObject, *, texts: bool = False) -> RequestT:
    """Validate `data` as a request; with `texts` every value is a string, as in a query string.

    Raises:
        InvalidRequest: its field is the path of the first invalid one; its details have the first ten.
    """
    try:
        return model.model_validate_strings(data) if texts else model.model_validate(data)
    except ValidationError as failure:
        invalid_fields: dict[str, str] = {}
        for error in failure.errors(include_url=False, include_context=False):
            message = _count_characters(error["msg"]) if isinstance(error["input"], str) else error["msg"]
            path, text = _describe_validation_error(error["loc"], error["type"], message)
            invalid_fields.setdefault(path, text + _suggest_field(path, model) if path in data else text)
        first, message = next(iter(invalid_fields.items()))
        raise InvalidRequest(first, message, fields=dict(list(invalid_fields.items())[:10])) from None


# by field of mixed types: pydantic reports one error for each type, with the type at the end of the path
MIXED_TYPE_MESSAGES = {
    "filters": "must be a text, a number, true or false, a list of these, or conditions (eq, ne, in, gt, ge, lt, le)",
    "metadata": "must be a text, a number, true or false",
}


def _describe_validation_error(location: tuple[int | str, ...], error_type: str, message: str) -> tuple[str, str]:
    """Return the path of the invalid field, and the message of the error contract."""
    names = [str(part)[:100] for part in location]
    if names[0] in MIXED_TYPE_MESSAGES and len(names) > 2 and error_type != "literal_error":
        text = MIXED_TYPE_MESSAGES[names[0]] if names[2] != "[key]" else _format_must_message(message)
        return ".".join(names[:2]), text
    fixed_messages = {"missing": "is required", "extra_forbidden": "is not a field of this request"}
    return ".".join(names), fixed_messages.get(error_type) or _format_must_message(message)


def _suggest_field(name: str, model: type[BaseModel]) -> str:
    """Return the field of a request that an unknown name is nearly, as the end of a message; "" for none."""
    from difflib import get_close_matches  # imported late: of right requests none waits for it

    known = [field.alias or name for name, field in model.model_fields.items()]
    nearest = () if name in known else get_close_matches(name, known, n=1)
    return f"; is {nearest[0]} meant?" if nearest else ""


def _count_characters(message: str) -> str:
    """Return a message on a text's length in characters: pydantic counts items where a text is checked further."""
    return re.sub(r" (at (?:most|least) \d+) item(s?) .*", r" \1 character\2", message)


def _format_must_message(message: str) -> str:
    """Return pydantic's "Input should …" as "must …"."""
    return "must " + message.partition(" should ")[2]
