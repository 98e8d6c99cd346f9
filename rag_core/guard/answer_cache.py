"""The answer cache: an answer is reused for callers who would get the same one (S4-04, S4-05)."""

import json
from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

from rag_core.core.ports import Cache
from rag_core.core.presets import Query
from rag_core.text.terms import normalize_query_text

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")

ANSWER_TTL_S = 3600.0  # S4-04
_adapters_by_type: "dict[Any, tuple[TypeAdapter[Any], str]]" = {}


def hash_cache_key(query: Query, preset_hash: str, corpus_version: str) -> str:
    """Return the SHA-256 of all that an answer depends on: the query's fields, its scope included, and the other two.

    Case and amount of white space of the query text are ignored.
    """
    fields = asdict(query) | {"text": normalize_query_text(query.text)}
    return sha256(json.dumps([fields, preset_hash, corpus_version], sort_keys=True).encode()).hexdigest()


async def load_cached(key: str, record_type: type[T], cache: Cache) -> T | None:
    """Return the record that is cached under `key`; None when there is none, or what is there is not of that type."""
    adapter, schema_hash = _get_type_adapter(record_type)
    data = await cache.get(f"{schema_hash}:{key}")
    try:
        record: T | None = None if data is None else adapter.validate_json(data, strict=True)
    except ValueError:  # pydantic's ValidationError is one
        return None
    return record


async def save_cached(key: str, value: object, cache: Cache) -> None:
    """Cache a record of this package as JSON. The caller makes sure that it is not a degraded answer."""
    adapter, schema_hash = _get_type_adapter(type(value))
    try:
        data = adapter.dump_json(value)
    except ValueError:  # a lone surrogate cannot be encoded
        return
    await cache.set(f"{schema_hash}:{key}", data, ttl_s=ANSWER_TTL_S)


def _get_type_adapter(record_type: Any) -> "tuple[TypeAdapter[Any], str]":
    """Return a type's adapter and a hash of its schema, so that records of another version are not found."""
    if record_type not in _adapters_by_type:
        from pydantic import TypeAdapter  # imported here, because it takes 100 ms of the start

        adapter = TypeAdapter(record_type)
        schema = json.dumps(adapter.json_schema(), sort_keys=True)
        _adapters_by_type[record_type] = adapter, sha256(schema.encode()).hexdigest()[:12]
    return _adapters_by_type[record_type]
