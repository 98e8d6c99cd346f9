"""Points on the earth: read as OData writes them, and how far apart they are."""

import math
import re
from collections.abc import Sequence

EARTH_KM = 6371.0
_POINT = re.compile(r"POINT\s*\(\s*(-?\d+(?:\.\d+)?)\s+(-?\d+(?:\.\d+)?)\s*\)", re.IGNORECASE)


def parse_point(text: str) -> tuple[float, float]:
    """Parse `POINT(longitude latitude)`. Raises ValueError."""
    found = _POINT.fullmatch(text.strip())
    if not found or abs(float(found[1])) > 180 or abs(float(found[2])) > 90:
        raise ValueError(f"{text!r} is not POINT(longitude latitude)")
    return float(found[1]), float(found[2])


def compute_distance_km(one: Sequence[float], other: Sequence[float]) -> float:
    """Compute the great-circle distance of two points, each longitude and latitude in degrees (haversine)."""
    (east1, north1), (east2, north2) = ((math.radians(x), math.radians(y)) for x, y in (one, other))
    half = math.sin((north2 - north1) / 2) ** 2
    half += math.cos(north1) * math.cos(north2) * math.sin((east2 - east1) / 2) ** 2
    return 2 * EARTH_KM * math.asin(math.sqrt(min(1.0, half)))
