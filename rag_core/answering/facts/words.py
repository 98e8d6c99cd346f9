"""Normalized words compared: whether two are one word, and the part of a passage that concerns a claim."""

from collections.abc import Sequence

from rag_core.text.normalization import NormalizedWord
from rag_core.text.oppositions import NEGATION_FORMS, are_opposites
from rag_core.text.stop_words import FEEDBACK_STOP_WORDS, QUESTION_STOP_WORDS
from rag_core.text.word_relations import are_antonyms

Words = Sequence[NormalizedWord]

MIN_PREFIX_CHARS = 5  # that two forms of one word share, such as "regulat" and "regulator"


def is_same_word(form: str, other: str) -> bool:
    """Return whether two forms are of one word: equal, or with the same first letters and short different endings."""
    if form == other:
        return True
    if min(len(form), len(other)) < MIN_PREFIX_CHARS or form[:MIN_PREFIX_CHARS] != other[:MIN_PREFIX_CHARS]:
        return False
    common = next((n for n, (a, b) in enumerate(zip(form, other, strict=False)) if a != b), min(len(form), len(other)))
    return max(len(form), len(other)) - common <= 4


def is_opposite(word: NormalizedWord, other: NormalizedWord) -> bool:
    """Return whether two words exclude each other in the same place of a sentence, by our own lists or by WordNet."""
    words = {word.raw.lower(), other.raw.lower()}
    return are_opposites(word.form, other.form) or (
        words.isdisjoint(FEEDBACK_STOP_WORDS) and are_antonyms(word.raw.lower(), other.raw.lower())
    )


def is_content_word(word: NormalizedWord) -> bool:
    return word.form not in QUESTION_STOP_WORDS and word.form not in NEGATION_FORMS


def has_figure(word: NormalizedWord) -> bool:
    """Return whether a word is a number or a code, for which no other word may stand."""
    return any(map(str.isdigit, word.form))


def begins_clause(word: NormalizedWord) -> bool:
    return any(sign in word.before for sign in ".!?;:")


def find_common_span(claim: Words, passage: Words) -> Words:
    """Return the part of the passage from the clause of the first word that the claim has to that of the last."""
    places = [
        n
        for n, word in enumerate(passage)
        if is_content_word(word) and any(is_same_word(word.form, c.form) for c in claim)
    ]
    if not places:
        return passage
    start, end = places[0], places[-1] + 1
    while start and not begins_clause(passage[start]):
        start -= 1
    while end < len(passage) and not begins_clause(passage[end]):
        end += 1
    return passage[start:end]
