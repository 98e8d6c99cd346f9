"""The parser of request bodies as JSON, strict: it guesses and drops nothing."""

import json
import math
import re
from collections import Counter
from typing import Any, TypeVar

from rag_core.core.errors import InvalidRequest, TooLarge

T = TypeVar("T")
JsonObject = dict[str, Any]

MAX_BODY_BYTES = 1024 * 1024
MAX_JSON_DEPTH = 32  # the deepest request that we accept has 4


def parse_json_object(body: bytes, *, max_bytes: int = MAX_BODY_BYTES) -> JsonObject:
    """Return the JSON object in `body`. Raises as the strict parser does, and InvalidRequest for another JSON value."""
    data = parse_strict_json(body, max_bytes=max_bytes)
    if not isinstance(data, dict):
        raise InvalidRequest("body", "must be a JSON object", code="invalid_json")
    return data


def parse_strict_json(body: bytes, *, max_bytes: int = MAX_BODY_BYTES) -> Any:
    """Parse `body` as JSON strictly, guessing and dropping nothing.

    Raises:
        TooLarge: the body is over the limit of bytes.
        InvalidRequest: the body is nested deeper than 32 (checked first, because the parser recurses), not UTF-8 or
            not JSON; it has NaN, Infinity or a duplicate name; or a text has NUL or half a surrogate pair.
    """
    if len(body) > max_bytes:
        raise TooLarge(f"the body is over {max_bytes} bytes", field="body", details={"limit_bytes": max_bytes})
    if not body:
        raise InvalidRequest("body", "is empty: send a JSON object, with its Content-Length", code="invalid_json")
    _check_json_depth(body)
    try:
        data = json.loads(
            body.decode(),
            object_pairs_hook=_build_json_object,
            parse_constant=_parse_json_number,
            parse_float=_parse_json_number,
        )
    except UnicodeDecodeError:
        raise InvalidRequest("body", "must be UTF-8", code="invalid_json") from None
    except json.JSONDecodeError as failure:
        message = f"must be JSON, and is none from line {failure.lineno}, column {failure.colno} on"
        raise InvalidRequest("body", message, code="invalid_json") from None
    except ValueError:  # an integer of more digits than Python parses
        raise InvalidRequest("body", "must be JSON", code="invalid_json") from None
    return check_storable_text(data)


JSON_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # to its end or the body's; possessive, so linear
BRACES_TO_BRACKETS = bytes.maketrans(b"{}", b"[]")
NON_BRACKET_BYTES = bytes(set(range(256)) - set(b"[]{}"))


def _check_json_depth(body: bytes) -> None:
    """Raise InvalidRequest when the brackets are nested too deep or not closed.

    The innermost pairs are removed once per allowed level; any bracket left is too deep or has no partner.
    """
    brackets = JSON_STRING.sub(b"", body).translate(BRACES_TO_BRACKETS, NON_BRACKET_BYTES)
    for _ in range(MAX_JSON_DEPTH):
        brackets = brackets.replace(b"[]", b"")
    if brackets:
        message = f"must be JSON with its brackets closed, nested at most {MAX_JSON_DEPTH} deep"
        raise InvalidRequest("body", message, code="invalid_json")


def _build_json_object(pairs: list[tuple[str, Any]]) -> JsonObject:
    """Return the object of these pairs. Raises InvalidRequest for a duplicate name."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise InvalidRequest(name[:100], "must be given only once", code="invalid_json")
    return fields


def _parse_json_number(text: str) -> float:
    """Return the float. Raises InvalidRequest when it is not finite."""
    number = float(text)
    if not math.isfinite(number):  # NaN, Infinity, 1e999
        raise InvalidRequest("body", "must not have NaN, Infinity or a number beyond a float", code="invalid_json")
    return number


UNSTORABLE_CHARS = re.compile("[\0\ud800-\udfff]")


def check_storable_text(data: T) -> T:
    """Return `data` unchanged. Raises InvalidRequest for a text that UTF-8 or a database cannot store."""
    pending: list[tuple[str, Any]] = [("", data)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, str) and UNSTORABLE_CHARS.search(value):
            raise InvalidRequest(path or "body", "must not have NUL or half a surrogate pair", code="invalid_text")
        if isinstance(value, dict):
            pending += [(path or "body", name) for name in value]
            pending += [(f"{path}.{name[:100]}".lstrip("."), item) for name, item in value.items()]
        if isinstance(value, list):
            pending += [(f"{path}.{place}", item) for place, item in enumerate(value)]
    return data
