"""Quantifiers and modal verbs of a claim, compared with those of a passage."""

from collections.abc import Iterator
from typing import NamedTuple

from rag_core.answering.facts.amount_reading import parse_amount
from rag_core.answering.facts.conflicts import FactConflict
from rag_core.answering.facts.words import Words, has_figure, is_content_word, is_same_word
from rag_core.text.normalization import NormalizedWord, parse_word_forms
from rag_core.text.oppositions import MODAL_BY_FORM, NEGATION_FORMS, QUANTIFIER_BY_FORM

INCLUSIVE_FORMS = parse_word_forms("both all every each any")  # what "only" in a passage denies
EXCEPTION_FORMS = parse_word_forms("but except excepting save besides")
NEGATION_REACH = 2  # words before a duty: "do not have to", "not strictly necessary"
_DUTY_FORMS = frozenset(form for form, name in MODAL_BY_FORM.items() if name == "must") | parse_word_forms("necessary")
_HAVING_FORMS = parse_word_forms("have has")  # before "to"
_NEED_FORMS = parse_word_forms("need needs")
_CONDITION_FORMS = EXCEPTION_FORMS | parse_word_forms("if unless until when where without otherwise")
WEAKER_STRENGTHS = {"all": ("most", "some"), "most": ("some",)}


class _Duty(NamedTuple):
    """The word by which a text says that something has to be done, or, with a negation, that it need not be."""

    is_lifted: bool
    text: str


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


def compare_duties(claim: Words, passage: Words) -> Iterator[FactConflict]:
    """Yield a duty that one text has and the other says nobody has: "must only be done by a nurse", "need not be".

    Only texts on the same deed, without a condition, are compared: the claim has no other word or figure.
    """
    claimed, stated = _find_duty(claim), _find_duty(passage)
    if claimed is None or stated is None or claimed.is_lifted == stated.is_lifted:
        return
    others = [word for word in claim if word.form not in _DUTY_FORMS and (is_content_word(word) or has_figure(word))]
    if all(any(is_same_word(word.form, other.form) for other in passage) for word in others):
        yield FactConflict("modality", claimed.text, stated.text)


def _find_duty(words: Words) -> _Duty | None:
    """Return what a text says has to be done, or has not; None where it says neither, both, or sets a condition.

    "must not" is no duty to do something.
    """
    forms = [word.form for word in words]
    found: list[_Duty] = []
    for n, word in enumerate(words) if _CONDITION_FORMS.isdisjoint(forms) else ():
        is_having = word.form in _HAVING_FORMS and forms[n + 1 : n + 2] == ["to"]
        if not is_having and word.form not in _DUTY_FORMS:
            continue
        is_denied = forms[n + 1 : n + 2] == ["not"]
        if is_denied and word.form not in _NEED_FORMS:
            return None
        is_lifted = is_denied or not NEGATION_FORMS.isdisjoint(forms[max(0, n - NEGATION_REACH) : n])
        found.append(_Duty(is_lifted, f"not {word.raw}" if is_lifted else word.raw))
    return found[0] if len({duty.is_lifted for duty in found}) == 1 else None


def _find_modals(words: Words) -> dict[str, NormalizedWord]:
    found: dict[str, NormalizedWord] = {}
    for n, word in enumerate(words):
        is_month = word.raw == "May" and n > 0
        is_denied = n + 1 < len(words) and words[n + 1].form == "not"  # "must not" is no duty, but what may not be
        if word.form in MODAL_BY_FORM and not is_month and not is_denied:
            found.setdefault(MODAL_BY_FORM[word.form], word)
    return found
