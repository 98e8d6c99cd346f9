"""Parse the vector queries of a search, each into one for every field that it names."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .refusals import make_refusal, make_unimplemented_refusal
from .schema import VECTOR, Field, Schema
from .vectorizers import vectorize_text
from .vectors import Floats

Json = dict[str, Any]

DEFAULT_K = 50
KNOWN = {"kind", "vector", "text", "k", "fields", "exhaustive", "weight", "oversampling", "threshold"}
UNIMPLEMENTED = {"filterOverride", "perDocumentVectorLimit", "queryRewrites"}


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """A vector query asks for the nearest `k` of a field; what scores less than `least` is left out."""

    field: Field
    vector: Floats
    k: int
    weight: float
    least: float = 0.0
    oversampling: float | None = None


def parse_vector_queries(query: Any, schema: Schema) -> list[VectorQuery]:
    """Parse a vector query into one query for each field it names. Raises a ServiceRefusal."""
    given = {k: v for k, v in query.items() if v is not None} if isinstance(query, dict) else {}
    kind = given.get("kind")
    if kind not in ("vector", "text"):
        raise make_unimplemented_refusal(f"vector queries of kind '{kind}'")
    if skipped := given.keys() & UNIMPLEMENTED:
        raise make_unimplemented_refusal(f"'{min(skipped)}' of a vector query")
    if unknown := given.keys() - KNOWN:
        raise _make_refusal(f"'{min(unknown)}' is not a property of a vector query.")
    k, weight = given.get("k", DEFAULT_K), given.get("weight", 1.0)
    if type(k) is not int or not 1 <= k <= 10_000:
        raise _make_refusal("'k' must be a whole number from 1 to 10000.")
    if not isinstance(weight, int | float) or weight <= 0:
        raise _make_refusal("'weight' must be greater than 0.")
    paths = [path.strip() for path in str(given.get("fields", "")).split(",") if path.strip()]
    if not paths:
        raise _make_refusal("A vector query must name its 'fields'.")
    return [_parse_for_field(given, path, schema, k, weight) for path in paths]


def _parse_for_field(given: Json, path: str, schema: Schema, k: int, weight: float) -> VectorQuery:
    field = schema.get_field(path, "vectorQueries")
    if field.type != VECTOR:
        raise _make_refusal(f"The field '{path}' is not a vector field.")
    if "oversampling" in given and not field.compression:
        raise _make_refusal(f"'oversampling' needs a compression, which the field '{path}' has not.")
    values = given.get("vector") if given["kind"] == "vector" else _vectorize(given.get("text"), field, schema)
    least, oversampling = _parse_threshold(given.get("threshold"), field), _parse_oversampling(given)
    return VectorQuery(field, _read_vector(values, field), k, weight, least, oversampling)


def _parse_oversampling(given: Json) -> float | None:
    value = given.get("oversampling")
    if value is not None and (type(value) not in (int, float) or value < 1):
        raise _make_refusal("'oversampling' must be at least 1.")
    return value


def _vectorize(text: Any, field: Field, schema: Schema) -> list[float]:
    if not isinstance(text, str) or not text:
        raise _make_refusal("A vector query of kind 'text' must have a 'text'.")
    if not field.vectorizer:
        raise _make_refusal(f"The vector field '{field.path}' has no vectorizer in its vector search profile.")
    vectorizers = schema.definition["vectorSearch"]["vectorizers"]
    return vectorize_text(text, next(one for one in vectorizers if one["name"] == field.vectorizer), field.dimensions)


def _parse_threshold(threshold: Mapping[str, Any] | None, field: Field) -> float:
    """Parse a threshold into the least score that is kept; a similarity is a cosine."""
    if threshold is None:
        return 0.0
    value = threshold.get("value")
    if not isinstance(value, int | float):
        raise _make_refusal("A threshold must have a 'value'.")
    if threshold.get("kind") == "searchScore":
        return float(value)
    if threshold.get("kind") == "vectorSimilarity" and field.metric == "cosine":
        return 1 / (2 - float(value))
    raise make_unimplemented_refusal(f"a threshold of kind '{threshold.get('kind')}' for the metric '{field.metric}'")


def _read_vector(values: Any, field: Field) -> Floats:
    if not isinstance(values, list) or not all(type(x) in (int, float) and math.isfinite(x) for x in values):
        raise _make_refusal("'vector' must be an array of numbers.")
    if len(values) != field.dimensions:
        raise _make_refusal(
            f"The vector field '{field.path}', with dimension of '{field.dimensions}', expects a length of "
            f"'{field.dimensions}'. However, the provided vector has a length of '{len(values)}'. Please ensure that "
            "the vector length matches the expected length of the vector field."
        )
    return np.array(values, dtype=np.float32)


def _make_refusal(message: str) -> Exception:
    return make_refusal(message, parameter="vectorQueries", code="InvalidRequestParameter", detail="InvalidVectorQuery")
