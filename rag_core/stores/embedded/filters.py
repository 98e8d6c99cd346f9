"""Who may see a chunk and what it is filtered by, as plain values that SQLite and the word index can both check."""

# ruff: noqa: S608 - the SQL is put together from this package's own words; values are bound

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import apsw

from rag_core.core.model import Chunk, Filter, Scalar, Scope
from rag_core.stores.access import reads_as
from rag_core.stores.facts import pairs

Stored = str | int | float | bytes


class Condition(NamedTuple):
    """A part of a WHERE clause and the values of its question marks."""

    sql: str
    values: tuple[Stored, ...]

    def also(self, sql: str, values: tuple[Stored, ...]) -> "Condition":
        return Condition(f"{self.sql} and {sql}", self.values + values)


def facts(chunk: Chunk) -> set[tuple[str, Stored]]:
    """Every field and value that the chunk can be filtered and counted by."""
    return {(field, stored(value)) for field, value in pairs(chunk)}


def stored(value: Scalar) -> Stored:
    """A value as it is kept: 5.0 is 5, but true is not 1."""
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    return value


def shown(value: Stored) -> Scalar:
    return value == b"true" if isinstance(value, bytes) else value


def mark(field: str, value: Stored) -> str:
    """A field and its value as one short term of the word index, whatever characters and length they have."""
    return blake2b(repr((field, value)).encode("utf-8", "replace"), digest_size=16).hexdigest()


def visible(workflow: int, scope: Scope) -> Condition:
    """Which versions the scope sees."""
    names = reads_as(scope)
    shared = f"version in (select version from readers where workflow = ? and reader in ({_marks(names)}))"
    where = Condition(shared, (workflow, *names))
    if not scope.document_ids:
        return where
    named = f"version in (select version from documents where workflow = ? and id in ({_marks(scope.document_ids)}))"
    return where.also(named, (workflow, *scope.document_ids))


def passing(workflow: int, scope: Scope, filters: Sequence[Filter]) -> Condition:
    """Which rows the scope sees that also pass every filter."""
    return _also_bearing(visible(workflow, scope), workflow, filters)


def bearing(workflow: int, filters: Sequence[Filter]) -> Condition:
    """Which facts the first filter admits, of rows that pass the others too; a row may have several.

    Reads the index of facts and no chunk: at 2,000 of 100,000 that is most of the time of a filtered question.
    """
    return _also_bearing(_borne(workflow, filters[0]), workflow, filters[1:])


def _also_bearing(where: Condition, workflow: int, filters: Sequence[Filter]) -> Condition:
    for condition in filters:
        borne = _borne(workflow, condition)
        where = where.also(f"row in (select row from facts where {borne.sql})", borne.values)
    return where


def _borne(workflow: int, condition: Filter) -> Condition:
    test = _test(condition)
    return Condition(f"workflow = ? and field = ? and {test.sql}", (workflow, condition.field, *test.values))


def marks(db: apsw.Connection, workflow: int, filters: Sequence[Filter]) -> list[list[str]]:
    """For each filter the marks of which a chunk must bear one."""
    return [[mark(f.field, value) for value in _passing_values(db, workflow, f)] for f in filters]


def _passing_values(db: apsw.Connection, workflow: int, condition: Filter) -> Sequence[Stored]:
    test = _test(condition)
    if condition.op in ("eq", "in"):
        return test.values
    sql = f"select distinct value from facts where workflow = ? and field = ? and {test.sql}"
    return [value for (value,) in db.execute(sql, (workflow, condition.field, *test.values))]


def _test(condition: Filter) -> Condition:
    given = condition.value if isinstance(condition.value, tuple) else (condition.value,)
    values = tuple(stored(value) for value in given)
    if condition.op in ("eq", "in"):
        return Condition(f"value in ({_marks(values)})", values)
    if condition.op == "ne":
        return Condition("value <> ?", values[:1])
    sign = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}[condition.op]
    return Condition(f"value {sign} ? and typeof(value) in ({_kinds(values[0])})", values[:1])


def _kinds(value: Stored) -> str:
    """SQLite orders numbers before texts: only like is compared with like."""
    if isinstance(value, str):
        return "'text'"
    return "'blob'" if isinstance(value, bytes) else "'integer', 'real'"


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
