"""Terms of a text for comparing texts: case-folded and stemmed words without stop words."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from rag_core.text.periods import write_out_periods
from rag_core.text.raised_marks import mask_footnote_marks
from rag_core.text.stop_words import QUESTION_STOP_WORDS

WORD_PATTERN = re.compile(r"\w+")
_LETTER_WHEN_FOLDED = "\u0345"  # the only mark that is a letter when folded; all others fold to their own kind
_NOTHING = re.compile(r"(?!)")


def normalize_query_text(text: str) -> str:
    """Return a query text casefolded, with single spaces: two queries of the same form are the same question."""
    return " ".join(text.casefold().split())


def extract_terms(text: str) -> frozenset[str]:
    """Return the distinct terms of a text; empty for a text of stop words or signs only."""
    return frozenset(map(stem_word, set(_list_words(text)) - QUESTION_STOP_WORDS))


def count_shared_terms(wanted: frozenset[str], texts: Sequence[str]) -> list[int]:
    """Return for each text how many of the wanted terms it has."""
    return [len(set(terms)) for terms in _list_wanted_terms(wanted, texts)]


def count_term_occurrences(wanted: frozenset[str], texts: Sequence[str]) -> list[Counter[str]]:
    """Return for each text how often it has each of the wanted terms."""
    return [Counter(terms) for terms in _list_wanted_terms(wanted, texts)]


def stem_word(word: str) -> str:
    """Return the stem of a word: "Misfiring" and "misfires" have the same, "P0700" is kept in full."""
    folded = word.casefold()
    if not folded.endswith(("g", "d", "s", "e")):
        return folded
    if folded.endswith("ies") and len(folded) > 4:
        return folded[:-3] + "y"
    for ending in ("ing", "ed", "es", "s", "e"):
        if folded.endswith(ending) and len(folded) - len(ending) > 3:
            return folded.removesuffix(ending)
    return folded


def _list_wanted_terms(wanted: frozenset[str], texts: Sequence[str]) -> list[list[str]]:
    """Return for each text the wanted terms where they stand in it; each distinct word is stemmed once."""
    pattern = _compile_beginnings(wanted)
    text_words = [_list_words(text, pattern) for text in texts]
    wanted_stems = {
        word: stem for word in set().union(*text_words) - QUESTION_STOP_WORDS if (stem := stem_word(word)) in wanted
    }
    return [[wanted_stems[word] for word in words if word in wanted_stems] for words in text_words]


@lru_cache(maxsize=64)
def _compile_beginnings(terms: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern of the words that begin as one of the terms, as each word with such a stem does."""
    beginnings = sorted(re.escape(term.removesuffix("y")) for term in terms)  # "cities" has the stem "city"
    return re.compile(rf"\b(?:{'|'.join(beginnings)})\w*") if beginnings else _NOTHING


def _list_words(text: str, pattern: re.Pattern[str] = WORD_PATTERN) -> list[str]:
    """Return the case-folded words of a text that fit the pattern, those of FY22 as of fiscal 2022."""
    text = write_out_periods(mask_footnote_marks(text))
    folded = text.casefold()
    if len(folded) == len(text) and _LETTER_WHEN_FOLDED not in text:  # its words are where those of the text are
        return pattern.findall(folded)
    return [word.casefold() for word in WORD_PATTERN.findall(text)]
