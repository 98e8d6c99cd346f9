"""Which of two opposite things a figure is, by its sign: below "Income (loss)" one in brackets is a loss."""

import re
from collections.abc import Sequence, Set
from itertools import pairwise

from rag_core.answering.facts.amount_reading import Amount
from rag_core.answering.facts.words import Words
from rag_core.text.oppositions import NEGATION_FORMS

# each line has the words of one sense, of which two stand in a label: "(Increase) decrease in inventories"
_SENSES = """income profit profits profitable earnings earned earns gain gains gained
loss losses lost deficit
increase increases increased increasing rise rises rose risen grew grow grows grown growth climbed up inc
decrease decreases decreased decreasing fall falls fell fallen drop dropped decline declines declined shrank down dec
expense expenses cost costs charge charges
provided generated brought
used consumed spent"""
_SENSE_BY_WORD = {word: n for n, line in enumerate(_SENSES.splitlines()) for word in line.split()}
_IN_BRACKETS = re.compile(r"\(\s?([^\W\d_]{2,20})\s?\)")
_WORD = re.compile(r"[^\W\d_]{2,20}")
_SIGNS = frozenset(["negative", "minus"])
_SENTENCE_ENDS = frozenset(".;\n")
Sense = tuple[int, int]  # what a figure is, and the opposite


def read_sense(label: str, *, is_negative: bool) -> Sense | None:
    """Return what a figure is below a label that has two senses, the one of negative figures in brackets, else None."""
    bracket = _IN_BRACKETS.search(label.casefold())
    negative = _SENSE_BY_WORD.get(bracket[1]) if bracket else None
    if bracket is None or negative is None:
        return None
    before, after = label[: bracket.start()].casefold(), label[bracket.end() :].casefold()
    words = [*reversed(_WORD.findall(before)), *_WORD.findall(after)]
    positive = next((_SENSE_BY_WORD[word] for word in words if word in _SENSE_BY_WORD), negative)
    if positive == negative:
        return None
    return (negative, positive) if is_negative else (positive, negative)


def is_said_otherwise(amount: Amount, senses: Set[Sense | None], claim: Words, amounts: Sequence[Amount]) -> bool:
    """Return whether the words before an amount of a claim say the opposite of every sense that its cells have.

    They are those of its sentence from the amount before it on.
    """
    if None in senses or amount.value < 0:
        return False
    start = max((other.end for other in amounts if other.end <= amount.start), default=0)
    ends = (n for n in range(start, amount.start) if not _SENTENCE_ENDS.isdisjoint(claim[n].before))
    said = _list_senses(claim[max(ends, default=start) : amount.start])
    return all(sense and sense[0] not in said and sense[1] in said for sense in senses)


def _list_senses(words: Words) -> set[int]:
    """Return the senses that words say; those of words with a sign of their own are all, so that nothing differs."""
    if any(word.raw.casefold() in _SIGNS for word in words):
        return set(_SENSE_BY_WORD.values())
    denied = {id(after) for before, after in pairwise(words) if before.form in NEGATION_FORMS}
    raw = (word.raw.strip().casefold() for word in words if id(word) not in denied)
    return {_SENSE_BY_WORD[word] for word in raw if word in _SENSE_BY_WORD}
