"""Approximate vectors as a compression does: fewer dimensions, one byte each or one bit."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Json = dict[str, Any]
Floats = NDArray[np.float32]

BITS = {"scalarQuantization": 8, "binaryQuantization": 1}


@dataclass(frozen=True, slots=True)
class Compression:
    """A compression keeps the first `dimensions`, each in `bits`.

    With `rescores` the nearest `oversampling` times k are compared once more, by the originals if `keeps_originals`.
    """

    bits: int
    dimensions: int
    rescores: bool
    oversampling: float
    keeps_originals: bool

    @property
    def vector_bytes(self) -> int:
        return math.ceil(self.dimensions * self.bits / 8)

    def approximate(self, vectors: Floats) -> Floats:
        """Approximate each row. One bit is a sign; one byte is a share of the row's largest number."""
        kept = vectors[:, : self.dimensions]
        if self.bits == 1:
            return np.where(kept > 0, np.float32(1), np.float32(-1))
        largest = np.abs(kept).max(axis=1, keepdims=True, initial=0)
        steps = np.divide(127 * kept, largest, out=np.zeros_like(kept), where=largest > 0).round()
        approximated: Floats = (steps * largest / 127).astype(np.float32)
        return approximated


def find_compression(name: str | None, vector_search: Mapping[str, Any], dimensions: int) -> Compression | None:
    """Find the compression of this name among those of the definition, for vectors of these dimensions."""
    if name is None:
        return None
    given: Json = next(one for one in vector_search["compressions"] if one["name"] == name)
    rescoring = given["rescoringOptions"]
    return Compression(
        bits=BITS[given["kind"]],
        dimensions=min(given["truncationDimension"] or dimensions, dimensions),
        rescores=bool(rescoring["enableRescoring"]),
        oversampling=float(rescoring["defaultOversampling"] or 1),
        keeps_originals=rescoring["rescoreStorageMethod"] == "preserveOriginals",
    )
