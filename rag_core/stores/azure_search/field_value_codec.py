"""The encoding of entity types and metadata as texts of one index field: `dtc="P0700"`, `metadata.year=2012`."""

import json
from collections.abc import Iterator, Mapping

from rag_core.core.model import Chunk, Scalar

INDEX_FIELDS: Mapping[str, str] = {  # chunk fields that have an index field of their own, in the order of listing
    "entity_codes": "entity_codes",
    "title": "title",
    "source": "source",
    "document_id": "document_id",
    "page": "page_number",
}


def encode_chunk_field_values(chunk: Chunk) -> list[str]:
    """Encode the typed entities and metadata of a chunk, sorted. Empty texts count as absent."""
    return sorted({encode_field_value(field, value) for field, value in _iter_dynamic_field_values(chunk)})


def list_encoded_fields(chunk: Chunk) -> list[str]:
    """List the fields of the encoded values of a chunk, sorted."""
    return sorted({field for field, _ in _iter_dynamic_field_values(chunk)})


def encode_field_value(field: str, value: Scalar) -> str:
    """Encode a field and a value as one text: 5.0 equals 5, but true equals neither 1 nor "1"."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"{field}={json.dumps(value, ensure_ascii=False)}"


def decode_field_value(field: str, text: str) -> Scalar | None:
    """Decode the value of the field; None when the text encodes another field, since names may contain "=" too."""
    if not text.startswith(f"{field}="):
        return None
    try:
        value = json.loads(text[len(field) + 1 :])
    except ValueError:
        return None
    return value if isinstance(value, Scalar) else None


def _iter_dynamic_field_values(chunk: Chunk) -> Iterator[tuple[str, Scalar]]:
    yield from ((e.type, e.value) for e in chunk.entities if e.type not in INDEX_FIELDS and e.value)
    yield from ((f"metadata.{name}", value) for name, value in chunk.metadata.items() if value != "")
