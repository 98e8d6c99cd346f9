"""Search by vectors: each field's vectors lie in one matrix, which is always scanned whole, `exhaustive` or not."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compressions import Compression
from .expressions import get_value
from .schema import VECTORS, Field

Json = dict[str, Any]
Floats = NDArray[np.float32]

DECIMALS = 7  # what float32 carries, so that equal vectors score equally wherever they lie in the matrix


class VectorMatrix:
    """The matrix of each field's vectors is built when it is first needed after a change."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self._fields = fields
        self._vectors: dict[str, dict[str, Floats]] = {field.path: {} for field in fields}
        self._matrices: dict[str, tuple[list[str], Floats]] = {}

    def apply_changes(self, changes: Mapping[str, Json | None]) -> None:
        for path, held in self._vectors.items():
            for key, document in changes.items():
                held.pop(key, None)
                vector = get_value(document, path.split("/"))
                if vector is not None:
                    held[key] = vector
            self._matrices.pop(path, None)

    def find_nearest(
        self,
        field: Field,
        vector: Floats,
        k: int,
        among: Mapping[str, Json] | None = None,
        *,
        oversampling: float | None = None,
    ) -> list[tuple[str, float]]:
        """Find the best `k` of all, or of `among`: keys with 1/(1 + distance), best first, equals by key.

        A compressed field is searched by approximations, so that it may miss some; rescoring corrects the scores.
        """
        keys, matrix = self._build_matrix(field.path)
        if among is not None:
            rows = [row for row, key in enumerate(keys) if key in among]
            keys, matrix = [keys[row] for row in rows], matrix[rows]
        if not keys:
            return []
        if field.compression is None:
            return _select_best(keys, matrix, vector, k, field.metric)
        return _select_by_approximation(keys, matrix, vector, k, field.metric, field.compression, oversampling)

    def measure_vectors(self) -> int:
        """Measure the bytes of the vectors that are searched: compressed ones where there is a compression."""
        return sum(
            len(self._vectors[field.path])
            * (field.compression.vector_bytes if field.compression else field.dimensions * VECTORS[field.number_type])
            for field in self._fields
        )

    def _build_matrix(self, path: str) -> tuple[list[str], Floats]:
        if path not in self._matrices:
            held = self._vectors[path]
            self._matrices[path] = list(held), np.stack(list(held.values())) if held else np.empty((0, 0), np.float32)
        return self._matrices[path]


def _select_best(keys: Sequence[str], matrix: Floats, vector: Floats, k: int, metric: str) -> list[tuple[str, float]]:
    scores = (1 / (1 + _compute_distances(matrix, vector, metric))).round(DECIMALS)
    best = sorted(zip((-scores).tolist(), keys, strict=True))[:k]
    return [(key, float(np.float32(-score))) for score, key in best]


def _select_by_approximation(
    keys: Sequence[str],
    matrix: Floats,
    vector: Floats,
    k: int,
    metric: str,
    compression: Compression,
    oversampling: float | None,
) -> list[tuple[str, float]]:
    approximations, query = compression.approximate(matrix), compression.approximate(vector[None])[0]
    if not compression.rescores:
        return _select_best(keys, approximations, query, k, metric)
    count = math.ceil(k * (oversampling or compression.oversampling))
    candidates = {key for key, _ in _select_best(keys, approximations, query, count, metric)}
    rows = [row for row, key in enumerate(keys) if key in candidates]
    if compression.keeps_originals:
        kept, query = matrix, vector
    else:
        kept, query = approximations, vector[: compression.dimensions]
    return _select_best([keys[row] for row in rows], kept[rows], query, k, metric)


def _compute_distances(matrix: Floats, vector: Floats, metric: str) -> NDArray[np.float64]:
    if metric == "euclidean":
        apart: NDArray[np.float64] = np.linalg.norm(matrix.astype(np.float64) - vector, axis=1)
        return apart
    if metric == "dotProduct":
        products = (matrix @ vector).astype(np.float64)
        # of vectors of length 1 it is the cosine; a larger product is as near as it is large, and scores as itself
        return np.where(products <= 1, 1 - products, 1 / np.maximum(products, 1) - 1)
    lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(vector)
    cosines = np.divide(matrix @ vector, lengths, out=np.zeros(len(matrix), np.float32), where=lengths > 0)
    distances: NDArray[np.float64] = 1 - np.clip(cosines.astype(np.float64), -1, 1)
    return distances
