"""Facets count values, ranges or intervals exactly, over the documents that match."""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from .expressions import format_date, parse_date
from .refusals import ServiceRefusal, make_refusal, make_unimplemented_refusal
from .schema import Field, Schema

Json = dict[str, Any]
Value = str | bool | int | float | datetime

SORTS: Mapping[str, Callable[[tuple[Any, int]], Any]] = {
    "count": lambda bucket: (-bucket[1], bucket[0]),
    "-count": lambda bucket: (bucket[1], bucket[0]),
    "value": lambda bucket: bucket[0],
    "-value": lambda bucket: bucket[0],
}
METRICS: Mapping[str, Callable[[Sequence[Any]], Any]] = {
    "sum": sum,
    "avg": lambda values: sum(values) / len(values),
    "min": min,
    "max": max,
    "cardinality": lambda values: len(set(values)),
}
NUMBERS = {"Edm.Int32", "Edm.Int64", "Edm.Double"}
DATE = "Edm.DateTimeOffset"
DATE_INTERVALS = ("minute", "hour", "day", "week", "month", "quarter", "year")
DEFAULT_COUNT = 10


@dataclass(frozen=True, slots=True)
class FacetExpression:
    """One facet expression asks for the counts of a field's values.

    A `count` of 0 asks for all values; `bounds` and `interval` are for numbers and dates.
    """

    field: Field
    count: int = DEFAULT_COUNT
    sort: str = "count"
    bounds: tuple[Value, ...] = ()
    interval: str | float | None = None

    def count_values(self, documents: Iterable[Json]) -> list[Json]:
        counts: Counter[Any] = Counter()
        for document in documents:
            counts.update(
                {self._find_bucket(value) for value in _list_values(document, self.field.path.split("/"), self.field)}
            )
        return self._list_ranges(counts) if self.bounds else self._list_buckets(counts)

    def _find_bucket(self, value: Any) -> Any:
        if self.bounds:
            return sum(value >= bound for bound in self.bounds)
        if isinstance(self.interval, str):
            return _floor_date(value, self.interval)
        if self.interval is not None:
            low = math.floor(value / self.interval) * self.interval
            return low if self.field.type == "Edm.Double" else int(low)
        return value

    def _list_ranges(self, counts: Counter[Any]) -> list[Json]:
        edges = [None, *(_format_edge(bound) for bound in self.bounds), None]
        ranges = pairwise(edges)
        return [
            {**({"from": low} if low is not None else {}), **({"to": high} if high is not None else {}), "count": n}
            for (low, high), n in zip(ranges, (counts[i] for i in range(len(self.bounds) + 1)), strict=True)
        ]

    def _list_buckets(self, counts: Counter[Any]) -> list[Json]:
        ordered = sorted(counts.items(), key=SORTS[self.sort], reverse=self.sort == "-value")
        kept = ordered if not self.count or self.interval is not None else ordered[: self.count]
        return [{"value": _format_bucket(value, self.field), "count": count} for value, count in kept]


@dataclass(frozen=True, slots=True)
class MetricExpression:
    """A metric expression asks for one number of a field's values; `default` stands for a document without one."""

    field: Field
    metric: str
    default: float | None = None

    def count_values(self, documents: Iterable[Json]) -> list[Json]:
        values: list[Any] = []
        for document in documents:
            found = list(_list_values(document, self.field.path.split("/"), self.field))
            values.extend(found or ([] if self.default is None else [self.default]))
        return [{self.metric: METRICS[self.metric](values)}] if values or self.metric == "cardinality" else []


def parse_facets(expressions: Any, schema: Schema) -> list[FacetExpression | MetricExpression]:
    if not isinstance(expressions, list) or not all(isinstance(one, str) for one in expressions):
        raise make_refusal("The facets must be an array of strings.", parameter="facets")
    return [_parse_facet(expression, schema) for expression in expressions]


def count_facets(facets: Sequence[FacetExpression | MetricExpression], documents: Collection[Json]) -> Json:
    """Count facets by field; what two expressions ask of one field goes into one list."""
    found: dict[str, list[Json]] = {}
    for facet in facets:
        found.setdefault(facet.field.path, []).extend(facet.count_values(documents))
    return found


def _parse_metric(expression: str, given: Mapping[str, str], field: Field) -> MetricExpression:
    metric = given["metric"]
    if metric not in METRICS or given.keys() - {"metric", "default", "precisionThreshold"}:
        raise _make_facet_refusal(expression, f"'metric' is one of {', '.join(METRICS)}.")
    if field.type not in NUMBERS and metric != "cardinality":
        raise _make_facet_refusal(expression, f"The metric '{metric}' is for numbers.")
    try:
        default = float(given["default"]) if "default" in given else None
    except ValueError as failure:
        raise _make_facet_refusal(expression, "'default' is a number.") from failure
    return MetricExpression(field, metric, default)


def _parse_facet(expression: str, schema: Schema) -> FacetExpression | MetricExpression:
    path, *options = (part.strip() for part in expression.split(","))
    if re.search(r"[()>]", expression):
        raise make_unimplemented_refusal("hierarchical facets")
    field = schema.get_field(path, "facets")
    if not field.facetable:
        raise _make_facet_refusal(expression, f"The field '{path}' is not facetable.")
    given = {name.strip(): value.strip() for name, _, value in (option.partition(":") for option in options)}
    if "metric" in given:
        return _parse_metric(expression, given, field)
    if unknown := given.keys() - {"count", "sort", "values", "interval", "timeoffset"}:
        raise _make_facet_refusal(expression, f"The facet option '{min(unknown)}' is not known.")
    if "timeoffset" in given:
        raise make_unimplemented_refusal("'timeoffset' of a facet")
    if "values" in given and given.keys() & {"interval", "count", "sort"}:
        raise _make_facet_refusal(expression, "'values' cannot be combined with 'interval', 'count' or 'sort'.")
    if "interval" in given and "count" in given:
        raise _make_facet_refusal(expression, "'interval' cannot be combined with 'count'.")
    sort = given.get("sort", "value" if "interval" in given else "count")
    if sort not in SORTS:
        raise _make_facet_refusal(expression, "'sort' is one of count, -count, value, -value.")
    return FacetExpression(
        field,
        _parse_count(expression, given),
        sort,
        _parse_bounds(expression, given, field),
        _parse_interval(given, field),
    )


def _parse_count(expression: str, given: Mapping[str, str]) -> int:
    count = given.get("count", str(DEFAULT_COUNT))
    if not count.isdecimal():
        raise _make_facet_refusal(expression, "'count' must be a whole number, not negative.")
    return int(count)


def _parse_bounds(expression: str, given: Mapping[str, str], field: Field) -> tuple[Value, ...]:
    if "values" not in given:
        return ()
    read: Callable[[str], Value] = parse_date if field.type == DATE else float
    if field.type not in (*NUMBERS, DATE):
        raise _make_facet_refusal(expression, "'values' is for numbers and dates.")
    try:
        bounds = [read(value) for value in given["values"].split("|")]
    except ValueError as failure:
        raise _make_facet_refusal(expression, f"A value is not of type '{field.type}'.") from failure
    return tuple(sorted(bounds))


def _parse_interval(given: Mapping[str, str], field: Field) -> str | float | None:
    interval = given.get("interval")
    if interval is None:
        return None
    if field.type == DATE and interval in DATE_INTERVALS:
        return interval
    try:
        if field.type in NUMBERS and float(interval) > 0:
            return float(interval)
    except ValueError:
        pass
    raise _make_facet_refusal(f"interval:{interval}", f"It is not an interval for the type '{field.type}'.")


def _make_facet_refusal(expression: str, why: str) -> ServiceRefusal:
    return make_refusal(f"Invalid facet expression '{expression}'. {why}", parameter="facets")


def _list_values(value: Any, names: Sequence[str], field: Field) -> Iterator[Any]:
    """List the values at a path, through collections too; the caller counts a document once a value."""
    if isinstance(value, list):
        for item in value:
            yield from _list_values(item, names, field)
    elif names and isinstance(value, Mapping):
        yield from _list_values(value.get(names[0]), names[1:], field)
    elif not names and value is not None:
        yield parse_date(value) if field.type == DATE else field.normalize(value) if field.normalize else value


def _floor_date(value: datetime, interval: str) -> datetime:
    start = value.astimezone(UTC).replace(second=0, microsecond=0)
    if interval == "minute":
        return start
    start = start.replace(minute=0)
    if interval == "hour":
        return start
    start = start.replace(hour=0)
    if interval == "week":
        return start - timedelta(days=(start.weekday() + 1) % 7)  # weeks begin on Sunday
    month = {"month": start.month, "quarter": (start.month - 1) // 3 * 3 + 1, "year": 1}
    return start.replace(day=1, month=month[interval]) if interval in month else start


def _format_edge(value: Any) -> Any:
    """Format the end of a range: dates have a form of their own there (recorded 2025-10-31)."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03d}+0000"
    return value


def _format_bucket(value: Any, field: Field) -> Any:
    if isinstance(value, datetime):
        return format_date(value)
    if field.type in ("Edm.Int32", "Edm.Int64") and isinstance(value, float) and value.is_integer():
        return int(value)
    return value
