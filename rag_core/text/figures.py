"""Figures as tables have them: "$ (1,204)", "12.5%", "€9.80", "—"; their value and unit, and years apart from them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from rag_core.text.months import MONTH_PATTERN
from rag_core.text.number_notations import read_scale
from rag_core.text.raised_marks import RAISED_CHARACTERS, mask_footnote_marks

CURRENCY_CODES = ("USD", "EUR", "GBP", "CHF", "JPY")
_CURRENCIES = rf"(?:US|C|A|HK)?[$€£¥]|(?:{'|'.join(CURRENCY_CODES)})\s"
_NUMBER = r"\d{1,3}(?:[,  ’']\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"
_MARK = rf"(?:\s?\(\w\)|\s?\*{{1,2}}|\s?[{RAISED_CHARACTERS}][{RAISED_CHARACTERS},]*)?"  # of a footnote
_THOUSANDS = r"(?!(?:[$€£¥]\s?)?[’']?000s?(?!\w))"  # "£000" above a column is its unit
FIGURE = re.compile(
    rf"{_THOUSANDS}(?:{_CURRENCIES})?\s?[-–−+]?\s?\(?\s?(?:{_CURRENCIES})?[-–−+]?\s?(?:{_NUMBER})\s?\)?\s?%?\s?\)?{_MARK}"
    rf"|(?:[$€£¥]\s?)?[-–—]\s?%?|N/?[AM]|n/[am]|nm",
)
_PARTS = re.compile(
    rf"(?P<sign>[-–−+(]?)\s?(?P<currency>{_CURRENCIES})?\s?(?P<inner>[-–−(]?)\s?(?P<number>{_NUMBER})"
    rf"\s?(?P<close>\)?)\s?(?P<unit>%|[^\W\d_]{{1,12}}\.?)?\s?\)?{_MARK}"
)
_SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥"}
_DATE_OR_SCALE = re.compile(
    rf"\b(?:{MONTH_PATTERN})\.?\s\d{{1,2}}\b|\b\d{{1,2}}\s(?:{MONTH_PATTERN})\b|\b\d{{1,2}}[./]\d{{1,2}}[./](?:19|20)?\d\d\b"
    r"|\b\d{1,2}\.?\s(?:de\s)?[^\W\d_]{3,12}\.?\s(?:de\s)?(?=(?:19|20)\d\d\b)|\b(?:19|20)\d\d\b"
    r"|\b(?:[QH][1-4]|[1-4][QH]|\d{1,2}M|FY\s?\d\d)\b|\b\d{1,2}\s(?:weeks|months)\b"
    r"|\([a-z\d]\)|(?<!\d)[’']?000s?\b",
    re.IGNORECASE,
)
_PERIOD = re.compile(
    r"(?:19|20)\d\d(?:[-/–](?:19|20)?\d\d)?(?:\s?\(\w\)|\s?\*)?|[1-4]?Q[1-4]?(?:\s(?:19|20)\d\d)?|FY\s?\d{2,4}E?"
)

_FIGURE_CELL = re.compile(r"\|[ \t]{0,4}[-–—(+$€£¥ ]{0,6}\d[\d,.]{0,20}[)% ]{0,6}(?:\||$)")
MIN_FIGURE_ROWS = 5  # of a passage of figures
MIN_FIGURE_SHARE = 0.5  # of its lines


@dataclass(frozen=True, slots=True)
class Figure:
    """The value of a figure, with its unit: a currency sign, "%", a word such as "kg", or ""."""

    value: Decimal
    unit: str


def is_period(text: str) -> bool:
    """Return whether a figure is a year or a quarter, and so rather the head of a column than a value."""
    return _PERIOD.fullmatch(mask_footnote_marks(text).strip()) is not None


def remove_dates(cells: Sequence[str]) -> list[str]:
    """Return the heads of columns without their dates, years and quarters; years alone are data where nothing is left.

    A row such as "Opened | 2004" is no header, but "In millions | 2004" and "| 2004 | 2003 |" are.
    """
    if (
        not cells[0]
        or cells[0].startswith("(")
        or names_scale(cells[0])
        or not all(map(is_period, filter(None, cells[1:])))
    ):
        return [_DATE_OR_SCALE.sub("", cell) for cell in cells]
    return list(cells)


def names_scale(text: str) -> bool:
    """Return whether a head says by what the figures below it are multiplied: "In Millions", "(000s)"."""
    return read_scale(text) > 1


def holds_figures(text: str) -> bool:
    """Return whether at least half of the lines of a text are rows of a table with a figure, and several are."""
    lines = [line for line in text.splitlines() if line.strip()]
    rows = sum(_FIGURE_CELL.search(line) is not None for line in lines)
    return rows >= max(MIN_FIGURE_ROWS, MIN_FIGURE_SHARE * len(lines))


def has_digit(cells: Sequence[str]) -> bool:
    """Return whether a digit stands in any of some cells, or in a text; the "²" of a unit is none."""
    return any(sign.isdecimal() for cell in cells for sign in cell)


def parse_figure(text: str) -> Figure | None:
    """Return the figure that a cell states; None for a dash, for words, and for an empty cell. Brackets are a minus."""
    parts = _PARTS.fullmatch(" ".join(mask_footnote_marks(text).split()))
    if parts is None or (parts["close"] and "(" not in (parts["sign"], parts["inner"])):
        return None
    digits = Decimal(re.sub(r"[^\d.]", "", parts["number"]))
    is_negative = bool(parts["sign"].strip("+") or parts["inner"])
    currency = (parts["currency"] or "").strip()
    unit = _SYMBOLS.get(currency, currency) or (parts["unit"] or "").rstrip(".")
    return Figure(-digits if is_negative else digits, unit)
