"""Look the names of a parsed filter up in the schema, and check what is done with them."""

from collections.abc import Mapping
from datetime import datetime

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
)
from .refusals import ServiceRefusal, make_filter_refusal, make_unimplemented_refusal
from .schema import Field, Schema

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


class FieldBinder:
    """A binder looks every name up in the schema, and checks what may be done with it."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def bind_expression(self, expression: Expression, variables: Mapping[str, str]) -> Expression:
        """Put fields into an expression's paths. `variables` maps the lambdas' variables around it to their paths."""
        match expression:
            case And(parts):
                return And(tuple(self.bind_expression(part, variables) for part in parts))
            case Or(parts):
                return Or(tuple(self.bind_expression(part, variables) for part in parts))
            case Not(inner):
                return Not(self.bind_expression(inner, variables))
            case In(path, values):
                bound = self._bind_single_value(path, "Edm.String", variables)
                return In(bound, frozenset(bound.normalize_value(value) for value in values))
            case DistanceComparison(path, point, operator, km):
                bound = self._bind_single_value(path, "Edm.GeographyPoint", variables)
                return DistanceComparison(bound, point, operator, km)
            case FieldComparison(path, "is", value):
                return FieldComparison(self._bind_single_value(path, "Edm.Boolean", variables), "eq", value)
            case FieldComparison():
                return self._bind_comparison(expression, variables)
            case Lambda():
                return self._bind_lambda(expression, variables)
            case Constant():
                return expression

    def _bind_comparison(self, given: FieldComparison, variables: Mapping[str, str]) -> Expression:
        path, whole = self._resolve_path(given.path, variables)
        if path.field is None:
            if given.value is None and not self._schema.kinds[whole].startswith("Collection("):
                return FieldComparison(path, given.operator, None)  # `address eq null`
            raise make_filter_refusal(f"The complex field '{whole}' cannot be compared with a value.")
        self._check_single_value(path, path.field)
        _check_types(path.field, given.operator, given.value)
        return FieldComparison(path, given.operator, path.normalize_value(given.value))

    def _bind_single_value(self, path: FieldPath, kind: str, variables: Mapping[str, str]) -> FieldPath:
        bound, whole = self._resolve_path(path, variables)
        if bound.field is None or bound.field.type != kind:
            raise make_filter_refusal(f"A single value of type '{kind}' was expected, which '{whole}' is not.")
        self._check_single_value(bound, bound.field)
        return bound

    def _check_single_value(self, path: FieldPath, field: Field) -> None:
        if not field.filterable:
            raise _make_unfilterable_refusal(field)
        if field.collection and not (path.variable and not path.names):
            raise make_filter_refusal(f"A collection cannot be compared: use 'any' or 'all' on '{field.path}'.")

    def _bind_lambda(self, given: Lambda, variables: Mapping[str, str]) -> Expression:
        path, whole = self._resolve_path(given.path, variables)
        if not self._schema.kinds[whole].startswith("Collection("):
            raise make_filter_refusal(f"'any' and 'all' can be applied to collections only, and '{whole}' is not one.")
        if path.field and not path.field.filterable:
            raise make_filter_refusal(
                f"'{whole}' is not a filterable field. Only filterable fields can be used in filter expressions."
            )
        if given.inner is None:
            return Lambda(path, False, "", None)
        if given.variable in variables:
            raise make_filter_refusal(f"The range variable '{given.variable}' has already been declared.")
        inner = self.bind_expression(given.inner, {**variables, given.variable: whole})
        if path.field and path.field.type == "Edm.String":
            _check_lambda(inner, every=given.every)
        return Lambda(path, given.every, given.variable, inner)

    def _resolve_path(self, path: FieldPath, variables: Mapping[str, str]) -> tuple[FieldPath, str]:
        """Resolve a path to its field, and to what it is called from the document on."""
        variable = path.names[0] if path.names[0] in variables else ""
        rest = path.names[1:] if variable else path.names
        whole = variables.get(variable, "")
        for i, name in enumerate(rest):
            if i and self._schema.kinds[whole].startswith("Collection("):
                raise make_filter_refusal(
                    f"The parent value for a property access of a property '{name}' is not a single value. Property "
                    "access can only be applied to a single value."
                )
            whole = f"{whole}/{name}" if whole else name
            if whole not in self._schema.kinds:
                raise make_filter_refusal(f"Could not find a property named '{name}' on type 'search.document'.")
        return FieldPath(variable, rest, self._schema.fields.get(whole)), whole


def _make_unfilterable_refusal(field: Field) -> ServiceRefusal:
    return make_filter_refusal(
        f"'{field.path}' is not a filterable field. Only filterable fields can be used in filter expressions."
    )


def _check_types(field: Field, operator: str, value: Value) -> None:
    if field.type == "Edm.GeographyPoint":
        raise make_unimplemented_refusal("geography points in a filter")
    if value is None and operator in ("eq", "ne"):
        return
    types = _TYPES.get(field.type, (int, float))
    fits = isinstance(value, types) and isinstance(value, bool) == (types == (bool,))
    if not fits or (isinstance(value, bool) and operator in ORDERINGS):
        raise make_filter_refusal(
            f"A binary operator with incompatible types was detected. Found operand types '{field.type}' and "
            f"'{_name_edm_type(value)}' for operator kind '{_KINDS[operator]}'."
        )


def _check_lambda(inner: Expression, *, every: bool) -> None:
    """Check a lambda on strings.

    `any` takes `eq` and `search.in` joined by `or`; `all` takes their negations joined by `and`.
    """
    if not _has_only_equalities(_negate_expression(inner) if every else inner):
        raise make_filter_refusal(
            "Invalid lambda expression. Found an unsupported combination of operators for "
            f"'{'all' if every else 'any'}' on a field of type 'Collection(Edm.String)'."
        )


def _name_edm_type(value: Value) -> str:
    names = {str: "Edm.String", bool: "Edm.Boolean", int: "Edm.Int32", float: "Edm.Double", type(None): "Edm.Null"}
    return names.get(type(value), "Edm.DateTimeOffset")


def _negate_expression(expression: Expression) -> Expression:
    match expression:
        case Not(inner):
            return inner
        case FieldComparison(path, "eq" | "ne" as operator, value):
            return FieldComparison(path, "ne" if operator == "eq" else "eq", value)
        case And(parts):
            return Or(tuple(_negate_expression(part) for part in parts))
        case Or(parts):
            return And(tuple(_negate_expression(part) for part in parts))
        case _:
            return Not(expression)


def _has_only_equalities(expression: Expression) -> bool:
    match expression:
        case Or(parts):
            return all(_has_only_equalities(part) for part in parts)
        case Not(Not(inner)):
            return _has_only_equalities(inner)
        case Not(FieldComparison(_, "ne", _)):
            return True
        case FieldComparison(_, operator, _):
            return operator == "eq"
        case In():
            return True
        case _:
            return False
