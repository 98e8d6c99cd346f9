"""The name that was probably meant by one that is unknown."""

from collections.abc import Iterable

MAX_GIVEN_CHARS = 100  # of a name; the comparison takes time in proportion to its length and that of each known one
MAX_KNOWN = 1_000


def suggest_name(given: str, known: Iterable[str]) -> str:
    """Return "; did you mean NAME?" with the known name that is most like the given one, "" where none is like it."""
    from difflib import get_close_matches  # only after a mistake

    names = {name[:MAX_GIVEN_CHARS].casefold(): name for name, _ in zip(known, range(MAX_KNOWN), strict=False)}
    near = get_close_matches(given[:MAX_GIVEN_CHARS].casefold(), names, n=1, cutoff=0.6) if given else []
    return f"; did you mean {names[near[0]]}?" if near else ""
