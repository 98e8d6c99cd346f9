"""Parse OData's `$filter` whole, by its grammar alone; its names are looked up in the schema afterwards."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .expressions import (
    ORDERINGS,
    And,
    Constant,
    DistanceComparison,
    Expression,
    FieldComparison,
    FieldPath,
    In,
    Lambda,
    Not,
    Or,
    Value,
    parse_date,
)
from .filter_binding import FieldBinder
from .geography import parse_point
from .refusals import ServiceRefusal, make_filter_refusal, make_unimplemented_refusal
from .schema import Schema

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


def parse_filter(text: str, schema: Schema) -> Expression:
    """Read `$filter`.

    Raises a ServiceRefusal with the place where it cannot be read on, then for names that are not known.
    """
    return FieldBinder(schema).bind_expression(_FilterParser(text).parse_whole(), {})


@dataclass(frozen=True, slots=True)
class _FilterToken:
    """A token ends at `end`: the place that the service names in its errors."""

    kind: str
    text: str
    end: int


def _tokenize_filter(text: str) -> list[_FilterToken]:
    found = [_FilterToken(str(match.lastgroup), match[0], match.end()) for match in _TOKEN.finditer(text)]
    return [*(token for token in found if token.kind != "space"), _FilterToken("end", "", len(text))]


class _FilterParser:
    """The parser reads the grammar alone, by recursive descent: or < and < not < comparison."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens, self._next, self._depth = text, _tokenize_filter(text), 0, 0

    def parse_whole(self) -> Expression:
        expression = self._parse_or()
        if self._current_token.kind != "end":
            raise self._make_syntax_refusal()
        return expression

    @property
    def _current_token(self) -> _FilterToken:
        return self._tokens[self._next]

    def _take_token(self) -> _FilterToken:
        token = self._current_token
        self._next += 1
        return token

    def _take_if(self, text: str) -> bool:
        if self._current_token.text == text and self._current_token.kind in ("name", "mark"):
            self._next += 1
            return True
        return False

    def _expect_text(self, text: str) -> None:
        if not self._take_if(text):
            raise self._make_syntax_refusal()

    def _make_syntax_refusal(self) -> ServiceRefusal:
        what = "Expression expected" if self._current_token.kind == "end" else "Syntax error"
        return make_filter_refusal(f"{what} at position {self._current_token.end} in '{self._text}'.")

    def _parse_or(self) -> Expression:
        parts = [self._parse_and()]
        while self._take_if("or"):
            parts.append(self._parse_and())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _parse_and(self) -> Expression:
        parts = [self._parse_not()]
        while self._take_if("and"):
            parts.append(self._parse_not())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _parse_not(self) -> Expression:
        self._depth += 1
        if self._depth > DEEPEST:
            raise make_filter_refusal("The filter expression is nested too deeply.")
        expression = Not(self._parse_not()) if self._take_if("not") else self._parse_primary()
        self._depth -= 1
        return expression

    def _parse_primary(self) -> Expression:
        if self._take_if("("):
            inner = self._parse_or()
            self._expect_text(")")
            return inner
        if self._current_token.kind in ("string", "date", "number") or self._current_token.text in _CONSTANTS:
            return self._parse_constant_first()
        if self._current_token.kind == "name" and self._tokens[self._next + 1].text == "(":
            return self._parse_function()
        return self._parse_predicate()

    def _parse_constant_first(self) -> Expression:
        """Parse what begins with a constant: `5 lt rating` is `rating gt 5`, and `true` alone is a filter too."""
        value = self._parse_literal()
        if self._current_token.text not in _OPERATORS:
            if isinstance(value, bool):
                return Constant(value)
            raise self._make_syntax_refusal()
        operator = self._take_token().text
        swapped = {"gt": "lt", "lt": "gt", "ge": "le", "le": "ge"}.get(operator, operator)
        return FieldComparison(self._parse_plain_path(), swapped, value)

    def _parse_function(self) -> Expression:
        name = self._take_token().text
        if name == "search.in":
            return self._parse_search_in()
        if name == "geo.distance":
            return self._parse_distance()
        if name.startswith(("geo.", "search.")):
            raise make_unimplemented_refusal(f"the function '{name}' in a filter")
        raise make_filter_refusal(f"An unknown function with name '{name}' was found.")

    def _parse_distance(self) -> Expression:
        """Parse what follows `geo.distance`: a field and a point in either order, and what their distance is to be."""
        self._expect_text("(")
        given = self._parse_point() if self._current_token.text == "geography" else None
        field = self._parse_plain_path() if given is None else None
        self._expect_text(",")
        point = given or self._parse_point()
        field = field or self._parse_plain_path()
        self._expect_text(")")
        operator = self._current_token.text
        if operator not in ORDERINGS:
            raise self._make_syntax_refusal()
        self._next += 1
        km = self._parse_literal()
        if isinstance(km, bool) or not isinstance(km, int | float):
            raise make_filter_refusal("A distance is compared with a number of kilometres.")
        return DistanceComparison(field, point, operator, float(km))

    def _parse_point(self) -> tuple[float, float]:
        self._expect_text("geography")
        text = self._parse_string()
        try:
            return parse_point(text)
        except ValueError as failure:
            raise make_filter_refusal(f"Invalid geography literal '{text}'.") from failure

    def _parse_search_in(self) -> Expression:
        self._expect_text("(")
        path = self._parse_plain_path()
        self._expect_text(",")
        values, delimiters = self._parse_string(), ""
        if self._take_if(","):
            delimiters = self._parse_string()
        self._expect_text(")")
        return In(path, frozenset(_split_values(values, delimiters)))

    def _parse_string(self) -> str:
        if self._current_token.kind != "string":
            raise self._make_syntax_refusal()
        return str(self._parse_literal())

    def _parse_predicate(self) -> Expression:
        path, quantifier = self._parse_path()
        if quantifier:
            return self._parse_lambda(path, every=quantifier == "all")
        if self._current_token.text in _OPERATORS:
            return FieldComparison(path, self._take_token().text, self._parse_literal())
        return FieldComparison(path, "is", True)

    def _parse_plain_path(self) -> FieldPath:
        path, quantifier = self._parse_path()
        if quantifier:
            raise self._make_syntax_refusal()
        return path

    def _parse_path(self) -> tuple[FieldPath, str]:
        """Parse a path, and "any" or "all" where it ends in one."""
        names = [self._parse_name()]
        while self._take_if("/"):
            if self._current_token.text in ("any", "all") and self._tokens[self._next + 1].text == "(":
                return FieldPath("", tuple(names)), self._take_token().text
            names.append(self._parse_name())
        return FieldPath("", tuple(names)), ""

    def _parse_name(self) -> str:
        if self._current_token.kind != "name":
            raise self._make_syntax_refusal()
        return self._take_token().text

    def _parse_lambda(self, path: FieldPath, *, every: bool) -> Expression:
        self._expect_text("(")
        if not every and self._take_if(")"):
            return Lambda(path, False, "", None)
        variable = self._parse_name()
        self._expect_text(":")
        inner = self._parse_or()
        self._expect_text(")")
        return Lambda(path, every, variable, inner)

    def _parse_literal(self) -> Value:
        token = self._current_token
        if token.text in _CONSTANTS and token.kind == "name":
            return _CONSTANTS[self._take_token().text]
        if token.kind not in ("string", "number", "date"):
            raise self._make_syntax_refusal()
        try:
            value = _READERS[token.kind](token.text)
        except ValueError as failure:  # the 30th of February
            raise self._make_syntax_refusal() from failure
        self._next += 1
        return value


def _split_values(values: str, delimiters: str) -> list[str]:
    """Split values by any of the delimiters; without delimiters, by spaces and commas."""
    return [part for part in re.split(f"[{re.escape(delimiters or ' ,')}]", values) if part]


def _parse_number(text: str) -> int | float:
    if text == "-INF":
        return float("-inf")
    return float(text) if set(text) & set(".eE") else int(text)


_READERS: Mapping[str, Callable[[str], Value]] = {
    "string": lambda text: text[1:-1].replace("''", "'"),
    "number": _parse_number,
    "date": parse_date,
}
