"""Normalization of sentences for comparison: one form for each number, date, unit and abbreviation.

Unlike `terms`, it drops only articles and the like: "not", "may", "by" and "at least" stay.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal

from rag_core.text.months import MONTH_NAMES as MONTH_NAMES
from rag_core.text.months import MONTH_PATTERN, number_month
from rag_core.text.periods import write_out_periods
from rag_core.text.raised_marks import RAISED_CHARACTERS, mask_footnote_marks, write_typed_exponents
from rag_core.text.request_memory import remember_in_request
from rag_core.text.stop_words import FILLER_WORDS
from rag_core.text.terms import stem_word


@dataclass(frozen=True, slots=True)
class NormalizedWord:
    """A word of a sentence: `form` is compared, `raw` is the original, `before` the signs and spaces before it."""

    form: str
    raw: str
    before: str


_DATE_PATTERNS = [
    re.compile(rf"\b(?P<m>{MONTH_PATTERN})\b\.? (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>\d{{4}})\b", re.IGNORECASE),
    re.compile(
        rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m>{MONTH_PATTERN})\b\.?,? (?P<y>\d{{4}})\b", re.IGNORECASE
    ),
    re.compile(r"\b(?P<y>\d{4})-(?P<m>0\d|1[0-2])-(?P<d>[0-3]\d)\b"),
    re.compile(rf"\b(?P<m>{MONTH_PATTERN})\b\.?,?(?: of)? (?P<y>\d{{4}})\b", re.IGNORECASE),
]
_NUMBER_WORDS = {
    **dict(
        zip(
            ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
            range(13),
            strict=True,
        )
    ),
    **dict(
        zip(
            ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"],
            range(13, 20),
            strict=True,
        )
    ),
    **dict(
        zip(
            ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"],
            range(20, 100, 10),
            strict=True,
        )
    ),
}
# claims are compared with the same few passages again and again: 5 of 6 texts of an answer were read before
REMEMBERED_TEXTS, MAX_REMEMBERED_CHARS = 128, 4_000
MAX_NUMBER_WORDS = 16  # of one number; "hundred hundred hundred …" would be one of too many digits to be written
_MAGNITUDES = {  # "lakh" and "crore" are of India
    "hundred": 100,
    "thousand": 1000,
    "lakh": 10**5,
    "million": 10**6,
    "crore": 10**7,
    "billion": 10**9,
    "trillion": 10**12,
}
_EXACT_CONTEXT = Context(prec=100_000)  # digits: with the default of 28, two long serial numbers may become equal
_CURRENCIES = {"$": "usd", "£": "gbp", "€": "eur", "¥": "jpy"}

# replaced before the text is split into words, so that different spellings are equal
_PHRASE_REPLACEMENTS = [
    (re.compile("(?<=[0-9])⁻(?=[⁰¹²³⁴-⁹])"), "-"),  # 10⁻³ is one code, and no ten
    (re.compile(r"(\d)\s?([cdkmn]?m|ft)(?:²|\^?2)(?!\w)"), r"\1 square \2"),
    (re.compile(r"(\d)\s?([cdkmn]?m|ft)(?:³|\^?3)(?!\w)"), r"\1 cubic \2"),
    (re.compile(r"[’ʼ]"), "'"),
    (re.compile(r"\b(twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)-(?=[a-z])", re.IGNORECASE), r"\1 "),
    (
        re.compile(
            r"(?<=\d)-(?=(?:second|minute|hour|day|week|month|quarter|year|mile|foot|inch|page|point|percent)s?\b)"
        ),
        " ",
    ),
    (re.compile(r"(?<=[^\W\d_])-\s{0,9}(?=[a-z])"), ""),  # also joins a word hyphenated at a line end
    (re.compile(r"\bcannot\b|\bcan't\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon't\b", re.IGNORECASE), "will not"),
    (re.compile(r"\bunable to\b", re.IGNORECASE), "not able to"),
    (re.compile(r"n't\b", re.IGNORECASE), " not"),
    (re.compile(r"'s\b|(?<=s)'(?=\s)"), ""),
    (re.compile(r"\bU\.\s?S\.(?:\s?A\.)?|\bUSA?\b|\bUnited States(?: of America)?\b"), "UnitedStates"),
    (re.compile(r"\bU\.\s?K\.|\bUK\b|\bUnited Kingdom\b"), "UnitedKingdom"),
    (re.compile(r"\bU\.\s?N\.|\bUN\b|\bUnited Nations\b"), "UnitedNations"),
    (re.compile(r"\bE\.\s?U\.|\bEU\b|\bEuropean Union\b"), "EuropeanUnion"),
    (re.compile(r"\bFY\b|\bfiscal (?:years?\b|(?=\d{4}\b))", re.IGNORECASE), "FiscalYear "),
    (re.compile(r"\be\.\s?g\.|\bfor (?:example|instance)\b|\bsuch as\b", re.IGNORECASE), "forexample"),
    (re.compile(r"\bi\.\s?e\.|\bthat is,", re.IGNORECASE), "thatis"),
    (re.compile(r"\bper cent\b|%"), " percent"),
    (re.compile(r"([$£€¥]\s?\d[\d,.]{0,20})\s?m\b"), r"\1 million"),
    (re.compile(r"([$£€¥]\s?\d[\d,.]{0,20})\s?bn\b"), r"\1 billion"),
    (re.compile(r"([$£€¥]\s?\d[\d,.]{0,20})\s?k\b"), r"\1 thousand"),
    (
        re.compile(
            r"\b(?:no|not) (?:more|longer|later|higher|larger|older|greater) than\b|\bat (?:the )?most\b", re.IGNORECASE
        ),
        "atmost",
    ),
    (
        re.compile(
            r"\b(?:no|not) (?:less|fewer|lower|shorter|earlier|smaller|younger) than\b|\bat (?:the )?least\b",
            re.IGNORECASE,
        ),
        "atleast",
    ),
    (re.compile(r"\b(?:less|fewer) than\b", re.IGNORECASE), "lessthan"),
    (re.compile(r"\b(?:more|greater) than\b", re.IGNORECASE), "morethan"),
    (re.compile(r"\bup to\b", re.IGNORECASE), "upto"),
    (re.compile(r"\bin order to\b", re.IGNORECASE), "to"),
    (re.compile(r"\bas well as\b|&", re.IGNORECASE), " and "),
]
# words of a line are interchangeable in any sentence; the first is their form
_SYNONYM_LINES = """kilometer kilometre kilometers kilometres km
kilogram kilograms kilogramme kg kgs
meter metre meters metres m
centimeter centimetre centimeters cm
millimeter millimetre millimeters mm
gram grams g
milligram milligrams mg
microgram micrograms mcg
liter litre liters litres
milliliter millilitre milliliters millilitres ml
hectare hectares ha
ton tonne tons tonnes
millisecond milliseconds ms msec
kilowatt kilowatts kw
megawatt megawatts mw
hertz hz
kilohertz khz
megahertz mhz
gigahertz ghz
terabyte terabytes tb
hour hours hr hrs h
minute minutes min mins
second seconds sec secs
year years yr yrs
mile miles mi
foot feet ft
square sq
pound pounds lb lbs
megabyte megabytes mb
gigabyte gigabytes gb
kilobyte kilobytes kb
usd dollar dollars
gbp sterling
eur euro euros
saint st
mount mt
doctor dr
mister mr
versus vs
number no. nr
color colour colors colours
center centre centers centres
organisation organization organisations organizations
begin start begins starts
began started
show demonstrate
shows demonstrates
use employ utilize
used employed utilized
help assist
helps assists
buy purchase
about approximately roughly around
whole entire
quickly rapidly
often frequently
numerous many
allow permit
need require
however nevertheless
obtain get
obtained gained
build construct
built constructed
choose select"""
_CANONICAL_FORMS = {
    stem_word(word): stem_word(line.split()[0]) for line in _SYNONYM_LINES.splitlines() for word in line.split()
}
_CANONICAL_FORMS |= {stem_word(month[:3]): month for month in MONTH_NAMES if month != "may"} | {
    month: month for month in MONTH_NAMES
}
_CANONICAL_FORMS["sept"] = "september"

_TOKEN_PATTERN = re.compile(
    r"(?P<number>(?<![\w.])(?P<sign>[$£€¥]|(?<=\s)[-−](?=\d))?\s?(?P<digits>\d+(?:,\d{3}){1,30}+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?![\w]|[.,:/]\d|-[^\W\d])(?:\s(?P<magnitude>hundred|thousand|million|billion|trillion|lakh|crore)\b)?)"
    r"|(?P<measure>(?<![\w.])(?P<amount>\d+(?:\.\d+)?)(?P<unit>(?!st\b|nd\b|rd\b|th\b)[^\W\d_"
    rf"{RAISED_CHARACTERS}]{{1,3}})(?![\w-]))"
    r"|(?P<run>[^\W_]+(?:[._:/@+#-]+[^\W_]+)*)",  # a code when it has a digit, otherwise words
    re.IGNORECASE,
)
_LETTERS_PATTERN = re.compile(r"[^\W\d_]+")


def normalize_words(text: str) -> Sequence[NormalizedWord]:
    """Return the words of a text in order, without articles and the like. Time is linear in the text."""
    return _normalize_remembered(text) if len(text) <= MAX_REMEMBERED_CHARS else _normalize(text)


def _normalize(text: str) -> tuple[NormalizedWord, ...]:
    text = write_out_periods(mask_footnote_marks(write_typed_exponents(text)))
    for pattern, form in _PHRASE_REPLACEMENTS:
        text = pattern.sub(form, text)
    for pattern in _DATE_PATTERNS:
        text = pattern.sub(_normalize_date, text)
    return tuple(_drop_filler_words(_merge_number_words(_tokenize_normalized(text))))


_normalize_remembered = remember_in_request(REMEMBERED_TEXTS)(_normalize)


def parse_word_forms(text: str) -> frozenset[str]:
    """Return the words of a list in the forms by which they are compared."""
    return frozenset(word.form for word in normalize_words(text))


def _normalize_date(match: re.Match[str]) -> str:
    """Return a date as "year, Month, day": with commas, so that a part of a date can match."""
    groups = match.groupdict()
    month = groups["m"]
    name = MONTH_NAMES[(int(month) if month.isdigit() else number_month(month)) - 1]
    return ", ".join([groups["y"], name.title(), *([str(int(groups["d"]))] if groups.get("d") else [])])


def _tokenize_normalized(text: str) -> list[NormalizedWord]:
    """Split a text into words with their normalized forms; number words are still single."""
    tokens: list[NormalizedWord] = []
    at = 0
    for match in _TOKEN_PATTERN.finditer(text):
        before, at = text[at : match.start()], match.end()
        if match["run"] and not any(sign.isdigit() for sign in match["run"]):
            parts = _LETTERS_PATTERN.findall(match["run"])
            tokens += [
                NormalizedWord(_normalize_word(part), part, "-" if n else before) for n, part in enumerate(parts)
            ]
        else:
            tokens += [
                NormalizedWord(form, match[0], "" if n else before) for n, form in enumerate(_normalize_token(match))
            ]
    return tokens


def _normalize_token(token: re.Match[str]) -> list[str]:
    """Return the forms of a number (with its currency), of an amount with its unit, or of a code."""
    if token["number"]:
        factor = _MAGNITUDES.get((token["magnitude"] or "").lower(), 1)
        negative = token["sign"] in ("-", "−") if token["sign"] else False
        digits = Decimal(token["digits"].replace(",", ""))
        amount = _format_decimal(_EXACT_CONTEXT.multiply(digits, -factor if negative else factor))
        return [amount, *([_CURRENCIES[token["sign"]]] if token["sign"] in _CURRENCIES else [])]
    if token["measure"]:
        return [_format_decimal(Decimal(token["amount"])), _normalize_word(token["unit"])]
    return [token[0].casefold()]


def _format_decimal(amount: Decimal) -> str:
    """Return a number in digits, without exponent and trailing zeros."""
    return format(amount.normalize(_EXACT_CONTEXT), "f")


def _normalize_word(word: str) -> str:
    """Return the form of a word: that of its synonyms, or its stem."""
    stem = stem_word(word)
    if len(stem) == 4 and stem.endswith("s") and not stem.endswith(("ss", "us", "is")):
        stem = stem[:-1]  # such as "runs", which `stem_word` does not shorten
    return _CANONICAL_FORMS.get(word.casefold(), _CANONICAL_FORMS.get(stem, stem))


def _merge_number_words(words: list[NormalizedWord]) -> list[NormalizedWord]:
    """Replace number words by one number: "two hundred and fifty" becomes 250 ("2 million" is one token already)."""
    merged: list[NormalizedWord] = []
    n = 0
    while n < len(words):
        count = _count_number_words(words, n)
        if count:
            amount = _parse_number_words([word.raw.lower() for word in words[n : n + count]])
            merged.append(
                NormalizedWord(str(amount), " ".join(word.raw for word in words[n : n + count]), words[n].before)
            )
        else:
            merged.append(words[n])
        n += count or 1
    return merged


def _count_number_words(words: list[NormalizedWord], start: int) -> int:
    """Return how many words from `start` on form one number."""
    if words[start].raw.lower() not in _NUMBER_WORDS:
        return 0
    end = start + 1
    while end < min(len(words), start + MAX_NUMBER_WORDS) and _is_number_continued(words, end):
        end += 1
    return end - start - (words[end - 1].raw.lower() == "and")


def _is_number_continued(words: list[NormalizedWord], at: int) -> bool:
    """Return whether the word at `at` belongs to the same number as the word before it."""
    word, last = words[at].raw.lower(), words[at - 1].raw.lower()
    if words[at].before.strip(" -"):
        return False
    if word == "and":
        return last in _MAGNITUDES and at + 1 < len(words) and words[at + 1].raw.lower() in _NUMBER_WORDS
    tens = _NUMBER_WORDS.get(last, 0) >= 20 and 0 < _NUMBER_WORDS.get(word, 99) < 10
    return word in _MAGNITUDES or tens or (word in _NUMBER_WORDS and (last in _MAGNITUDES or last == "and"))


def _parse_number_words(number_words: list[str]) -> int:
    """Return the number that lower-case number words stand for."""
    total = current = 0
    for word in number_words:
        if word == "hundred":
            current *= 100
        elif word in _MAGNITUDES:
            total, current = total + current * _MAGNITUDES[word], 0
        elif word != "and":
            current += _NUMBER_WORDS[word]
    return total + current


def _drop_filler_words(words: list[NormalizedWord]) -> list[NormalizedWord]:
    """Drop articles and the like; the signs before a dropped word are added to those before the next."""
    content_words: list[NormalizedWord] = []
    carried = ""
    for word in words:
        if word.form in FILLER_WORDS:
            carried += word.before
        else:
            content_words.append(NormalizedWord(word.form, word.raw, carried + word.before))
            carried = ""
    return content_words
