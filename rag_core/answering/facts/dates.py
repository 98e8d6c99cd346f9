"""Dates of a claim compared with those of a passage: "15 March 2021" is 03/15/2021, and not the 16th."""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import permutations

from rag_core.answering.facts.conflicts import FactConflict
from rag_core.answering.facts.words import Words
from rag_core.text.normalization import MONTH_NAMES, NormalizedWord

_NUMERIC_DATE = re.compile(r"(\d{1,4})[./-](\d{1,2})[./-](\d{2}(?:\d{2})?)")
_DAY = re.compile(r"([12]?\d|3[01])(?:st|nd|rd|th)?")
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d|2100")
_CENTURY, _PIVOT = 100, 70  # 69 is 2069, 70 is 1970, as in POSIX
_MAX_MONTH, _MAX_DAY = 12, 31
_RANGE_FORMS = frozenset(["to", "and", "or", "until"])

Reading = tuple[int | None, int, int | None]  # year, month and day


@dataclass(frozen=True, slots=True)
class Date:
    """A date as written, with what it may mean: 04/09/2023 is in April or in September.

    `text` leaves out the year of a date with a name. `indices` are its words, without the year.
    """

    readings: Set[Reading]
    text: str
    indices: Set[int]
    year: str = ""

    def agrees_with(self, other: "Date", years: Set[int]) -> bool:
        """Return whether two dates may be the same; a year that one of them lacks must be among `years`."""
        return any(_agree(own, stated, years) for own in self.readings for stated in other.readings)


def _agree(own: Reading, stated: Reading, years: Set[int]) -> bool:
    if own[1] != stated[1] or (own[2] and stated[2] and own[2] != stated[2]) or (own[2] and not stated[2]):
        return False
    return own[0] == stated[0] or own[0] is None or (stated[0] is None and own[0] in years)


def compare_dates(claim: Words, passage: Words) -> Iterator[FactConflict]:
    """Yield the dates and months of a claim that are not those of the passage."""
    claimed = read_dates(claim)
    stated = read_dates(passage) if claimed else ()
    years = {int(word.form) for word in passage if _YEAR.fullmatch(word.form)} if claimed else set()
    for date in claimed:
        if not any(date.agrees_with(other, years) for other in stated):
            is_other_year = date.year not in ("", *(other.year for other in stated))
            texts = [f"{one.text} {one.year}".strip() if is_other_year else one.text for one in (date, *stated[:1])]
            yield FactConflict("date", texts[0], "".join(texts[1:]))


def is_month(word: NormalizedWord) -> bool:
    return word.form in MONTH_NAMES and word.raw[:1].isupper()


def read_dates(words: Words) -> Sequence[Date]:
    """Return the dates and months of a text in its order; of "5 to 9 May" both days are days of May."""
    found: list[Date] = []
    for n, word in enumerate(words):
        numeric = _NUMERIC_DATE.fullmatch(word.form)
        readings = _read_numeric_date(*numeric.groups()) if numeric else frozenset()
        if readings:
            found.append(Date(readings, word.raw, {n}))
        if is_month(word):
            found += _read_named_date(words, n)
    return found


def _read_named_date(words: Words, n: int) -> Iterator[Date]:
    """Yield the date with the month at `n`, and the first of two days of that month."""
    month = MONTH_NAMES.index(words[n].form) + 1
    year = next((m for m in (n - 1, n + 1) if 0 <= m < len(words) and _YEAR.fullmatch(words[m].form)), None)
    day = next((m for m in _list_day_places(words, n) if m != year and _DAY.fullmatch(words[m].form)), None)
    written = int(words[year].form) if year is not None else None
    indices = {n, *(m for m in (day,) if m is not None)}
    text = " ".join(words[m].raw.strip() for m in sorted(indices))
    yield Date({(written, month, _parse_day(words, day))}, text, indices, str(written or ""))
    is_last = day is not None and 1 < day < n and words[day - 1].form in _RANGE_FORMS
    if day is not None and is_last and (first := _DAY.fullmatch(words[day - 2].form)):
        yield Date({(written, month, int(first[1]))}, f"{words[day - 2].raw} {words[n].raw}", {day - 2})


def _list_day_places(words: Words, n: int) -> Iterator[int]:
    """Yield where the day of the month at `n` may stand: after it, or before it, also with "of"; the nearest first."""
    if n and words[n].before.strip() in ("", "-") and not _YEAR.fullmatch(words[n - 1].form):
        yield n - 2 if words[n - 1].form == "of" and n > 1 else n - 1
    if n + 1 < len(words) and not set(words[n + 1].before) & set(".;:(\n"):
        yield n + 1


def _parse_day(words: Words, place: int | None) -> int | None:
    day = None if place is None else _DAY.fullmatch(words[place].form)
    return int(day[1]) if day else None


def _read_numeric_date(*parts: str) -> Set[Reading]:
    """Return what a date in digits may mean, with the day or the month first, or the year."""
    numbers = [int(part) for part in parts]
    orders = [numbers] if len(parts[0]) > 2 else [[numbers[2], *order] for order in permutations(numbers[:2])]
    return {
        (_complete_year(year), month, day)
        for year, month, day in orders
        if 1 <= month <= _MAX_MONTH and 1 <= day <= _MAX_DAY
    }


def _complete_year(year: int) -> int:
    return year if year >= _CENTURY else year + (1900 if year >= _PIVOT else 2000)
