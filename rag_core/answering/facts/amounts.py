"""Numbers with their units, months and ranges of a claim, compared with those of a passage."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import pairwise, permutations

from rag_core.answering.facts.conflicts import FactConflict, FactKind
from rag_core.answering.facts.words import Words
from rag_core.text.normalization import MONTH_NAMES, NormalizedWord, parse_word_forms

APPROXIMATE_SHARE = 0.05  # by which a number after "about" may differ
MIN_COMPUTED = 100  # a whole number from which a sum of two others is no chance
MAX_COMPUTED_AMOUNTS = 30
APPROXIMATE_FORMS = parse_word_forms("about nearly almost some over approximate")
# amounts of a unit in another one, so that two years are 24 months
UNIT_FACTORS: Mapping[str, tuple[str, Decimal | int]] = {
    "millisecond": ("second", Decimal("0.001")),
    "minut": ("second", 60),
    "hour": ("second", 3600),
    "day": ("second", 86_400),
    "week": ("second", 604_800),
    "fortnight": ("second", 1_209_600),
    "month": ("month", 1),
    "quarter": ("month", 3),
    "year": ("month", 12),
    "decad": ("month", 120),
    "century": ("month", 1200),
    "microgram": ("gram", Decimal("0.000001")),
    "milligram": ("gram", Decimal("0.001")),
    "kilogram": ("gram", 1000),
    "milliliter": ("liter", Decimal("0.001")),
    "kilowatt": ("watt", 1000),
    "megawatt": ("watt", 1_000_000),
    "kilohertz": ("hertz", 1000),
    "megahertz": ("hertz", 1_000_000),
    "gigahertz": ("hertz", 1_000_000_000),
    "kilometer": ("meter", 1000),
    "centimeter": ("meter", Decimal("0.01")),
    "millimeter": ("meter", Decimal("0.001")),
    "terabyt": ("megabyt", 1_000_000),
    "gigabyt": ("megabyt", 1000),
    "kilobyt": ("megabyt", Decimal("0.001")),
}
UNIT_FORMS = parse_word_forms(
    "second minute hour day week month quarter year decade century percent mile kilometer meter foot inch yard gallon "
    "liter milliliter pound kilogram gram milligram microgram ton atmosphere acre hectare degree volt amp watt "
    "kilowatt megawatt hertz kilohertz megahertz gigahertz ohm megabyte gigabyte kilobyte terabyte token millisecond"
)
AMOUNT_UNIT_FORMS = frozenset(UNIT_FACTORS) | parse_word_forms(
    "percent usd gbp eur jpy second meter gram mm cm km foot inch yard mile acre hectare pound ton megabyte volt amp "
    "watt hertz bar degree celsius fahrenheit word page point liter ohm token"
)
_COUNT = "(?:an?|one|two|three|four|five|six|seven|eight|nine|ten)"
FRACTION = re.compile(
    rf"\b{_COUNT}[ -](?:half|third|quarter|fifth|tenth)s? of\b|\b{_COUNT} (?:in|out of)(?: every)? {_COUNT}\b",
    re.IGNORECASE,
)


HALVES = {"year": "6 months", "day": "12 hours", "hour": "30 minutes", "decade": "5 years", "century": "50 years"}
HALF = re.compile(rf"\bhalf an? ({'|'.join(HALVES)})\b", re.IGNORECASE)


def rewrite_fractions(text: str) -> str:
    """Return a text with "6 months" for "half a year", and without "a quarter of" and "two in five".

    The last two are what other texts write as a percentage.
    """
    return FRACTION.sub(" ", HALF.sub(lambda half: HALVES[half[1].lower()], text))


@dataclass(frozen=True, slots=True)
class _Amount:
    """A number with its unit, "" for none, and both as written; `base` is the amount in the unit's base unit."""

    value: Decimal
    unit: str
    word: str
    text: str
    index: int

    @property
    def kind(self) -> str:
        """What may be compared: the base unit, "year" for the number of a year, else ""."""
        if not self.unit and 1500 <= self.value <= 2100 and len(self.word) == 4:
            return "year"
        return UNIT_FACTORS.get(self.unit, (self.unit, 1))[0]

    @property
    def base(self) -> Decimal:
        return self.value * UNIT_FACTORS.get(self.unit, ("", 1))[1]


def compare_amounts(claim: Words, passage: Words) -> Iterator[FactConflict]:
    stated, claimed = list(_find_amounts(passage)), list(_find_amounts(claim))
    for amount in claimed:
        same_value = [other for other in stated if other.value == amount.value]
        same_kind = [other for other in stated if other.kind == amount.kind]
        if (
            any(_is_equal(amount, other, claim) for other in same_kind)
            or (same_value and not (amount.unit and all(other.unit for other in same_value)))
            or _is_computed(amount, same_kind, claimed)
        ):
            continue
        if same_value:
            yield FactConflict("unit", amount.text, same_value[0].text)
        else:
            kind: FactKind = "date" if amount.kind == "year" else "number"
            yield FactConflict(kind, amount.text, same_kind[0].text if same_kind else "")


def _is_equal(amount: _Amount, other: _Amount, claim: Words) -> bool:
    """Return whether two amounts of a kind are equal, rounded, or as far apart as "about" and "more than" allow."""
    if amount.base == other.base:
        return True
    if amount.kind == "year":
        return False
    before = {word.form for word in claim[max(0, amount.index - 2) : amount.index]}
    if before & APPROXIMATE_FORMS and abs(amount.base - other.base) <= APPROXIMATE_SHARE * abs(float(other.base)):
        return True
    if before & {"morethan", "over", "abov"} and amount.base < other.base <= 2 * amount.base:
        return True
    if before & {"lessthan", "under", "below"} and amount.base > other.base >= amount.base / 2:
        return True
    digits = len(amount.value.normalize().as_tuple().digits)
    return digits >= 3 and _round_to_digits(other.base, digits) == amount.base


def _is_computed(amount: _Amount, stated: Sequence[_Amount], claimed: Sequence[_Amount]) -> bool:
    """Return whether an amount is the sum or the difference of two stated ones; small ones are so by chance.

    Of a sum the claim has both parts or neither: "250 for one and 750 for two" is not computed from 250 and 500.
    """
    if abs(amount.base) < MIN_COMPUTED and amount.base == amount.base.to_integral_value():
        return False
    bases = [other.base for other in stated[:MAX_COMPUTED_AMOUNTS]]
    known = {other.base for other in claimed}
    return any(
        amount.base == a - b or (amount.base == a + b and (a in known) == (b in known))
        for a, b in permutations(bases, 2)
    )


def _round_to_digits(value: Decimal, digits: int) -> Decimal:
    return value and round(value, digits - value.adjusted() - 1)


def _find_amounts(words: Words) -> Iterator[_Amount]:
    """Yield the numbers of a text; a spelled "one" is rather a pronoun, and no amount."""
    for n, word in enumerate(words):
        value = parse_amount(word.form)
        if value is None or word.raw.lower() in ("one", "may"):
            continue
        unit = next((after for after in words[n + 1 : n + 2] if after.form in AMOUNT_UNIT_FORMS), None)
        written = dict.fromkeys((word.raw.strip(), unit.raw if unit else ""))  # "$5" is both the number and its unit
        yield _Amount(value, unit.form if unit else "", word.form, " ".join(written).strip(), n)


def parse_amount(form: str) -> Decimal | None:
    if not form.lstrip("-").replace(".", "", 1).isdecimal():
        return None
    try:
        return Decimal(form)
    except InvalidOperation:
        return None


def compare_units(claim: Words, passage: Words) -> Iterator[FactConflict]:
    """Yield the units of a claim in whose place the passage has others, as in "half a day" for "half an hour"."""
    amounts = {amount.unit for amount in _find_amounts(claim)}
    forms = {word.form for word in passage}
    others = [word for word in passage if word.form in UNIT_FORMS and not any(word.form == c.form for c in claim)]
    for word in claim:
        if word.form in UNIT_FORMS and word.form not in forms | amounts and others:
            yield FactConflict("unit", word.raw, others[0].raw)


def compare_months(claim: Words, passage: Words) -> Iterator[FactConflict]:
    """Yield the months of a claim that are not in the passage."""
    stated = [word for word in passage if is_month(word)]
    forms = {word.form for word in stated}
    for word in claim:
        if is_month(word) and word.form not in forms:
            yield FactConflict("date", word.raw, stated[0].raw if stated else "")


def is_month(word: NormalizedWord) -> bool:
    return word.form in MONTH_NAMES and word.raw[:1].isupper()


def compare_ranges(claim: Words, passage: Words) -> Iterator[FactConflict]:
    """Yield a change from one number to another that the passage has the other way round."""
    stated = set(_find_ranges(passage))
    for start, end in _find_ranges(claim):
        if start != end and (end, start) in stated and (start, end) not in stated:
            yield FactConflict("direction", f"from {start} to {end}", f"from {end} to {start}")


def _find_ranges(words: Words) -> Iterator[tuple[str, str]]:
    amounts = [(n, word.form) for n, word in enumerate(words) if parse_amount(word.form) is not None]
    for (start_at, start), (end_at, end) in pairwise(amounts):
        between = {word.form for word in words[start_at + 1 : end_at]}
        before = {word.form for word in words[max(0, start_at - 2) : start_at]}
        if "from" in before and "to" in between:
            yield start, end
        elif "to" in before and "from" in between:
            yield end, start
