"""Figures that a claim computes from others that it names, in one step or, with what that gives, in a second one.

A chat model that computes writes what it computes from in the same sentence, and often what is between: "shares of
7.1 %, 6.9 % and 6.5 %, on average 6.8 %". An average of two balances it may leave out.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations, pairwise, permutations

from rag_core.answering.facts.amount_reading import Amount
from rag_core.answering.facts.words import Words, has_figure, is_content_word
from rag_core.text.normalization import parse_word_forms

MIN_COMPUTED = 100  # a whole number from which a sum of two others is no chance
MIN_ROUNDED_DIGITS = 3  # of a number that may be rounded without "about"
MAX_COMPUTED_INPUTS = 8  # of a claim, from which it computes a number
MAX_COMPUTING_STEPS = 2
DAYS_OF_YEAR = 365  # by which days outstanding are computed
RISING_FORMS = parse_word_forms("rise rose risen grow grew grown increase increased climb climbed")
FALLING_FORMS = parse_word_forms("fall fell fallen drop dropped decrease decreased decline declined shrank")
AVERAGING_FORMS = parse_word_forms("average mean")
COMPOUNDING_FORMS = parse_word_forms("compound compounded cagr")
# beside which values are meant together, or one without the other
SUMMING_FORMS = parse_word_forms("together combined sum plus add added adding")
LESSENING_FORMS = parse_word_forms("less minus deducting excluding")
POINT_FORMS = parse_word_forms("percentage point points pp")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DECIMALS = re.compile(r"\d\.(\d{1,6})")


@dataclass(frozen=True, slots=True)
class _Part:
    """What a claim computes on its way from a few of its values, and seldom writes.

    Where `is_strict`, none of these values is meant by itself.
    """

    size: Decimal
    inputs: tuple[Decimal, ...]
    is_strict: bool = False


@dataclass(frozen=True, slots=True)
class _Results:
    """What follows from values and percentages, each in ascending order but `years`, by what an amount is of.

    `points` lie between percentages, `mean_share` is the mean of these, and `days` are so much of a year as one value
    is of another.
    """

    percents: Sequence[Decimal]
    values: Sequence[Decimal]
    points: Sequence[Decimal]
    mean_share: Sequence[Decimal]
    days: Sequence[Decimal]
    years: Sequence[Decimal]


def find_computed_amounts(amounts: Sequence[Amount], known: Sequence[Amount], claim: Words) -> list[Amount]:
    """Return those of a claim's amounts that follow from known ones of it, or from these and what follows from them.

    An amount may be the sum, difference or ratio of two others, the sum of all, and a percentage that one is of the
    other or differs from it, rounded as it is written; of a rise or a fall the base is the value before it. One of the
    two may be an average, a sum or a difference of values that the claim speaks of. It may be the mean of two or of
    all, the points between percentages, growth a year, and days of a year. A small whole number follows by chance,
    unless it counts the years from the first to the last that the claim names.
    """
    given = set(known)
    left = [one for one in amounts if one not in given and not _is_year(one)]
    computed: list[Amount] = []
    for _ in range(MAX_COMPUTING_STEPS if left else 0):
        results = _compute_all_results(amounts, [*known, *computed], claim)
        found = [one for one in left if _is_result(one, results, claim)]
        left = [one for one in left if one not in found]
        computed += found
    return computed


def _is_small(amount: Amount) -> bool:
    is_whole = amount.value == amount.value.to_integral_value()
    return is_whole and abs(amount.value) < MIN_COMPUTED and amount.unit != "percent"


def is_change_between(amount: Amount, before: Decimal, after: Decimal, claim: Words) -> bool:
    """Return whether an amount is the change from one value to another, in percent or as their difference.

    The words of the claim may say no other direction.
    """
    forms = {word.form for word in claim}
    wrong = FALLING_FORMS if after > before else RISING_FORMS
    if before == 0 or after == before or (forms & wrong and not forms & (FALLING_FORMS | RISING_FORMS) - wrong):
        return False
    change = 100 * (after - before) / before if amount.unit == "percent" else after - before
    return _is_written_as(amount, change)


def is_rounded(value: Decimal, exact: Decimal, digits: int, *, is_about: bool = False) -> bool:
    """Return whether a value, written with so many digits, is another one, or that rounded to MIN_ROUNDED_DIGITS up.

    One that is said to be about it may have a digit less: "about 8.4 billion".
    """
    return value == exact or (digits >= MIN_ROUNDED_DIGITS - is_about and _round_to_digits(exact, digits) == value)


def _round_to_digits(value: Decimal, digits: int) -> Decimal:
    return value and round(value, digits - value.adjusted() - 1)


def _compute_all_results(amounts: Sequence[Amount], known: Sequence[Amount], claim: Words) -> _Results:
    inputs = sorted((one for one in known if one.value and not _is_year(one)), key=lambda one: one.start)
    values = [one for one in inputs if one.unit != "percent"][:MAX_COMPUTED_INPUTS]
    shares = [one for one in inputs if one.unit == "percent"][:MAX_COMPUTED_INPUTS]
    sizes, percents = _list_sizes(values), _list_sizes(shares)
    forms = {word.form for word in claim}
    pairs = [*_list_pairs(values, amounts, claim), *permutations(percents, 2)]
    averaged = (sizes, *combinations(sizes, 2)) if forms & AVERAGING_FORMS else ()
    means = [_compute_mean(some) for some in averaged if len(some) > 1]
    span = _count_years(claim)
    growth = _compute_yearly_growth(pairs, span, forms) if forms & COMPOUNDING_FORMS and span > 1 else ()
    return _Results(
        sorted([*_compute_shares(pairs, forms), *growth]),
        sorted([*means, *_compute_sums_and_ratios(sizes, pairs)]),
        sorted(abs(a - b) for a, b in combinations(percents, 2)),
        [_compute_mean(percents)] if forms & AVERAGING_FORMS and len(percents) > 1 else [],
        sorted(DAYS_OF_YEAR * a / b for a, b in pairs),
        [Decimal(span), Decimal(span + 1)] if span else [],
    )


def _is_result(amount: Amount, results: _Results, claim: Words) -> bool:
    """Return whether an amount is one of the results as it is written.

    A mean of percentages, and points between them, may differ by what was rounded before.
    """
    roughly = replace(amount, is_about=True)
    if _is_small(amount):
        return amount.unit == "year" and amount.value in results.years
    if amount.unit == "percent":
        is_exact = _is_among(amount, results.percents) or _is_among(amount, results.points)
        return is_exact or _is_among(roughly, results.mean_share)
    if any(word.form in POINT_FORMS for word in claim[amount.end : amount.end + 1]):
        return _is_among(roughly, results.points)
    return _is_among(amount, results.values) or (amount.unit == "day" and _is_among(amount, results.days))


def _is_among(amount: Amount, results: Sequence[Decimal]) -> bool:
    """Return whether one of the ordered results is written as the amount: only those near it are looked at."""
    size = abs(amount.value)
    reach = max(2 * _find_last_digit(amount), size / 100)
    near = results[bisect_left(results, size - reach) : bisect_right(results, size + reach)]
    return any(_is_written_as(amount, result) for result in near)


def _compute_sums_and_ratios(sizes: Sequence[Decimal], pairs: Sequence[tuple[Decimal, Decimal]]) -> Iterator[Decimal]:
    if len(sizes) > 1:
        yield sum(sizes, Decimal(0))
    yield from (result for a, b in pairs for result in (a + b, abs(a - b), a / b))


def _list_sizes(amounts: Sequence[Amount]) -> list[Decimal]:
    return list(dict.fromkeys(abs(one.value) for one in amounts))


def _list_pairs(values: Sequence[Amount], amounts: Sequence[Amount], claim: Words) -> list[tuple[Decimal, Decimal]]:
    """Return each two values, and each part of a computation beside the other values, in both orders.

    Of two values that are averaged neither is meant by itself: a ratio to the last balance is none to the average.
    """
    sizes = _list_sizes(values)
    forms = {word.form for word in claim}
    parts = list(dict.fromkeys([*_list_averages(values, amounts, claim), *_list_neighbours(sizes, forms)]))
    averaged = {size for part in parts if part.is_strict for size in part.inputs}
    plain = combinations([size for size in sizes if size not in averaged], 2)
    pairs = [*plain, *((part.size, size) for part in parts for size in sizes if size not in part.inputs)]
    return [*pairs, *((b, a) for a, b in pairs)]


def _list_averages(values: Sequence[Amount], amounts: Sequence[Amount], claim: Words) -> Iterator[_Part]:
    """Yield the averages of two values that follow a word for it before any other amount, unless one is the average.

    "On average" says of no two values that they are averaged, so that those which follow one another may be.
    """
    sizes, known = _list_sizes(values), set(values)
    for n in (n for n, word in enumerate(claim) if word.form in AVERAGING_FORMS and word.raw.lower() != "means"):
        after = [one for one in amounts if one.start > n and not _is_year(one)][:2]
        averaged = tuple(_list_sizes(after))
        if _is_adverb(n, claim):
            yield from (_Part(_compute_mean(two), two) for two in pairwise(sizes))
        elif len(averaged) == 2 and known.issuperset(after) and _are_joined(after[0], after[1], claim):
            yield _Part(_compute_mean(averaged), averaged, is_strict=not _is_mean(after[0], sizes))


def _are_joined(one: Amount, other: Amount, claim: Words) -> bool:
    """Return whether two amounts are of one measure: "of $5 and $7", "opening ($5) and closing ($7)"."""
    between = [word.form for word in claim[one.end : other.start]]
    return not between or "and" in between[-2:]


def _is_adverb(n: int, claim: Words) -> bool:
    """Return whether the word for an average is that of "on average, 7 %" and not of a return "on average assets"."""
    of_what = [word for word in claim[n + 1 : n + 2] if is_content_word(word) and not has_figure(word)]
    return n > 0 and claim[n - 1].form == "on" and not of_what


def _is_year(amount: Amount) -> bool:
    return amount.is_spelled_year or _YEAR.fullmatch(amount.text) is not None


def _is_mean(amount: Amount, sizes: Sequence[Decimal]) -> bool:
    return any(
        _is_written_as(amount, _compute_mean(two)) for two in combinations(sizes, 2) if abs(amount.value) not in two
    )


def _list_neighbours(sizes: Sequence[Decimal], forms: Set[str]) -> Iterator[_Part]:
    """Yield the sums of values that follow one another, and differences of two, where the words say either."""
    if forms & SUMMING_FORMS:
        runs = (sizes[start:end] for start, end in combinations(range(len(sizes) + 1), 2) if end - start > 1)
        yield from (_Part(sum(run, Decimal(0)), tuple(run)) for run in runs)
    if forms & LESSENING_FORMS:
        yield from (_Part(abs(a - b), (a, b)) for a, b in pairwise(sizes))


def _compute_mean(sizes: Sequence[Decimal]) -> Decimal:
    return sum(sizes, Decimal(0)) / len(sizes)


def _compute_shares(pairs: Iterable[tuple[Decimal, Decimal]], forms: Set[str]) -> Iterator[Decimal]:
    """Yield what one value is of another in percent, or by how much it differs from it, as the words say."""
    is_rise, is_fall = bool(forms & RISING_FORMS), bool(forms & FALLING_FORMS)
    for a, b in pairs:
        if is_rise == is_fall:
            yield 100 * a / b
        if is_rise == is_fall or (a > b) == is_rise:
            yield 100 * abs(a - b) / b


def _count_years(claim: Words) -> int:
    """Return how many years lie between the first and the last that a claim names."""
    years = [int(word.raw) for word in claim if _YEAR.fullmatch(word.raw)]
    return max(years, default=0) - min(years, default=0)


def _compute_yearly_growth(pairs: Iterable[tuple[Decimal, Decimal]], years: int, forms: Set[str]) -> Iterator[Decimal]:
    """Yield by how much a value grows or falls a year, in percent, that becomes another in so many years."""
    is_rise, is_fall = bool(forms & RISING_FORMS), bool(forms & FALLING_FORMS)
    for after, before in pairs:
        if is_rise == is_fall or (after > before) == is_rise:
            yield 100 * abs((after / before) ** (1 / Decimal(years)) - 1)


def _is_written_as(amount: Amount, exact: Decimal) -> bool:
    """Return whether a computed value is the amount, rounded to its last digit; "about" allows one of these more."""
    last = _find_last_digit(amount)
    if last == 1 and abs(amount.value) >= MIN_COMPUTED:
        return is_rounded(abs(amount.value), abs(exact), amount.digits, is_about=amount.is_about)
    return abs(abs(exact) - abs(amount.value)) <= last * (Decimal("1.5") if amount.is_about else Decimal("0.5"))


def _find_last_digit(amount: Amount) -> Decimal:
    """Return what one more of the last written digit is worth: 0.1 for 12.3, and for 12.0."""
    written = _DECIMALS.search(amount.text) if amount.unit == "percent" else None
    return Decimal(1).scaleb(-len(written[1]) if written else int(amount.value.as_tuple().exponent))
