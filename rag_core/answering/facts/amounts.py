"""Numbers with their units, and ranges, of a claim compared with those of a passage.

A number that a passage has with another unit is not that number: "4 weeks" are no ratio of 4. A unit may stand in the
head of a table ("BP (mmHg): 130/80"), at the end of a list ("1, 3 and 6 months") or before the number ("EUR 12").
"""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from itertools import pairwise, permutations

from rag_core.answering.facts.conflicts import FactConflict, FactKind
from rag_core.answering.facts.dates import read_dates
from rag_core.answering.facts.units import (
    TIME_KINDS,
    TIME_UNIT_FORMS,
    UNIT_FACTORS,
    get_unit,
    get_unit_kind,
)
from rag_core.answering.facts.words import Words
from rag_core.text.normalization import NormalizedWord, parse_word_forms

APPROXIMATE_SHARE = 0.05  # by which a number after "about" may differ
CONVERSION_SHARE = 0.02  # by which miles may differ from the kilometers that they are
FRACTION_POINTS = 2  # percent by which "a third" may differ from a percentage
MAX_BOUND_RATIO = Decimal("1.5")  # of a value to what it is "more than"
MIN_ROUNDED_DIGITS = 3  # of a number that may be rounded without "about"
MIN_COMPUTED = 100  # a whole number from which a sum of two others is no chance
MAX_COMPUTED_AMOUNTS = 30
APPROXIMATE_FORMS = parse_word_forms("about nearly almost some approximate")
# words beside which a number that is the sum or difference of two others has been computed
COMPUTING_FORMS = parse_word_forms(
    "total sum altogether together combined all difference more less fewer higher lower remaining still left net "
    "saved so rise rose grow grew increase increased fall fell drop dropped decrease decreased change"
)
UPPER_BOUNDS = parse_word_forms("lessthan under below upto atmost maximum limit exceeding")
LOWER_BOUNDS = parse_word_forms("morethan over above exceed exceeds exceeded atleast minimum")
_PAIR = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)([/:])(\d{1,9}(?:\.\d{1,9})?)")
_ORDINAL = re.compile(r"(\d{1,9})(?:st|nd|rd|th)")
_ORDINAL_WORDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ORDINALS = {form: n for n, name in enumerate(_ORDINAL_WORDS, 1) for form in parse_word_forms(name)}
_UNIT_ADJECTIVES = parse_word_forms("calendar business working full consecutive whole more further additional")
_RATE_WORDS = frozenset(["per", "each", "every"])
_RATES = {
    form: unit
    for words, unit in (("daily", "day"), ("weekly", "week"), ("monthly", "month"), ("yearly annual annually", "year"))
    for form in parse_word_forms(words)
}
_BEFORE_TIMES = parse_word_forms("for after within per every each than half by in whole full calendar")
_LIST_FORMS = frozenset(["to", "and", "or", "through", "over", "by", "between"])
CURRENCIES = frozenset(["usd", "eur", "gbp", "jpy", "chf"])
_SCALES = {"thousand": 1000, "million": 10**6, "billion": 10**9}
_CLAUSE_SIGNS = frozenset(".,;:()\n|")
_YEAR_BOUNDS = {"befor": "<", "until": "<", "after": ">", "since": ">", "sinc": ">"}
_NOON = 720  # minutes
_POUNDS = {"gbp", "pound"}


@dataclass(frozen=True, slots=True)
class _Amount:
    """A number with its unit, "" for none, as written in words `start` to `end`.

    `rate` is what it is said of: "day" of "5 mg a day". `bound` is "<" or ">" for a limit, and "" for a value.
    `partner` is the other number of a pair such as 130/80.
    """

    value: Decimal
    unit: str
    text: str
    start: int
    end: int
    rate: str = ""
    bound: str = ""
    partner: Decimal | None = None
    is_about: bool = False
    is_listed: bool = False  # its unit is that of the list that it stands in
    is_spelled_year: bool = False

    @property
    def kind(self) -> str:
        """What may be compared: the base unit, "year" for the number of a year, else ""."""
        return "year" if self.is_spelled_year else get_unit_kind(self.unit)

    @property
    def base(self) -> Decimal:
        return self.value * UNIT_FACTORS[self.unit][1] if self.unit else self.value

    @property
    def digits(self) -> int:
        return len(self.value.normalize().as_tuple().digits)


def compare_amounts(claim: Words, passage: Words, context_forms: Set[str] = frozenset()) -> Iterator[FactConflict]:
    """Yield the numbers of a claim that the passage does not have, or has with another unit.

    A number of the context, such as the question, may be one that a limit or range of the passage includes.
    """
    yield from _compare_ordinals(claim, passage)
    claimed = _read_amounts(claim)
    if not claimed:
        return
    yield from _compare_restated(claim, claimed)
    stated = _read_stated_amounts(passage)
    asked_kinds = {get_unit_kind(get_unit(form)) for form in context_forms}
    known_kinds = {get_unit_kind(get_unit(word.form)) for word in passage} | asked_kinds
    for amount in claimed:
        if (
            any(_is_equal(amount, other, known_kinds, asked_kinds) for other in stated)
            or ((is_computed := _is_computed(amount, stated, claimed)) and _is_said_to_be_computed(amount, claim))
            or (amount.unit == "fraction" and not _has_shares(amount, stated))
            or (amount.text in context_forms and _is_within_limits(amount, stated))
        ):
            continue
        same_value = [other for other in stated if other.value == amount.value and other.unit != amount.unit]
        same_kind = [other for other in stated if other.kind == amount.kind]
        if same_value and amount.unit:
            yield FactConflict("unit", amount.text, same_value[0].text)
        else:
            kind: FactKind = "date" if amount.kind == "year" else "number"
            is_open = not same_kind or is_computed or (amount.is_spelled_year and _is_within_limits(amount, stated))
            yield FactConflict(kind, amount.text, "" if is_open else same_kind[0].text)


def _has_shares(amount: _Amount, stated: Sequence[_Amount]) -> bool:
    """Return whether a passage states fractions, or percentages that one without a limit may be: no text needs to."""
    return any(o.unit == "fraction" or (o.kind == amount.kind and not amount.bound) for o in stated)


def _compare_restated(claim: Words, claimed: Sequence[_Amount]) -> Iterator[FactConflict]:
    """Yield a number in brackets that is not the one before it, though of the same kind: "half a year (12 months)"."""
    for first, second in pairwise(claimed):
        is_restated = second.start == first.end and "(" in claim[second.start].before
        is_closed = second.end == len(claim) or ")" in claim[second.end].before
        if is_restated and is_closed and first.kind and first.kind == second.kind and first.base != second.base:
            yield FactConflict("number", second.text, first.text)


def _is_equal(amount: _Amount, other: _Amount, known_kinds: Set[str], asked_kinds: Set[str]) -> bool:
    """Return whether a number of a claim is one of a passage.

    Where only one of them has a unit, the values must be the same; it must be of a kind that the passage or the
    question names (`known_kinds`), or, where the claim leaves out a time, that the question names.
    """
    if amount.partner is not None and other.partner != amount.partner:
        return False
    if amount.rate and other.rate and amount.rate != other.rate:
        return False
    if (amount.kind == other.kind or {amount.unit, other.unit} == _POUNDS) and _is_near(amount, other):
        return True
    if amount.value != other.value or (amount.unit and other.unit and not amount.is_listed):
        return False
    if amount.unit and not amount.is_listed:
        return not other.is_spelled_year and (amount.kind in known_kinds or amount.unit == "year")
    return other.kind not in TIME_KINDS or other.unit == "year" or other.kind in asked_kinds


def _is_near(amount: _Amount, other: _Amount) -> bool:
    """Return whether two amounts of a kind are equal, rounded, or as far apart as "about" and "more than" allow."""
    if amount.base == other.base:
        return True
    if amount.kind == "year":
        return False
    if amount.unit == "clock":
        return abs(amount.base - other.base) == _NOON and min(amount.base, other.base) < _NOON and amount.is_about
    distance = abs(amount.base - other.base)
    if "fraction" in (amount.unit, other.unit):
        return distance <= FRACTION_POINTS
    if amount.unit != other.unit and amount.unit and distance <= CONVERSION_SHARE * abs(float(other.base)):
        return amount.kind not in TIME_KINDS
    if amount.digits >= other.digits:
        return False
    if amount.is_about and distance <= APPROXIMATE_SHARE * abs(float(other.base)):
        return True
    if amount.bound and not other.bound:
        low, high = sorted((amount.base, other.base))
        return (amount.bound == ">") == (amount.base == low) and high <= MAX_BOUND_RATIO * low
    return amount.digits >= MIN_ROUNDED_DIGITS and _round_to_digits(other.base, amount.digits) == amount.base


def _is_within_limits(amount: _Amount, stated: Sequence[_Amount]) -> bool:
    """Return whether a limit, or a range of two numbers, of the passage includes a number."""
    same_kind = [other for other in stated if not amount.unit or not other.unit or amount.kind == other.kind]
    ranges = (sorted((one.base, other.base)) for one, other in pairwise(same_kind) if one.is_listed)
    return any(
        (other.bound == ">" and amount.base >= other.base) or (other.bound == "<" and amount.base <= other.base)
        for other in same_kind
    ) or any(low <= amount.base <= high for low, high in ranges)


def _is_computed(amount: _Amount, stated: Sequence[_Amount], claimed: Sequence[_Amount]) -> bool:
    """Return whether an amount is the sum or the difference of two stated ones.

    Of a sum the claim has both parts or neither: "250 for one and 750 for two" is not computed from 250 and 500.
    """
    bases = dict.fromkeys(other.base for other in stated if other.kind == amount.kind)
    known = {other.base for other in claimed}
    return any(
        amount.base == a - b or (amount.base == a + b and (a in known) == (b in known))
        for a, b in permutations(list(bases)[:MAX_COMPUTED_AMOUNTS], 2)
    )


def _is_said_to_be_computed(amount: _Amount, claim: Words) -> bool:
    """Return whether words say that a number is computed; of a small one only "by 27", which is so by chance else."""
    is_small = abs(amount.base) < MIN_COMPUTED and amount.base == amount.base.to_integral_value()
    if amount.start and claim[amount.start - 1].form == "by":
        return True
    return not is_small and any(word.form in COMPUTING_FORMS for word in claim)


def _round_to_digits(value: Decimal, digits: int) -> Decimal:
    return value and round(value, digits - value.adjusted() - 1)


def _read_stated_amounts(words: Words) -> list[_Amount]:
    """Return the numbers of a passage, and what else it states by them: scaled, as a share of another, one week."""
    found = _read_amounts(words, is_stated=True)
    scale = next((factor for n, word in enumerate(words) if (factor := _read_scale(words, n))), 1)
    scaled = [replace(a, value=a.value * scale) for a in found if scale > 1 and not a.is_spelled_year]
    shares = [
        replace(a, value=a.value / b.value, unit="fraction")
        for a, b in pairwise(found)
        if 0 < a.value < b.value
        and {word.form for word in words[a.end : b.start]} & {"of", "out"}
        and b.start - a.end < 3
    ]
    counted = {n for amount in found for n in range(amount.start, amount.end)}
    single = [
        _Amount(Decimal(1), unit, word.raw, n, n + 1)
        for n, word in enumerate(words)
        if n not in counted and (unit := _RATES.get(word.form) or get_unit(word.form)) in TIME_UNIT_FORMS
    ]
    years = [
        _Amount(Decimal(year), "", str(year), 0, 0, is_spelled_year=True)
        for date in read_dates(words)
        for year, _, _ in date.readings
        if year
    ]
    hours = [
        replace(a, value=hour, unit="")
        for a in found
        if a.unit == "clock" and not a.value % 60
        for hour in {a.value / 60, a.value / 60 % 12}
    ]
    pairs = [replace(a, partner=b.value) for a, b in pairwise(found) if b.start - a.end < 2 and a.partner is None]
    return [*found, *scaled, *shares, *single, *years, *hours, *pairs]


def _read_scale(words: Words, n: int) -> int:
    """Return by what the figures of a table "in millions" are multiplied; 0 for another word."""
    is_head = n > 0 and (words[n - 1].form == "in" or "(" in words[n].before or get_unit(words[n - 1].form))
    return _SCALES.get(words[n].form, 0) if is_head else 0


def _read_amounts(words: Words, *, is_stated: bool = False) -> list[_Amount]:
    """Return the numbers of a text in its order, without the days of dates; a spelled "one" may be a pronoun."""
    dated = {n for date in read_dates(words) for n in date.indices}
    amounts: list[_Amount] = []
    head = ""
    for n, word in enumerate(words):
        if any(sign in word.before for sign in ";\n|"):
            head = ""
        is_head = n + 1 < len(words) and ":" in words[n + 1].before and not (n and parse_amount(words[n - 1].form))
        if is_head and (unit := get_unit(word.form)):
            head = unit
        if n not in dated:
            amounts += _read_amount(words, n, head, is_stated=is_stated)
    return _share_units(words, amounts)


def _read_amount(words: Words, n: int, head: str, *, is_stated: bool) -> Iterator[_Amount]:
    """Yield the number at `n`, or both of a pair, with the unit after or before it, or of the head of its table."""
    word = words[n]
    values = _parse_values(word.form)
    if is_stated and word.form in _ORDINALS and not _is_unit_of_time(words, n):
        values = [Decimal(_ORDINALS[word.form])]
    if not values:
        return
    unit_at = _find_unit(words, n, values[0])
    unit = get_unit(words[unit_at].form) if unit_at else ""
    if word.raw.lower() in ("one", "may") and not unit:
        return
    end = unit_at + 1 if unit_at else n + 1
    if ":" in word.form:
        values, unit = _parse_clock(words, n, values), "clock"
    elif len(values) == 1 and n + 1 < len(words) and words[n + 1].raw.lower() in ("am", "pm"):
        values, unit = _parse_clock(words, n, [values[0], Decimal(0)]), "clock"
    unit = unit or (_read_currency(words[n - 1]) if n else "") or head
    written = dict.fromkeys([word.raw.strip(), *((words[unit_at].raw.strip(),) if unit_at else ())])
    before = words[max(0, n - 2) : n]
    is_year = not unit and len(word.form) == 4 and 1500 <= values[0] <= 2100
    for number, value in enumerate(values):
        yield _Amount(
            value,
            unit,
            " ".join(written),
            n,
            end,
            _read_rate(words, end) if unit_at else _read_rate_of_count(words, end),
            _read_bound(before, word, words[end : end + 2], is_year=is_year),
            values[1] if number == 0 and len(values) == 2 else None,
            any(other.form in APPROXIMATE_FORMS for other in before),
            is_spelled_year=is_year,
        )


def _is_unit_of_time(words: Words, n: int) -> bool:
    """Return whether a "second" is no ordinal: "2 seconds", "per second"."""
    before = words[n - 1].form if n and words[n].form == "second" else ""
    return words[n].raw.lower() == "seconds" or before in _RATE_WORDS or parse_amount(before) is not None


def _read_currency(word: NormalizedWord) -> str:
    """Return the currency that a word before a number names, as in "EUR 12"; "" for none."""
    unit = get_unit(word.form)
    return unit if unit in CURRENCIES else ""


def _parse_values(form: str) -> list[Decimal]:
    """Return the numbers of a word: two of a pair such as 130/80 or 16:45, none of a code."""
    if pair := _PAIR.fullmatch(form):
        return [Decimal(pair[1]), Decimal(pair[3])]
    if ordinal := _ORDINAL.fullmatch(form):
        return [Decimal(ordinal[1])]
    value = parse_amount(form)
    return [] if value is None else [value]


def _parse_clock(words: Words, n: int, values: Sequence[Decimal]) -> list[Decimal]:
    """Return a time of day in minutes; "4:45 pm" is after noon."""
    after = words[n + 1].raw.lower() if n + 1 < len(words) else ""
    hours = values[0] + 12 if after == "pm" and values[0] < 12 else values[0]
    return [60 * hours + values[1]]


def _find_unit(words: Words, n: int, value: Decimal) -> int:
    """Return where the unit of the number at `n` stands, 0 for none: after it, a "calendar" or the number in words."""
    for m in range(n + 1, min(len(words), n + 3)):
        is_same = parse_amount(words[m].form) == value
        if any(sign in words[m].before for sign in ".,;:\n|") or ("(" in words[m].before and not is_same):
            return 0
        if get_unit(words[m].form):
            return m
        if not is_same and words[m].form not in _UNIT_ADJECTIVES:
            return 0
    return 0


def _read_rate(words: Words, at: int) -> str:
    """Return what an amount before the word at `at` is said of: "day" for "a day", "per day" and "daily"."""
    if at >= len(words) or any(sign in _CLAUSE_SIGNS for sign in words[at].before):
        return ""
    if words[at].form in _RATE_WORDS:
        return words[at + 1].form if at + 1 < len(words) else ""
    if words[at].before == "-" or words[at].form in TIME_UNIT_FORMS:  # "a" is no word of these
        return get_unit(words[at].form) or words[at].form
    return _RATES.get(words[at].form, "")


def _read_rate_of_count(words: Words, at: int) -> str:
    """Return the time that a count is said of, after what is counted: "50,000 reads a month"."""
    counted = words[at : at + 2]
    is_near = len(counted) == 2 and not any(_CLAUSE_SIGNS & set(word.before) for word in counted)
    is_time = is_near and counted[1].form in TIME_UNIT_FORMS and not counted[1].raw.lower().endswith("s")
    return counted[1].form if is_time and not get_unit(counted[0].form) else ""


def _read_bound(before: Words, word: NormalizedWord, after: Words, *, is_year: bool) -> str:
    """Return "<" or ">" for a number that is the most or the least of something, "" for any other."""
    forms = {other.form for other in before}
    if is_year and forms & _YEAR_BOUNDS.keys():
        return next(_YEAR_BOUNDS[form] for form in forms if form in _YEAR_BOUNDS)
    if forms & UPPER_BOUNDS or set("<≤") & set(word.before):
        return "<"
    if forms & LOWER_BOUNDS or set(">≥") & set(word.before):
        return ">"
    following = [other.raw.lower() for other in after]
    if following[:1] in (["or"], ["and"]):
        return {"more": ">", "over": ">", "above": ">", "higher": ">", "older": ">", "less": "<", "below": "<"}.get(
            "".join(following[1:2]), ""
        )
    return ""


def _share_units(words: Words, amounts: Sequence[_Amount]) -> list[_Amount]:
    """Return the numbers, those of a list or range with the unit of its end: "1, 3 and 6 months"."""
    shared = list(amounts)
    for n in range(len(shared) - 2, -1, -1):
        one, other = shared[n], shared[n + 1]
        between = [word.form for word in words[one.end : other.start]]
        is_list = len(between) < 2 and set(between) <= _LIST_FORMS and one.start != other.start
        is_ended = any(sign in words[other.start].before for sign in ".;:()\n|")
        if not is_list or is_ended or one.unit or one.is_spelled_year:
            continue
        factor = 60 if other.unit == "clock" else _read_magnitude(one, other)
        shared[n] = replace(one, value=one.value * factor, unit=other.unit, is_listed=bool(other.unit))
    return shared


def _read_magnitude(one: _Amount, other: _Amount) -> int:
    """Return by what the first of two numbers is multiplied that the second says for both: "from 41 to 46 million"."""
    magnitudes = [factor for name, factor in _SCALES.items() if f" {name}" in other.text.lower()]
    return magnitudes[0] if magnitudes and one.value < _SCALES["thousand"] else 1


def _compare_ordinals(claim: Words, passage: Words) -> Iterator[FactConflict]:
    """Yield an ordinal of the claim in whose place, before the same word, the passage has another one."""
    stated = _find_ordinals(passage)
    values = {value for value, _ in stated}
    for value, after in _find_ordinals(claim):
        others = [other for other, noun in stated if noun == after]
        if others and value not in values:
            yield FactConflict("number", _ORDINAL_WORDS[value - 1], _ORDINAL_WORDS[others[0] - 1])


def _find_ordinals(words: Words) -> list[tuple[int, str]]:
    return [(_ORDINALS[word.form], after.form) for word, after in pairwise(words) if word.form in _ORDINALS]


def parse_amount(form: str) -> Decimal | None:
    if not form.lstrip("-").replace(".", "", 1).isdecimal():
        return None
    try:
        return Decimal(form)
    except InvalidOperation:
        return None


def is_amount(form: str) -> bool:
    """Return whether the form of a word is a number, a pair of numbers or an ordinal in digits, and so no code."""
    return bool(_parse_values(form))


def compare_units(claim: Words, passage: Words) -> Iterator[FactConflict]:
    """Yield the times without a number of a claim in whose place the passage has others: "after a minute"."""
    named = [
        word
        for before, word in pairwise(claim)
        if word.form in TIME_UNIT_FORMS and before.form in _BEFORE_TIMES and word.raw.lower() != "second"
    ]
    forms = {word.form for word in passage}
    others = [word for word in passage if word.form in TIME_UNIT_FORMS and word.raw.lower() != "second"]
    if not others or all(word.form in forms for word in named):
        return
    stated = {(amount.kind, amount.base) for amount in _read_stated_amounts(passage)}
    for word in named:
        if word.form not in forms and UNIT_FACTORS[word.form] not in stated:
            yield FactConflict("unit", word.raw, others[0].raw)


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
