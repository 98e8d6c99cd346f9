"""What a chunk can be filtered and counted by besides its own fields, as texts: `dtc="P0700"`, `metadata.year=2012`."""

import json
from collections.abc import Iterator, Mapping

from rag_core.core.model import Chunk, Scalar

FIELDS: Mapping[str, str] = {  # fields of a chunk that are fields of the index too, in the order they are listed
    "entity_codes": "entity_codes",
    "title": "title",
    "source": "source",
    "document_id": "document_id",
    "page": "page_number",
}


def facts(chunk: Chunk) -> list[str]:
    """Its typed entities and metadata. Empty texts count as absent."""
    return sorted({fact(name, value) for name, value in _pairs(chunk)})


def fact_names(chunk: Chunk) -> list[str]:
    """The fields of its facts."""
    return sorted({name for name, _ in _pairs(chunk)})


def fact(field: str, value: Scalar) -> str:
    """One text a value: 5.0 is 5, but true is not 1, nor "1"."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"{field}={json.dumps(value, ensure_ascii=False)}"


def value_of(field: str, text: str) -> Scalar | None:
    """The value of the field, when that is what the fact is about: names may hold "=" as well."""
    if not text.startswith(f"{field}="):
        return None
    try:
        value = json.loads(text[len(field) + 1 :])
    except ValueError:
        return None
    return value if isinstance(value, Scalar) else None


def _pairs(chunk: Chunk) -> Iterator[tuple[str, Scalar]]:
    yield from ((e.type, e.value) for e in chunk.entities if e.type not in FIELDS and e.value)
    yield from ((f"metadata.{name}", value) for name, value in chunk.metadata.items() if value != "")
