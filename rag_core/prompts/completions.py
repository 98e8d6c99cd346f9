"""Parsing of completions; malformed JSON is repaired only where it is unambiguous."""

import json
import re
from typing import Any, NoReturn

from rag_core.core.errors import Unavailable

MAX_COMPLETION_CHARS = 100_000  # 20 grades need 200 characters; a completion of this length is none
TRAILING_COMMA = re.compile(r",(?=\s*[\]}])")


def make_invalid_completion_error(what: str) -> Unavailable:
    """Return the error for a completion that cannot be used."""
    return Unavailable(f"the model's reply {what}", code="llm_output_invalid")


def parse_completion_list(text: str, name: str) -> list[Any]:
    """Return the list called `name` of the JSON object in a completion.

    Raises:
        Unavailable: there is no such list (llm_output_invalid).
    """
    items = parse_completion_object(text).get(name)
    if not isinstance(items, list):
        raise make_invalid_completion_error(f"has no list {name}")
    return items


def parse_completion_object(text: str) -> dict[str, Any]:
    """Return the JSON object in a completion, also from within prose or a code fence.

    Raises:
        Unavailable: there is no object (llm_output_invalid).
    """
    start, end = text.find("{"), text.rfind("}") + 1
    if len(text) > MAX_COMPLETION_CHARS or not 0 <= start < end:
        raise make_invalid_completion_error("holds no JSON object")
    parsed = _parse_lenient_json(text[start:end])
    if not isinstance(parsed, dict):
        raise make_invalid_completion_error("holds no JSON object")
    return parsed


def _parse_lenient_json(text: str) -> object:
    """Parse JSON, without its trailing commas where it is invalid with them."""
    try:
        return json.loads(text, parse_constant=_reject_json_constant)
    except (ValueError, RecursionError):
        pass
    try:
        return json.loads(TRAILING_COMMA.sub("", text), parse_constant=_reject_json_constant)
    except (ValueError, RecursionError) as error:
        raise make_invalid_completion_error("is not JSON") from error


def _reject_json_constant(constant: str) -> NoReturn:
    """Raise ValueError for NaN and Infinity, which `json` would accept."""
    raise ValueError(f"{constant} is not JSON")
