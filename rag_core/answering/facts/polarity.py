"""Negations, opposites and the order of compared things in a claim, compared with those of a passage."""

from collections.abc import Iterator, Mapping, Set

from rag_core.answering.facts.amount_reading import ORDINALS
from rag_core.answering.facts.conflicts import FactConflict
from rag_core.answering.facts.words import (
    Words,
    begins_clause,
    find_common_span,
    has_figure,
    is_content_word,
    is_opposite,
    is_same_word,
)
from rag_core.text.normalization import NormalizedWord, parse_word_forms
from rag_core.text.oppositions import NEGATION_FORMS, SIDES_BY_FORM, are_opposites
from rag_core.text.word_relations import find_base_forms

NEGATION_REACH = 4  # words after a negation, of which the first content word is negated
NEGATED_WORDS = 2  # content words after a negation that it may concern: "not earning any yield"
OBJECT_NEGATIONS = parse_word_forms("nothing nobody nowhere none")  # which negate the word before them, too
DENYING_FORMS = parse_word_forms(  # which say themselves what another text says by a negation
    "prohibit prohibited forbid forbidden ban banned avoid avoided refuse refused deny denied fail failed lack"
)
REFUSING_FORMS = parse_word_forms("refuse refused decline declined fail failed neglect neglected")  # to do something
LIMITING_FORMS = parse_word_forms(  # beside which "not" may be said of what is left, or cancel out
    "only if unless except excepting save until till without before otherwise free"
)
NO_NEGATION = "none"  # the word of a conflict over a negation that only the passage has
OPPOSITE_WAYS = {"from": "to", "to": "from"}
WAY_REACH = 2  # words after "from" or "to"
RELATING_FORMS = parse_word_forms(  # before a "to" that leads nowhere: "an impact related to currencies"
    "related relating relative due owing attributable attributed compared according subject similar equal thanks"
)
MAX_SIDE_WORDS = 12  # of a comparison
PIVOT_FORMS = parse_word_forms("than before after over under above below preceded followed morethan lessthan")


def compare_polarity(claim: Words, passage: Words) -> Iterator[FactConflict]:
    """Yield a negation or an opposite that one text has and the other has not, unless they cancel each other out.

    It is certain where the negated word is in both texts, or where two opposites stand in the place of each other.
    """
    span = find_common_span(claim, passage)
    flips = [(word, other) for word in claim if (other := _find_opposite(word, claim, span))]
    difference = _find_negation_difference(claim, span)
    is_negated_otherwise = difference is not None or _is_denied_in_one_word(claim, span)
    if len(flips) % 2 and (is_negated_otherwise or _has_other_sides(claim, span)):
        return
    for word, other in flips:
        yield FactConflict("direction", word.raw, other.raw)
    if difference:
        yield difference


def _is_denied_in_one_word(claim: Words, passage: Words) -> bool:
    """Return whether a claim says by one word what the passage negates: "forbidden" for "not allowed"."""
    is_denied = any(word.form in DENYING_FORMS for word in claim) and not has_negation(claim)
    return is_denied and any(_is_negation(passage, n) and _concerns(passage, n, claim) for n in range(len(passage)))


def has_negation(words: Words) -> bool:
    return any(_is_negation(words, n) for n in range(len(words)))


def _has_other_sides(claim: Words, passage: Words) -> bool:
    """Return whether what a claim compares has changed sides: "B is shorter than A" for "A is longer than B"."""
    pairs = [_collect_sides(words, n) for words in (claim, passage) for n, w in enumerate(words) if w.form == "than"]
    if len(pairs) != 2:
        return False
    (left, right), (stated_left, stated_right) = pairs
    return bool(left & stated_right or right & stated_left) and not (left & stated_left or right & stated_right)


def _find_negation_difference(claim: Words, passage: Words) -> FactConflict | None:
    """Return the negation that only one of the texts has, certain if the negated word is in both; None for neither."""
    claimed = [n for n in range(len(claim)) if _is_negation(claim, n)]
    stated = [n for n in range(len(passage)) if _is_negation(passage, n) and _concerns(passage, n, claim)]
    if len(claimed) % 2 == len(stated) % 2:
        return None
    if claimed and not stated:
        word = claim[claimed[0]]
        is_certain = not may_be_complement(claim, passage) and any(
            is_same_word(form, other.form) for form in _find_negated(claim, claimed[0]) for other in passage
        )
        return FactConflict("negation", word.raw, "no negation" if is_certain else "")
    if stated and not claimed and any(word.form in DENYING_FORMS for word in claim):
        return None
    if stated and not claimed:
        is_certain = LIMITING_FORMS.isdisjoint(word.form for word in passage) and not _has_other_figure(claim, passage)
        return FactConflict("negation", NO_NEGATION, passage[stated[0]].raw if is_certain else "")
    return FactConflict("negation", claim[claimed[0]].raw)


def may_be_complement(claim: Words, passage: Words) -> bool:
    """Return whether what a claim negates may be what a passage leaves: "only A may", "free for the first 60 minutes".

    A negation that the passage has may have been left without its word: "a third is open, on Mondays not".
    """
    has_limit = any(word.form in LIMITING_FORMS or word.form in NEGATION_FORMS for word in passage)
    return has_limit or _has_other_figure(claim, passage)


def _has_other_figure(claim: Words, passage: Words) -> bool:
    known = {word.form for word in passage}
    return any((has_figure(word) or word.form in ORDINALS) and word.form not in known for word in claim)


def _is_negation(words: Words, n: int) -> bool:
    """Return whether a word negates another, as "not" does, and "refused" before "to sign"."""
    if words[n].form in NEGATION_FORMS:
        return True
    is_refusal = words[n].form in REFUSING_FORMS and not words[n].raw.endswith("ing")  # "failing that, to the heirs"
    return is_refusal and n + 1 < len(words) and words[n + 1].form == "to"


def _find_negated(words: Words, n: int, *, count: int = 1) -> list[str]:
    """Return the first content words after the negation at `n`, and the one before a word such as "nothing"."""
    before = [word.form for word in words[max(0, n - 1) : n] if is_content_word(word)]
    after = [word.form for word in words[n + 1 : n + 1 + NEGATION_REACH] if is_content_word(word)]
    return after[:count] + (before if words[n].form in OBJECT_NEGATIONS else [])


def _find_opposite(word: NormalizedWord, claim: Words, passage: Words) -> NormalizedWord | None:
    """Return the word of the passage that is the opposite of one of the claim; None if the passage has both or none."""
    if any(is_same_word(word.form, other.form) for other in passage):
        return None
    opposites = [other for other in passage if is_opposite(word, other)]
    if not opposites or any(_shares_side(word.form, other.form) for other in passage):
        return None
    is_said = any(find_base_forms(word.raw.lower()) & find_base_forms(other.raw.lower()) for other in passage)
    return None if is_said or any(opposites[0].form == other.form for other in claim) else opposites[0]


def _shares_side(form: str, other: str) -> bool:
    return not set(SIDES_BY_FORM.get(form, ())).isdisjoint(SIDES_BY_FORM.get(other, ()))


def _concerns(passage: Words, n: int, claim: Words) -> bool:
    """Return whether what the negation at `n` negates is in the claim, or the opposite of a word of it."""
    negated = _find_negated(passage, n, count=NEGATED_WORDS)
    return any(is_same_word(form, word.form) or are_opposites(form, word.form) for form in negated for word in claim)


def compare_order(claim: Words, passage: Words) -> Iterator[FactConflict]:
    """Yield a comparison or sequence whose sides have changed places: "A is larger than B" for "B is larger than A"."""
    for n, word in enumerate(claim):
        for m, other in enumerate(passage):
            if word.form not in PIVOT_FORMS or not is_same_word(word.form, other.form):
                continue
            left, right = _collect_sides(claim, n)
            stated_left, stated_right = _collect_sides(passage, m)
            swapped = left & stated_right, right & stated_left
            kept = left & stated_left | right & stated_right
            is_turned = any(_find_opposite(one, claim, passage) for one in claim)  # "shorter" for "longer"
            if all(swapped) and sum(map(len, swapped)) >= len(kept) and not is_turned:
                yield FactConflict("order", word.raw, " ".join(sorted(swapped[0])[:3]))
                return


def compare_ways(claim: Words, passage: Words) -> Iterator[FactConflict]:
    """Yield what the claim has as the start of a way and the passage as its end ("from the brain"), and the reverse."""
    claimed, stated = _find_ways(claim), _find_ways(passage)
    for (preposition, form), word in claimed.items():
        if (OPPOSITE_WAYS[preposition], form) in stated and (preposition, form) not in stated:
            yield FactConflict("direction", f"{preposition} {word}", f"{OPPOSITE_WAYS[preposition]} {word}")


def _find_ways(words: Words) -> Mapping[tuple[str, str], str]:
    """Return the first content word after each "from" and "to" with its form; numbers are compared as ranges."""
    found = {}
    for n, word in enumerate(words):
        if word.form not in OPPOSITE_WAYS:
            continue
        after = next((other for other in words[n + 1 : n + 1 + WAY_REACH] if is_content_word(other)), None)
        is_deed = after and after.raw.endswith("ing")  # "from answering" is no way that "to answer" is another of
        is_relation = n > 0 and words[n - 1].form in RELATING_FORMS
        if after and not is_deed and not is_relation and not any(map(str.isdigit, after.form)):
            found[word.form, after.form] = after.raw
    return found


def _collect_sides(words: Words, n: int) -> tuple[Set[str], Set[str]]:
    """Return the content words that the clause has only before, and only after, a word."""
    start, end = n, n + 1
    while start and not begins_clause(words[start]) and n - start < MAX_SIDE_WORDS:
        start -= 1
    while end < len(words) and not begins_clause(words[end]) and end - n < MAX_SIDE_WORDS:
        end += 1
    left, right = (
        {word.form for word in side if is_content_word(word)} for side in (words[start:n], words[n + 1 : end])
    )
    return left - right, right - left
