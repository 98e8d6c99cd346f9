"""Windows of a text that is longer than what a model reads at once, and which of them a question is about."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from rag_core.text.terms import count_term_occurrences

T = TypeVar("T")

MAX_TITLE_CHARS = 200
# occurrences at which a term has half of its weight: in BM25 it is 1.2, but windows are short and all on the subject
TERM_SATURATION = 3


def split_title(passage: str) -> tuple[str, str]:
    """Split a passage into its title and its text: a short first line above an empty one is a title, "" is none."""
    first, gap, rest = passage.partition("\n\n")
    has_title = gap and "\n" not in first and len(first) <= MAX_TITLE_CHARS and rest.strip()
    return (first, rest) if has_title else ("", passage)


def split_windows(items: Sequence[T], max_items: int, *, overlap: int) -> list[Sequence[T]]:
    """Split tokens into the fewest equal windows of at most `max_items`; neighbours share `overlap` of them or more."""
    if len(items) <= max_items:
        return [items]
    count = -(-(len(items) - overlap) // (max_items - overlap))
    length = -(-(len(items) + (count - 1) * overlap) // count)
    starts = (i * (len(items) - length) // (count - 1) for i in range(count))
    return [items[start : start + length] for start in starts]


def choose_windows(query_terms: frozenset[str], windows: Sequence[str], count: int) -> list[int]:
    """Return the positions of at most `count` windows of a passage that say most in the query's terms, best first.

    A term counts more the fewer of these windows have it and the more often it stands in one, as in BM25. Of equal
    windows the earlier is chosen, so the beginning of a passage without any term.
    """
    occurrences = count_term_occurrences(query_terms, windows)
    window_counts = Counter(term for of_window in occurrences for term in of_window)
    weights = {term: math.log(1 + len(windows) / (held + 0.5)) for term, held in window_counts.items()}
    # fsum: the order of the terms differs between processes, and equal windows must stay equal
    scores = [math.fsum(weights[t] * n / (n + TERM_SATURATION) for t, n in of.items()) for of in occurrences]
    return sorted(range(len(windows)), key=lambda position: -scores[position])[:count]
