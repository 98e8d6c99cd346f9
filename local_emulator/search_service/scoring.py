"""Scoring profiles: fields weigh differently, and values of a document raise its score.

How the service joins the two is not published; here a document's score by words is multiplied by the aggregate of its
functions, each between 1 and its boost.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from .expressions import get_value, parse_date
from .geography import compute_distance_km
from .refusals import make_refusal
from .scoring_schema import find_profile

Json = dict[str, Any]

CURVES: Mapping[str, Callable[[float], float]] = {
    "linear": lambda x: x,
    "constant": lambda x: 1.0,
    "quadratic": lambda x: 1 - (1 - x) ** 2,  # falls slowly at first, as documented, then fast
    "logarithmic": lambda x: math.log1p(x * (math.e - 1)) ** 2,
}
AGGREGATES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "sum": sum,
    "average": lambda values: sum(values) / len(values),
    "minimum": min,
    "maximum": max,
    "firstMatching": lambda values: next((value for value in values if value != 1), 1.0),
    "product": math.prod,
}
_DURATION = re.compile(
    r"(?P<sign>-)?P(?:(?P<days>\d+(?:\.\d+)?)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)


@dataclass(frozen=True, slots=True)
class ScoringProfile:
    """A profile has the weights of fields, and what each function gives a document."""

    weights: Mapping[str, float]
    functions: Sequence[Callable[[Json], float]]
    aggregate: Callable[[Sequence[float]], float]

    def compute_factor(self, document: Json) -> float:
        """Compute what a document's score is multiplied by."""
        return self.aggregate([function(document) for function in self.functions]) if self.functions else 1.0


def parse_scoring(body: Json, definition: Json) -> ScoringProfile | None:
    """Read the profile of a search with its parameters. Raises a ServiceRefusal for one that is missing."""
    profile = find_profile(body.get("scoringProfile"), definition)
    if profile is None:
        return None
    given = dict(_split_parameter(text) for text in body.get("scoringParameters") or ())
    functions = [_build_function(function, given) for function in profile["functions"] or ()]
    weights = (profile["text"] or {}).get("weights") or {}
    return ScoringProfile(weights, functions, AGGREGATES[profile["functionAggregation"] or "sum"])


def _split_parameter(text: str) -> tuple[str, str]:
    """Split `name-value1,value2` at the first dash: what follows may begin with a minus sign."""
    name, dash, values = text.partition("-")
    if not dash or not name:
        raise make_refusal(
            f"The scoring parameter '{text}' must be written as name-values.", parameter="scoringParameters"
        )
    return name, values.replace("','", ",").strip("'")  # a value with a comma stands in quotes


def _build_function(function: Json, given: Mapping[str, str]) -> Callable[[Json], float]:
    kind, boost, names = function["type"], float(function["boost"]), function["fieldName"].split("/")
    curve = CURVES[function.get("interpolation") or "linear"]
    measure = _MEASURES[kind](function[kind], given)

    def compute(document: Json) -> float:
        value = get_value(document, names)
        nearness = 0.0 if value is None else measure(value)
        return 1.0 if nearness <= 0 else 1 + (boost - 1) * curve(min(nearness, 1.0))

    return compute


def _measure_magnitude(parameters: Json, given: Mapping[str, str]) -> Callable[[Any], float]:
    start, end = float(parameters["boostingRangeStart"]), float(parameters["boostingRangeEnd"])
    beyond = bool(parameters.get("constantBoostBeyondRange"))

    def measure(value: float) -> float:
        if start == end:
            return float(value == start)
        share = (value - start) / (end - start)
        return (1.0 if share > 1 else share) if beyond or share <= 1 else 0.0

    return measure


def _measure_freshness(parameters: Json, given: Mapping[str, str]) -> Callable[[Any], float]:
    lasts, past = _parse_duration(parameters["boostingDuration"])

    def measure(value: str) -> float:
        age = datetime.now(UTC) - parse_date(value)
        apart = age if past else -age
        return 0.0 if apart < timedelta(0) else 1 - apart / lasts

    return measure


def _measure_distance(parameters: Json, given: Mapping[str, str]) -> Callable[[Any], float]:
    text = _get_parameter(parameters["referencePointParameter"], given)
    try:
        longitude, latitude = (float(part) for part in text.split(","))
    except ValueError as failure:
        raise make_refusal(f"'{text}' is not longitude,latitude.", parameter="scoringParameters") from failure
    reach = float(parameters["boostingDistance"])
    return lambda point: 1 - compute_distance_km(point["coordinates"], (longitude, latitude)) / reach


def _measure_tags(parameters: Json, given: Mapping[str, str]) -> Callable[[Any], float]:
    wanted = {tag.strip().lower() for tag in _get_parameter(parameters["tagsParameter"], given).split(",")}

    def measure(value: Any) -> float:
        held = {str(one).lower() for one in (value if isinstance(value, list) else [value])}
        return len(held & wanted) / len(wanted)

    return measure


_MEASURES: Mapping[str, Callable[[Json, Mapping[str, str]], Callable[[Any], float]]] = {
    "magnitude": _measure_magnitude,
    "freshness": _measure_freshness,
    "distance": _measure_distance,
    "tag": _measure_tags,
}


def _get_parameter(name: str, given: Mapping[str, str]) -> str:
    if name not in given:
        raise make_refusal(f"Expected 1 parameter(s) but 0 were supplied: '{name}'.", parameter="scoringParameters")
    return given[name]


def _parse_duration(text: str) -> tuple[timedelta, bool]:
    """Parse an XSD duration; a negative one reaches into the future."""
    found = _DURATION.fullmatch(text)
    parts = {
        name: float(value) for name, value in (found.groupdict() if found else {}).items() if name != "sign" and value
    }
    if not found or not parts:
        raise make_refusal(f"'{text}' is not a duration as P7D or PT12H.", parameter="scoringProfile")
    return timedelta(**parts), not found["sign"]
