"""The numbers of a text with their units, rates and limits.

A unit may stand in the head of a table ("BP (mmHg): 130/80"), at the end of a list ("1, 3 and 6 months") or before the
number ("EUR 12").
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from itertools import pairwise

from rag_core.answering.facts.dates import read_dates
from rag_core.answering.facts.units import TIME_UNIT_FORMS, UNIT_FACTORS, get_unit, get_unit_kind
from rag_core.answering.facts.words import Words
from rag_core.text.normalization import NormalizedWord, parse_word_forms

APPROXIMATE_FORMS = parse_word_forms("about nearly almost some approximate")
UPPER_BOUNDS = parse_word_forms("lessthan under below upto atmost maximum limit exceeding within")
LOWER_BOUNDS = parse_word_forms("morethan over above exceed exceeds exceeded atleast minimum")
_PAIR = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)([/:])(\d{1,9}(?:\.\d{1,9})?)")
_ORDINAL = re.compile(r"(\d{1,9})(?:st|nd|rd|th)")
ORDINAL_WORDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
ORDINALS = {form: n for n, name in enumerate(ORDINAL_WORDS, 1) for form in parse_word_forms(name)}
_UNIT_ADJECTIVES = parse_word_forms("calendar business working full consecutive whole more further additional")
_RATE_WORDS = frozenset(["per", "each", "every"])
_RATES = {
    form: unit
    for words, unit in (("daily", "day"), ("weekly", "week"), ("monthly", "month"), ("yearly annual annually", "year"))
    for form in parse_word_forms(words)
}
_LIST_FORMS = frozenset(["to", "and", "or", "through", "over", "by", "between"])
CURRENCIES = frozenset(["usd", "eur", "gbp", "jpy", "chf"])
_SCALES = {"thousand": 1000, "million": 10**6, "billion": 10**9}
_CLAUSE_SIGNS = frozenset(".,;:()\n|")
_THAN_BOUNDS = {  # "more than" and "less than" are words of their own
    **dict.fromkeys(("older", "longer", "later", "higher", "larger", "bigger", "heavier", "taller", "warmer"), ">"),
    **dict.fromkeys(("younger", "shorter", "earlier", "lower", "smaller", "lighter", "colder", "sooner"), "<"),
}
_YEAR_BOUNDS = {"befor": "<", "until": "<", "after": ">", "since": ">", "sinc": ">"}


@dataclass(frozen=True, slots=True)
class Amount:
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
    is_scaled: bool = False  # by what the head of its table says: "in millions"
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


def read_stated_amounts(words: Words) -> list[Amount]:
    """Return the numbers of a passage, and what else it states by them: scaled, as a share of another, one week."""
    return add_implied_amounts(words, read_amounts(words, is_stated=True))


def add_implied_amounts(words: Words, found: Sequence[Amount]) -> list[Amount]:
    """Return the numbers found in a passage and what it states by them, see `read_stated_amounts`."""
    scale = next((factor for n, word in enumerate(words) if (factor := _read_scale(words, n))), 1)
    scaled = [replace(a, value=a.value * scale, is_scaled=True) for a in found if scale > 1 and not a.is_spelled_year]
    shares = [
        replace(a, value=a.value / b.value, unit="fraction")
        for a, b in pairwise(found)
        if 0 < a.value < b.value
        and {word.form for word in words[a.end : b.start]} & {"of", "out"}
        and b.start - a.end < 3
    ]
    counted = {n for amount in found for n in range(amount.start, amount.end)}
    single = [
        Amount(Decimal(1), unit, word.raw, n, n + 1)
        for n, word in enumerate(words)
        if n not in counted and (unit := _RATES.get(word.form) or get_unit(word.form)) in TIME_UNIT_FORMS
    ]
    years = [
        Amount(Decimal(year), "", str(year), 0, 0, is_spelled_year=True)
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


def read_amounts(words: Words, *, is_stated: bool = False) -> list[Amount]:
    """Return the numbers of a text in its order, without the days of dates; a spelled "one" may be a pronoun."""
    dated = {n for date in read_dates(words) for n in date.indices}
    amounts: list[Amount] = []
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


def _read_amount(words: Words, n: int, head: str, *, is_stated: bool) -> Iterator[Amount]:
    """Yield the number at `n`, or both of a pair, with the unit after or before it, or of the head of its table."""
    word = words[n]
    values = _parse_values(word.form)
    if is_stated and word.form in ORDINALS and not _is_unit_of_time(words, n):
        values = [Decimal(ORDINALS[word.form])]
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
    is_year = not unit and len(word.form) == 4 and "," not in word.raw and 1500 <= values[0] <= 2100
    for number, value in enumerate(values):
        yield Amount(
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
    if len(before) == 2 and before[1].form == "than":
        return _THAN_BOUNDS.get(before[0].raw.lower(), "")
    following = [other.raw.lower() for other in after]
    if following[:1] in (["or"], ["and"]):
        return {"more": ">", "over": ">", "above": ">", "higher": ">", "older": ">", "less": "<", "below": "<"}.get(
            "".join(following[1:2]), ""
        )
    return ""


def _share_units(words: Words, amounts: Sequence[Amount]) -> list[Amount]:
    """Return the numbers, those of a list or range with the unit of its end: "1, 3 and 6 months"."""
    shared = list(amounts)
    for n in range(len(shared) - 2, -1, -1):
        one, other = shared[n], shared[n + 1]
        between = [word.form for word in words[one.end : other.start]]
        is_list = len(between) < 2 and set(between) <= _LIST_FORMS and one.start != other.start
        is_closed = any(")" in word.before for word in words[one.end : other.start])
        is_ended = is_closed or any(sign in words[other.start].before for sign in ".;:()\n|")
        if not is_list or is_ended or one.unit or one.is_spelled_year:
            continue
        factor = 60 if other.unit == "clock" else _read_magnitude(one, other)
        shared[n] = replace(one, value=one.value * factor, unit=other.unit, is_listed=bool(other.unit))
    return shared


def _read_magnitude(one: Amount, other: Amount) -> int:
    """Return by what the first of two numbers is multiplied that the second says for both: "from 41 to 46 million"."""
    magnitudes = [factor for name, factor in _SCALES.items() if f" {name}" in other.text.lower()]
    return magnitudes[0] if magnitudes and one.value < _SCALES["thousand"] else 1


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
