"""Abbreviations written out, so that a passage is found in either spelling; what was asked stays as it was."""

import csv
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources

from rag_core.text.codes import codes

Glossary = Mapping[str, str]  # what each abbreviation means, by its letters folded

WORD = re.compile(r"[^\W_](?:[\w/&'-]*[^\W_])?")


def read(lines: Iterable[str]) -> Glossary:
    """A glossary of lines `abbreviation,meaning`; several lines of one abbreviation are all of its meanings.

    Raises:
        ValueError: a line is not two values.
    """
    meanings: dict[str, list[str]] = {}
    for row in csv.reader(line for line in lines if line.strip() and not line.startswith("#")):
        abbreviation, meaning = (value.strip() for value in row)
        meanings.setdefault(abbreviation.casefold(), []).append(meaning)
    return {abbreviation: ", ".join(known) for abbreviation, known in meanings.items()}


@cache
def shipped() -> Glossary:
    """The medical abbreviations that come with this package."""
    with resources.files(__package__).joinpath("abbreviations.csv").open(encoding="utf-8") as lines:
        return read(lines)


def expanded(text: str, glossary: Glossary) -> str:
    """The text with each abbreviation followed by what it means: "MI" is "MI (myocardial infarction)" (S4-03)."""

    def written_out(word: re.Match[str]) -> str:
        meaning = glossary.get(word[0].casefold())
        return word[0] if meaning is None or meaning.casefold() in said else f"{word[0]} ({meaning})"

    said = text.casefold()
    return WORD.sub(written_out, text)


def folded(text: str) -> str:
    """The text in one case but for its codes: P0700 is itself to the letter (C28)."""
    return WORD.sub(lambda word: word[0] if codes(word[0]) else word[0].casefold(), text)
