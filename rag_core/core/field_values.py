"""The fields and values by which a chunk can be filtered and counted, and the order in which fields are listed."""

from collections.abc import Iterator

from rag_core.core.model import ANY_ENTITY_FIELD, CHUNK_FIELDS, Chunk, Scalar


def iter_field_values(chunk: Chunk) -> Iterator[tuple[str, Scalar]]:
    """Return every pair of a field and one of its values. Empty texts count as absent."""
    candidates: tuple[tuple[str, Scalar | None], ...] = (
        ("title", chunk.title),
        ("source", chunk.source),
        ("document_id", chunk.document_id),
        ("page", chunk.page),
        *((ANY_ENTITY_FIELD, entity.value) for entity in chunk.entities),
        *((entity.type, entity.value) for entity in chunk.entities if entity.type not in CHUNK_FIELDS),
        *((f"metadata.{name}", value) for name, value in chunk.metadata.items()),
    )
    return ((field, value) for field, value in candidates if value is not None and value != "")


def compute_field_order(field: str) -> tuple[int, int, str]:
    """Return the sort key of a field: "entity_codes", then entity types, fields of every chunk, and metadata."""
    if field == ANY_ENTITY_FIELD:
        return (0, 0, field)
    if field in CHUNK_FIELDS:
        return (2, CHUNK_FIELDS.index(field), field)
    return (3 if field.startswith("metadata.") else 1, 0, field)
