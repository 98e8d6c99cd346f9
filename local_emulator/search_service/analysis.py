"""The analyzers that are implemented split a text into the terms it is found by, each with its place."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

_WORDS = re.compile(r"\w+(?:['’.]\w+)*")  # close to Unicode's word boundaries: "one's", "3.14" and "a.b" stay whole
# letters and the vowel signs upon them, which are no word characters of Python: Hebrew, Arabic, the scripts of India
_MARKS = "\\u0300-\\u036f\\u0591-\\u05bd\\u064b-\\u065f\\u0900-\\u0963\\u0966-\\u0dff\\u200c\\u200d"
_MARKED_WORDS = re.compile(rf"\w[\w{_MARKS}]*(?:['’.]\w[\w{_MARKS}]*)*")
_THAI_CHARACTERS = re.compile("[\u0e00-\u0e7f]|[^\\W\u0e00-\u0e7f]+")
_LETTERS = re.compile(r"[^\W\d_]+")
_PARTS = re.compile(r"\w+")  # what Lucene's pattern analyzer leaves between its default, \W+
_WHOLE = re.compile(r"(?s).+")
_RUNS = re.compile(r"\S+")
ELISION = re.compile(r"^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)['’]", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’]s$")
_IDEOGRAPH = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
ENGLISH_STOPS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by for if in into is it no not of on or such that the their then there these they "
        "this to was will with",
    )
)  # Lucene's EnglishAnalyzer


def fold_to_ascii(text: str) -> str:
    """Write letters and digits of other forms as plain ones, where there is one: é as e, ① as 1.

    Each character is decomposed by itself: a text as a whole has its combining marks sorted, which are dropped here,
    and Python takes the square of their number for it.
    """
    if text.isascii():
        return text
    parts = (part for character in text for part in unicodedata.normalize("NFKD", character))
    return "".join(part for part in parts if not unicodedata.combining(part))


@dataclass(frozen=True, slots=True)
class Token:
    """A token is a term, its place in the text, and its number among the words."""

    term: str
    start: int
    end: int
    position: int


class LexicalAnalyzer(Protocol):
    """Whatever splits a text into tokens: an analyzer, or a tokenizer alone."""

    def analyze(self, text: str) -> Iterator[Token]: ...


@dataclass(frozen=True, slots=True)
class Analyzer:
    pattern: re.Pattern[str]
    lower: bool = True
    splits_ideographs: bool = True  # ideographs, one term a character, as Lucene's standard tokenizer
    stops: frozenset[str] = frozenset()
    stemmer: str = ""
    folds: bool = False  # letters of other forms as plain ones

    def analyze(self, text: str) -> Iterator[Token]:
        for position, (start, end) in enumerate(self._find_spans(text)):
            term = self._normalize_term(text[start:end])
            if term:
                yield Token(term, start, end, position)

    def _find_spans(self, text: str) -> Iterator[tuple[int, int]]:
        for found in self.pattern.finditer(text):
            if self.splits_ideographs and _IDEOGRAPH.search(found[0]):
                yield from ((found.start() + i, found.start() + i + 1) for i in range(len(found[0])))
            else:
                yield found.span()

    def _normalize_term(self, word: str) -> str:
        word = word.lower() if self.lower else word
        word = fold_to_ascii(word) if self.folds else word
        if self.stemmer == "english":
            word = _POSSESSIVE.sub("", word)
        elif self.stemmer == "french":
            word = ELISION.sub("", word)
        if word in self.stops:
            return ""
        return stem_word(self.stemmer, word) if self.stemmer else word


STEMMERS: Mapping[str, str] = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "pt-BR": "portuguese",
    "pt-PT": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
}
# languages written with spaces, whose stems are not known here: their words are found as they are written
UNSTEMMED = {
    "lucene": re.findall(r"\S+", "bg ca cs eu fa ga gl hi hy id lv no pl"),
    "microsoft": re.findall(
        r"\S+", "bg bn ca cs et gu he hi hr id is kn lt lv ml mr ms nb pa pl sk sl sr-cyrillic sr-latin ta te uk ur vi"
    ),
}
UNSTEMMED_WORDS = Analyzer(_MARKED_WORDS)
STANDARD = Analyzer(_WORDS)
ENGLISH = Analyzer(_WORDS, stops=ENGLISH_STOPS, stemmer="english")
ANALYZERS: Mapping[str, Analyzer] = {
    "standard.lucene": STANDARD,
    "standard": STANDARD,
    "en.lucene": ENGLISH,
    "en.microsoft": ENGLISH,
    **{
        f"{language}.{maker}": Analyzer(_WORDS, stemmer=stemmer)
        for language, stemmer in STEMMERS.items()
        for maker in ("lucene", "microsoft")
    },
    **{f"{language}.{maker}": UNSTEMMED_WORDS for maker, languages in UNSTEMMED.items() for language in languages},
    # written without spaces, and no dictionary is here: a term a character; Korean words as they are written
    **{f"{language}.{maker}": STANDARD for maker in UNSTEMMED for language in ("zh-Hans", "zh-Hant", "ja", "ko")},
    **{f"th.{maker}": Analyzer(_THAI_CHARACTERS, splits_ideographs=False) for maker in UNSTEMMED},
    "standardasciifolding.lucene": Analyzer(_WORDS, folds=True),
    "pattern": Analyzer(_PARTS, splits_ideographs=False),
    "keyword": Analyzer(_WHOLE, lower=False, splits_ideographs=False),
    "simple": Analyzer(_LETTERS),
    "stop": Analyzer(_LETTERS, stops=ENGLISH_STOPS),
    "whitespace": Analyzer(_RUNS, lower=False),
}


@lru_cache(200_000)
def stem_word(language: str, word: str) -> str:
    """Return the stem of a word by Snowball's rules for a language."""
    stems: list[str] = _build_stemmer(language).analyze(word)
    return stems[0] if stems else word


@lru_cache
def _build_stemmer(language: str) -> TextAnalyzer:
    return TextAnalyzerBuilder(Tokenizer.raw()).filter(Filter.stemmer(language)).build()
