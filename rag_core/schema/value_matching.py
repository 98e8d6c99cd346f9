"""Values of columns that stand in a question, in whatever case and number: "blue eyes" has `colour = 'Blue'`."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
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
_PLURALS = (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("s", ""))

Span = tuple[int, int]  # places of words in the question, the end excluded


@dataclass(frozen=True, slots=True)
class ScoredMatch:
    """A match with its strength: 1 for a value of one word, more for longer ones, less for a number."""

    match: ValueMatch
    strength: float

    @property
    def column(self) -> ColumnKey:
        return self.match.table, self.match.column


def match_values(
    question: QuestionReading, values: Iterable[tuple[ColumnKey, str]], *, names: Collection[str] = ()
) -> list[ScoredMatch]:
    """Return the values that stand in the question, the strongest first, at most `MAX_MATCHES`.

    A value that stands only within longer ones is left out, and so is a single word in lower case that is one of the
    `names` of the schema, given as roots: "members" asks for the table rather than for `position = 'Member'`.
    """
    text, asked = _Text.from_question(question), len(_WORD.findall(question.text))
    found = {(key, value): (words, spans) for key, value, words, spans in _iterate_found(text, values, set(names))}
    taken = {span for _, spans in found.values() for span in spans}
    kept = [
        ScoredMatch(
            ValueMatch(*key, value, " ".join(words), by_rule=spans[0][0] >= asked),
            _compute_strength(words),
        )
        for (key, value), (words, spans) in found.items()
        if not all(_is_within_another(span, taken) for span in spans)
    ]
    return sorted(kept, key=lambda one: (-one.strength, one.column, one.match.value))[:MAX_MATCHES]


@dataclass(frozen=True)
class _Text:
    """The words of a question as written, in the singular and in lower case, and the places of each of these."""

    written: Sequence[str]
    words: Sequence[str]
    places: dict[str, list[int]]

    @classmethod
    def from_question(cls, question: QuestionReading) -> "_Text":
        written = _WORD.findall(question.explained)
        words = [_make_singular(word.casefold()) for word in written]
        places: dict[str, list[int]] = {}
        for place, word in enumerate(words):
            places.setdefault(word, []).append(place)
        return cls(written, words, places)

    def find(self, words: Sequence[str]) -> list[Span]:
        starts = self.places.get(words[0], ())
        return [(at, at + len(words)) for at in starts if list(self.words[at : at + len(words)]) == list(words)]

    def is_name(self, place: int, names: Collection[str]) -> bool:
        """Return whether a word is in lower case and a name of the schema, or says nothing by itself."""
        word = self.written[place]
        said = word.casefold()
        return said in KEY_PHRASE_STOP_WORDS or (word == said and find_root(said) in names)


def _iterate_found(
    text: _Text, values: Iterable[tuple[ColumnKey, str]], names: Collection[str]
) -> Iterator[tuple[ColumnKey, str, list[str], list[Span]]]:
    for key, value in values:
        words = _WORD.findall(value.casefold())
        if not words or _make_singular(words[0]) not in text.places or not _says_something(words):
            continue
        spans = text.find(list(map(_make_singular, words)))
        if len(words) == 1:
            spans = [span for span in spans if not text.is_name(span[0], names)]
        if spans:
            yield key, value, words, spans


def _says_something(words: Sequence[str]) -> bool:
    text = "".join(words)
    if text.isdecimal():
        return len(text) >= MIN_NUMBER_DIGITS
    return len(words) > 1 or (len(text) >= MIN_WORD_CHARS and text not in KEY_PHRASE_STOP_WORDS)


def _compute_strength(words: Sequence[str]) -> float:
    if len(words) == 1 and words[0].isdecimal():
        return NUMBER_STRENGTH
    return 1 + WORD_STRENGTH * (min(MAX_COUNTED_WORDS, len(words)) - 1)


def _make_singular(word: str) -> str:
    if len(word) <= MIN_WORD_CHARS or word.endswith("ss"):
        return word
    ending, singular = next(((one, by) for one, by in _PLURALS if word.endswith(one)), ("", ""))
    return word.removesuffix(ending) + singular if ending else word


def _is_within_another(span: Span, others: Collection[Span]) -> bool:
    return any(start <= span[0] and span[1] <= end and (start, end) != span for start, end in others)
