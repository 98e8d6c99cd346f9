"""The postings of a field say in which documents each term stands, and how a word of a query finds its terms."""

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from .schema import Field

Scores = dict[str, float]


@dataclasses.dataclass
class FieldPostings:
    """The postings of one field hold, for each term, the documents and how often it stands in them."""

    field: Field
    postings: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    lengths: dict[str, int] = dataclasses.field(default_factory=dict)
    total: int = 0

    def add_document(self, key: str, terms: Counter[str]) -> None:
        for term, count in terms.items():
            self.postings.setdefault(term, {})[key] = count
        self.lengths[key] = terms.total()
        self.total += terms.total()

    def remove_document(self, key: str, terms: Iterable[str]) -> None:
        for term in terms:
            held = self.postings[term]
            del held[key]
            if not held:
                del self.postings[term]
        self.total -= self.lengths.pop(key, 0)


def score_matching(posted: FieldPostings, pattern: re.Pattern[str]) -> Scores:
    """Score with 1 what a pattern finds; it matches whole terms and is not analyzed."""
    return {key: 1.0 for term, held in posted.postings.items() if pattern.fullmatch(term) for key in held}


def combine_scores(parts: Iterable[Scores | None], *, every: bool) -> Scores | None:
    """Sum the scores of what matches every part, or some; return None when there is no part."""
    held = [part for part in parts if part is not None]
    if not held:
        return None
    keys = set(held[0]).intersection(*held[1:]) if every else set().union(*held)
    return {key: math.fsum(part[key] for part in held if key in part) for key in keys}


def measure_edits(one: str, other: str, most: int) -> int:
    """Count the letters to insert, remove, change or swap with their neighbour; more than `most` is not counted out."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: Sequence[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(row[j - 1] + 1, before[j] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]
