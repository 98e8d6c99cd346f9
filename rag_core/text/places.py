"""Names of countries, continents, states and larger cities, from GeoNames (places.txt)."""

from functools import cache
from pathlib import Path

DOUBTFUL_MARK = "?"  # before a name that is also a word or a person's name


@cache
def load_places() -> dict[str, bool]:
    """Return the names as they are written, each with whether it is certain by itself to be a place."""
    lines = Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()
    names = (line for line in lines if not line.startswith("#"))
    return {name.removeprefix(DOUBTFUL_MARK): not name.startswith(DOUBTFUL_MARK) for name in names}
