"""The one place where a chat model is asked: its reply is screened as text or as JSON before anyone sees it.

Malformed JSON is repaired only where it is unambiguous.
"""

import asyncio
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from rag_core.core.errors import Unavailable
from rag_core.core.ports import LLM, Prompt
from rag_core.prompts.screening import screen_text

MAX_COMPLETION_CHARS = 100_000  # 20 grades need 200 characters; a completion of this length is none
MAX_SCREENED_DEPTH = 5  # of the values in a completion; no schema of ours is deeper
TRAILING_COMMA = re.compile(r",(?=\s*[\]}])")


@dataclass(frozen=True, slots=True)
class ScreenedText:
    """A completion as screened text; `removed` names what was taken out."""

    text: str
    removed: tuple[str, ...]
    model: str
    local: bool


@dataclass(frozen=True, slots=True)
class ScreenedObject:
    """A completion as the fields of its JSON object with every text screened; `removed` names what was taken out."""

    fields: Mapping[str, Any]
    removed: tuple[str, ...]
    model: str
    local: bool


async def complete_text(
    prompt: Prompt, llm: LLM, *, sources: Sequence[str], max_chars: int = MAX_COMPLETION_CHARS
) -> ScreenedText:
    """Return a model's completion, of at most `max_chars` before it is screened; it may link to what `sources` name.

    Raises:
        Unavailable: the model did not answer.
    """
    completion = await llm.complete(prompt)
    text, removed = await asyncio.to_thread(screen_text, completion.text.strip()[:max_chars], sources)
    return ScreenedText(text.strip(), removed, completion.model, completion.local)


async def complete_object(prompt: Prompt, llm: LLM, *, sources: Sequence[str], max_chars: int) -> ScreenedObject:
    """Return the JSON object of a model's completion, each text in it of at most `max_chars` before it is screened.

    Raises:
        Unavailable: the model did not answer, or its reply holds no JSON object (llm_output_invalid).
    """
    completion = await llm.complete(prompt)
    fields, removed = await asyncio.to_thread(_screen_completion, completion.text, sources, max_chars)
    return ScreenedObject(fields, removed, completion.model, completion.local)


def _screen_completion(text: str, sources: Sequence[str], max_chars: int) -> tuple[dict[str, Any], tuple[str, ...]]:
    return screen_fields(parse_completion_object(text), sources, max_chars=max_chars)


def screen_fields(
    fields: Mapping[str, Any], sources: Sequence[str], *, max_chars: int
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the fields with every text in them cut and screened, and what that removed."""
    removed: list[str] = []

    def screen_value(value: object, depth: int) -> object:
        if isinstance(value, str):
            text, parts = screen_text(value[:max_chars], sources)
            removed.extend(parts)
            return text
        if isinstance(value, list | dict) and depth >= MAX_SCREENED_DEPTH:
            return None
        if isinstance(value, list):
            return [screen_value(item, depth + 1) for item in value]
        if isinstance(value, dict):
            return {name: screen_value(item, depth + 1) for name, item in value.items()}
        return value

    return {name: screen_value(value, 1) for name, value in fields.items()}, tuple(removed)


def make_invalid_completion_error(what: str) -> Unavailable:
    """Return the error for a completion that cannot be used."""
    return Unavailable(f"the model's reply {what}", code="llm_output_invalid")


def get_completion_list(fields: Mapping[str, Any], name: str) -> list[Any]:
    """Return the list called `name` of a completion's fields.

    Raises:
        Unavailable: there is no such list (llm_output_invalid).
    """
    items = fields.get(name)
    if not isinstance(items, list):
        raise make_invalid_completion_error(f"has no list {name}")
    return items


def index_by_id(items: Sequence[object], id_field: str, ids: Collection[str]) -> dict[str, Mapping[str, Any]]:
    """Return the objects among a completion's items by the id in their field `id_field`.

    An unknown id is left out, and so is one that occurs twice: which of the two is meant cannot be known.
    """
    objects = [item for item in items if isinstance(item, dict) and isinstance(item.get(id_field), str)]
    counts = Counter(item[id_field] for item in objects)
    return {item[id_field]: item for item in objects if item[id_field] in ids and counts[item[id_field]] == 1}


def parse_number(value: object, *, highest: float) -> float | None:
    """Parse a number from 0 to `highest`, also in a string; return None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and 0 <= number <= highest else None


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
