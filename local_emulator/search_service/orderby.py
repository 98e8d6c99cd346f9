"""Parse the clauses of OData's `$orderby`, and check them against the schema."""

import re
from dataclasses import dataclass

from .refusals import make_refusal, make_unimplemented_refusal
from .schema import Schema

MOST_CLAUSES = 32  # of $orderby
_CLAUSE = re.compile(r"\s*(?P<path>[A-Za-z_][\w/]*|search\.score\(\)|geo\..*?)(?:\s+(?P<way>asc|desc))?\s*")


@dataclass(frozen=True, slots=True)
class SortClause:
    """One clause of `$orderby` sorts by a path, or by the score when `path` is empty."""

    path: str
    descending: bool


def parse_orderby(text: str, schema: Schema) -> list[SortClause]:
    orders = [_parse_clause(clause, schema) for clause in _split_clauses(text)]
    if len(orders) > MOST_CLAUSES:
        raise make_refusal(f"Too many clauses: $orderby may have {MOST_CLAUSES}.", parameter="$orderby")
    return orders


def _split_clauses(text: str) -> list[str]:
    clauses, depth, start = [], 0, 0
    for i, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            clauses.append(text[start:i])
            start = i + 1
    return [*clauses, text[start:]]


def _find_end_of_second_word(clause: str) -> int:
    """Find where the service says that it could read no further: behind the word that is neither asc nor desc."""
    words = list(re.finditer(r"\S+", clause))[:2]
    return words[-1].end() if words else 0


def _parse_clause(clause: str, schema: Schema) -> SortClause:
    found = _CLAUSE.fullmatch(clause)
    if not found:
        why = f"Syntax error at position {_find_end_of_second_word(clause)} in '{clause}'."
        raise make_refusal(f"Invalid expression: {why}", parameter="$orderby")
    path, descending = found["path"], found["way"] == "desc"
    if path.startswith("geo."):
        raise make_unimplemented_refusal("sorting by distance")
    if path == "search.score()":
        return SortClause("", descending)
    field = schema.get_field(path, "$orderby")
    if not field.sortable or field.has_many_values:
        raise make_refusal(
            f"The field '{path}' in the $orderby expression is not sortable. Only sortable fields can be used in sort "
            "expressions.",
            parameter="$orderby",
        )
    return SortClause(path, descending)
