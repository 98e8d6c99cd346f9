"""Parse the clauses of OData's `$orderby`, and check them against the schema."""

import re
from dataclasses import dataclass
from typing import Any

from .expressions import get_value
from .geography import compute_distance_km, parse_point
from .refusals import make_refusal, make_unimplemented_refusal
from .schema import Field, Schema

Json = dict[str, Any]

MOST_CLAUSES = 32  # of $orderby
_CLAUSE = re.compile(r"\s*(?P<path>[A-Za-z_][\w/]*|search\.score\(\)|geo\..*?)(?:\s+(?P<way>asc|desc))?\s*")
_PATH, _LITERAL = r"(?P<path>[A-Za-z_][\w/]*)", r"geography'(?P<point>[^']*)'"
_DISTANCE = re.compile(rf"geo\.distance\(\s*{_PATH}\s*,\s*{_LITERAL}\s*\)")
_DISTANCE_SWAPPED = re.compile(rf"geo\.distance\(\s*{_LITERAL}\s*,\s*{_PATH}\s*\)")


@dataclass(frozen=True, slots=True)
class SortClause:
    """One clause of `$orderby` sorts by a path, or by the score when `path` is empty, or by the distance of `point`."""

    path: str
    descending: bool
    point: tuple[float, float] | None = None
    field: Field | None = None

    def get_key(self, document: Json) -> tuple[bool, Any]:
        """Get what a document is sorted by: null is less than any value."""
        value = get_value(document, self.path.split("/"))
        if value is None:
            return False, ""
        if self.point:
            return True, compute_distance_km(value["coordinates"], self.point)
        normalize = self.field.normalize if self.field else None
        return True, normalize(value) if normalize else value


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
        return _parse_distance(path, descending, schema)
    if path == "search.score()":
        return SortClause("", descending)
    return SortClause(path, descending, field=_check_sortable(path, schema))


def _parse_distance(text: str, descending: bool, schema: Schema) -> SortClause:
    """Parse `geo.distance(field, geography'POINT(east north)')`, in either order."""
    found = _DISTANCE.fullmatch(text) or _DISTANCE_SWAPPED.fullmatch(text)
    if not found:
        raise make_unimplemented_refusal(f"'{text}' in $orderby")
    try:
        point = parse_point(found["point"])
    except ValueError as failure:
        raise make_refusal(f"Invalid expression: {failure}.", parameter="$orderby") from failure
    if _check_sortable(found["path"], schema).type != "Edm.GeographyPoint":
        raise make_refusal(f"The field '{found['path']}' is not a geography point.", parameter="$orderby")
    return SortClause(found["path"], descending, point)


def _check_sortable(path: str, schema: Schema) -> Field:
    field = schema.get_field(path, "$orderby")
    if not field.sortable or field.has_many_values:
        raise make_refusal(
            f"The field '{path}' in the $orderby expression is not sortable. Only sortable fields can be used in sort "
            "expressions.",
            parameter="$orderby",
        )
    return field
