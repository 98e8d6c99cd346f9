"""Adjectives that compare: their forms, whether they point up or down, and the columns that they are about."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rag_core.text.identifiers import UNITS
from rag_core.text.terms import WORD_PATTERN, extract_terms

PRICE_NAMES = "price cost fee fare charge"
PRICE_TERMS = extract_terms(PRICE_NAMES)
# the adjectives for much of something, those for little of it, and how columns name it
_SCALES = (
    ("many much high", "few little low", ""),
    ("great large big", "small", "size area"),
    ("expensive dear costly", "cheap", PRICE_NAMES),
    ("heavy", "light", "weight mass"),
    ("long", "short", "length distance duration time"),
    ("tall", "short", "height"),
    ("wide broad", "narrow", "width"),
    ("deep", "shallow", "depth"),
    ("hot warm", "cold cool", "temperature"),
    ("old", "young", "age"),
)
_TIMES = "new late recent recently", "old early"  # they point to the later and the earlier of years
_IRREGULAR = {
    "many": ("more", "most"),
    "much": ("more", "most"),
    "little": ("less", "least"),
    "few": ("fewer", "fewest"),
    "expensive": ("", ""),
    "recent": ("", ""),
    "recently": ("", ""),
}
_OF_NAME = re.compile(r"[(\[,/:]|\b(?:per|of|in|on|a|an|each|for|by|at)\b", re.IGNORECASE)  # ends the noun of a head
LIMITING = re.compile(r"\b(?:max|maximum|min|minimum|allowed|permitted|recommended|target)\b", re.IGNORECASE)
_DOUBLED = re.compile(r"[^aeiou][aeiou][^aeiouwy]")  # the end of "big", of which "bigger" is the form


@dataclass(frozen=True, slots=True)
class Scale:
    """What an adjective measures, and whether it means much of it; `is_time` for one that puts years in order."""

    is_high: bool
    columns: frozenset[str] = frozenset()
    is_time: bool = False


def _inflect(word: str) -> tuple[str, str]:
    """Return the comparative and the superlative of an adjective; empty for one that has "more" and "most"."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    stem = f"{word[:-1]}i" if word.endswith("y") else word.removesuffix("e")
    stem += word[-1] if _DOUBLED.fullmatch(word[-3:]) else ""
    return f"{stem}er", f"{stem}est"


def _list_adjectives() -> Iterator[tuple[str, Scale]]:
    for high, low, names in _SCALES:
        yield from ((word, Scale(True, extract_terms(names))) for word in high.split())
        yield from ((word, Scale(False, extract_terms(names))) for word in low.split())
    for words, is_high in zip(_TIMES, (True, False), strict=True):
        yield from ((word, Scale(is_high, is_time=True)) for word in words.split())


def _list_forms() -> dict[str, tuple[Scale, ...]]:
    """Return the scales of each adjective by its three forms: "older" is of an age, and of a year."""
    scales: dict[str, tuple[Scale, ...]] = {}
    for word, scale in _list_adjectives():
        for form in filter(None, (word, *_inflect(word))):
            if scale not in scales.get(form, ()):
                scales[form] = (*scales.get(form, ()), scale)
    return scales


_SCALES_BY_FORM = _list_forms()
COMPARATIVES, SUPERLATIVES = (
    {form: _SCALES_BY_FORM[form][0].is_high for word, _ in _list_adjectives() if (form := _inflect(word)[n])}
    for n in range(2)
)
_WORDS = "|".join(sorted(_SCALES_BY_FORM, key=len, reverse=True))
_DEGREE = re.compile(
    rf"\b(?:(?P<degree>how|more|most|less|least) )?(?P<word>{_WORDS})\b",
    re.IGNORECASE,
)


def find_degrees(text: str) -> list[tuple[str, tuple[Scale, ...]]]:
    """Return the words of a text that compare or ask for a measure, and what they measure; a "cold drink" is neither.

    "more" and its like measure anything.
    """
    found = []
    for match in _DEGREE.finditer(text):
        word = match["word"].casefold()
        if match["degree"] or word in COMPARATIVES or word in SUPERLATIVES:
            is_less = (match["degree"] or "").casefold() in ("less", "least")
            scales = (scale for scale in _SCALES_BY_FORM[word] if scale.columns or scale.is_time)
            found.append((match[0], tuple(replace(s, is_high=s.is_high != is_less) for s in scales)))
    return found


# verbs that ask for a measure as adjectives do
MEASURING_VERBS = {
    term: Scale(True, extract_terms(names))
    for verbs, names in (
        ("cost costs", PRICE_NAMES),
        ("earn earns", "salary wage pay income"),
        ("weigh weighs", "weight mass"),
    )
    for term in extract_terms(verbs)
}
CHANGES = Scale(True, extract_terms("change difference variance movement"))


def is_measured_by(column: str, scale: Scale) -> bool:
    """Return whether an adjective measures a column: "Unit price (€)" for "cheap", no "Weight limit" for "heavy".

    The noun of its name decides, which is the last word before a unit, a bracket, a comma or "per".
    """
    words = [word for word in WORD_PATTERN.findall(_OF_NAME.split(column)[0]) if not word.isdecimal()]
    while len(words) > 1 and words[-1].casefold() in UNITS:
        words.pop()
    return bool(words) and extract_terms(words[-1]) <= scale.columns and not LIMITING.search(column)


def points_down(text: str) -> bool:
    """Return whether a text compares by an adjective for little: "cheaper", "fewest"."""
    forms = COMPARATIVES | SUPERLATIVES
    return any(not forms.get(word.casefold(), True) for word in WORD_PATTERN.findall(text))
