"""Scopes and filters as SQL conditions, and as terms that the lexical index can check as well."""

# ruff: noqa: S608 - the SQL is built from constants of this package; values are bound

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import NamedTuple

import apsw

from rag_core.core.field_values import iter_field_values
from rag_core.core.model import Chunk, Filter, Scalar, Scope
from rag_core.stores.access import list_scope_readers

StoredValue = str | int | float | bytes


class SqliteCondition(NamedTuple):
    """A part of a WHERE clause and the values of its placeholders."""

    sql: str
    values: tuple[StoredValue, ...]

    def and_where(self, sql: str, values: tuple[StoredValue, ...]) -> "SqliteCondition":
        return SqliteCondition(f"{self.sql} and {sql}", self.values + values)


def collect_stored_field_values(chunk: Chunk) -> set[tuple[str, StoredValue]]:
    """Return every field and value by which the chunk can be filtered and counted, as they are stored."""
    return {(field, encode_stored_value(value)) for field, value in iter_field_values(chunk)}


def encode_stored_value(value: Scalar) -> StoredValue:
    """Encode a value for the column `value`: 5.0 equals 5, but true does not equal 1."""
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    return value


def decode_stored_value(value: StoredValue) -> Scalar:
    """Decode a value of the column `value`."""
    return value == b"true" if isinstance(value, bytes) else value


def encode_field_value_term(field: str, value: StoredValue) -> str:
    """Hash a field and its value to a term of fixed length for the lexical index."""
    return blake2b(repr((field, value)).encode("utf-8", "replace"), digest_size=16).hexdigest()


def build_visible_versions_condition(workflow: int, scope: Scope) -> SqliteCondition:
    """Build the condition for document versions the scope may read: of its named documents, or of all.

    Listing those of all takes as long as there are documents.
    """
    if scope.document_ids:
        ids = _format_placeholders(scope.document_ids)
        readable = _build_readable_condition("d", workflow, scope)
        named = f"select d.version from documents d where d.workflow = ? and d.id in ({ids}) and {readable.sql}"
        return SqliteCondition(f"version in ({named})", (workflow, *scope.document_ids, *readable.values))
    readers = list_scope_readers(scope)
    sql = f"version in (select version from readers where workflow = ? and reader in ({_format_placeholders(readers)}))"
    return SqliteCondition(sql, (workflow, *readers))


def build_visible_rows_condition(table: str, workflow: int, scope: Scope) -> SqliteCondition:
    """Build the condition for rows of a table that the scope may read, each looked up by itself.

    It is for few rows, found by another condition: what it takes does not grow with the number of documents.
    """
    if scope.document_ids:
        return build_visible_versions_condition(workflow, scope)
    return _build_readable_condition(table, workflow, scope)


def _build_readable_condition(table: str, workflow: int, scope: Scope) -> SqliteCondition:
    readers = list_scope_readers(scope)
    is_reader = f"r.workflow = ? and r.reader in ({_format_placeholders(readers)}) and r.version = {table}.version"
    return SqliteCondition(f"exists (select 1 from readers r where {is_reader})", (workflow, *readers))


def build_visible_document_condition(workflow: int, scope: Scope, document_id: str) -> SqliteCondition:
    """Build the condition for the version of one document, if the scope may read it."""
    own = build_visible_versions_condition(workflow, replace(scope, document_ids=(document_id,)))
    return own if not scope.document_ids or document_id in scope.document_ids else own.and_where("false", ())


def build_filtered_rows_condition(workflow: int, scope: Scope, filters: Sequence[Filter]) -> SqliteCondition:
    """Build the condition for rows the scope may read and every filter admits."""
    return _add_filter_conditions(build_visible_versions_condition(workflow, scope), workflow, filters)


def build_filtered_field_values_condition(workflow: int, filters: Sequence[Filter]) -> SqliteCondition:
    """Build the condition for entries of `facts` that the first filter admits, of rows that the other filters admit.

    A row may have several such entries. The condition reads the index of `facts` and no chunk: reading chunks would
    take most of the time of a filtered query (measured with 2,000 of 100,000 chunks).
    """
    return _add_filter_conditions(_build_field_value_condition(workflow, filters[0]), workflow, filters[1:])


def _add_filter_conditions(condition: SqliteCondition, workflow: int, filters: Sequence[Filter]) -> SqliteCondition:
    for chunk_filter in filters:
        value_condition = _build_field_value_condition(workflow, chunk_filter)
        condition = condition.and_where(
            f"row in (select row from facts where {value_condition.sql})", value_condition.values
        )
    return condition


def _build_field_value_condition(workflow: int, chunk_filter: Filter) -> SqliteCondition:
    value_condition = _build_value_condition(chunk_filter)
    return SqliteCondition(
        f"workflow = ? and field = ? and {value_condition.sql}", (workflow, chunk_filter.field, *value_condition.values)
    )


def list_filter_terms(db: apsw.Connection, workflow: int, filters: Sequence[Filter]) -> list[list[str]]:
    """Return for each filter the terms of which a chunk must have at least one."""
    return [
        [encode_field_value_term(f.field, value) for value in _select_matching_values(db, workflow, f)] for f in filters
    ]


def _select_matching_values(db: apsw.Connection, workflow: int, chunk_filter: Filter) -> Sequence[StoredValue]:
    value_condition = _build_value_condition(chunk_filter)
    if chunk_filter.op in ("eq", "in"):
        return value_condition.values
    sql = f"select distinct value from facts where workflow = ? and field = ? and {value_condition.sql}"
    return [value for (value,) in db.execute(sql, (workflow, chunk_filter.field, *value_condition.values))]


def _build_value_condition(chunk_filter: Filter) -> SqliteCondition:
    filter_values = chunk_filter.value if isinstance(chunk_filter.value, tuple) else (chunk_filter.value,)
    values = tuple(encode_stored_value(value) for value in filter_values)
    if chunk_filter.op in ("eq", "in"):
        return SqliteCondition(f"value in ({_format_placeholders(values)})", values)
    if chunk_filter.op == "ne":
        return SqliteCondition("value <> ?", values[:1])
    operator = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}[chunk_filter.op]
    return SqliteCondition(
        f"value {operator} ? and typeof(value) in ({_format_comparable_sqlite_types(values[0])})", values[:1]
    )


def _format_comparable_sqlite_types(value: StoredValue) -> str:
    """Return the SQLite types that compare with `value`: numbers sort before texts, so types must not be mixed."""
    if isinstance(value, str):
        return "'text'"
    return "'blob'" if isinstance(value, bytes) else "'integer', 'real'"


def _format_placeholders(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
