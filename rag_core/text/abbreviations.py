"""Expansion of abbreviations by a glossary, so that a search finds passages in either spelling."""

import csv
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources

from rag_core.text.codes import find_codes

Glossary = Mapping[str, str]  # meanings by the case-folded abbreviation

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
    """Add its meaning to each abbreviation: "MI" becomes "MI (myocardial infarction)" (S4-03).

    An abbreviation whose meaning is already in the text is left alone.
    """

    @cache  # of few meanings, where a text can have many abbreviations
    def is_stated(meaning: str) -> bool:
        return meaning.casefold() in folded_text

    def add_meaning(word: re.Match[str]) -> str:
        meaning = glossary.get(word[0].casefold())
        return word[0] if meaning is None or is_stated(meaning) else f"{word[0]} ({meaning})"

    folded_text = text.casefold()
    return ABBREVIATION_PATTERN.sub(add_meaning, text)


def fold_case_except_codes(text: str) -> str:
    """Return the text in lower case except for codes, whose case may matter: P0700 stays."""
    return ABBREVIATION_PATTERN.sub(lambda word: word[0] if find_codes(word[0]) else word[0].casefold(), text)
