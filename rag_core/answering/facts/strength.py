"""Quantifiers and modal verbs of a claim, compared with those of a passage."""

from collections.abc import Iterator

from rag_core.answering.facts.amount_reading import parse_amount
from rag_core.answering.facts.conflicts import FactConflict
from rag_core.answering.facts.words import Words
from rag_core.text.normalization import NormalizedWord, parse_word_forms
from rag_core.text.oppositions import MODAL_BY_FORM, QUANTIFIER_BY_FORM

INCLUSIVE_FORMS = parse_word_forms("both all every each any")  # what "only" in a passage denies
EXCEPTION_FORMS = parse_word_forms("but except excepting save besides")
WEAKER_STRENGTHS = {"all": ("most", "some"), "most": ("some",)}


def compare_quantifiers(claim: Words, passage: Words) -> Iterator[FactConflict]:
    """Yield a quantifier of the claim that says more than that of the passage."""
    stated = {QUANTIFIER_BY_FORM[word.form]: word for word in passage if word.form in QUANTIFIER_BY_FORM}
    if part := _find_part(passage):
        stated.setdefault("some", part)
    for word in claim:
        strength = QUANTIFIER_BY_FORM.get(word.form)
        excepts = strength == "all" and any(other.form in EXCEPTION_FORMS for other in claim)
        if strength in WEAKER_STRENGTHS and not excepts and not {strength, "all"} & stated.keys():
            instead = next((stated[name] for name in WEAKER_STRENGTHS[strength] if name in stated), None)
            if instead:
                yield FactConflict("quantity", word.raw, instead.raw)
    if "only" in stated and not any(QUANTIFIER_BY_FORM.get(word.form) == "only" for word in claim):
        every = next((word for word in claim if word.form in INCLUSIVE_FORMS), None)
        if every:
            yield FactConflict("quantity", every.raw, stated["only"].raw)


def _find_part(words: Words) -> NormalizedWord | None:
    """Return the number of a part that is less than its whole, as in "41 of the 46"; None without one."""
    for word, of, whole in zip(words, words[1:], words[2:], strict=False):
        part, total = parse_amount(word.form), parse_amount(whole.form)
        if of.form in ("of", "out") and part is not None and total is not None and part < total:
            return word
    return None


def compare_modals(claim: Words, passage: Words) -> Iterator[FactConflict]:
    """Yield a duty that the passage has as a possibility or as advice, and the reverse."""
    claimed, stated = _find_modals(claim), _find_modals(passage)
    for strength, word in claimed.items():
        others = {name: other for name, other in stated.items() if name != strength}
        if strength in stated or not others or (strength == "may" and "should" not in others and "must" not in others):
            continue
        if strength == "must" or "must" in others:
            yield FactConflict("modality", word.raw, next(iter(others.values())).raw)


def _find_modals(words: Words) -> dict[str, NormalizedWord]:
    found: dict[str, NormalizedWord] = {}
    for n, word in enumerate(words):
        is_month = word.raw == "May" and n > 0
        is_denied = n + 1 < len(words) and words[n + 1].form == "not"  # "must not" is no duty, but what may not be
        if word.form in MODAL_BY_FORM and not is_month and not is_denied:
            found.setdefault(MODAL_BY_FORM[word.form], word)
    return found
