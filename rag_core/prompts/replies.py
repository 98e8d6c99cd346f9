"""Parsing of completions; malformed JSON is repaired only where it is unambiguous."""

import json
import re
from typing import Any, NoReturn

from rag_core.core.errors import Unavailable

MAX_CHARS = 100_000  # 20 grades need 200 characters; a completion of this length is none
TRAILING_COMMA = re.compile(r",(?=\s*[\]}])")


def garbled(what: str) -> Unavailable:
    """Return the error for a completion that cannot be used."""
    return Unavailable(f"the model's reply {what}", code="llm_output_invalid")


def read_list(text: str, name: str) -> list[Any]:
    """Return the list called `name` of the JSON object in a completion.

    Raises:
        Unavailable: there is no such list (llm_output_invalid).
    """
    items = read_object(text).get(name)
    if not isinstance(items, list):
        raise garbled(f"has no list {name}")
    return items


def read_object(text: str) -> dict[str, Any]:
    """Return the JSON object in a completion, also from within prose or a code fence.

    Raises:
        Unavailable: there is no object (llm_output_invalid).
    """
    start, end = text.find("{"), text.rfind("}") + 1
    if len(text) > MAX_CHARS or not 0 <= start < end:
        raise garbled("holds no JSON object")
    parsed = _parsed(text[start:end])
    if not isinstance(parsed, dict):
        raise garbled("holds no JSON object")
    return parsed


def _parsed(text: str) -> object:
    """Parse JSON, without its trailing commas where it is invalid with them."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        pass
    try:
        return json.loads(TRAILING_COMMA.sub("", text), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise garbled("is not JSON") from error


def _refuse(constant: str) -> NoReturn:
    """Raise ValueError for NaN and Infinity, which `json` would accept."""
    raise ValueError(f"{constant} is not JSON")
