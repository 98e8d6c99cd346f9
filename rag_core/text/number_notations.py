"""Numbers in the notation of other languages, "1.204,5" and "1 204,5", and the multiples that stand above a table."""

import re
from collections.abc import Iterable

from rag_core.text.languages import is_rather_english

MIN_GROUPED_FIGURES = 3  # such as "184.317", which tell by themselves that points group digits
_GROUPS = r"\d{1,3}(?:[.\u0020\u00a0\u2009\u202f’']\d{3})+"
_IN_WORDS = re.compile(rf"(?<![\w.,])(?:{_GROUPS}(?:,\d{{1,9}})?|\d{{1,9}},\d{{1,9}})(?![\w,]|\.\d)")
_POINT_DECIMALS = re.compile(r"(?<![\d.])\d{1,9}(?:\.(?:\d{1,2}|\d{4,9})|,\d{3})(?![\d.])")
_COMMA_DECIMALS = re.compile(r"\d,(?:\d{1,2}|\d{4,9})(?!\d)|\d\.\d{3}[.,]\d")
_GROUPED = re.compile(r"(?<![\d.,])[1-9]\d{0,2}\.\d{3}(?![\d.,])")
_SCALE_WORDS = {  # of English, German, French, Spanish, Italian, Dutch, and of India; no digit stands before these
    1_000: r"thousands|tausend|tsd|milliers|miles de|migliaia|duizend(?:en)?|[’']?000[’']?s?",
    100_000: r"lakhs?",
    1_000_000: r"millions|millionen|mio|millones|milioni|miljoen(?:en)?",
    10_000_000: r"crores?",
    1_000_000_000: r"billions|milliarden|mrd|milliards|miliardi|miljard(?:en)?|miles de millones",
}
SCALES = (1_000, 1_000_000, 1_000_000_000)
_CURRENCY = r"(?P<currency>[$€£¥₹]|\b[A-Z]{3})"
_SCALE_UNITS = {  # behind a currency, and so no metres: "£m", "EUR million", "C$ thousand", "x € 1.000"
    1_000: rf"{_CURRENCY}\s?(?:thousand|k|(?:1[.,])?000)\b|\bx 1[.,]000\b"
    r"|\b[kT](?=€|(?:EUR|USD|GBP|CHF)\b)|\bk(?=[$£¥])",
    1_000_000: rf"{_CURRENCY}\s?(?:million|mn?|mln)\b|\bm(?=€)",
    1_000_000_000: rf"{_CURRENCY}\s?(?:billion|bn)\b",
}
_SCALES = [
    *((factor, re.compile(pattern)) for factor, pattern in sorted(_SCALE_UNITS.items(), reverse=True)),
    *(
        (factor, re.compile(rf"(?<![\w,.])(?<!\d\s)(?:[A-Z]{{3}})?(?:{pattern})(?!\w)", re.IGNORECASE))
        for factor, pattern in sorted(_SCALE_WORDS.items(), reverse=True)
    ),
]
_COLUMN_SCALES = [  # in the head of a column alone: elsewhere the singular is a word like others
    (factor, re.compile(rf"(?<!\bper\s)\b{name}\b", re.IGNORECASE))
    for factor, name in ((1_000, "thousand"), (1_000_000, "million"), (1_000_000_000, "billion"))
]
_AMOUNT = re.compile(r"\d|euro", re.IGNORECASE)  # without which there is nothing to write anew
_MAGNITUDES = [  # in a sentence, behind a number
    (re.compile(r"(?<=\d)\s?M€"), " million euros"),
    (re.compile(r"(?<=\d)\s?Mds?\s?€"), " billion euros"),
    (re.compile(r"(?<=\d)\s?[kKT]€"), " thousand euros"),
    (
        re.compile(r"(?<=\d)\s?(?:mio\b\.?|mln\b\.?|millionen|millions|millones|milioni|miljoen)(?!\w)", re.IGNORECASE),
        " million",
    ),
    (re.compile(r"(?<=\d)\s?(?:mrd\b\.?|milliarden?|milliards?|miliard[io]|miljard)(?!\w)", re.IGNORECASE), " billion"),
    (re.compile(r"(?<=\d)\s?(?:tsd\b\.?|tausend|mille|mila|duizend)(?!\w)", re.IGNORECASE), " thousand"),
    (re.compile(r" (million|billion|thousand) (?:d['’]|de |di |of )(?=euro)", re.IGNORECASE), r" \1 "),
]


def read_scale(text: str) -> int:
    """Return by what the figures below a head are multiplied: 1,000,000 for "in millions" and "£m", 1 for none."""
    return next((factor for factor, pattern in _SCALES if pattern.search(text)), 1)


def split_column_scale(head: str) -> tuple[str, int]:
    """Return the head of a column without the words that multiply its figures, and by what: "Cost (k€)" has 1,000."""
    for factor, pattern in (*_SCALES, *_COLUMN_SCALES):
        if found := pattern.search(head):
            currency = found.groupdict().get("currency") or ""
            return f"{head[: found.start()]}{currency} {head[found.end() :]}", factor
    return head, 1


def has_decimal_commas(cells: Iterable[str]) -> bool:
    """Return whether the figures of a table have a comma before their decimals, or points between their thousands."""
    texts = [cell for cell in cells if any(map(str.isdecimal, cell))]
    if any(_POINT_DECIMALS.search(text) for text in texts):
        return False
    return any(_COMMA_DECIMALS.search(text) for text in texts) or (
        sum(_GROUPED.search(text) is not None for text in texts) >= MIN_GROUPED_FIGURES
    )


def write_decimal_points(text: str) -> str:
    """Return a text with the numbers "1.204,5" of other languages as in English, "1204.5"; time is linear in it."""
    return _IN_WORDS.sub(lambda number: re.sub(r"[^\d,]", "", number[0]).replace(",", "."), text)


def write_in_english(text: str) -> str:
    """Return a text of another language with its numbers as in English: "1.204,5 Mio." as "1204.5 million"."""
    if not _AMOUNT.search(text) or is_rather_english(text):
        return text
    text = write_decimal_points(text)
    for pattern, form in _MAGNITUDES:
        text = pattern.sub(form, text)
    return text
