"""The value that a cell states, to compute with: a figure, a date in days, or a time of day or duration in minutes."""

import re
from datetime import date
from decimal import Decimal

from rag_core.text.figures import Figure, parse_figure
from rag_core.text.months import MONTH_PATTERN, number_month
from rag_core.text.raised_marks import mask_footnote_marks

# the units of what is no figure; a day without its year cannot be compared with one that has it
DATE, YEARLESS_DATE, TIME = "date", "date without a year", "time"
MOMENTS = (DATE, YEARLESS_DATE, TIME)
MAX_VALUE_CHARS = 40
_YEAR = 2000  # of dates without one, which are compared among themselves; a leap year has every day
_CLOCK = re.compile(r"(\d{1,3})(?::|h|\.(?=\d\d ?(?:[ap]\.?m\.?|h)))(\d\d) ?(?:h|Uhr|([ap])\.?m\.?)?", re.IGNORECASE)
_HOUR = re.compile(r"(\d{1,2}) ?([ap])\.?m\.?", re.IGNORECASE)
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[ T]\d\d:\d\d.{0,16})?")
_DOTTED = re.compile(r"(\d{1,2})[./](\d{1,2})[./](\d{4}|\d\d)?")
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? )?"
_DAY_FIRST = re.compile(
    rf"{_WEEKDAY}(\d{{1,2}})(?:st|nd|rd|th)?[ -]({MONTH_PATTERN})\.?,?(?:[ -](\d{{4}}))?", re.IGNORECASE
)
_MONTH_FIRST = re.compile(
    rf"{_WEEKDAY}({MONTH_PATTERN})\.?(?: (\d{{1,2}})(?:st|nd|rd|th)?(?!\d))?,?(?: (\d{{4}}))?", re.IGNORECASE
)
_CURRENCY = re.compile(r"^([-–−(]?)\s?(CHF|Rs\.?|kr\.?|NOK|SEK|DKK|PLN|CZK|INR|₹|zł)\s?(?=\d)", re.IGNORECASE)
_ABOUT = re.compile(r"^(?:≈|~|ca\.?|approx\.?|about)\s*(?=\S)", re.IGNORECASE)
_PLUS = re.compile(r"^\+\s?(?=[^\s\w]{0,2}\d)")  # of a change for the better
_AFTER = re.compile(r"(?<=\d)\s?(?:[^\W\d_]|[°²³µ/%])[^\W\d_°²³/%.]{0,11}(?: ?/ ?[^\W\d_]{1,8})?\.?$")


def parse_cell_value(text: str) -> Figure | None:
    """Return the value of a cell; a date or a time has a unit of that name; None for words and an empty cell.

    Dates are read with the day before the month, as in "3/4/2026", unless the year comes first.
    """
    text = " ".join(mask_footnote_marks(text).split())
    if not text or len(text) > MAX_VALUE_CHARS:
        return None
    if (minutes := _parse_minutes(text)) is not None:
        return Figure(Decimal(minutes), TIME)
    return _parse_date(text) or _parse_amount(text)


def _parse_amount(text: str) -> Figure | None:
    """Return a figure, also with a plus, with a currency that is a word, or with a unit of several signs ("km/h")."""
    text = _PLUS.sub("", _ABOUT.sub("", text))
    unit = ""
    if currency := _CURRENCY.match(text):
        unit, text = currency[2].rstrip("."), currency[1] + text[currency.end() :]
    figure = parse_figure(text)
    if figure is None and not unit and (after := _AFTER.search(text)):
        unit, figure = after[0].strip(), parse_figure(text[: after.start()])
    return figure and Figure(figure.value, unit or figure.unit)


def _parse_minutes(text: str) -> int | None:
    if found := _CLOCK.fullmatch(text):
        hours, minutes, half = int(found[1]), int(found[2]), found[3]
        return None if minutes > 59 else _count_minutes(hours, minutes, half)
    if found := _HOUR.fullmatch(text):
        return _count_minutes(int(found[1]), 0, found[2])
    return None


def _count_minutes(hours: int, minutes: int, half: str | None) -> int:
    if half:
        hours = hours % 12 + 12 * (half.lower() == "p")
    return 60 * hours + minutes


def _parse_date(text: str) -> Figure | None:
    if found := _ISO.fullmatch(text):
        year, month, day = found[1], int(found[2]), found[3]
    elif found := _DOTTED.fullmatch(text):
        year, month, day = found[3] and "20"[: 4 - len(found[3])] + found[3], int(found[2]), found[1]
    elif found := _DAY_FIRST.fullmatch(text):
        year, month, day = found[3], number_month(found[2]), found[1]
    elif found := _MONTH_FIRST.fullmatch(text):
        year, month, day = found[3], number_month(found[1]), found[2] or "1"
    else:
        return None
    try:
        days = date(int(year or _YEAR), month, int(day)).toordinal()
    except ValueError:
        return None
    return Figure(Decimal(days), DATE if year else YEARLESS_DATE)
