"""Scopes and filters as OData expressions; no other module builds them. Every value becomes a quoted literal.

For items of collections the service evaluates only `eq` and `search.in` (OData collection filters). Other comparisons
are evaluated here, on the values that a facet has listed.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rag_core.core.model import Filter, Scalar, Scope
from rag_core.stores.access import reads_as
from rag_core.stores.azure_search.facts import FIELDS, fact

NOTHING = "kind eq ''"
DELIMITERS = "|\x1f\x1e\x1d"
COLLECTIONS = ("entity_codes", "facts")
INT32 = 2**31 - 1
COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}


def literal(text: str) -> str:
    """Quote a text; unpaired surrogates, which UTF-8 cannot encode, become "?"."""
    return "'" + text.encode("utf-8", "replace").decode().replace("'", "''") + "'"


def all_of(*conditions: str) -> str:
    """Join expressions with `and`."""
    return " and ".join(f"({condition})" for condition in conditions)


def chunks_of(scope: Scope) -> str:
    """Build the expression for the chunks that the scope may read."""
    conditions = ["kind eq 'chunk'", "live", *_seen_by(scope)]
    return all_of(*conditions, among("document_id", scope.document_ids)) if scope.document_ids else all_of(*conditions)


def documents_of(scope: Scope, *, deleted: bool = False) -> str:
    """Build the expression for the live, or the deleted, documents that the scope may read."""
    conditions = ["kind eq 'document'", "not live" if deleted else "live", *_seen_by(scope)]
    return all_of(*conditions, among("document_id", scope.document_ids)) if scope.document_ids else all_of(*conditions)


def versions_of(workflow_id: str, document_id: str) -> str:
    """Build the expression for the chunks of every version of a document, live or not. It checks no readers."""
    return all_of("kind eq 'chunk'", _is("workflow_id", workflow_id), _is("document_id", document_id))


def among(field: str, values: Sequence[str]) -> str:
    """Build the expression that a field, or an item of a collection, equals one of the values."""
    if field not in (*COLLECTIONS, "readers"):
        return _among(field, values)
    return f"{field}/any(x: {_among('x', values)})" if values else NOTHING


def looks_up(chunk_filter: Filter) -> bool:
    """Return whether the filter has to be evaluated here, on a list of all values of its field."""
    return chunk_filter.op not in ("eq", "in") and index_field(chunk_filter.field) in COLLECTIONS


def index_field(field: str) -> str:
    """Return the index field that holds the values of a chunk field."""
    return FIELDS.get(field, "facts")


def passing(chunk_filter: Filter, field_values: Sequence[Scalar] = ()) -> str:
    """Build the expression for chunks with a value that the filter admits.

    `field_values` lists all values of the field; it is used only when the filter has to be evaluated here.
    """
    filter_values = chunk_filter.value if isinstance(chunk_filter.value, tuple) else (chunk_filter.value,)
    field = index_field(chunk_filter.field)
    if field == "page_number":
        return _any_of([_page(chunk_filter.op, value) for value in filter_values])
    if looks_up(chunk_filter):
        filter_values = tuple(value for value in field_values if _admits(chunk_filter.op, value, filter_values[0]))
    if field == "facts":
        return among(field, [fact(chunk_filter.field, value) for value in filter_values if value != ""])
    texts = [value for value in filter_values if isinstance(value, str) and value]
    if chunk_filter.op in ("eq", "in") or field in COLLECTIONS:
        return among(field, texts)
    return _compared(field, chunk_filter.op, filter_values[0])


def _seen_by(scope: Scope) -> list[str]:
    return [_is("workflow_id", scope.workflow_id), among("readers", reads_as(scope))]


def _is(field: str, text: str) -> str:
    return f"{field} eq {literal(text)}"


def _among(field: str, values: Sequence[str]) -> str:
    """Compare by `search.in` with a delimiter that no value contains, or value by value where that fails."""
    delimiter = next((candidate for candidate in DELIMITERS if not any(candidate in value for value in values)), None)
    if len(values) > 1 and delimiter and all(value and value == value.strip() for value in values):
        return f"search.in({field}, {literal(delimiter.join(values))}, {literal(delimiter)})"
    return _any_of([_is(field, value) for value in values])


def _any_of(conditions: Sequence[str]) -> str:
    return " or ".join(conditions) if conditions else NOTHING


def _compared(field: str, op: str, operand: Scalar) -> str:
    """Compare a text field; a value that is not a text equals none and is neither greater nor less."""
    if not isinstance(operand, str):
        return f"{field} ne ''" if op == "ne" else NOTHING
    return all_of(f"{field} {op} {literal(operand)}", f"{field} ne ''")


def _page(op: str, operand: Scalar) -> str:
    """Compare page numbers, which are 32-bit integers, with any value."""
    if isinstance(operand, str | bool) or (op in ("eq", "in", "ne") and not float(operand).is_integer()):
        return "page_number ne null" if op == "ne" else NOTHING
    clamped = max(-INT32, min(INT32, operand))
    page = math.floor(clamped) if op in ("gt", "le") else math.ceil(clamped)
    if op == "ne":
        return all_of(f"page_number ne {page:d}", "page_number ne null")
    return f"page_number {'eq' if op == 'in' else op} {page:d}"


def _admits(op: str, value: Scalar, operand: Scalar) -> bool:
    is_comparable = _kind(value) is _kind(operand)
    if op == "ne":
        return not (is_comparable and value == operand)
    return is_comparable and COMPARED[op](value, operand)


def _kind(value: Scalar) -> type:
    return type(value) if isinstance(value, str | bool) else float
