"""Who may see a chunk and what it is filtered by, as parts of a WHERE clause; every value is bound."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rag_core.core.model import Chunk, Filter, Scalar, Scope
from rag_core.stores.access import reads_as
from rag_core.stores.facts import pairs

# jsonb compares like with like: 5.0 equals 5, neither "5" nor true does
SIGNS: Mapping[str, str] = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


class Condition(NamedTuple):
    """A part of a WHERE clause over `document_chunks c` and `rag_documents d`, and the values of its marks."""

    sql: str
    values: tuple[Any, ...]

    def also(self, sql: str, *values: Any) -> "Condition":
        return Condition(f"{self.sql} and {sql}", self.values + values)


def facts(chunk: Chunk) -> dict[str, list[Scalar]]:
    """Every field and its values that the chunk can be filtered and counted by."""
    found: dict[str, list[Scalar]] = {}
    for field, value in pairs(chunk):
        if value not in found.setdefault(field, []):
            found[field].append(value)
    return found


def visible(scope: Scope, *, deleted: bool = False) -> Condition:
    """Which documents the scope sees, of those that are live or of those that are deleted."""
    where = Condition(f"d.deleted_at is {'not ' if deleted else ''}null", ()).also(
        "d.collection = %s", scope.workflow_id
    )
    where = where.also("d.readers && %s::text[]", list(reads_as(scope)))
    return where.also("d.external_id = any(%s)", list(scope.document_ids)) if scope.document_ids else where


def passing(scope: Scope, filters: Sequence[Filter]) -> Condition:
    """Which chunks the scope sees that also pass every filter."""
    where = visible(scope).also("c.collection = %s", scope.workflow_id)
    for condition in filters:
        where = where.also(*_test(condition))
    return where


def _test(condition: Filter) -> tuple[Any, ...]:
    field, given = condition.field, condition.value if isinstance(condition.value, tuple) else (condition.value,)
    if condition.op in ("eq", "in"):
        holds = " or ".join(["c.facts @> %s::jsonb"] * len(given))  # each by the index; an array of them would not be
        return (f"({holds or 'false'})", *(_json({field: [value]}) for value in given))
    if condition.op == "ne":
        sql = "exists (select from jsonb_array_elements(c.facts -> %s) v where v is distinct from %s::jsonb)"
        return sql, field, _json(given[0])
    path = f"$[*] ? (@ {SIGNS[condition.op]} $given)"
    sql = f"jsonb_path_exists(c.facts -> %s, '{path}', jsonb_build_object('given', %s::jsonb))"
    return sql, field, _json(given[0])


def _json(value: object) -> str | None:
    """None for what cannot be stored: it equals nothing."""
    text = json.dumps(value)
    return None if _NUL.search(text) else text
