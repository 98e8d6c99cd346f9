"""OData expressions as the service reads them: `$filter` and `$orderby`, parsed whole, checked against the schema."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from local_emulator.search_service.expressions import (
    ORDERINGS,
    Both,
    Comparison,
    Constant,
    Each,
    Either,
    Expression,
    In,
    Not,
    Path,
    Value,
    moment,
)
from local_emulator.search_service.refusals import Refusal, invalid, unimplemented
from local_emulator.search_service.schema import Field, Schema

MOST_CLAUSES = 32  # of $orderby
DEEPEST = 200  # nested brackets, `not` and lambdas; the service refuses deep filters too

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<string>'(?:[^']|'')*')
    |(?P<date>\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,12})?)?(?:Z|[+-]\d\d:\d\d))
    |(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|-INF\b)
    |(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)
    |(?P<mark>[()/,:])
    |(?P<stray>.)""",
    re.VERBOSE | re.DOTALL,
)
_OPERATORS = ("eq", "ne", *ORDERINGS)
_CONSTANTS: Mapping[str, Value] = {
    "true": True,
    "false": False,
    "null": None,
    "NaN": float("nan"),
    "INF": float("inf"),
}


@dataclass(frozen=True, slots=True)
class Order:
    """One clause of `$orderby`: a path, or the score when `path` is empty."""

    path: str
    descending: bool


def parse_filter(text: str, schema: Schema) -> Expression:
    """Read `$filter`. Raises a Refusal with the place where it cannot be read on, then for names that are not known."""
    return _Binder(schema).bound(_Parser(text).filter(), {})


def parse_orderby(text: str, schema: Schema) -> list[Order]:
    orders = [_order(clause, schema) for clause in _clauses(text)]
    if len(orders) > MOST_CLAUSES:
        raise invalid(f"Too many clauses: $orderby may have {MOST_CLAUSES}.", parameter="$orderby")
    return orders


@dataclass(frozen=True, slots=True)
class _Token:
    """`end` is where it ends: the place that the service names in its errors."""

    kind: str
    text: str
    end: int


def _tokens(text: str) -> list[_Token]:
    found = [_Token(str(match.lastgroup), match[0], match.end()) for match in _TOKEN.finditer(text)]
    return [*(token for token in found if token.kind != "space"), _Token("end", "", len(text))]


def _error(message: str) -> Refusal:
    return invalid(f"Invalid expression: {message}", parameter="$filter")


class _Parser:
    """The grammar alone, by recursive descent: or < and < not < comparison. Names are not looked up yet."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens, self._next, self._depth = text, _tokens(text), 0, 0

    def filter(self) -> Expression:
        expression = self._or()
        if self._token.kind != "end":
            raise self._syntax()
        return expression

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._token
        self._next += 1
        return token

    def _took(self, text: str) -> bool:
        if self._token.text == text and self._token.kind in ("name", "mark"):
            self._next += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._took(text):
            raise self._syntax()

    def _syntax(self) -> Refusal:
        what = "Expression expected" if self._token.kind == "end" else "Syntax error"
        return _error(f"{what} at position {self._token.end} in '{self._text}'.")

    def _or(self) -> Expression:
        parts = [self._and()]
        while self._took("or"):
            parts.append(self._and())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _and(self) -> Expression:
        parts = [self._not()]
        while self._took("and"):
            parts.append(self._not())
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def _not(self) -> Expression:
        self._depth += 1
        if self._depth > DEEPEST:
            raise _error("The filter expression is nested too deeply.")
        expression = Not(self._not()) if self._took("not") else self._primary()
        self._depth -= 1
        return expression

    def _primary(self) -> Expression:
        if self._took("("):
            inner = self._or()
            self._expect(")")
            return inner
        if self._token.kind in ("string", "date", "number") or self._token.text in _CONSTANTS:
            return self._constant_first()
        if self._token.kind == "name" and self._tokens[self._next + 1].text == "(":
            return self._function()
        return self._predicate()

    def _constant_first(self) -> Expression:
        """`5 lt rating` is `rating gt 5`; `true` alone is a filter too."""
        value = self._literal()
        if self._token.text not in _OPERATORS:
            if isinstance(value, bool):
                return Constant(value)
            raise self._syntax()
        operator = self._take().text
        swapped = {"gt": "lt", "lt": "gt", "ge": "le", "le": "ge"}.get(operator, operator)
        return Comparison(self._plain_path(), swapped, value)

    def _function(self) -> Expression:
        name = self._take().text
        if name == "search.in":
            return self._search_in()
        if name.startswith(("geo.", "search.")):
            raise unimplemented(f"the function '{name}' in a filter")
        raise _error(f"An unknown function with name '{name}' was found.")

    def _search_in(self) -> Expression:
        self._expect("(")
        path = self._plain_path()
        self._expect(",")
        values, delimiters = self._string(), ""
        if self._took(","):
            delimiters = self._string()
        self._expect(")")
        return In(path, frozenset(_split(values, delimiters)))

    def _string(self) -> str:
        if self._token.kind != "string":
            raise self._syntax()
        return str(self._literal())

    def _predicate(self) -> Expression:
        path, quantifier = self._path()
        if quantifier:
            return self._lambda(path, every=quantifier == "all")
        if self._token.text in _OPERATORS:
            return Comparison(path, self._take().text, self._literal())
        return Comparison(path, "is", True)

    def _plain_path(self) -> Path:
        path, quantifier = self._path()
        if quantifier:
            raise self._syntax()
        return path

    def _path(self) -> tuple[Path, str]:
        """A path, and "any" or "all" where it ends in one."""
        names = [self._name()]
        while self._took("/"):
            if self._token.text in ("any", "all") and self._tokens[self._next + 1].text == "(":
                return Path("", tuple(names)), self._take().text
            names.append(self._name())
        return Path("", tuple(names)), ""

    def _name(self) -> str:
        if self._token.kind != "name":
            raise self._syntax()
        return self._take().text

    def _lambda(self, path: Path, *, every: bool) -> Expression:
        self._expect("(")
        if not every and self._took(")"):
            return Each(path, False, "", None)
        variable = self._name()
        self._expect(":")
        inner = self._or()
        self._expect(")")
        return Each(path, every, variable, inner)

    def _literal(self) -> Value:
        token = self._token
        if token.text in _CONSTANTS and token.kind == "name":
            return _CONSTANTS[self._take().text]
        if token.kind not in ("string", "number", "date"):
            raise self._syntax()
        try:
            value = _READERS[token.kind](token.text)
        except ValueError as failure:  # the 30th of February
            raise self._syntax() from failure
        self._next += 1
        return value


def _split(values: str, delimiters: str) -> list[str]:
    """By any of the delimiters; without them by spaces and commas."""
    return [part for part in re.split(f"[{re.escape(delimiters or ' ,')}]", values) if part]


class _Binder:
    """Looks every name up in the schema, and checks what may be done with it."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def bound(self, expression: Expression, variables: Mapping[str, str]) -> Expression:
        """The expression with fields in its paths. `variables` are those of the lambdas around it, with their paths."""
        match expression:
            case Both(parts):
                return Both(tuple(self.bound(part, variables) for part in parts))
            case Either(parts):
                return Either(tuple(self.bound(part, variables) for part in parts))
            case Not(inner):
                return Not(self.bound(inner, variables))
            case In(path, values):
                return In(self._single(path, "Edm.String", variables), values)
            case Comparison(path, "is", value):
                return Comparison(self._single(path, "Edm.Boolean", variables), "eq", value)
            case Comparison():
                return self._comparison(expression, variables)
            case Each():
                return self._each(expression, variables)
            case Constant():
                return expression

    def _comparison(self, given: Comparison, variables: Mapping[str, str]) -> Expression:
        path, whole = self._resolved(given.path, variables)
        if path.field is None:
            if given.value is None and not self._schema.kinds[whole].startswith("Collection("):
                return Comparison(path, given.operator, None)  # `address eq null`
            raise _error(f"The complex field '{whole}' cannot be compared with a value.")
        self._require_single(path, path.field)
        _check_types(path.field, given.operator, given.value)
        return Comparison(path, given.operator, given.value)

    def _single(self, path: Path, kind: str, variables: Mapping[str, str]) -> Path:
        bound, whole = self._resolved(path, variables)
        if bound.field is None or bound.field.type != kind:
            raise _error(f"A single value of type '{kind}' was expected, which '{whole}' is not.")
        self._require_single(bound, bound.field)
        return bound

    def _require_single(self, path: Path, field: Field) -> None:
        if not field.filterable:
            raise _unfilterable(field)
        if field.collection and not (path.variable and not path.names):
            raise _error(f"A collection cannot be compared: use 'any' or 'all' on '{field.path}'.")

    def _each(self, given: Each, variables: Mapping[str, str]) -> Expression:
        path, whole = self._resolved(given.path, variables)
        if not self._schema.kinds[whole].startswith("Collection("):
            raise _error(f"'any' and 'all' can be applied to collections only, and '{whole}' is not one.")
        if path.field and not path.field.filterable:
            raise _error(
                f"'{whole}' is not a filterable field. Only filterable fields can be used in filter expressions."
            )
        if given.inner is None:
            return Each(path, False, "", None)
        if given.variable in variables:
            raise _error(f"The range variable '{given.variable}' has already been declared.")
        inner = self.bound(given.inner, {**variables, given.variable: whole})
        if path.field and path.field.type == "Edm.String":
            _check_lambda(inner, every=given.every)
        return Each(path, given.every, given.variable, inner)

    def _resolved(self, path: Path, variables: Mapping[str, str]) -> tuple[Path, str]:
        """A path with its field, and what it is called from the document on."""
        variable = path.names[0] if path.names[0] in variables else ""
        rest = path.names[1:] if variable else path.names
        whole = variables.get(variable, "")
        for i, name in enumerate(rest):
            if i and self._schema.kinds[whole].startswith("Collection("):
                raise _error(
                    f"The parent value for a property access of a property '{name}' is not a single value. Property "
                    "access can only be applied to a single value."
                )
            whole = f"{whole}/{name}" if whole else name
            if whole not in self._schema.kinds:
                raise _error(f"Could not find a property named '{name}' on type 'search.document'.")
        return Path(variable, rest, self._schema.fields.get(whole)), whole


def _unfilterable(field: Field) -> Refusal:
    return _error(
        f"'{field.path}' is not a filterable field. Only filterable fields can be used in filter expressions."
    )


def _check_types(field: Field, operator: str, value: Value) -> None:
    if field.type == "Edm.GeographyPoint":
        raise unimplemented("geography points in a filter")
    if value is None and operator in ("eq", "ne"):
        return
    types = _TYPES.get(field.type, (int, float))
    fits = isinstance(value, types) and isinstance(value, bool) == (types == (bool,))
    if not fits or (isinstance(value, bool) and operator in ORDERINGS):
        raise _error(
            f"A binary operator with incompatible types was detected. Found operand types '{field.type}' and "
            f"'{_edm(value)}' for operator kind '{_KINDS[operator]}'."
        )


def _check_lambda(inner: Expression, *, every: bool) -> None:
    """On strings `any` takes `eq` and `search.in` joined by `or`; `all` takes their negations joined by `and`."""
    if not _only_equalities(_negated(inner) if every else inner):
        raise _error(
            "Invalid lambda expression. Found an unsupported combination of operators for "
            f"'{'all' if every else 'any'}' on a field of type 'Collection(Edm.String)'."
        )


_TYPES: Mapping[str, tuple[type, ...]] = {
    "Edm.String": (str,),
    "Edm.Boolean": (bool,),
    "Edm.DateTimeOffset": (datetime,),
}
_KINDS = {
    "eq": "Equal",
    "ne": "NotEqual",
    "gt": "GreaterThan",
    "ge": "GreaterThanOrEqual",
    "lt": "LessThan",
    "le": "LessThanOrEqual",
}


def _edm(value: Value) -> str:
    names = {str: "Edm.String", bool: "Edm.Boolean", int: "Edm.Int32", float: "Edm.Double", type(None): "Edm.Null"}
    return names.get(type(value), "Edm.DateTimeOffset")


def _number(text: str) -> int | float:
    if text == "-INF":
        return float("-inf")
    return float(text) if set(text) & set(".eE") else int(text)


_READERS: Mapping[str, Callable[[str], Value]] = {
    "string": lambda text: text[1:-1].replace("''", "'"),
    "number": _number,
    "date": moment,
}


def _negated(expression: Expression) -> Expression:
    match expression:
        case Not(inner):
            return inner
        case Comparison(path, "eq" | "ne" as operator, value):
            return Comparison(path, "ne" if operator == "eq" else "eq", value)
        case Both(parts):
            return Either(tuple(_negated(part) for part in parts))
        case Either(parts):
            return Both(tuple(_negated(part) for part in parts))
        case _:
            return Not(expression)


def _only_equalities(expression: Expression) -> bool:
    match expression:
        case Either(parts):
            return all(_only_equalities(part) for part in parts)
        case Not(Not(inner)):
            return _only_equalities(inner)
        case Not(Comparison(_, "ne", _)):
            return True
        case Comparison(_, operator, _):
            return operator == "eq"
        case In():
            return True
        case _:
            return False


_CLAUSE = re.compile(r"\s*(?P<path>[A-Za-z_][\w/]*|search\.score\(\)|geo\..*?)(?:\s+(?P<way>asc|desc))?\s*")


def _clauses(text: str) -> list[str]:
    clauses, depth, start = [], 0, 0
    for i, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            clauses.append(text[start:i])
            start = i + 1
    return [*clauses, text[start:]]


def _order(clause: str, schema: Schema) -> Order:
    found = _CLAUSE.fullmatch(clause)
    if not found:
        raise invalid(f"Invalid expression: Syntax error at position 0 in '{clause}'.", parameter="$orderby")
    path, descending = found["path"], found["way"] == "desc"
    if path.startswith("geo."):
        raise unimplemented("sorting by distance")
    if path == "search.score()":
        return Order("", descending)
    field = schema.field(path, "$orderby")
    if not field.sortable or field.many:
        raise invalid(
            f"The field '{path}' in the $orderby expression is not sortable. Only sortable fields can be used in sort "
            "expressions.",
            parameter="$orderby",
        )
    return Order(path, descending)
