"""Expansion of abbreviations by a glossary, so that a search finds passages in either spelling."""

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from types import MappingProxyType

from rag_core.text.codes import find_codes
from rag_core.text.periods import is_period
from rag_core.text.terms import stem_word

Glossary = Mapping[str, str]  # meanings by the case-folded abbreviation

NO_GLOSSARY: Glossary = MappingProxyType({})
# "Clinical Frailty Scale (CFS)": Schwartz and Hearst, PSB 2003; a long form has at most twice as many words as letters
_DEFINITION_PATTERN = re.compile(r"((?:[^\W_][\w'-]{0,40}[ \t\n]){1,12})\(([A-Z][\w&/-]{1,9})\)")
ABBREVIATION_PATTERN = re.compile(r"[^\W_](?:[\w/&'-]*[^\W_])?")


def parse_glossary(lines: Iterable[str]) -> Glossary:
    """Parse lines `abbreviation,meaning`; the meanings of several lines of one abbreviation are joined by commas.

    Raises:
        ValueError: a line has not exactly two values.
    """
    meanings: dict[str, list[str]] = {}
    for row in csv.reader(line for line in lines if line.strip() and not line.startswith("#")):
        abbreviation, meaning = (value.strip() for value in row)
        meanings.setdefault(abbreviation.casefold(), []).append(meaning)
    return {abbreviation: ", ".join(alternatives) for abbreviation, alternatives in meanings.items()}


@cache
def load_packaged_glossary() -> Glossary:
    """Return the glossary of medical abbreviations in this package."""
    with resources.files(__package__).joinpath("abbreviations.csv").open(encoding="utf-8") as lines:
        return parse_glossary(lines)


def expand_abbreviations(text: str, glossary: Glossary) -> str:
    """Add the other spellings to each abbreviation and meaning: "MI" becomes "MI (myocardial infarction)" (S4-03).

    "Myocardial infarction" becomes "Myocardial infarction (MI)". What the text has in both spellings is left alone.
    """
    stated = _fold_words(text)
    return _replace_terms(
        text,
        glossary,
        lambda written, others: (
            written if any(_fold_words(other) in stated for other in others) else f"{written} ({', '.join(others)})"
        ),
    )


def spell_as_in(passages: Sequence[str], text: str, glossary: Glossary) -> str:
    """Return the text with each abbreviation or meaning in the spelling of the first passage that has one of them.

    What no passage has stays as it is.
    """
    fold = cache(_fold_words)
    chosen: set[str] = set()

    def choose_spelling(written: str, others: tuple[str, ...]) -> str:
        for passage in map(fold, passages):
            for spelling in (written, *others):
                if _fold_words(spelling) in passage:
                    chosen.add(spelling)
                    return spelling
        return written

    spelled = _replace_terms(text, glossary, choose_spelling)
    for spelling in chosen:  # of both in "MI (myocardial infarction)"
        spelled = spelled.replace(f"{spelling} ({spelling})", spelling)
    return spelled


def abbreviate(text: str, glossary: Glossary) -> str:
    """Return the text with each meaning replaced by its abbreviation, so that both spellings are the same term."""
    if not glossary:
        return text
    return _replace_terms(
        text, glossary, lambda written, others: written if written.casefold() in glossary else others[0]
    )


def find_definitions(text: str) -> Glossary:
    """Return the abbreviations that a text defines in brackets behind their meaning: Clinical Frailty Scale (CFS)."""
    found = ((match[2], _match_long_form(match[1].split(), match[2])) for match in _DEFINITION_PATTERN.finditer(text))
    return {short.casefold(): meaning for short, meaning in found if meaning}


def merge_glossaries(*glossaries: Glossary) -> Glossary:
    """Return one glossary with the meanings of all, each once."""
    merged: dict[str, dict[str, None]] = {}
    for glossary in glossaries:
        for abbreviation, meanings in glossary.items():
            merged.setdefault(abbreviation, {}).update(dict.fromkeys(meanings.split(", ")))
    return {abbreviation: ", ".join(meanings) for abbreviation, meanings in merged.items()}


def _match_long_form(words: Sequence[str], short: str) -> str:
    """Return the fewest last words that have the letters and digits of `short` in order, the first where they begin."""
    signs = [sign for sign in short.casefold() if sign.isalnum()]
    for count in range(1, min(len(words), 2 * len(signs)) + 1):
        long_form = " ".join(words[-count:]).casefold()
        rest = iter(long_form)
        if long_form[:1] == signs[0] and count > 1 and all(sign in rest for sign in signs):
            return " ".join(words[-count:])
    return ""


def _replace_terms(text: str, glossary: Glossary, choose: Callable[[str, tuple[str, ...]], str]) -> str:
    """Replace each abbreviation and meaning by what `choose` makes of it as written and of its other spellings."""
    choose_once = cache(choose)  # of few spellings, where a text can have many abbreviations
    spellings = _list_spellings(tuple(glossary.items()))
    longest = max(map(len, spellings), default=0)
    words = list(ABBREVIATION_PATTERN.finditer(text))
    parts, at, n = [], 0, 0
    while n < len(words):
        term = _match_longest_term(text, words[n : n + longest], spellings)
        if term:
            start, end = words[n].start(), words[n + len(term) - 1].end()
            parts += [text[at:start], choose_once(text[start:end], spellings[term])]
            at = end
        n += len(term) or 1
    return "".join([*parts, text[at:]])


def _match_longest_term(
    text: str, words: Sequence[re.Match[str]], spellings: Mapping[tuple[str, ...], tuple[str, ...]]
) -> tuple[str, ...]:
    """Return the stems of the longest term that starts with the first of the words; () for none."""
    longest: tuple[str, ...] = ()
    stems: list[str] = []
    for n, word in enumerate(words):
        if n and not text[words[n - 1].end() : word.start()].isspace():
            break
        stems.append(stem_word(word[0]))
        longest = tuple(stems) if tuple(stems) in spellings else longest
    return longest


@lru_cache(maxsize=8)  # a process has one glossary or two, and those of the documents that were found last
def _list_spellings(glossary: tuple[tuple[str, str], ...]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return by the stems of each abbreviation and meaning its other spellings."""
    spellings: dict[tuple[str, ...], tuple[str, ...]] = {}
    for abbreviation, meanings in glossary:
        for meaning in meanings.split(", "):
            for term, other in ((abbreviation, meaning), (meaning, abbreviation.upper())):
                stems = tuple(stem_word(word) for word in ABBREVIATION_PATTERN.findall(term))
                spellings[stems] = (*spellings.get(stems, ()), other)
    return spellings


def _fold_words(text: str) -> str:
    """Return the stems of the words of a text with a space around each, so that whole words can be looked for."""
    return f" {' '.join(stem_word(word) for word in ABBREVIATION_PATTERN.findall(text))} "


def fold_case_except_codes(text: str) -> str:
    """Return the text in lower case except for codes and periods, whose case may matter: P0700 and 2Q23 stay."""
    return ABBREVIATION_PATTERN.sub(
        lambda word: word[0] if find_codes(word[0]) or is_period(word[0]) else word[0].casefold(), text
    )
