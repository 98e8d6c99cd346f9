"""Reporting periods in a text, such as FY22, fiscal 2022, 2Q23 or "three months ended June 30, 2023", in one form.

A document may name its fiscal years itself: "fiscal 2022 refers to the 52-week year ended January 28, 2023".
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

from rag_core.text.months import MONTH_PATTERN, number_month
from rag_core.text.raised_marks import mask_footnote_marks

# a part of a year, a kind of year and a year, of which one of the first two may be missing
_NAME = re.compile(
    r"(?=[1-4QHFCSTqhfcst])(?<![^\W_])(?:(?P<part>Q[1-4]|H[12]|[1-4]Q|[12]H|"
    r"(?:first|second|third|fourth|1st|2nd|3rd|4th)[\s-](?:(?:fiscal|calendar)\s)?(?:quarter|half))"
    r"(?P<of>,?[\s/-]?(?:of\s|in\s|for\s)?(?:the\s|our\s|its\s)?))?"
    r"(?:(?P<kind>FY|CY|(?:fiscal|financial|calendar)(?:\syears?)?|F(?=\d{4}))[\s-]?)?"
    r"(?:(?P<year>(?:19|20)\d\d)(?:[\s-]?(?P<after>Q[1-4]))?|(?P<short>['’]?\d\d))(?![^\W_]|[.,]\d)",
    re.IGNORECASE,
)
_ENDED = re.compile(
    r"(?:\b(?P<unit>years?|(?:twelve|12|three|3|six|6)\smonths|quarter(?:ly\speriod)?|half(?:[\s-]year)?|(?:52|53|13|26)\sweeks)[\s-])?"
    rf"\b(?:ended|ending)\s(?:on\s)?(?:(?P<m>{MONTH_PATTERN})\b\.?\s(?P<d>\d{{1,2}})|(?P<d2>\d{{1,2}})\s"
    rf"(?P<m2>{MONTH_PATTERN})\b\.?),?\s(?P<y>(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_DATE = re.compile(
    rf"\b(?:(?:{MONTH_PATTERN})\b\.?\s\d{{1,2}}|\d{{1,2}}\s(?:{MONTH_PATTERN})\b\.?),?\s(?:19|20)\d\d\b", re.I
)
_BARE_YEAR = re.compile(r"(?<![\w.,$£€¥])(?:19|20)\d\d(?![\w%]|[.,]\d)")
_YEAR_END = re.compile(r"\d\d(?![^\W_])|\dQ", re.IGNORECASE)  # each name has one, and most sentences have none
_ORDINALS = ("first", "second", "third", "fourth")
_MONTHS_OF_UNITS = {  # by the first letters of the unit
    **dict.fromkeys(("ye", "tw", "12", "52", "53"), 12),
    **dict.fromkeys(("si", "6 ", "ha", "26"), 6),
    **dict.fromkeys(("th", "3 ", "qu", "13"), 3),
}
_PIVOT = 70  # FY69 is 2069, FY70 is 1970, as in POSIX
_MAX_EARLY_MONTH = (
    6  # a year that ends so early may be called after the one before; another is called after its last day
)
_LATE_DAYS = timedelta(days=7)  # a year that ends on a day of the week may end so far into the next month
# what may stand between the name of a fiscal year and its last day, where a document says that the one is the other
_NAMING_GAP = re.compile(
    r"(?:[^\w.]|\b(?:an?|as|called|comprise[ds]|consist(?:s|ed)|fiscal|is|means|of|or|our|period|refer(?:s|red)?|represents|"
    r"the|to|was|we|weeks?|which|year|5[23])\b)*+",
    re.IGNORECASE,
)
_MAX_NAMING_CHARS = 80
_MIN_NAMES = 5  # of the own fiscal year in a report
_MAX_COMING_SHARE = 0.5  # of the names of the own year: how often a report names the coming one at most


@dataclass(frozen=True, slots=True)
class Period:
    """A year, quarter or half of a year.

    `part` is "", "Q1" to "Q4", "H1" or "H2". `fiscal` is which kind of year the text calls it, None where it does not.
    `months` is over 0 where the text gives the last day instead of a name, and says nowhere how it names such years:
    the year is then that of the last day, the part that of the calendar.
    """

    year: int
    part: str = ""
    fiscal: bool | None = None
    months: int = 0


@dataclass(frozen=True, slots=True)
class PlacedPeriod:
    """A period with its characters in a text, `end` excluded; `is_token` says that it is written as a code is: FY22."""

    start: int
    end: int
    period: Period
    is_token: bool = False


@dataclass(frozen=True, slots=True)
class FiscalCalendar:
    """How a document names fiscal years: the month, 1..12, in which one ends, and that day's year minus the name."""

    end_month: int
    offset: int


CALENDAR_YEARS = FiscalCalendar(12, 0)


def find_periods(text: str, calendar: FiscalCalendar | None = None) -> list[PlacedPeriod]:
    """Return the periods of a text in its order. Time is linear in the text.

    Without a `calendar`, last days are read by the one that the text itself states.
    """
    text = mask_footnote_marks(text)
    calendar = calendar or read_fiscal_calendar(text)
    dated = (_place_dated_period(match, calendar) for match in _ENDED.finditer(text) if match["unit"])
    return sorted([*_find_names(text), *filter(None, dated)], key=lambda placed: placed.start)


def read_fiscal_calendar(text: str) -> FiscalCalendar | None:
    """Return how a text names its fiscal years, as in "fiscal 2022 ended January 28, 2023"; None where it does not."""
    text = mask_footnote_marks(text)
    last_days = [(match.start(), match.end(), day) for match in _ENDED.finditer(text) if (day := _read_last_day(match))]
    if not last_days:
        return None
    years = [(one.start, one.end, one.period.year) for one in _find_names(text) if not one.period.part]
    places: list[tuple[int, int, int | date]] = sorted([*last_days, *years], key=lambda place: place[0])
    for (_, end, one), (start, _, other) in pairwise(places):
        last, name = (one, other) if isinstance(one, date) else (other, one)
        is_near = start - end <= _MAX_NAMING_CHARS and _NAMING_GAP.fullmatch(text, end, start)
        if is_near and isinstance(last, date) and isinstance(name, int):
            return FiscalCalendar(last.month, last.year - name)
    return None


def infer_fiscal_calendar(text: str, cover: str) -> FiscalCalendar | None:
    """Return how a text names the year whose last day a cover gives first, by which name it uses.

    The report on the year ended May 31, 2018 is on fiscal 2018 where it says so no less often than fiscal 2017, and on
    fiscal 2017 where it says fiscal 2018 seldom: that is then the year to come. None where it is between the two, and
    for a year that ends late, which is called after its last day.
    """
    days = (_read_last_day(match) for match in _ENDED.finditer(cover) if match["unit"])
    day = next(filter(None, days), None)
    if day is None or day.month > _MAX_EARLY_MONTH:
        return None
    named = Counter(one.period.year for one in _find_names(text) if one.period.fiscal and not one.period.part)
    same, earlier = named[day.year], named[day.year - 1]
    if max(same, earlier) < _MIN_NAMES or _MAX_COMING_SHARE < same / max(earlier, 1) < 1:
        return None
    return FiscalCalendar(day.month, 0 if same >= earlier else 1)


def read_fiscal_calendars(passages: Iterable[tuple[str, str]]) -> dict[str, FiscalCalendar | None]:
    """Return by title how a document names its fiscal years, as far as its passages, each a title and a text, say."""
    texts: dict[str, list[str]] = {}
    for title, text in passages:
        texts.setdefault(title, []).append(text)
    return {title: read_fiscal_calendar("\n\n".join(parts)) for title, parts in texts.items()}


def write_out_periods(text: str) -> str:
    """Return a text with the periods that are written as codes in words: "FY22" as "fiscal 2022"."""
    parts, at = [], 0
    for placed in _find_names(text):
        if placed.is_token:
            parts += [text[at : placed.start], _spell_period(placed.period)]
            at = placed.end
    return "".join([*parts, text[at:]]) if parts else text


def add_written_out_periods(text: str) -> str:
    """Return a text with its periods in words after it, where it has them as codes, for a search by either."""
    added = [_spell_period(placed.period) for placed in find_periods(text) if placed.is_token]
    return " ".join([text, *added])


def find_named_period(text: str, calendar: FiscalCalendar | None) -> str:
    """Return the first period that a text gives by its last day, with its name where the calendar has one; "" for none.

    "the year ended January 28, 2023" is "fiscal 2022 (year ended January 28, 2023)" in a document that names it so.
    """
    for match in _ENDED.finditer(text):
        if match["unit"] and _read_last_day(match):
            is_fiscal = text[: match.start()].casefold().endswith("fiscal ")
            words = " ".join(f"{'fiscal ' * is_fiscal}{match[0]}".split())
            placed = _place_dated_period(match, calendar)
            return f"{_spell_period(placed.period)} ({words})" if calendar and placed else words
    return ""


def find_date(text: str) -> str:
    """Return the first day that a text names with its month in letters and its year; "" for none."""
    found = _DATE.search(text)
    return " ".join(found[0].split()) if found else ""


def remove_periods(text: str) -> str:
    """Return a text without its periods."""
    return _cut_out(text, find_periods(text))


def compute_period_share(query_text: str, text: str, calendar: FiscalCalendar | None = None) -> float:
    """Return how far a text is about the periods of a question, 0..1: their mean, 1 when the question has none.

    A period that the text states counts 1, one that it says nothing about 0.5, one in whose place it states others 0.
    """
    wanted = find_periods(query_text, calendar)
    if not wanted:
        return 1.0
    text = mask_footnote_marks(text)
    placed = find_periods(text, calendar)
    stated = {one.period for one in placed} | {Period(int(year)) for year in _BARE_YEAR.findall(_cut_out(text, placed))}
    return sum(_compare_with_stated(one.period, stated) for one in wanted) / len(wanted)


def is_period(word: str) -> bool:
    """Return whether a word is the name of a period, such as FY2022 or 2Q23, in whatever case."""
    return any(placed.end - placed.start == len(word) for placed in _find_names(word.upper()))


def _find_names(text: str) -> Iterator[PlacedPeriod]:
    if not _YEAR_END.search(text):
        return
    for match in _NAME.finditer(text):
        if period := _parse_name(match):
            first = match["part"] or match["kind"] or match["after"]
            yield PlacedPeriod(match.start(), match.end(), period, len(first) <= 2 or bool(match["short"]))


def _parse_name(match: re.Match[str]) -> Period | None:
    """Return the period that the parts of a name make; None when they make a number or a code."""
    part, kind, year, short = (match[name] or "" for name in ("part", "kind", "year", "short"))
    if kind == "f" or not (part or kind or match["after"]):
        return None
    if part and not kind and not match["of"] and not part[0].isdigit() and short.isdigit() == bool(short):
        return None  # Q22023
    if short.isdigit() and not kind and (not part.isupper() or match["of"] not in ("", "-")):
        return None  # 2q23 is a place on a chromosome, "Q2 23" may be anything
    named_part = _name_part(part or match["after"] or "")
    calendar = kind[:1] in ("C", "c") or "calendar" in part
    fiscal = False if calendar else True if kind or "fiscal" in part.casefold() else None
    return Period(int(year) if year else _complete_year(int(short[-2:])), named_part, fiscal)


def _name_part(part: str) -> str:
    """Return "Q2" for "2Q", "second quarter" and the like."""
    if not part:
        return ""
    letter = "H" if "h" in part[-4:].casefold() and not part.casefold().endswith("quarter") else "Q"
    digits = [sign for sign in part if sign.isdigit()]
    number = digits[0] if digits else str(1 + [word[:3] for word in _ORDINALS].index(part[:3].casefold()))
    return letter + number


def _complete_year(short: int) -> int:
    return short + (1900 if short >= _PIVOT else 2000)


def _spell_period(period: Period) -> str:
    kind = {True: "fiscal ", False: "calendar ", None: ""}[period.fiscal]
    if not period.part:
        return f"{kind}{period.year}"
    unit = "quarter" if period.part[0] == "Q" else "half"
    return f"{_ORDINALS[int(period.part[1]) - 1]} {unit} of {kind}{period.year}"


def _read_last_day(match: re.Match[str]) -> date | None:
    """Return the last day, moved into the month that it counts for; None when there is no such day."""
    try:
        day = date(int(match["y"]), number_month(match["m"] or match["m2"]), int(match["d"] or match["d2"]))
    except ValueError:
        return None
    return day - _LATE_DAYS


def _place_dated_period(match: re.Match[str], calendar: FiscalCalendar | None) -> PlacedPeriod | None:
    """Return the period that ends on a day; None for no such day, or a quarter that is none of the calendar."""
    day, months = _read_last_day(match), _MONTHS_OF_UNITS[match["unit"][:2].casefold()]
    if day is None:
        return None
    years = calendar or CALENDAR_YEARS
    left = (years.end_month - day.month) % 12  # months to the end of its year
    is_counted = calendar is not None or months < 12  # in years whose end is known
    if left % months and is_counted:
        return None
    part = "" if months == 12 else f"{'Q' if months == 3 else 'H'}{12 // months - left // months}"
    year = day.year + (day.month > years.end_month) - years.offset if is_counted else day.year
    is_named = calendar is not None or (months == 12 and day.month > _MAX_EARLY_MONTH)
    return PlacedPeriod(
        match.start(), match.end(), Period(year, part, True if calendar else None, 0 if is_named else months)
    )


def _compare_with_stated(wanted: Period, stated: set[Period]) -> float:
    """Return 1 for a stated period, 0 where others are stated, 0.5 where what is stated leaves it open."""
    if any(_is_same(wanted, one) for one in stated):
        return 1.0
    rivals = [one for one in stated if one.part] if wanted.part else []
    rivals = rivals or [one for one in stated if one.year != wanted.year]
    is_open = any(_may_be_same(wanted, one) for one in stated)
    return 0.5 if is_open or not rivals else 0.0


def _is_same(wanted: Period, one: Period) -> bool:
    if wanted == one:
        return True
    kinds_differ = wanted.fiscal is not None and one.fiscal is not None and wanted.fiscal != one.fiscal
    if kinds_differ or wanted.year != one.year or (wanted.part and wanted.part != one.part):
        return False
    named = wanted.months == one.months == 0
    return named or bool(wanted.part and not wanted.fiscal and not one.fiscal)


def _may_be_same(wanted: Period, one: Period) -> bool:
    """Return whether one of the two has only its last day, and may be called by the name of the other."""
    if not wanted.months and not one.months:
        return False
    later = one.year - wanted.year if one.months else wanted.year - one.year
    is_near = later in (0, 1) or (later == -1 and bool(one.part))  # no year is called after the one that follows it
    return is_near and bool(wanted.part) == bool(one.part)


def _cut_out(text: str, placed: Sequence[PlacedPeriod]) -> str:
    parts, at = [], 0
    for one in placed:
        parts.append(text[at : max(at, one.start)])
        at = max(at, one.end)
    return " ".join([*parts, text[at:]])
