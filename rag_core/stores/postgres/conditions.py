"""Scopes and filters as parts of a WHERE clause; every value is bound."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rag_core.core.field_values import iter_field_values
from rag_core.core.model import Chunk, Filter, Scalar, Scope
from rag_core.stores.access import list_scope_readers

# jsonb compares values of the same type only: 5.0 equals 5, but neither "5" nor true does
JSONPATH_OPERATORS: Mapping[str, str] = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
_JSON_NUL_PATTERN = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


class PostgresCondition(NamedTuple):
    """A part of a WHERE clause over `document_chunks c` and `rag_documents d`, and the values of its placeholders."""

    sql: str
    values: tuple[Any, ...]

    def and_where(self, sql: str, *values: Any) -> "PostgresCondition":
        return PostgresCondition(f"{self.sql} and {sql}", self.values + values)


def collect_json_field_values(chunk: Chunk) -> dict[str, list[Scalar]]:
    """Return every field by which the chunk can be filtered and counted, with its distinct values."""
    values_by_field: dict[str, list[Scalar]] = {}
    for field, value in iter_field_values(chunk):
        if value not in values_by_field.setdefault(field, []):
            values_by_field[field].append(value)
    return values_by_field


def build_visible_documents_condition(scope: Scope, *, deleted: bool = False) -> PostgresCondition:
    """Build the condition for the live, or the deleted, documents that the scope may read."""
    condition = PostgresCondition(f"d.deleted_at is {'not ' if deleted else ''}null", ()).and_where(
        "d.collection = %s", scope.workflow_id
    )
    condition = condition.and_where("d.readers && %s::text[]", list(list_scope_readers(scope)))
    return condition.and_where("d.external_id = any(%s)", list(scope.document_ids)) if scope.document_ids else condition


def build_visible_chunks_condition(scope: Scope, filters: Sequence[Filter]) -> PostgresCondition:
    """Build the condition for chunks the scope may read and every filter admits."""
    condition = build_visible_documents_condition(scope).and_where("c.collection = %s", scope.workflow_id)
    for chunk_filter in filters:
        condition = condition.and_where(*_build_jsonb_condition(chunk_filter))
    return condition


def _build_jsonb_condition(chunk_filter: Filter) -> tuple[Any, ...]:
    field, value = chunk_filter.field, chunk_filter.value
    filter_values = value if isinstance(value, tuple) else (value,)
    if chunk_filter.op in ("eq", "in"):
        # one condition per value: the index does not serve an array of them
        alternatives = " or ".join(["c.facts @> %s::jsonb"] * len(filter_values))
        return (f"({alternatives or 'false'})", *(_encode_jsonb({field: [item]}) for item in filter_values))
    if chunk_filter.op == "ne":
        sql = "exists (select from jsonb_array_elements(c.facts -> %s) v where v is distinct from %s::jsonb)"
        return sql, field, _encode_jsonb(filter_values[0])
    path = f"$[*] ? (@ {JSONPATH_OPERATORS[chunk_filter.op]} $given)"
    sql = f"jsonb_path_exists(c.facts -> %s, '{path}', jsonb_build_object('given', %s::jsonb))"
    return sql, field, _encode_jsonb(filter_values[0])


def _encode_jsonb(value: object) -> str | None:
    """Encode a value as JSON; None for a text with NUL, which cannot be stored and so equals nothing."""
    text = json.dumps(value)
    return None if _JSON_NUL_PATTERN.search(text) else text
