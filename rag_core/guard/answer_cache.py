"""What was answered before is answered again, to whoever would be answered the same (S4-04, S4-05, C23)."""

import json
from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

from rag_core.core.model import Query
from rag_core.core.ports import Cache

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")

TTL_S = 3600.0  # S4-04
_kinds: "dict[Any, tuple[TypeAdapter[Any], str]]" = {}


def cache_key(query: Query, preset_hash: str, corpus_version: str) -> str:
    """SHA-256 of all that an answer depends on: every field of the question, the scope among them, and the two others.

    Case and blanks of the text do not count (C24).
    """
    asked = asdict(query) | {"text": canonical(query.text)}
    return sha256(json.dumps([asked, preset_hash, corpus_version], sort_keys=True).encode()).hexdigest()


def canonical(text: str) -> str:
    """The question without what makes no difference: case, and how much blank there is."""
    return " ".join(text.casefold().split())


async def recall(key: str, kind: type[T], cache: Cache) -> T | None:
    """What was remembered under `key` as a `kind`; None when there is nothing, or nothing that is one."""
    adapter, shape = _known(kind)
    kept = await cache.get(f"{shape}:{key}")
    try:
        found: T | None = None if kept is None else adapter.validate_json(kept, strict=True)
    except ValueError:  # pydantic's is one
        return None
    return found


async def remember(key: str, value: object, cache: Cache, *, ttl_s: float = TTL_S) -> None:
    """Keep a value made of our own records, as JSON. A lesser answer is not to be kept: the caller sees to that."""
    adapter, shape = _known(type(value))
    try:
        kept = adapter.dump_json(value)
    except ValueError:  # half a character cannot be written
        return
    await cache.set(f"{shape}:{key}", kept, ttl_s=ttl_s)


def _known(kind: Any) -> "tuple[TypeAdapter[Any], str]":
    """How a kind is read, and a name that changes with its fields: another version's values are not found."""
    if kind not in _kinds:
        from pydantic import TypeAdapter  # 100 ms that importing the app need not take

        adapter = TypeAdapter(kind)
        _kinds[kind] = adapter, sha256(json.dumps(adapter.json_schema(), sort_keys=True).encode()).hexdigest()[:12]
    return _kinds[kind]
