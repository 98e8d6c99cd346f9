"""Facets from the counts that Azure AI Search returns: values decoded, sorted and limited."""

from collections.abc import Mapping, Sequence
from typing import Any

from rag_core.core.model import Facet, FacetBucket, Scalar
from rag_core.stores.azure_search import odata
from rag_core.stores.azure_search.field_value_codec import INDEX_FIELDS, decode_field_value
from rag_core.stores.azure_search.service_errors import parse_records


def parse_facet_counts(facets: Mapping[str, Any], field: str) -> list[tuple[Any, int]]:
    """Parse the values of an index field and their counts."""
    return parse_records(lambda bucket: (bucket["value"], int(bucket["count"])), facets.get(field, ()))


def facet_from_azure_counts(field: str, counts: Mapping[str, Any], limit: int) -> Facet:
    """Return the facet of a field, with its `limit` most frequent values, from the counts of its index field."""
    buckets = buckets_from_azure_counts(field, parse_facet_counts(counts, odata.get_index_field(field)))
    return Facet(field, len(buckets), tuple(buckets[:limit]))


def buckets_from_azure_counts(field: str, counts: Sequence[tuple[Any, int]]) -> list[FacetBucket]:
    """Sort the values of a field: most frequent first, ties by value, numbers before texts before booleans."""
    if odata.get_index_field(field) == "facts":
        counts = [(decode_field_value(field, text), count) for text, count in counts]
    buckets = [FacetBucket(value, count) for value, count in counts if value is not None and value != ""]
    return sorted(buckets, key=lambda bucket: (-bucket.count, *_compute_azure_value_order(bucket.value)))


def list_fields_with_values(counts: Mapping[str, Any]) -> list[str]:
    """List the counted fields that have values: any entity, entity types, common fields, metadata."""
    common_fields = [
        field
        for field, index_field in INDEX_FIELDS.items()
        if buckets_from_azure_counts(field, parse_facet_counts(counts, index_field))
    ]
    encoded_fields = sorted(str(field) for field, _ in parse_facet_counts(counts, "fact_names"))
    if "entity_codes" not in common_fields:
        return [*common_fields, *encoded_fields]
    entity_types = [field for field in encoded_fields if not field.startswith("metadata.")]
    return [*common_fields[:1], *entity_types, *common_fields[1:], *encoded_fields[len(entity_types) :]]


def parse_azure_space(counts: Mapping[str, Any]) -> str:
    """Return the embedding space of the counted chunks; "" when none of them has a vector."""
    return next((str(value) for value, _ in parse_facet_counts(counts, "space")), "")


def _compute_azure_value_order(value: Scalar) -> tuple[int, float, str]:
    if isinstance(value, str):
        return 1, 0.0, value
    return (2 if isinstance(value, bool) else 0), float(value), ""
