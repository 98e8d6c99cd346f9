"""Acronyms, and the words that they stand for where a text says so: transmission control module (TCM)."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from rag_core.text.stop_words import KEY_PHRASE_STOP_WORDS

MIN_ACRONYM_COUNT = 2  # occurrences in a document of an acronym that it does not explain
_ACRONYM = re.compile(r"(?<![\w-])[A-Z](?=[A-Z0-9]{0,4}[A-Z])[A-Z0-9]{1,5}(?![\w-])")
_CAPITALS_RUN = re.compile(r"\b[A-Z]+(?: [A-Z]+){2,}\b")  # A GREAT PLACE TO WORK
_ACRONYM_IN_BRACKETS = re.compile(r"\(([A-Z]{2,6})s?\)")
_SHOUTED_WORDS = (
    "ALL AN AND ARE BUT CAUTION DANGER FOR FROM IF II III IV IX IN IS IT NO NOT NOTE OF OFF OK ON ONE OR OUR OUT "
    "STEP THE THIS TO TODO VI VII VIII WARNING WITH XI XII YES YOU AM PM FY CY USD EUR GBP CHF UTC GMT PDF URL"
)
_NOT_ACRONYMS = frozenset(_SHOUTED_WORDS.split())


def collect_acronyms(texts: Sequence[str]) -> frozenset[str]:
    """Return the acronyms that a document's texts explain or use more than once."""
    counts = Counter(acronym for text in texts for acronym in find_acronyms(text))
    explained = {match[1] for text in texts for match in _ACRONYM_IN_BRACKETS.finditer(text)}
    return frozenset(acronym for acronym, count in counts.items() if count >= MIN_ACRONYM_COUNT or acronym in explained)


def find_acronyms(text: str) -> Iterator[str]:
    """Yield the acronyms of a text; none from a line mostly in capitals or from runs of capitals with stop words."""
    for line in filter(None, text.split("\n")):
        words = line.split()
        if sum(word.isupper() for word in words) * 2 < len(words):
            prose = _CAPITALS_RUN.sub(
                lambda run: "" if KEY_PHRASE_STOP_WORDS & set(run[0].lower().split()) else run[0], line
            )
            yield from (acronym for acronym in _ACRONYM.findall(prose) if acronym not in _NOT_ACRONYMS)


def find_defined_terms(text: str) -> Iterator[str]:
    """Yield the expansions of bracketed acronyms whose letters begin its words: transmission control module (TCM)."""
    for match in _ACRONYM_IN_BRACKETS.finditer(text):
        letters = match[1].lower()
        words = text[max(0, match.start() - 80) : match.start()].lower().split()[-len(letters) :]
        if [word[0] for word in words] == list(letters):
            yield " ".join(words)
