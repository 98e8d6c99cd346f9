"""Names of persons, by a dictionary of first names and by the words that stand around a name.

There is no model here: a name that no list holds and no word announces is not found, and a researcher's name is as much
a name as a patient's. The lists are those of one country's census.
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


def _several(least: int, between: str = " ") -> str:
    """So many words of a name in one case, "Jane Q. Doe" or "DOE, JANE", and up to three more."""
    ways = (rf"(?:{word}|{INITIAL})(?![^\W_])" for word in (MIXED, SHOUT))
    return "|".join(rf"{way}(?:{between}{way}){{{least - 1},{least + 2}}}" for way in ways)


NAME, FULL_NAME = rf"({_several(1, ',? ')})", rf"({_several(2, ',? ')})"
RUN = re.compile(rf"(?<![\w'-])(?:{_several(2)})")
FAREWELL = "sincerely|regards|thanks|thank you|cheers|yours(?: truly)?"
TOLD = tuple(  # what follows is a name, whatever it is
    re.compile(pattern)
    for pattern in (
        rf"\b(?i:mr|mrs|ms|miss|mx|dr|prof|professor)\.? {NAME}",
        rf"\b(?i:(?:my|his|her|their|the) (?:full |first |last )?name(?:'s| is)) {NAME}",
        rf"\b(?i:patient(?:'s)? name(?:'s| is)?:?|patient:|attn:?|signed by:?|call me) {NAME}",
        rf"\b[Nn]ame: ?{FULL_NAME}",
        rf"(?i:\b(?:{FAREWELL})[,.!]?)\s{{0,3}}\n\s{{0,3}}{NAME}(?=\s{{0,3}}(?:\n|\Z))",
    )
)
HINTED = tuple(  # what follows is a name if the lists know it
    re.compile(pattern) for pattern in (rf"\b(?i:patient|pt\.?|i am|i'm|this is|dear|named|called) {NAME}",)
)


def spans(text: str) -> Iterator[PiiSpan]:
    for pattern in TOLD:
        yield from (PiiSpan(*found.span(1), "PERSON", 0.85) for found in pattern.finditer(text))
    for pattern in HINTED:
        yield from (PiiSpan(*found.span(1), "PERSON", 0.75) for found in pattern.finditer(text) if _known(found[1]))
    for found in RUN.finditer(text):
        yield from _in_run(found)


def _known(name: str) -> bool:
    words = re.split(r",? ", name.lower())
    known = any(word in _listed(names) for word in (words[0], words[-1]) for names in ("first_names", "surnames"))
    return known and _listed("not_surnames").isdisjoint(words)


def _in_run(run: re.Match[str]) -> Iterator[PiiSpan]:
    """The name in some capitalised words: from the first that is a known first name to the last of a name."""
    words = run[0].lower().split(" ")
    first = next((at for at, word in enumerate(words) if word in _listed("first_names")), len(words))
    last = first + _last(words[first:])
    if last > first and _listed("not_surnames").isdisjoint(words):
        start = run.start() + len(" ".join(["", *words[:first]]))
        yield PiiSpan(start, start + len(" ".join(words[first : last + 1])), "PERSON", 0.7)


def _last(words: Sequence[str]) -> int:
    """Where the name ends that begins with the first: at the last known one, else after the initials. 0: nowhere."""
    whole = [at for at, word in enumerate(words) if at and len(word.strip(".")) > 1]
    known = (at for at in whole if words[at] in _listed("surnames") or words[at] in _listed("first_names"))
    return max(known, default=min(whole, default=0))


@cache
def _listed(name: str) -> frozenset[str]:
    lines = (Path(__file__).parent / f"{name}.txt").read_text("utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))
