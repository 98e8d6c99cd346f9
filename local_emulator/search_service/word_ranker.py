"""Rank passages by the share of a question's words that they hold, so that semantic queries run without a model.

It stands in for the service's ranker where a test needs answers of the right shape; its order is no better than words.
"""

import re
from collections.abc import Sequence

from .analysis import ENGLISH

_STRENGTH = 0.95  # of a passage that holds every word


class WordRanker:
    """A ranker that needs no model: stems of English words are compared."""

    async def score_passages(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        wanted = {token.term for token in ENGLISH.analyze(text)}
        return [_STRENGTH * _share(wanted, passage) for passage in passages]


def _share(wanted: set[str], passage: str) -> float:
    if not wanted or not re.search(r"\w", passage):
        return 0.0
    held = {token.term for token in ENGLISH.analyze(passage)}
    return len(wanted & held) / len(wanted)
