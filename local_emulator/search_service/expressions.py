"""What a filter says, as a tree, and whether a document is what it says."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from local_emulator.search_service.schema import Field

Value = str | bool | int | float | datetime | None
Document = Mapping[str, Any]

ORDERINGS: Mapping[str, Callable[[Any, Any], bool]] = {
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}


@dataclass(frozen=True, slots=True)
class Path:
    """A field, from the document (`variable` "") or from a lambda's variable."""

    variable: str
    names: tuple[str, ...]
    field: Field | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    path: Path
    operator: str
    value: Value


@dataclass(frozen=True, slots=True)
class In:
    path: Path
    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class Not:
    inner: "Expression"


@dataclass(frozen=True, slots=True)
class Both:
    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Either:
    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Each:
    """`any` or `all` of a collection's items; `any()` without an inner expression asks whether there is one."""

    path: Path
    every: bool
    variable: str
    inner: "Expression | None"


@dataclass(frozen=True, slots=True)
class Constant:
    value: bool


Expression = Comparison | In | Not | Both | Either | Each | Constant


def matches(expression: Expression, document: Document) -> bool:
    return _true(expression, {"": document})


def value_at(document: Any, names: Sequence[str]) -> Any:
    """What stands at a path that crosses no collection; None where nothing does."""
    for name in names:
        document = document.get(name) if isinstance(document, Mapping) else None
    return document


def moment(text: str) -> datetime:
    """A date of the wire as a moment. Raises ValueError."""
    found = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text).replace("Z", "+00:00"))
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def date(found: datetime) -> str:
    """A moment as the service writes it: in UTC, with no more digits than it has."""
    found = found.astimezone(UTC)
    fraction = f".{found.microsecond:06d}".rstrip("0") if found.microsecond else ""
    return f"{found:%Y-%m-%dT%H:%M:%S}{fraction}Z"


def _true(expression: Expression, scope: Mapping[str, Any]) -> bool:
    match expression:
        case Both(parts):
            return all(_true(part, scope) for part in parts)
        case Either(parts):
            return any(_true(part, scope) for part in parts)
        case Not(inner):
            return not _true(inner, scope)
        case Constant(value):
            return value
        case In(path, values):
            return _value(path, scope) in values
        case Comparison(path, operator, value):
            return _compare(_value(path, scope), operator, value)
        case Each(path, every, variable, inner):
            return _each(path, every, variable, inner, scope)


def _each(path: Path, every: bool, variable: str, inner: Expression | None, scope: Mapping[str, Any]) -> bool:
    items = value_at(scope[path.variable], path.names) or ()
    if inner is None:
        return bool(items)
    held = (_true(inner, {**scope, variable: item}) for item in items)
    return all(held) if every else any(held)


def _value(path: Path, scope: Mapping[str, Any]) -> Any:
    value = value_at(scope[path.variable], path.names)
    dated = path.field is not None and path.field.type == "Edm.DateTimeOffset"
    return moment(value) if dated and value is not None else value


def _compare(left: Any, operator: str, right: Value) -> bool:
    """Null equals null and nothing else, and is neither more nor less than anything."""
    if operator == "eq":
        return bool(left == right)
    if operator == "ne":
        return bool(left != right)
    return left is not None and ORDERINGS[operator](left, right)
