"""Values of columns that stand in a question, in whatever case and number: "blue eyes" has `colour = 'Blue'`."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rag_core.schema.model import ColumnKey, ValueMatch
from rag_core.schema.question_reading import QuestionReading
from rag_core.text.identifiers import find_root
from rag_core.text.stop_words import KEY_PHRASE_STOP_WORDS

MIN_WORD_CHARS = 3  # of a value of one word; shorter ones are articles and abbreviations in most questions
MIN_NUMBER_DIGITS = 3  # of a value that is a number: "5" stands in too many questions
NUMBER_STRENGTH = 0.4  # of a number, which is a quantity as often as a value
WORD_STRENGTH = 0.5  # added for each further word
MAX_COUNTED_WORDS = 3
MAX_MATCHES = 12  # of one question; the strongest
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class ScoredMatch:
    """A match with its strength: 1 for a value of one word, more for longer ones, less for a number."""

    match: ValueMatch
    strength: float

    @property
    def column(self) -> ColumnKey:
        return self.match.table, self.match.column


def match_values(question: QuestionReading, values: Iterable[tuple[ColumnKey, str]]) -> list[ScoredMatch]:
    """Return the values that stand in the question, the strongest first, at most `MAX_MATCHES`.

    A value that is part of a longer one of the same column at the same place is left out.
    """
    plain = f" {' '.join(_WORD.findall(question.explained.casefold()))} "
    rooted = f" {' '.join(map(find_root, plain.split()))} "
    found = {(match.column, match.match.value): match for match in _iterate_matches(plain, rooted, values)}
    best = sorted(found.values(), key=lambda one: (-one.strength, one.column, one.match.value))
    return [one for one in best if not _is_part_of_another(one, best)][:MAX_MATCHES]


def _iterate_matches(plain: str, rooted: str, values: Iterable[tuple[ColumnKey, str]]) -> Iterator[ScoredMatch]:
    for (table, column), value in values:
        words = _WORD.findall(value.casefold())
        if not words or (words[0] not in plain and find_root(words[0]) not in rooted):
            continue
        if strength := _compute_strength(words, plain, rooted):
            yield ScoredMatch(ValueMatch(table, column, value, " ".join(words)), strength)


def _compute_strength(words: list[str], plain: str, rooted: str) -> float:
    """Return 0 for a value that the question does not have."""
    text = " ".join(words)
    if text.isdecimal():
        return NUMBER_STRENGTH if len(text) >= MIN_NUMBER_DIGITS and f" {text} " in plain else 0.0
    if len(words) == 1 and (len(text) < MIN_WORD_CHARS or text in KEY_PHRASE_STOP_WORDS):
        return 0.0
    if f" {text} " in plain or f" {' '.join(map(find_root, words))} " in rooted:
        return 1 + WORD_STRENGTH * (min(MAX_COUNTED_WORDS, len(words)) - 1)
    return 0.0


def _is_part_of_another(one: ScoredMatch, others: list[ScoredMatch]) -> bool:
    words = f" {one.match.words} "
    return any(
        other.column == one.column and words != f" {other.match.words} " and words in f" {other.match.words} "
        for other in others
    )
