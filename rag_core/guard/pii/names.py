"""Names of persons, found by a dictionary of first names and by the words around a name.

There is no model here: a name that no list has and no word announces is not found, and a researcher's name is redacted
like a patient's. The lists are those of one country's census.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from rag_core.core.model import PiiSpan

UPPER = "A-ZÀ-ÖØ-ÞĀĆĈĊČĎĐĒĖĘĚĞĠĢĤĪĮİĶĹĻĽŁŃŅŇŌŐŒŔŘŚŞŠŢŤŪŮŰŲŴŶŸŹŻŽȘȚ"
LOWER = rf"[^\W\d_{UPPER}]"
# as in Smith, O'Brien, McDonald, Anne-Marie
MIXED = rf"(?:[{UPPER}]['-]?)?[{UPPER}]{LOWER}{{1,29}}(?:['-]?[{UPPER}]{LOWER}{{1,29}}){{0,2}}"
SHOUT = rf"[{UPPER}]{{2,30}}"
INITIAL = rf"[{UPPER}]\.?"


def _several(min_words: int, separator: str = " ") -> str:
    """Return a pattern of at least `min_words` words in one case, "Jane Q. Doe" or "DOE, JANE", three more at most."""
    words = (rf"(?:{word}|{INITIAL})(?![^\W_])" for word in (MIXED, SHOUT))
    return "|".join(rf"{word}(?:{separator}{word}){{{min_words - 1},{min_words + 2}}}" for word in words)


NAME, FULL_NAME = rf"({_several(1, ',? ')})", rf"({_several(2, ',? ')})"
RUN = re.compile(rf"(?<![\w'-])(?:{_several(2)})")
FAREWELL = "sincerely|regards|thanks|thank you|cheers|yours(?: truly)?"
TOLD = tuple(  # words after which any capitalized words are a name
    re.compile(pattern)
    for pattern in (
        rf"\b(?i:mr|mrs|ms|miss|mx|dr|prof|professor)\.? {NAME}",
        rf"\b(?i:(?:my|his|her|their|the) (?:full |first |last )?name(?:'s| is)) {NAME}",
        rf"\b(?i:patient(?:'s)? name(?:'s| is)?:?|patient:|attn:?|signed by:?|call me) {NAME}",
        rf"\b[Nn]ame: ?{FULL_NAME}",
        rf"(?i:\b(?:{FAREWELL})[,.!]?)\s{{0,3}}\n\s{{0,3}}{NAME}(?=\s{{0,3}}(?:\n|\Z))",
    )
)
HINTED = tuple(  # words after which capitalized words are a name if the lists have it
    re.compile(pattern) for pattern in (rf"\b(?i:patient|pt\.?|i am|i'm|this is|dear|named|called) {NAME}",)
)


def spans(text: str) -> Iterator[PiiSpan]:
    """Yield the names in a text, scored 0.85 after a word that announces a name, less by the lists alone."""
    for pattern in TOLD:
        yield from (PiiSpan(*match.span(1), "PERSON", 0.85) for match in pattern.finditer(text))
    for pattern in HINTED:
        yield from (PiiSpan(*match.span(1), "PERSON", 0.75) for match in pattern.finditer(text) if _known(match[1]))
    for match in RUN.finditer(text):
        yield from _in_run(match)


def _known(name: str) -> bool:
    words = re.split(r",? ", name.lower())
    in_lists = any(word in _listed(names) for word in (words[0], words[-1]) for names in ("first_names", "surnames"))
    return in_lists and _listed("not_surnames").isdisjoint(words)


def _in_run(run: re.Match[str]) -> Iterator[PiiSpan]:
    """Yield the name in a run of capitalized words: from the first listed first name to the end of the name."""
    words = run[0].lower().split(" ")
    first = next((at for at, word in enumerate(words) if word in _listed("first_names")), len(words))
    last = first + _last(words[first:])
    if last > first and _listed("not_surnames").isdisjoint(words):
        start = run.start() + len(" ".join(["", *words[:first]]))
        yield PiiSpan(start, start + len(" ".join(words[first : last + 1])), "PERSON", 0.7)


def _last(words: Sequence[str]) -> int:
    """Return the index of the last word of a name that begins the words; 0 when there is no further word of it.

    It is the last word that a list has, else the first after the initials.
    """
    full_words = [at for at, word in enumerate(words) if at and len(word.strip(".")) > 1]
    listed = (at for at in full_words if words[at] in _listed("surnames") or words[at] in _listed("first_names"))
    return max(listed, default=min(full_words, default=0))


@cache
def _listed(name: str) -> frozenset[str]:
    lines = (Path(__file__).parent / f"{name}.txt").read_text("utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))
