"""Raised and lowered characters, written so that no other value results: "K-07" with a raised 6 is K-07⁶, not K-076.

They are Unicode's own, one for one, so that places in a text stay what they are. A raised character may be the mark of
a footnote, which says nothing of the value that it stands at, or an exponent, which does.
"""

import re
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter

_PLAIN = "0123456789+-−–=abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUW"
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁᵂ"
RAISED_CHARACTERS = "".join(dict.fromkeys(_RAISED))
_NOT_PLAIN = f"{_RAISED}, "
_TO_RAISED = str.maketrans(_PLAIN, _RAISED)
_TO_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_TO_PLAIN = str.maketrans(_RAISED, _PLAIN.replace("−", "-").replace("–", "-"))
_SIGNS = {"tm": "™", "sm": "℠"}  # that have a character of their own
_LEVELS = {"super": 1, "superscript": 1, "baseline": 0, "sub": -1, "subscript": -1}
_OFFSET = re.compile(r"-?[\d.]+%?")
_ORDINAL_ENDINGS = frozenset({"st", "nd", "rd", "th"})
# "6", "6,7", "a,b", "12–14", "-3", "2+", "2n": two letters side by side are the end of a word, as of "Mme"
_MARK = re.compile(r"(?![\W_]{2})(?:[\d+=−–-]|(?<![^\W\d_])[^\W\d_](?![^\W\d_])|(?<=\w), ?(?=\w))+")
_MAX_MARK_CHARS = 12
_RAISED_RUN = re.compile(f"[{RAISED_CHARACTERS}]+(?:, ?[{RAISED_CHARACTERS}]+)*")
# what a raised number at its end is an exponent of: a unit, a variable, ten or two; "10" not as a part of "K-10"
_EXPONENT_BASE = re.compile(r"(?:(?<![\w.,–-])|(?<=\dx)|(?<=[\d.][·×*]))(?:10|2|[a-zα-ωR]|[cdknµμm]m|ft|yd)$")
_ISOTOPE = re.compile(f"(?:[{_RAISED[:10]}]{{2,3}}(?!As|At|Be|He|In|I|No)[A-Z][a-z]?|³H|[⁶⁷]Li)(?![^\\W_])")
_PRICE = re.compile(r"[$€£¥] ?[\d,]+$")  # which raised cents end
_MAX_BASE_CHARS = 16
_TYPED_EXPONENT = re.compile(r"(?<=\d)\^([-−–]?\d{1,3})(?!\w)")
_NO_PLAIN_DIGIT = re.compile(f"[{RAISED_CHARACTERS}₀-₉¼-¾⅐-⅞]")
_AFTER_DIGIT = re.compile(rf"(?<=\d)(?={_NO_PLAIN_DIGIT.pattern})")


def write_raised(text: str, before: str) -> str:
    """Return raised characters as they are to stand after the text `before`.

    The ordinal of "1st" and words remain as they are, and so do marks that are no letter or digit, as in "*" and "[6]".
    """
    mark = text.strip()
    if (sign := _SIGNS.get(mark.lower())) and before[-1:].isalnum():
        return text.replace(mark, sign)
    if mark in _ORDINAL_ENDINGS and before[-1:].isdecimal():
        return text
    if len(mark) <= _MAX_MARK_CHARS and _MARK.fullmatch(mark):
        raised = text.translate(_TO_RAISED)
        return raised if all(character in _NOT_PLAIN for character in raised) else f" {text}"
    return f" {text}" if before[-1:].islower() and text[:1].isupper() else text


def write_lowered(text: str, before: str) -> str:
    """Return lowered characters as they are to stand after the text `before`: "CO2" is usual, but 101₂ is not 1012."""
    return text.translate(_TO_LOWERED) if before[-1:].isdecimal() or before[-1:] in ("/", "⁄") else text


def parse_level(said: str) -> int | None:
    """Return 1 for what an office file calls raised, -1 for lowered, 0 for neither; None where it says nothing known.

    It is a word, as "superscript", or the offset from the line, as "33%", "-25000" or "0".
    """
    if not _OFFSET.fullmatch(said):
        return _LEVELS.get(said)
    return 0 if not said.strip("-0.%") else -1 if said.startswith("-") else 1


def join_runs(runs: Iterable[tuple[str, int]]) -> str:
    """Join the runs of a text, each with 1 where it is raised, -1 where it is lowered, else 0."""
    parts: list[str] = []
    for level, group in groupby((run for run in runs if run[0]), key=itemgetter(1)):
        text, before = "".join(words for words, _ in group), parts[-1][-1:] if parts else ""
        parts.append(write_raised(text, before) if level > 0 else write_lowered(text, before) if level else text)
    return "".join(parts)


def mask_footnote_marks(text: str) -> str:
    """Return a text of the same length with a space for each raised character that is no exponent or isotope."""
    return text if text.isascii() else _RAISED_RUN.sub(_mask_footnote_mark, text)


def _mask_footnote_mark(run: re.Match[str]) -> str:
    return run[0] if _changes_value(run.string, run.start(), run.end()) else " " * len(run[0])


def _changes_value(text: str, start: int, end: int) -> bool:
    """Return whether the raised characters of a range belong to the value that they stand at, as in 10⁶ and ¹⁴C."""
    before = text[max(0, start - _MAX_BASE_CHARS) : start]
    if "⁻" in text[start : end - 1] or text[end - 1] in "⁺⁻" or text[end : end + 1] in ("/", "⁄"):
        return True
    if not before[-1:].isalnum():
        return bool(_ISOTOPE.match(text, start))
    return bool(_EXPONENT_BASE.search(before)) or (end - start == 2 and bool(_PRICE.search(before)))


def write_typed_exponents(text: str) -> str:
    """Return a text with "10^6" as "10⁶"."""
    return _TYPED_EXPONENT.sub(lambda exponent: exponent[1].translate(_TO_RAISED), text) if "^" in text else text


def write_exponents_plain(text: str) -> str:
    """Return a text for a search by words: without footnote marks, "10⁶" as "10^6", "m²" as "m2", "3½" as "3 ½"."""
    masked = mask_footnote_marks(text)
    if masked.isascii() or not _NO_PLAIN_DIGIT.search(masked):
        return masked
    return _AFTER_DIGIT.sub(lambda place: "^" if masked[place.end()] in RAISED_CHARACTERS else " ", masked).translate(
        _TO_PLAIN
    )
