"""A text as the words by which two sentences are compared: one form for each number, date, unit and abbreviation.

Unlike `terms`, nothing is left out but articles and the like: "not", "may", "by" and "at least" are words too.
"""

import re
from dataclasses import dataclass
from decimal import Context, Decimal

from rag_core.text.terms import term


@dataclass(frozen=True, slots=True)
class Word:
    """`form` is what is compared, `raw` as it stood, `before` the signs and spaces between it and the word before."""

    form: str
    raw: str
    before: str


MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTH = "|".join(f"{month}|{month[:3]}" for month in MONTHS if month != "may") + "|may|sept"
_DATES = [
    re.compile(rf"\b(?P<m>{_MONTH})\b\.? (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>\d{{4}})\b", re.IGNORECASE),
    re.compile(rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m>{_MONTH})\b\.?,? (?P<y>\d{{4}})\b", re.IGNORECASE),
    re.compile(r"\b(?P<y>\d{4})-(?P<m>0\d|1[0-2])-(?P<d>[0-3]\d)\b"),
    re.compile(rf"\b(?P<m>{_MONTH})\b\.?,?(?: of)? (?P<y>\d{{4}})\b", re.IGNORECASE),
]
_SPELLED = {
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
_MAGNITUDES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_EXACT = Context(prec=100_000)  # digits: the usual 28 make one of two long serial numbers
_CURRENCIES = {"$": "usd", "£": "gbp", "€": "eur", "¥": "jpy"}

# Written otherwise, but the same: put into one form before the words are taken.
_PHRASES = [
    (re.compile(r"[’ʼ]"), "'"),
    (re.compile(r"\b(twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)-(?=[a-z])", re.IGNORECASE), r"\1 "),
    (re.compile(r"(?<=[^\W\d_])-\s{0,9}(?=[a-z])"), ""),  # a word divided at the end of a line looks like any other
    (re.compile(r"\bcannot\b|\bcan't\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon't\b", re.IGNORECASE), "will not"),
    (re.compile(r"n't\b", re.IGNORECASE), " not"),
    (re.compile(r"'s\b|(?<=s)'(?=\s)"), ""),
    (re.compile(r"\bU\.\s?S\.(?:\s?A\.)?|\bUSA?\b|\bUnited States(?: of America)?\b"), "UnitedStates"),
    (re.compile(r"\bU\.\s?K\.|\bUK\b|\bUnited Kingdom\b"), "UnitedKingdom"),
    (re.compile(r"\bU\.\s?N\.|\bUN\b|\bUnited Nations\b"), "UnitedNations"),
    (re.compile(r"\bE\.\s?U\.|\bEU\b|\bEuropean Union\b"), "EuropeanUnion"),
    (re.compile(r"\bFY(?=\s?\d|\b)|\b[Ff]iscal [Yy]ear\b"), "FiscalYear "),
    (re.compile(r"\be\.\s?g\.|\bfor (?:example|instance)\b|\bsuch as\b", re.IGNORECASE), "forexample"),
    (re.compile(r"\bi\.\s?e\.|\bthat is,", re.IGNORECASE), "thatis"),
    (re.compile(r"\bper cent\b|%"), " percent"),
    (re.compile(r"([$£€¥]\s?\d[\d,.]{0,20})\s?m\b"), r"\1 million"),
    (re.compile(r"([$£€¥]\s?\d[\d,.]{0,20})\s?bn\b"), r"\1 billion"),
    (re.compile(r"([$£€¥]\s?\d[\d,.]{0,20})\s?k\b"), r"\1 thousand"),
    (re.compile(r"\b(?:no|not) more than\b|\bat most\b", re.IGNORECASE), "atmost"),
    (re.compile(r"\b(?:no|not) (?:less|fewer) than\b|\bat least\b", re.IGNORECASE), "atleast"),
    (re.compile(r"\b(?:less|fewer) than\b", re.IGNORECASE), "lessthan"),
    (re.compile(r"\b(?:more|greater) than\b", re.IGNORECASE), "morethan"),
    (re.compile(r"\bup to\b", re.IGNORECASE), "upto"),
    (re.compile(r"\bin order to\b", re.IGNORECASE), "to"),
    (re.compile(r"\bas well as\b|&", re.IGNORECASE), " and "),
]
# A line has words that a reader takes for one another in any sentence; the first is their form.
_SAME = """kilometer kilometre kilometers kilometres km
kilogram kilograms kilogramme kg kgs
meter metre meters metres m
centimeter centimetre centimeters cm
millimeter millimetre millimeters mm
gram grams g
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
_FORMS = {term(word): term(line.split()[0]) for line in _SAME.splitlines() for word in line.split()}
_FORMS |= {term(month[:3]): month for month in MONTHS if month != "may"} | {month: month for month in MONTHS}
_FORMS["sept"] = "september"

_TOKEN = re.compile(
    r"(?P<number>(?<![\w.])(?P<sign>[$£€¥]|(?<=\s)[-−](?=\d))?\s?(?P<digits>\d+(?:,\d{3})++(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?![\w]|[.,:/]\d|-[^\W\d])(?:\s(?P<magnitude>hundred|thousand|million|billion|trillion)\b)?)"
    r"|(?P<measure>(?<![\w.])(?P<amount>\d+(?:\.\d+)?)(?P<unit>(?!st\b|nd\b|rd\b|th\b)[^\W\d_]{1,3})(?![\w-]))"
    r"|(?P<run>[^\W_]+(?:[._:/@+#-]+[^\W_]+)*)",  # a code when it has a digit, else words
    re.IGNORECASE,
)
_PART = re.compile(r"[^\W\d_]+")
_LEFT_OUT = frozenset(
    [
        "a",
        "an",
        "the",
        "that",
        "also",
        "however",
        "thus",
        "therefore",
        "moreover",
        "furthermore",
        "additionally",
        "nevertheless",
    ]
)


def words(text: str) -> list[Word]:
    """The words of a text in order, articles and the like left out. Time is linear in the text."""
    for pattern, form in _PHRASES:
        text = pattern.sub(form, text)
    for pattern in _DATES:
        text = pattern.sub(_date, text)
    return _kept(_spelled_out(_tokens(text)))


def _date(found: re.Match[str]) -> str:
    """Year, month and day in one order and set off from each other, so that a part of a date may be cited."""
    named = found.groupdict()
    month = named["m"]
    name = MONTHS[int(month) - 1] if month.isdigit() else next(m for m in MONTHS if m.startswith(month[:3].lower()))
    return ", ".join([named["y"], name.title(), *([str(int(named["d"]))] if named.get("d") else [])])


def _tokens(text: str) -> list[Word]:
    made: list[Word] = []
    at = 0
    for found in _TOKEN.finditer(text):
        before, at = text[at : found.start()], found.end()
        if found["run"] and not any(sign.isdigit() for sign in found["run"]):
            parts = _PART.findall(found["run"])
            made += [Word(_form(part), part, "-" if n else before) for n, part in enumerate(parts)]
        else:
            made += [Word(form, found[0], "" if n else before) for n, form in enumerate(_forms(found))]
    return made


def _forms(found: re.Match[str]) -> list[str]:
    if found["number"]:
        factor = _MAGNITUDES.get((found["magnitude"] or "").lower(), 1)
        negative = found["sign"] in ("-", "−") if found["sign"] else False
        digits = Decimal(found["digits"].replace(",", ""))
        amount = _number(_EXACT.multiply(digits, -factor if negative else factor))
        return [amount, *([_CURRENCIES[found["sign"]]] if found["sign"] in _CURRENCIES else [])]
    if found["measure"]:
        return [_number(Decimal(found["amount"])), _form(found["unit"])]
    return [found[0].casefold()]


def _number(amount: Decimal) -> str:
    return format(amount.normalize(_EXACT), "f")


def _form(word: str) -> str:
    ending = term(word)
    if len(ending) == 4 and ending.endswith("s") and not ending.endswith(("ss", "us", "is")):
        ending = ending[:-1]  # "runs", which `term` leaves as it is
    return _FORMS.get(word.casefold(), _FORMS.get(ending, ending))


def _spelled_out(found: list[Word]) -> list[Word]:
    """Runs of number words as one number: "two hundred and fifty" is 250, "2 million" was one already."""
    made: list[Word] = []
    n = 0
    while n < len(found):
        run = _run(found, n)
        if run:
            amount = _amount([word.raw.lower() for word in found[n : n + run]])
            made.append(Word(str(amount), " ".join(word.raw for word in found[n : n + run]), found[n].before))
        else:
            made.append(found[n])
        n += run or 1
    return made


def _run(found: list[Word], start: int) -> int:
    """How many words from `start` are one number."""
    if found[start].raw.lower() not in _SPELLED:
        return 0
    end = start + 1
    while end < len(found) and _continues(found, end):
        end += 1
    return end - start - (found[end - 1].raw.lower() == "and")


def _continues(found: list[Word], at: int) -> bool:
    word, last = found[at].raw.lower(), found[at - 1].raw.lower()
    if found[at].before.strip(" -"):
        return False
    if word == "and":
        return last in _MAGNITUDES and at + 1 < len(found) and found[at + 1].raw.lower() in _SPELLED
    tens = _SPELLED.get(last, 0) >= 20 and 0 < _SPELLED.get(word, 99) < 10
    return word in _MAGNITUDES or tens or (word in _SPELLED and (last in _MAGNITUDES or last == "and"))


def _amount(number: list[str]) -> int:
    total = current = 0
    for word in number:
        if word == "hundred":
            current *= 100
        elif word in _MAGNITUDES:
            total, current = total + current * _MAGNITUDES[word], 0
        elif word != "and":
            current += _SPELLED[word]
    return total + current


def _kept(found: list[Word]) -> list[Word]:
    """The words without those that say nothing; the signs before one left out go to the next."""
    made: list[Word] = []
    carried = ""
    for word in found:
        if word.form in _LEFT_OUT:
            carried += word.before
        else:
            made.append(Word(word.form, word.raw, carried + word.before))
            carried = ""
    return made
