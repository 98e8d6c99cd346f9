"""Check the scoring profiles of an index definition, and find the one that a search names."""

from collections.abc import Mapping
from typing import Any, Protocol

from .refusals import make_refusal
from .vector_schema import make_definition_refusal

Json = dict[str, Any]

AGGREGATIONS = ("sum", "average", "minimum", "maximum", "firstMatching", "product")
INTERPOLATIONS = ("linear", "constant", "quadratic", "logarithmic")
NUMBERS = ("Edm.Int32", "Edm.Int64", "Edm.Double")
FIELD_TYPES: Mapping[str, tuple[str, ...]] = {
    "magnitude": NUMBERS,
    "freshness": ("Edm.DateTimeOffset",),
    "distance": ("Edm.GeographyPoint",),
    "tag": ("Edm.String",),
}
PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "magnitude": ("boostingRangeStart", "boostingRangeEnd"),
    "freshness": ("boostingDuration",),
    "distance": ("referencePointParameter", "boostingDistance"),
    "tag": ("tagsParameter",),
}


class TypedField(Protocol):
    """A field as far as a profile minds: its type, and whether it is searched and filtered."""

    @property
    def type(self) -> str: ...
    @property
    def searchable(self) -> bool: ...
    @property
    def filterable(self) -> bool: ...


def check_scoring_profiles(definition: Json, fields: Mapping[str, TypedField]) -> None:
    """Check that profiles weigh searchable fields and compute with filterable ones. Raises a ServiceRefusal."""
    names = [profile["name"] for profile in definition["scoringProfiles"]]
    if definition["defaultScoringProfile"] not in (None, *names):
        raise make_definition_refusal(
            f"The default scoring profile '{definition['defaultScoringProfile']}' is not defined."
        )
    for profile in definition["scoringProfiles"]:
        for path in (profile["text"] or {}).get("weights") or {}:
            if path not in fields or not fields[path].searchable:
                raise make_definition_refusal(
                    f"The scoring profile '{profile['name']}' weighs '{path}', which is not searchable."
                )
        if profile["functionAggregation"] not in (None, *AGGREGATIONS):
            raise make_definition_refusal(f"'functionAggregation' is one of {', '.join(AGGREGATIONS)}.")
        for function in profile["functions"] or []:
            _check_function(function, profile["name"], fields)


def complete_function(given: Json) -> Json:
    """Fill in what a function leaves out; parameters of the other kinds are there and null."""
    complete: Json = {"interpolation": "linear", **dict.fromkeys(FIELD_TYPES)} | given
    if isinstance(complete["magnitude"], dict):
        complete["magnitude"] = {"constantBoostBeyondRange": False} | complete["magnitude"]
    return complete


def _check_function(function: Json, profile: str, fields: Mapping[str, TypedField]) -> None:
    kind, path = str(function.get("type")), str(function.get("fieldName"))
    if kind not in FIELD_TYPES:
        raise make_definition_refusal(f"A scoring function is one of {', '.join(FIELD_TYPES)}, not '{kind}'.")
    if path not in fields or fields[path].type not in FIELD_TYPES[kind] or not fields[path].filterable:
        raise make_definition_refusal(
            f"The {kind} function of the scoring profile '{profile}' needs a filterable field of type "
            f"{' or '.join(FIELD_TYPES[kind])}, which '{path}' is not."
        )
    if function.get("interpolation") not in (None, *INTERPOLATIONS):
        raise make_definition_refusal(f"'interpolation' is one of {', '.join(INTERPOLATIONS)}.")
    parameters = function.get(kind)
    if not isinstance(parameters, dict) or any(parameters.get(name) is None for name in PARAMETERS[kind]):
        raise make_definition_refusal(f"A {kind} function needs '{kind}' with {' and '.join(PARAMETERS[kind])}.")
    if not isinstance(function.get("boost"), int | float) or function["boost"] in (0, 1):
        raise make_definition_refusal("The 'boost' of a scoring function is a number other than 0 and 1.")


def find_profile(name: str | None, definition: Json) -> Json | None:
    """Find the profile that a search names, or the index's default one."""
    wanted = name or definition["defaultScoringProfile"]
    for profile in definition["scoringProfiles"]:
        if profile["name"] == wanted:
            return dict(profile)
    if name:
        raise make_refusal(f"The scoring profile '{name}' is not defined.", parameter="scoringProfile")
    return None
