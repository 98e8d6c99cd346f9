"""A filter is a tree of expressions, and a document matches it or does not."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from .geography import compute_distance_km
from .schema import Field

Value = str | bool | int | float | datetime | None
Document = Mapping[str, Any]

ORDERINGS: Mapping[str, Callable[[Any, Any], bool]] = {
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}


@dataclass(frozen=True, slots=True)
class FieldPath:
    """A path leads to a field, from the document (`variable` "") or from a lambda's variable."""

    variable: str
    names: tuple[str, ...]
    field: Field | None = None

    def normalize_value(self, value: Any) -> Any:
        """Write a text as the field's normalizer does, so that it is compared with its like."""
        normalize = self.field.normalize if self.field else None
        return normalize(value) if normalize and isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class FieldComparison:
    path: FieldPath
    operator: str
    value: Value


@dataclass(frozen=True, slots=True)
class In:
    path: FieldPath
    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class DistanceComparison:
    """The distance of a point field from a point is compared with a number of kilometres."""

    path: FieldPath
    point: tuple[float, float]
    operator: str
    km: float


@dataclass(frozen=True, slots=True)
class Not:
    inner: "Expression"


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Lambda:
    """A lambda is `any` or `all` of a collection; `any()` without an inner expression asks whether it has an item."""

    path: FieldPath
    every: bool
    variable: str
    inner: "Expression | None"


@dataclass(frozen=True, slots=True)
class Constant:
    value: bool


Expression = FieldComparison | DistanceComparison | In | Not | And | Or | Lambda | Constant


def matches_filter(expression: Expression, document: Document) -> bool:
    return _evaluate_expression(expression, {"": document})


def get_value(document: Any, names: Sequence[str]) -> Any:
    """Get the value at a path that crosses no collection; return None where there is none."""
    for name in names:
        document = document.get(name) if isinstance(document, Mapping) else None
    return document


def parse_date(text: str) -> datetime:
    """Parse a date of the wire into a moment. Raises ValueError."""
    found = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text).replace("Z", "+00:00"))
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def format_date(found: datetime) -> str:
    """Format a moment as the service writes it: in UTC, with no more digits than it has."""
    found = found.astimezone(UTC)
    fraction = f".{found.microsecond:06d}".rstrip("0") if found.microsecond else ""
    return f"{found:%Y-%m-%dT%H:%M:%S}{fraction}Z"


def _evaluate_expression(expression: Expression, scope: Mapping[str, Any]) -> bool:
    match expression:
        case And(parts):
            return all(_evaluate_expression(part, scope) for part in parts)
        case Or(parts):
            return any(_evaluate_expression(part, scope) for part in parts)
        case Not(inner):
            return not _evaluate_expression(inner, scope)
        case Constant(value):
            return value
        case In(path, values):
            return _get_operand(path, scope) in values
        case FieldComparison(path, operator, value):
            return _compare_values(_get_operand(path, scope), operator, value)
        case DistanceComparison(path, point, operator, km):
            value = _get_operand(path, scope)
            return value is not None and ORDERINGS[operator](compute_distance_km(value["coordinates"], point), km)
        case Lambda(path, every, variable, inner):
            return _evaluate_lambda(path, every, variable, inner, scope)


def _evaluate_lambda(
    path: FieldPath, every: bool, variable: str, inner: Expression | None, scope: Mapping[str, Any]
) -> bool:
    items = get_value(scope[path.variable], path.names) or ()
    if inner is None:
        return bool(items)
    held = (_evaluate_expression(inner, {**scope, variable: item}) for item in items)
    return all(held) if every else any(held)


def _get_operand(path: FieldPath, scope: Mapping[str, Any]) -> Any:
    value = get_value(scope[path.variable], path.names)
    dated = path.field is not None and path.field.type == "Edm.DateTimeOffset"
    return parse_date(value) if dated and value is not None else path.normalize_value(value)


def _compare_values(left: Any, operator: str, right: Value) -> bool:
    """Compare two values: null equals null and nothing else, and is neither more nor less than anything."""
    if operator == "eq":
        return bool(left == right)
    if operator == "ne":
        return bool(left != right)
    return left is not None and ORDERINGS[operator](left, right)
