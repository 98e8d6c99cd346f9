"""Numbers and units in the one notation in which they are compared: words, fractions, times of day and temperatures."""

import re
from collections.abc import Sequence

from rag_core.text.number_notations import write_in_english
from rag_core.text.raised_marks import mask_footnote_marks

_HALF_UNITS = {"year": "6 months", "day": "12 hours", "hour": "30 minutes", "decade": "5 years", "century": "50 years"}
_NUMBERS = {
    name: n
    for n, name in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), start=1
    )
}
_COUNT = f"an?|{'|'.join(_NUMBERS)}"
_PARTS = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}
_SPOKEN_FRACTION = re.compile(  # "a third of", "two thirds", "children pay half", "three in five"
    rf"(?<!first )(?<!second )\b(?:({_COUNT})[ -])?({'|'.join(_PARTS)})s?\b(?=\s(?:of|off|the|an?|more|less|lower|"
    rf"higher|fewer|larger|smaller|majority|vote)\b|\s?[,.;:)]|\s?$)|\b({_COUNT}) (?:in|out of)(?: every)? "
    rf"({'|'.join(_NUMBERS)})\b",
    re.IGNORECASE,
)
_REWRITES: Sequence[tuple[re.Pattern[str], str]] = [
    (re.compile(r"(\d)\s?½"), r"\1.5"),
    (re.compile(r"(\d)\s?¼"), r"\1.25"),
    (re.compile(r"(\d)\s?¾"), r"\1.75"),
    (re.compile(r"½"), "half"),
    (re.compile(r"°\s?C\b"), " celsius"),
    (re.compile(r"°\s?F\b"), " fahrenheit"),
    (re.compile(r"\bdegrees? (?=celsius|fahrenheit)", re.IGNORECASE), ""),
    (re.compile(r"\bmph\b", re.IGNORECASE), "miles per hour"),
    (re.compile(r"\b([ap])\.\s?m\b\.?", re.IGNORECASE), r"\1m"),
    (
        re.compile(r"(?<![\w.,-])(\d{1,9}(?:\.\d{1,9})?)-(?=[a-z]|[^\W\d]{2})"),
        r"\1 ",
    ),  # a 12-week course
    (re.compile(r"\btwice (?=an? |per |every |each |daily|weekly|monthly|yearly)", re.IGNORECASE), "2 times "),
    (re.compile(r"\btwo dozen\b", re.IGNORECASE), "24"),
    (re.compile(r"\ba dozen\b", re.IGNORECASE), "12"),
    (re.compile(r"(?<![\w.,-])(\d{1,9})k\b"), r"\g<1>000"),
]
_GROUPED_DIGITS = re.compile(r"(?<![\d.,])\d{1,3}(?:['’\s]\d{3}){1,4}(?!\d)")
_CLOCK = re.compile(rf"\b(half|quarter) (past|to) (\d{{1,2}}|{'|'.join(_NUMBERS)})\b", re.IGNORECASE)
_QUARTER_HOURS = re.compile(r"\b(a|three) quarters? of an hour\b", re.IGNORECASE)
_TIMES = "hour|day|week|month|year|decade"
_AND_HALF = re.compile(  # "an hour and a half", "two and a half hours"
    rf"\b({_COUNT}|\d{{1,3}})(?: ({_TIMES})s?)? and a half(?: ({_TIMES})s)?\b",
    re.IGNORECASE,
)
_HALF = re.compile(rf"\bhalf(?: an?)?[ -]({'|'.join(_HALF_UNITS)})\b", re.IGNORECASE)


def rewrite_amounts(text: str) -> str:
    """Return a text with amounts in digits and units: "6 months" for "half a year", "0.6667 fraction" for two thirds.

    A fraction is one of 1, so that it can be compared with a percentage.
    """
    text = write_in_english(mask_footnote_marks(text))
    text = _GROUPED_DIGITS.sub(lambda number: re.sub(r"\D", "", number[0]), text)
    for pattern, form in _REWRITES:
        text = pattern.sub(form, text)
    text = _CLOCK.sub(_write_clock, text)
    text = _QUARTER_HOURS.sub(lambda part: "45 minutes" if part[1].lower() == "three" else "15 minutes", text)
    text = _AND_HALF.sub(_write_and_half, text)
    text = _HALF.sub(lambda half: _HALF_UNITS[half[1].lower()], text)
    return _SPOKEN_FRACTION.sub(_write_fraction, text)


def _parse_count(word: str | None) -> int:
    word = (word or "a").lower()
    return int(word) if word.isdecimal() else _NUMBERS.get(word, 1)


def _write_clock(match: re.Match[str]) -> str:
    minutes = 60 * _parse_count(match[3]) + (30 if match[1].lower() == "half" else 15) * (
        1 if match[2] == "past" else -1
    )
    return f"{minutes // 60}:{minutes % 60:02}"


def _write_and_half(match: re.Match[str]) -> str:
    unit = match[2] or match[3]
    return f"{_parse_count(match[1])}.5 {unit}s" if unit else match[0]


def _write_fraction(match: re.Match[str]) -> str:
    """Return a fraction as a number with the unit "fraction"; what is none is left as it is."""
    if match[4]:
        return f"{_parse_count(match[3]) / _parse_count(match[4]):.4f} fraction"
    is_ordinal = match[2].lower() != "half" and not match[1]
    return match[0] if is_ordinal else f"{_parse_count(match[1]) / _PARTS[match[2].lower()]:.4f} fraction"
