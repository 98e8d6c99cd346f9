"""Dates as they are written in the languages whose dates of birth are recognised."""

import re

# the first letters of the months in English, German, French, Spanish, Italian, Dutch, Polish, Portuguese and Swedish
MONTHS = (
    "jan feb mar apr may jun jul aug sep oct nov dec mär mai okt dez fév fev avr jui aoû aou déc ene abr ago dic "
    "gen mag giu lug set ott mrt maa mei sty lut kwi maj cze lip sie wrz paź lis gru out "
    "जन फर मार्च अप्र मई जून जुल अग सित अक्ट नव दिस"
)
MONTH_PREFIX = "|".join(sorted(MONTHS.split(), key=len, reverse=True))
MONTH_NAME = rf"(?:{MONTH_PREFIX})[^\W\d_]{{0,9}}"
DAY_NUMBER = r"\d{1,2}(?:st|nd|rd|th|er|\.|º|°|ª)?"
DATE_FORMS = (
    r"(?:\d{4}(?P<ymd>[-/.])\d{1,2}(?P=ymd)\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2})?)?"
    r"|\d{1,2}(?P<dmy>[-/.]) ?\d{1,2}(?P=dmy) ?(?:\d{4}|\d{2})"
    rf"|{DAY_NUMBER}[ -](?:of |de |d')?{MONTH_NAME}\.?,?(?: del?)?(?:[ -]\d{{4}}|-\d{{2}})"
    rf"|{MONTH_NAME}\.? {DAY_NUMBER},? \d{{4}}"
    r"|\d{1,2} (?-i:I{1,3}|I?V|VI{1,3}|IX|XI{0,2}) \d{4}"  # the month in Roman numerals, as in Poland
    r"|(?:\d{4}|(?:明治|大正|昭和|平成|令和)(?:\d{1,2}|元))年\d{1,2}月\d{1,2}日)"
)
DATE = re.compile(rf"(?i)(?<![\w./-]){DATE_FORMS}(?![\w/-])")
MONTH_SIGN = re.compile(f"年|{MONTH_PREFIX}")
NO_DIGITS_ALONE = re.compile(r"[^\d ./-]")


def is_date(value: str) -> bool:
    """Return whether a value is a day of a month, in any of the usual orders."""
    if not NO_DIGITS_ALONE.search(value):
        value = value.replace(" ", "") if value[-1:].isdigit() else value
    elif MONTH_SIGN.search(value.lower()) or re.search(" [IVX]+ ", value):
        return any(int(part) <= 31 for part in re.findall(r"\d+", value))
    if not re.match(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}(?![-/.]?\d)", value):
        return False
    first, second, third = [int(part) for part in re.findall(r"\d+", value)[:3]]
    day, month = (third, second) if first > 31 else (first, second)
    return 1 <= min(day, month) <= 12 and 1 <= max(day, month) <= 31
