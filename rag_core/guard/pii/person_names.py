"""Names of persons, found by a dictionary of first names and by the words around a name.

There is no model here: a name that no list has and no word announces is not found, and a researcher's name is redacted
like a patient's. The lists are those of one country's census.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from rag_core.core.model import PiiSpan

UPPERCASE = "A-ZÀ-ÖØ-ÞĀĆĈĊČĎĐĒĖĘĚĞĠĢĤĪĮİĶĹĻĽŁŃŅŇŌŐŒŔŘŚŞŠŢŤŪŮŰŲŴŶŸŹŻŽȘȚ"
LOWERCASE = rf"[^\W\d_{UPPERCASE}]"
# as in Smith, O'Brien, McDonald, Anne-Marie
CAPITALIZED_WORD = (
    rf"(?:[{UPPERCASE}]['-]?)?[{UPPERCASE}]{LOWERCASE}{{1,29}}(?:['-]?[{UPPERCASE}]{LOWERCASE}{{1,29}}){{0,2}}"
)
UPPERCASE_WORD = rf"[{UPPERCASE}]{{2,30}}"
INITIAL = rf"[{UPPERCASE}]\.?"


def _build_name_pattern(min_words: int, separator: str = " ") -> str:
    """Return a pattern of at least `min_words` words in one case, "Jane Q. Doe" or "DOE, JANE", three more at most."""
    words = (rf"(?:{word}|{INITIAL})(?![^\W_])" for word in (CAPITALIZED_WORD, UPPERCASE_WORD))
    return "|".join(rf"{word}(?:{separator}{word}){{{min_words - 1},{min_words + 2}}}" for word in words)


PERSON_NAME, FULL_PERSON_NAME = rf"({_build_name_pattern(1, ',? ')})", rf"({_build_name_pattern(2, ',? ')})"
CAPITALIZED_RUN = re.compile(rf"(?<![\w'-])(?:{_build_name_pattern(2)})")
FAREWELLS = "sincerely|regards|thanks|thank you|cheers|yours(?: truly)?"
ANNOUNCED_NAMES = tuple(  # words after which any capitalized words are a name
    re.compile(pattern)
    for pattern in (
        rf"\b(?i:mr|mrs|ms|miss|mx|dr|prof|professor)\.? {PERSON_NAME}",
        rf"\b(?i:(?:my|his|her|their|the) (?:full |first |last )?name(?:'s| is)) {PERSON_NAME}",
        rf"\b(?i:patient(?:'s)? name(?:'s| is)?:?|patient:|attn:?|signed by:?|call me) {PERSON_NAME}",
        rf"\b[Nn]ame: ?{FULL_PERSON_NAME}",
        rf"(?i:\b(?:{FAREWELLS})[,.!]?)\s{{0,3}}\n\s{{0,3}}{PERSON_NAME}(?=\s{{0,3}}(?:\n|\Z))",
    )
)
HINTED_NAMES = tuple(  # words after which capitalized words are a name if the lists have it
    re.compile(pattern) for pattern in (rf"\b(?i:patient|pt\.?|i am|i'm|this is|dear|named|called) {PERSON_NAME}",)
)


def find_person_names(text: str) -> Iterator[PiiSpan]:
    """Yield the names in a text, scored 0.85 after a word that announces a name, less by the lists alone."""
    for pattern in ANNOUNCED_NAMES:
        yield from (PiiSpan(*match.span(1), "PERSON", 0.85) for match in pattern.finditer(text))
    for pattern in HINTED_NAMES:
        yield from (
            PiiSpan(*match.span(1), "PERSON", 0.75) for match in pattern.finditer(text) if _is_listed_name(match[1])
        )
    for match in CAPITALIZED_RUN.finditer(text):
        yield from _find_name_in_run(match)


def _is_listed_name(name: str) -> bool:
    words = re.split(r",? ", name.lower())
    in_lists = any(
        word in _load_name_list(names) for word in (words[0], words[-1]) for names in ("first_names", "surnames")
    )
    return in_lists and _load_name_list("not_surnames").isdisjoint(words)


def _find_name_in_run(run: re.Match[str]) -> Iterator[PiiSpan]:
    """Yield the name in a run of capitalized words: from the first listed first name to the end of the name."""
    words = run[0].lower().split(" ")
    first = next((at for at, word in enumerate(words) if word in _load_name_list("first_names")), len(words))
    last = first + _find_name_end(words[first:])
    if last > first and _load_name_list("not_surnames").isdisjoint(words):
        start = run.start() + len(" ".join(["", *words[:first]]))
        yield PiiSpan(start, start + len(" ".join(words[first : last + 1])), "PERSON", 0.7)


def _find_name_end(words: Sequence[str]) -> int:
    """Return the index of the last word of a name that begins the words; 0 when there is no further word of it.

    It is the last word that a list has, else the first after the initials.
    """
    full_words = [at for at, word in enumerate(words) if at and len(word.strip(".")) > 1]
    listed = (
        at
        for at in full_words
        if words[at] in _load_name_list("surnames") or words[at] in _load_name_list("first_names")
    )
    return max(listed, default=min(full_words, default=0))


@cache
def _load_name_list(name: str) -> frozenset[str]:
    lines = (Path(__file__).parent / f"{name}.txt").read_text("utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))
