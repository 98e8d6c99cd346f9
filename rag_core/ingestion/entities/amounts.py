"""Dates and amounts of money, as they are written in English and on the continent of Europe."""

import re
from collections.abc import Iterator

from rag_core.ingestion.entities.spans import EntitySpan, place_match
from rag_core.text.months import MONTH_PATTERN

_MONTH = rf"(?:{MONTH_PATTERN})\b\.?"
_YEAR = r"(?:19|20)\d\d"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_WEEKDAY = r"(?:(?:mon|tues?|wednes|thurs?|fri|satur|sun)day,?\s)?"
_DATES = tuple(  # the more exact before the less
    re.compile(rf"(?<![\w./-])(?:{form})(?![\w/-]|\.\d)", re.IGNORECASE)
    for form in (
        rf"{_YEAR}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?=T\d\d:)|{_YEAR}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])",
        rf"{_DAY}\.(?:0?[1-9]|1[0-2])\.{_YEAR}|{_DAY}/{_DAY}/{_YEAR}",
        rf"{_WEEKDAY}{_DAY}(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH},?\s{_YEAR}",
        rf"{_WEEKDAY}{_MONTH}\s{_DAY}(?:st|nd|rd|th)?,\s{_YEAR}",
        rf"{_MONTH},?\s{_YEAR}",
        rf"Q[1-4],?\s?{_YEAR}|[1-4]Q\s?{_YEAR}|(?:FY|CY)[\s'’]?(?:{_YEAR}|\d\d)|(?:fiscal|financial)\syear\s{_YEAR}",
    )
)
_DAY_AND_MONTH = re.compile(rf"(?<![\w./-]){_DAY}(?:st|nd|rd|th)?\s(?:{MONTH_PATTERN})(?![\w-])", re.IGNORECASE)
_YEAR_IN_CONTEXT = re.compile(
    rf"\b(?:in|since|until|till|by|from|during|before|after|following|of|year)\s(?:early\s|late\s)?({_YEAR})(?![\w-]|[.,]\d)"
    rf"|(?<![\w.,$£€-])({_YEAR})(?=\swas\b)"
)
_CURRENCY_SIGN = r"(?:US|A|C|CA|AU|NZ|HK|S|R)?\$|[€£¥₹₩]"
_CURRENCY_CODE = r"USD|EUR|GBP|CHF|JPY|CNY|RMB|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|SGD|HKD|KRW|TRY|AED"
_NUMBER = r"\d{1,3}(?:[,.'’ \u00a0\u202f]\d{3}){1,5}+(?:[.,]\d{1,2})?|\d{1,15}+(?:[.,]\d{1,4})?"
_SCALE = r"(?:\s?(?:million|billion|trillion|thousand|bn|mn|[mk])\b)?"
_MONEY = re.compile(
    rf"(?<![\w$€£])(?:{_CURRENCY_SIGN}|(?:{_CURRENCY_CODE})\b)\s?(?:{_NUMBER})(?![\d]){_SCALE}"
    rf"|(?<![\w.,$€£])(?:{_NUMBER}){_SCALE}\s?(?:(?:{_CURRENCY_CODE})\b|[€£])(?!\w)"
)


def find_dates(text: str) -> Iterator[EntitySpan]:
    """Yield days, months with their year, quarters, fiscal years, and years after a word such as "since"."""
    for rank, form in enumerate(_DATES):
        yield from (place_match(match, "date", rank) for match in form.finditer(text))
    yield from (place_match(match, "date", len(_DATES)) for match in _DAY_AND_MONTH.finditer(text))
    for match in _YEAR_IN_CONTEXT.finditer(text):
        yield place_match(match, "date", len(_DATES), 1 if match[1] else 2)


def find_amounts_of_money(text: str) -> Iterator[EntitySpan]:
    """Yield amounts with a currency, in front or behind."""
    return (place_match(match, "money") for match in _MONEY.finditer(text))
