"""Where entities stand in a text; of two that overlap, one is kept."""

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EntitySpan:
    """An entity with its characters in a text, `end` excluded; `rank` decides between spans that overlap, 0 first."""

    start: int
    end: int
    type: str
    value: str
    rank: int = 0


def place_match(match: re.Match[str], type: str, rank: int = 0, group: int = 0) -> EntitySpan:
    """Return the span of a match, its white space collapsed in the value."""
    return EntitySpan(match.start(group), match.end(group), type, " ".join(match[group].split()), rank)


def drop_overlaps(spans: Iterable[EntitySpan]) -> list[EntitySpan]:
    """Return spans of which no two overlap, in the order of the text: the lower rank wins, then the longer span."""
    kept: list[EntitySpan] = []
    taken: set[int] = set()
    for span in sorted(spans, key=lambda span: (span.rank, span.start - span.end, span.start)):
        if taken.isdisjoint(range(span.start, span.end)):
            taken.update(range(span.start, span.end))
            kept.append(span)
    return sorted(kept, key=lambda span: span.start)
