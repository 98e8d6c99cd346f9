"""Scopes and filters as OData expressions; no other module builds them. Every value becomes a quoted literal.

For items of collections the service evaluates only `eq` and `search.in` (OData collection filters). Other comparisons
are evaluated here, on the values that a facet has listed.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rag_core.core.model import Filter, Scalar, Scope
from rag_core.stores.access import list_scope_readers
from rag_core.stores.azure_search.field_value_codec import INDEX_FIELDS, encode_field_value

MATCH_NOTHING = "kind eq ''"
LIST_DELIMITERS = "|\x1f\x1e\x1d"
COLLECTION_FIELDS = ("entity_codes", "facts")
MAX_INT32 = 2**31 - 1
COMPARISON_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}


def format_odata_literal(text: str) -> str:
    """Quote a text; unpaired surrogates, which UTF-8 cannot encode, become "?"."""
    return "'" + text.encode("utf-8", "replace").decode().replace("'", "''") + "'"


def join_odata_with_and(*conditions: str) -> str:
    """Join expressions with `and`."""
    return " and ".join(f"({condition})" for condition in conditions)


def build_visible_chunks_filter(scope: Scope) -> str:
    """Build the expression for the chunks that the scope may read."""
    conditions = ["kind eq 'chunk'", "live", *_build_reader_conditions(scope)]
    return (
        join_odata_with_and(*conditions, build_odata_membership_filter("document_id", scope.document_ids))
        if scope.document_ids
        else join_odata_with_and(*conditions)
    )


def build_visible_documents_filter(scope: Scope, *, deleted: bool = False, source_prefix: str = "") -> str:
    """Build the expression for the live, or the deleted, documents that the scope may read.

    A prefix is a range: the service has no function for the beginning of a text.
    """
    conditions = ["kind eq 'document'", "not live" if deleted else "live", *_build_reader_conditions(scope)]
    if source_prefix:
        after = source_prefix[:-1] + chr(ord(source_prefix[-1]) + 1)
        conditions += [
            f"source {op} {format_odata_literal(text)}" for op, text in (("ge", source_prefix), ("lt", after))
        ]
    if scope.document_ids:
        conditions.append(build_odata_membership_filter("document_id", scope.document_ids))
    return join_odata_with_and(*conditions)


def build_document_chunks_filter(workflow_id: str, document_id: str) -> str:
    """Build the expression for the chunks of every version of a document, live or not. It checks no readers."""
    return join_odata_with_and(
        "kind eq 'chunk'",
        _format_odata_equality("workflow_id", workflow_id),
        _format_odata_equality("document_id", document_id),
    )


def build_odata_membership_filter(field: str, values: Sequence[str]) -> str:
    """Build the expression that a field, or an item of a collection, equals one of the values."""
    if field not in (*COLLECTION_FIELDS, "readers"):
        return _format_odata_membership(field, values)
    return f"{field}/any(x: {_format_odata_membership('x', values)})" if values else MATCH_NOTHING


def is_compared_locally(chunk_filter: Filter) -> bool:
    """Return whether the filter has to be evaluated here, on a list of all values of its field."""
    return chunk_filter.op not in ("eq", "in") and get_index_field(chunk_filter.field) in COLLECTION_FIELDS


def get_index_field(field: str) -> str:
    """Return the index field that holds the values of a chunk field."""
    return INDEX_FIELDS.get(field, "facts")


def build_odata_filter(chunk_filter: Filter, field_values: Sequence[Scalar] = ()) -> str:
    """Build the expression for chunks with a value that the filter admits.

    `field_values` lists all values of the field; it is used only when the filter has to be evaluated here.
    """
    filter_values = chunk_filter.value if isinstance(chunk_filter.value, tuple) else (chunk_filter.value,)
    field = get_index_field(chunk_filter.field)
    if field == "page_number":
        return _join_odata_with_or([_format_page_comparison(chunk_filter.op, value) for value in filter_values])
    if is_compared_locally(chunk_filter):
        filter_values = tuple(
            value for value in field_values if _matches_comparison(chunk_filter.op, value, filter_values[0])
        )
    if field == "facts":
        return build_odata_membership_filter(
            field, [encode_field_value(chunk_filter.field, value) for value in filter_values if value != ""]
        )
    texts = [value for value in filter_values if isinstance(value, str) and value]
    if chunk_filter.op in ("eq", "in") or field in COLLECTION_FIELDS:
        return build_odata_membership_filter(field, texts)
    return _format_text_comparison(field, chunk_filter.op, filter_values[0])


def _build_reader_conditions(scope: Scope) -> list[str]:
    return [
        _format_odata_equality("workflow_id", scope.workflow_id),
        build_odata_membership_filter("readers", list_scope_readers(scope)),
    ]


def _format_odata_equality(field: str, text: str) -> str:
    return f"{field} eq {format_odata_literal(text)}"


def _format_odata_membership(field: str, values: Sequence[str]) -> str:
    """Compare by `search.in` with a delimiter that no value contains, or value by value where that fails."""
    delimiter = next(
        (candidate for candidate in LIST_DELIMITERS if not any(candidate in value for value in values)), None
    )
    if len(values) > 1 and delimiter and all(value and value == value.strip() for value in values):
        return f"search.in({field}, {format_odata_literal(delimiter.join(values))}, {format_odata_literal(delimiter)})"
    return _join_odata_with_or([_format_odata_equality(field, value) for value in values])


def _join_odata_with_or(conditions: Sequence[str]) -> str:
    return " or ".join(conditions) if conditions else MATCH_NOTHING


def _format_text_comparison(field: str, op: str, operand: Scalar) -> str:
    """Compare a text field; a value that is not a text equals none and is neither greater nor less."""
    if not isinstance(operand, str):
        return f"{field} ne ''" if op == "ne" else MATCH_NOTHING
    return join_odata_with_and(f"{field} {op} {format_odata_literal(operand)}", f"{field} ne ''")


def _format_page_comparison(op: str, operand: Scalar) -> str:
    """Compare page numbers, which are 32-bit integers, with any value."""
    if isinstance(operand, str | bool) or (op in ("eq", "in", "ne") and not float(operand).is_integer()):
        return "page_number ne null" if op == "ne" else MATCH_NOTHING
    clamped = max(-MAX_INT32, min(MAX_INT32, operand))
    page = math.floor(clamped) if op in ("gt", "le") else math.ceil(clamped)
    if op == "ne":
        return join_odata_with_and(f"page_number ne {page:d}", "page_number ne null")
    return f"page_number {'eq' if op == 'in' else op} {page:d}"


def _matches_comparison(op: str, value: Scalar, operand: Scalar) -> bool:
    is_comparable = _get_comparable_type(value) is _get_comparable_type(operand)
    if op == "ne":
        return not (is_comparable and value == operand)
    return is_comparable and COMPARISON_OPERATORS[op](value, operand)


def _get_comparable_type(value: Scalar) -> type:
    return type(value) if isinstance(value, str | bool) else float
