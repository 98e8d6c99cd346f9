"""Numbers with their units, and ranges, of a claim compared with those of a passage.

A number that a passage has with another unit is not that number: "4 weeks" are no ratio of 4.
"""

from collections.abc import Iterator, Sequence, Set
from decimal import Decimal
from itertools import pairwise, permutations, takewhile

from rag_core.answering.facts.amount_reading import (
    CURRENCIES,
    ORDINAL_WORDS,
    ORDINALS,
    Amount,
    add_implied_amounts,
    parse_amount,
    read_amounts,
    read_stated_amounts,
)
from rag_core.answering.facts.computed_amounts import MIN_COMPUTED, find_computed_amounts, is_rounded
from rag_core.answering.facts.conflicts import FactConflict, FactKind
from rag_core.answering.facts.units import TIME_KINDS, TIME_UNIT_FORMS, UNIT_FACTORS, get_unit, get_unit_kind
from rag_core.answering.facts.words import Words, is_content_word, is_same_word
from rag_core.text.normalization import parse_word_forms

APPROXIMATE_SHARE = 0.05  # by which a number after "about" may differ
CONVERSION_SHARE = 0.02  # by which miles may differ from the kilometers that they are
FRACTION_POINTS = 2  # percent by which "a third" may differ from a percentage
MAX_BOUND_RATIO = Decimal("1.5")  # of a value to what it is "more than"
MAX_COMPUTED_AMOUNTS = 30
COUNTED_REACH = 3  # words after a number that say what is counted, or before it what is measured
_CLAUSE_ENDS, _SENTENCE_ENDS = frozenset(".,;:()\n|"), frozenset(".;\n|")
# words beside which a number that is the sum or difference of two others has been computed
COMPUTING_FORMS = parse_word_forms(
    "total sum altogether together combined all difference more less fewer higher lower remaining still left net "
    "saved so rise rose grow grew increase increased fall fell drop dropped decrease decreased change"
)
_BEFORE_TIMES = parse_word_forms("for after within per every each than half by in whole full calendar")
_NOON = 720  # minutes
_POUNDS = {"gbp", "pound"}


def compare_amounts(claim: Words, passage: Words, context_forms: Set[str] = frozenset()) -> Iterator[FactConflict]:
    """Yield the numbers of a claim that the passage does not have, or has with another unit.

    A number of the context, such as the question, may be one that a limit or range of the passage includes.
    """
    yield from _compare_ordinals(claim, passage)
    claimed = read_amounts(claim)
    if not claimed:
        return
    yield from _compare_restated(claim, claimed)
    written = read_amounts(passage, is_stated=True)
    stated = add_implied_amounts(passage, written)
    asked_kinds = {get_unit_kind(get_unit(form)) for form in context_forms}
    known_kinds = {get_unit_kind(get_unit(word.form)) for word in passage} | asked_kinds
    found = [one for one in claimed if any(_is_equal(one, other, known_kinds, asked_kinds) for other in stated)]
    computed = find_computed_amounts(claimed, found, claim)
    for amount in claimed:
        if (
            amount in found
            or amount in computed
            or ((is_computed := _is_computed(amount, stated, claimed)) and _is_said_to_be_computed(amount, claim))
            or (amount.unit == "fraction" and not _has_shares(amount, stated))
            or (amount.text in context_forms and _is_within_limits(amount, stated))
        ):
            continue
        same_value = [other for other in written if other.value == amount.value and _has_other_unit(amount, other)]
        same_kind = [
            other for other in written if other.kind == amount.kind and _counts_same(amount, other, claim, passage)
        ]
        if same_value and amount.unit:
            yield FactConflict("unit", amount.text, same_value[0].text)
        else:
            kind: FactKind = "date" if amount.kind == "year" else "number"
            is_open = is_computed or _is_open(amount, same_kind)
            yield FactConflict(kind, amount.text, "" if is_open else same_kind[0].text)


def _has_other_unit(amount: Amount, other: Amount) -> bool:
    """Return whether two numbers have units that may be taken for each other; a time and a mass may not."""
    is_time = (amount.kind in TIME_KINDS, other.kind in TIME_KINDS)
    return other.unit not in ("", amount.unit) and len(set(is_time)) == 1 and "time" not in (amount.unit, other.unit)


def _counts_same(amount: Amount, other: Amount, claim: Words, passage: Words) -> bool:
    """Return whether two numbers without a unit are of the same things, by the words after them.

    Where nothing is counted after either, the words before them say what they are: "withdrawn at 18".
    """
    if amount.unit or amount.is_spelled_year:
        return True
    counted, after = _list_counted(claim, amount), passage[other.end : other.end + COUNTED_REACH]
    if counted:
        stated = [word.form for word in after if is_content_word(word)]
    elif _list_counted(passage, other):
        return False
    else:
        counted, stated = _list_measured(claim, amount), _list_measured(passage, other)
    return any(is_same_word(form, word) for word in stated for form in counted)


def _list_counted(words: Words, amount: Amount) -> list[str]:
    """Return the forms of the content words after a number, up to the end of its clause."""
    after = words[amount.end : amount.end + COUNTED_REACH]
    inside = takewhile(lambda word: not any(sign in _CLAUSE_ENDS for sign in word.before), after)
    return [word.form for word in inside if is_content_word(word)]


def _list_measured(words: Words, amount: Amount) -> list[str]:
    """Return the forms of the content words before a number, from the beginning of its sentence."""
    start = max(0, amount.start - COUNTED_REACH)
    begins = [n for n in range(start, amount.start) if any(sign in _SENTENCE_ENDS for sign in words[n].before)]
    return [word.form for word in words[max(begins, default=start) : amount.start] if is_content_word(word)]


def _is_open(amount: Amount, same_kind: Sequence[Amount]) -> bool:
    """Return whether another number may be an instance of a limit of the passage, which has no other number for it."""
    if not same_kind or (amount.is_spelled_year and _is_within_limits(amount, same_kind)):
        return True
    return not amount.is_spelled_year and not amount.bound and any(other.bound for other in same_kind)


def _has_shares(amount: Amount, stated: Sequence[Amount]) -> bool:
    """Return whether a passage states fractions, or percentages that one without a limit may be: no text needs to."""
    return any(o.unit == "fraction" or (o.kind == amount.kind and not amount.bound) for o in stated)


def _compare_restated(claim: Words, claimed: Sequence[Amount]) -> Iterator[FactConflict]:
    """Yield a number in brackets that is not the one before it, though of the same kind: "half a year (12 months)"."""
    for first, second in pairwise(claimed):
        is_restated = second.start == first.end and "(" in claim[second.start].before
        is_closed = second.end == len(claim) or ")" in claim[second.end].before
        if is_restated and is_closed and first.kind and first.kind == second.kind and first.base != second.base:
            yield FactConflict("number", second.text, first.text)


def _is_equal(amount: Amount, other: Amount, known_kinds: Set[str], asked_kinds: Set[str]) -> bool:
    """Return whether a number of a claim is one of a passage.

    Where only one of them has a unit, the values must be the same; it must be of a kind that the passage or the
    question names (`known_kinds`), or, where the claim leaves out a time, that the question names.
    """
    if amount.partner is not None and other.partner != amount.partner:
        return False
    if amount.rate and other.rate and amount.rate != other.rate:
        return False
    is_money = amount.unit in CURRENCIES and not other.unit and other.is_scaled  # "2,112" of a table in millions
    if (amount.kind == other.kind or is_money or {amount.unit, other.unit} == _POUNDS) and _is_near(amount, other):
        return True
    if amount.value != other.value or (amount.unit and other.unit and not amount.is_listed):
        return False
    if amount.unit and not amount.is_listed:
        return not other.is_spelled_year and (amount.kind in known_kinds or amount.unit == "year")
    return other.kind not in TIME_KINDS or other.unit == "year" or other.kind in asked_kinds


def _is_near(amount: Amount, other: Amount) -> bool:
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
    return is_rounded(amount.base, other.base, amount.digits)


def _is_within_limits(amount: Amount, stated: Sequence[Amount]) -> bool:
    """Return whether a limit, or a range of two numbers, of the passage includes a number."""
    same_kind = [other for other in stated if not amount.unit or not other.unit or amount.kind == other.kind]
    ranges = (sorted((one.base, other.base)) for one, other in pairwise(same_kind) if one.is_listed)
    return any(
        (other.bound == ">" and amount.base >= other.base) or (other.bound == "<" and amount.base <= other.base)
        for other in same_kind
    ) or any(low <= amount.base <= high for low, high in ranges)


def _is_computed(amount: Amount, stated: Sequence[Amount], claimed: Sequence[Amount]) -> bool:
    """Return whether an amount is the sum or the difference of two stated ones.

    Of a sum the claim has both parts or neither: "250 for one and 750 for two" is not computed from 250 and 500.
    """
    bases = dict.fromkeys(other.base for other in stated if other.kind == amount.kind)
    known = {other.base for other in claimed}
    return any(
        amount.base == a - b or (amount.base == a + b and (a in known) == (b in known))
        for a, b in permutations(list(bases)[:MAX_COMPUTED_AMOUNTS], 2)
    )


def _is_said_to_be_computed(amount: Amount, claim: Words) -> bool:
    """Return whether words say that a number is computed; of a small one only "by 27", which is so by chance else."""
    is_small = abs(amount.base) < MIN_COMPUTED and amount.base == amount.base.to_integral_value()
    if amount.start and claim[amount.start - 1].form == "by":
        return True
    return not is_small and any(word.form in COMPUTING_FORMS for word in claim)


def _compare_ordinals(claim: Words, passage: Words) -> Iterator[FactConflict]:
    """Yield an ordinal of the claim in whose place, before the same word, the passage has another one."""
    stated = _find_ordinals(passage)
    values = {value for value, _ in stated}
    for value, after in _find_ordinals(claim):
        others = [other for other, noun in stated if noun == after]
        if others and value not in values:
            yield FactConflict("number", ORDINAL_WORDS[value - 1], ORDINAL_WORDS[others[0] - 1])


def _find_ordinals(words: Words) -> list[tuple[int, str]]:
    return [(ORDINALS[word.form], after.form) for word, after in pairwise(words) if word.form in ORDINALS]


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
    stated = {(amount.kind, amount.base) for amount in read_stated_amounts(passage)}
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
