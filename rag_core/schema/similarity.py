"""How near the meaning of each column is to a question and to its phrases, on one scale for a database."""

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from rag_core.schema.model import ColumnKey

PLACE_SHARES = (1.0, 0.6, 0.4)  # of the first three columns for a phrase
MIN_NEAR, MAX_NEAR_GAP = 1.5, 0.5  # standard deviations: of the nearest column to the mean, and of others to that one
MAX_NEAR_COLUMNS = 4  # more are near to a phrase that says little


@dataclass(frozen=True, slots=True)
class ColumnSimilarity:
    """Similarities of a column, in standard deviations from the mean of the columns that were ranked.

    `phrase_place` is 1 for the column nearest to any phrase of the question, less for the second and the third.
    """

    question: float = 0.0
    phrase: float = 0.0
    phrase_place: float = 0.0


def compare_columns(
    columns: Sequence[ColumnKey],
    question: Mapping[ColumnKey, float],
    phrases: Sequence[Mapping[ColumnKey, float]],
) -> dict[ColumnKey, ColumnSimilarity]:
    """Return the similarities by column, from cosines to the question and to each phrase; 0 where there are none.

    Of a large schema only the nearest columns have cosines; the others count as near as the farthest of those.
    """
    whole = _standardize(columns, question)
    parts = [_standardize(columns, phrase) for phrase in phrases]
    places = dict.fromkeys(columns, 0.0)
    for phrase in phrases:
        nearest = heapq.nlargest(len(PLACE_SHARES), phrase, key=lambda column: phrase[column])
        for column, share in zip(nearest, PLACE_SHARES, strict=False):
            places[column] = max(places[column], share)
    return {
        column: ColumnSimilarity(whole[column], max((part[column] for part in parts), default=0.0), places[column])
        for column in columns
    }


def find_near_columns(cosines: Mapping[ColumnKey, float]) -> list[ColumnKey]:
    """Return the columns that a phrase may mean, the nearest first; [] where it is near to none, or to too many."""
    standard = _standardize(list(cosines), cosines)
    best = max(standard.values(), default=0.0)
    near = [column for column, value in standard.items() if value >= max(MIN_NEAR, best - MAX_NEAR_GAP)]
    return sorted(near, key=lambda column: -standard[column]) if len(near) <= MAX_NEAR_COLUMNS else []


def compute_word_cosines(columns: Mapping[ColumnKey, frozenset[str]], roots: frozenset[str]) -> dict[ColumnKey, float]:
    """Return the cosine of the sets of words of each column and of a text: what stands in for that of embeddings."""
    return {
        column: len(words & roots) / math.sqrt(len(words) * len(roots)) if words and roots else 0.0
        for column, words in columns.items()
    }


def _standardize(columns: Sequence[ColumnKey], cosines: Mapping[ColumnKey, float]) -> dict[ColumnKey, float]:
    if not cosines:
        return dict.fromkeys(columns, 0.0)
    mean = fmean(cosines.values())
    spread = math.sqrt(fmean((cosine - mean) ** 2 for cosine in cosines.values())) or 1.0
    least = min(cosines.values())
    return {column: (cosines.get(column, least) - mean) / spread for column in columns}
