"""Scopes and filters as OData: the only file that writes it. A value becomes a literal and is never read.

Of collections the service compares `eq` and `search.in` only (OData collection filters), so that other comparisons
are made here, with the values that a facet has listed.
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
    """A text between quotes; half surrogates, which nothing can carry, become "?"."""
    return "'" + text.encode("utf-8", "replace").decode().replace("'", "''") + "'"


def all_of(*conditions: str) -> str:
    return " and ".join(f"({condition})" for condition in conditions)


def chunks_of(scope: Scope) -> str:
    """The chunks that the scope sees."""
    seen = ["kind eq 'chunk'", "live", *_seen_by(scope)]
    return all_of(*seen, among("document_id", scope.document_ids)) if scope.document_ids else all_of(*seen)


def documents_of(scope: Scope, *, deleted: bool = False) -> str:
    """The documents that the scope sees, or would if they were not deleted."""
    seen = ["kind eq 'document'", "not live" if deleted else "live", *_seen_by(scope)]
    return all_of(*seen, among("document_id", scope.document_ids)) if scope.document_ids else all_of(*seen)


def versions_of(workflow_id: str, document_id: str) -> str:
    """The chunks of every version of a document, also of those that nobody sees. Not for answers: it has no reader."""
    return all_of("kind eq 'chunk'", _is("workflow_id", workflow_id), _is("document_id", document_id))


def among(field: str, values: Sequence[str]) -> str:
    """That a field, or an item of a collection, is one of the values."""
    if field not in (*COLLECTIONS, "readers"):
        return _among(field, values)
    return f"{field}/any(x: {_among('x', values)})" if values else NOTHING


def looks_up(condition: Filter) -> bool:
    """Whether `condition` wants all values of its field to choose from."""
    return condition.op not in ("eq", "in") and index_field(condition.field) in COLLECTIONS


def index_field(field: str) -> str:
    return FIELDS.get(field, "facts")


def passing(condition: Filter, known: Sequence[Scalar] = ()) -> str:
    """The chunks with a value that the filter admits; `known` are the field's values, where `looks_up` says so."""
    given = condition.value if isinstance(condition.value, tuple) else (condition.value,)
    field = index_field(condition.field)
    if field == "page_number":
        return _any_of([_page(condition.op, value) for value in given])
    if looks_up(condition):
        given = tuple(value for value in known if _admits(condition.op, value, given[0]))
    if field == "facts":
        return among(field, [fact(condition.field, value) for value in given if value != ""])
    texts = [value for value in given if isinstance(value, str) and value]
    if condition.op in ("eq", "in") or field in COLLECTIONS:
        return among(field, texts)
    return _compared(field, condition.op, given[0])


def _seen_by(scope: Scope) -> list[str]:
    return [_is("workflow_id", scope.workflow_id), among("readers", reads_as(scope))]


def _is(field: str, text: str) -> str:
    return f"{field} eq {literal(text)}"


def _among(name: str, values: Sequence[str]) -> str:
    """By `search.in` with a delimiter that no value holds; one by one when there is none or a value may be trimmed."""
    delimiter = next((d for d in DELIMITERS if not any(d in value for value in values)), None)
    if len(values) > 1 and delimiter and all(value and value == value.strip() for value in values):
        return f"search.in({name}, {literal(delimiter.join(values))}, {literal(delimiter)})"
    return _any_of([_is(name, value) for value in values])


def _any_of(conditions: Sequence[str]) -> str:
    return " or ".join(conditions) if conditions else NOTHING


def _compared(field: str, op: str, given: Scalar) -> str:
    """Like is compared with like: another kind than text equals none, and is neither more nor less."""
    if not isinstance(given, str):
        return f"{field} ne ''" if op == "ne" else NOTHING
    return all_of(f"{field} {op} {literal(given)}", f"{field} ne ''")


def _page(op: str, given: Scalar) -> str:
    """Pages are whole numbers of 32 bits, what they are compared with need not be."""
    if isinstance(given, str | bool) or (op in ("eq", "in", "ne") and not float(given).is_integer()):
        return "page_number ne null" if op == "ne" else NOTHING
    near = max(-INT32, min(INT32, given))
    whole = math.floor(near) if op in ("gt", "le") else math.ceil(near)
    if op == "ne":
        return all_of(f"page_number ne {whole:d}", "page_number ne null")
    return f"page_number {'eq' if op == 'in' else op} {whole:d}"


def _admits(op: str, value: Scalar, given: Scalar) -> bool:
    alike = _kind(value) is _kind(given)
    if op == "ne":
        return not (alike and value == given)
    return alike and COMPARED[op](value, given)


def _kind(value: Scalar) -> type:
    return type(value) if isinstance(value, str | bool) else float
