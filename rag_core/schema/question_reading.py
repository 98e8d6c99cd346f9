"""What a question says as far as a schema is concerned: its words, phrases, names, quotations and dates."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from rag_core.text.identifiers import find_root, list_roots
from rag_core.text.months import MONTH_NAMES
from rag_core.text.question_cues import (
    COMPARING_WORDS,
    DATE_ROOTS,
    INTRODUCING_WORDS,
    ORDERING_WORDS,
    PERSON_WORDS,
    asks_for_count,
    find_cued_roots,
)
from rag_core.text.stop_words import KEY_PHRASE_STOP_WORDS

MAX_PHRASES = 6  # that are embedded besides the question itself: the first of them
_TOKEN = re.compile(r"\w+(?:[.'’-]\w+)*|[^\w\s]")
_WORD = re.compile(r"\w+")
_QUOTATION = re.compile(r"\"([^\"]{1,80})\"|“([^”]{1,80})”|(?<!\w)'([^']{2,80})'(?!\w)")
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
_DATE = re.compile(r"(?<!\d)\d{1,4}[/-]\d{1,2}[/-]\d{1,4}(?!\d)")
_PLACE = re.compile(
    r"\b(?:in|from|at|near|of) (?:the )?(?:(?:city|county|state|town|country|district|region) of )?([A-Z]\w+)"
)
_SENTENCE_ENDS = frozenset(".?!")


@dataclass(frozen=True)
class QuestionReading:
    """A question with what is read off it once for all columns.

    `hints` are sentences of rules that explain a word of the question: their words count as the question's own, but
    for names and quotations. `parts` are questions into which a chat model split it: only what they mean counts.
    """

    text: str
    hints: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()

    @property
    def explained(self) -> str:
        """The question and its hints."""
        return "\n".join((self.text, *self.hints))

    @cached_property
    def words(self) -> list[str]:
        """The words, case-folded."""
        return _WORD.findall(self.explained.casefold())

    @cached_property
    def roots(self) -> frozenset[str]:
        """The roots of the words that are no stop words."""
        return frozenset(root for root in list_roots(self.explained) if root not in KEY_PHRASE_STOP_WORDS)

    def list_content_words(self) -> list[str]:
        """Return the words of the question itself that are no stop words, as it spells them."""
        words = _WORD.findall(self.text)
        return [word for word in words if find_root(word.casefold()) not in KEY_PHRASE_STOP_WORDS]

    @cached_property
    def cued_roots(self) -> frozenset[str]:
        """The roots of the names of columns that the question asks for in other words."""
        cued = find_cued_roots(list_roots(self.text))
        return cued | DATE_ROOTS if self.has_date else cued

    @cached_property
    def has_date(self) -> bool:
        months = {month.casefold() for month in MONTH_NAMES} - {"may", "march"}  # which are verbs as well
        return bool(_YEAR.search(self.text) or _DATE.search(self.text) or months & set(self.words))

    @cached_property
    def compares_numbers(self) -> bool:
        return not COMPARING_WORDS.isdisjoint(self.words)

    @cached_property
    def orders_dates(self) -> bool:
        return not ORDERING_WORDS.isdisjoint(self.words)

    @cached_property
    def asks_for_person(self) -> bool:
        return not PERSON_WORDS.isdisjoint(self.words)

    @cached_property
    def asks_for_count(self) -> bool:
        return asks_for_count(self.text)

    @cached_property
    def phrases(self) -> list[str]:
        """The runs of words between stop words and signs, as "blue eyes", then the hints and the parts."""
        return [*self.own_phrases, *self.hints, *self.parts]

    @cached_property
    def own_phrases(self) -> list[str]:
        """The first runs of words of the question itself between stop words and signs."""
        return list(dict.fromkeys(self._iterate_phrases()))[:MAX_PHRASES]

    @cached_property
    def names(self) -> list[str]:
        """The quoted texts and the runs of capitalized words, without a word that only begins a sentence."""
        quoted = ["".join(groups) for groups in _QUOTATION.findall(self.text)]
        return list(dict.fromkeys([*quoted, *self._iterate_capitalized()]))

    def find_words_beside_names(self, known_roots: frozenset[str]) -> frozenset[str]:
        """Return the roots of the words before and after each name that is no word of the schema.

        What only introduces a name, as in "the user called X", is passed over; what a name owns is not beside it.
        """
        beside: set[str] = set()
        for name in self.names:
            if _is_unknown(name, known_roots, frozenset()) and (found := re.search(re.escape(name), self.text)):
                before = [word.casefold() for word in _WORD.findall(self.text[: found.start()])]
                before = [word for word in before[-3:] if word not in INTRODUCING_WORDS][-1:]
                rest = self.text[found.end() :]
                after = [] if rest.startswith(("'s", "’s")) else _WORD.findall(rest)[:1]
                beside |= {find_root(word.casefold()) for word in (*before, *after)}
        return frozenset(beside)

    def _iterate_capitalized(self) -> Iterator[str]:
        run: list[str] = []
        for token in [*_TOKEN.findall(self.text), "."]:
            if token[:1].isupper() and (run or token.casefold() not in KEY_PHRASE_STOP_WORDS):
                run.append(token.removesuffix("'s").removesuffix("’s"))
            elif run:
                yield " ".join(run)
                run = []

    def find_names(self, known_roots: frozenset[str], used_words: frozenset[str]) -> list[str]:
        """Return the capitalized words that are neither words of the schema nor of a value that was found in it.

        The first word of a sentence counts only before another capitalized word.
        """
        tokens = _TOKEN.findall(self.text)
        names = []
        for at, token in enumerate(tokens):
            begins = at == 0 or tokens[at - 1] in _SENTENCE_ENDS
            alone = at + 1 == len(tokens) or not tokens[at + 1][:1].isupper()
            if token[:1].isupper() and not (begins and alone) and _is_unknown(token, known_roots, used_words):
                names.append(token)
        return names

    def find_places(self, known_roots: frozenset[str], used_words: frozenset[str]) -> list[str]:
        """Return the names that `find_names` would, of those that follow "in", "from", "at", "near" or "of"."""
        return [name for name in _PLACE.findall(self.text) if _is_unknown(name, known_roots, used_words)]

    def find_quotations(self, used_words: frozenset[str]) -> list[str]:
        """Return the quoted texts that are no value that was found."""
        quoted = ["".join(groups) for groups in _QUOTATION.findall(self.text)]
        return [text for text in quoted if not used_words.issuperset(_WORD.findall(text.casefold()))]

    def _iterate_phrases(self) -> Iterator[str]:
        run: list[str] = []
        for token in [*_TOKEN.findall(self.text), "."]:
            if token[0].isalnum() and token.casefold() not in KEY_PHRASE_STOP_WORDS:
                run.append(token)
            elif run:
                yield " ".join(run)
                run = []


def _is_unknown(token: str, known_roots: frozenset[str], used_words: frozenset[str]) -> bool:
    words = _WORD.findall(token.casefold().removesuffix("'s").removesuffix("’s"))
    return not any(
        word in used_words or word in KEY_PHRASE_STOP_WORDS or find_root(word) in known_roots for word in words
    )
