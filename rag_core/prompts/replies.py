"""Reading what a chat model wrote: repaired only where it can mean one thing."""

import json
import re
from typing import Any, NoReturn

from rag_core.core.errors import Unavailable

MAX_CHARS = 100_000  # 20 grades need 200; a reply this long is not one
TRAILING_COMMA = re.compile(r",(?=\s*[\]}])")


def garbled(what: str) -> Unavailable:
    """A model's reply that cannot be used."""
    return Unavailable(f"the model's reply {what}", code="llm_output_invalid")


def read_list(text: str, name: str) -> list[Any]:
    """The list called `name` of the JSON object in a reply.

    Raises:
        Unavailable: there is none (llm_output_invalid).
    """
    found = read_object(text).get(name)
    if not isinstance(found, list):
        raise garbled(f"has no list {name}")
    return found


def read_object(text: str) -> dict[str, Any]:
    """The JSON object in a reply, also from within prose or a code fence.

    Raises:
        Unavailable: there is none (llm_output_invalid).
    """
    start, end = text.find("{"), text.rfind("}") + 1
    if len(text) > MAX_CHARS or not 0 <= start < end:
        raise garbled("holds no JSON object")
    found = _parsed(text[start:end])
    if not isinstance(found, dict):
        raise garbled("holds no JSON object")
    return found


def _parsed(text: str) -> object:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        pass
    try:
        return json.loads(TRAILING_COMMA.sub("", text), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise garbled("is not JSON") from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
