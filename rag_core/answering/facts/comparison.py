"""Facts of a claim compared with those of a passage: what differs is said with its kind and both words.

Facts are numbers with their units, dates, names, negations, directions and other oppositions, quantifiers and modal
verbs. Two texts that differ in one of them do not say the same, however many words they share; a model that finds
otherwise is overruled. Texts that agree in all of them need not say the same.
"""

import re
from collections.abc import Set
from dataclasses import replace

from rag_core.answering.facts.amounts import (
    compare_amounts,
    compare_ranges,
    compare_units,
)
from rag_core.answering.facts.conflicts import FactConflict
from rag_core.answering.facts.dates import compare_dates
from rag_core.answering.facts.names import compare_names
from rag_core.answering.facts.notations import rewrite_amounts
from rag_core.answering.facts.polarity import NO_NEGATION, compare_order, compare_polarity, compare_ways, has_negation
from rag_core.answering.facts.strength import compare_duties, compare_modals, compare_quantifiers
from rag_core.answering.facts.words import Words, is_content_word, is_same_word
from rag_core.text.normalization import normalize_words
from rag_core.text.stop_words import FEEDBACK_STOP_WORDS

MAX_FACT_CHARS, MAX_FACT_WORDS = 4_000, 200  # of either text; a longer one is compared by its first words
YES_NO_QUESTION = re.compile(
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|may|must|shall|should|will|would)\b", re.IGNORECASE
)
MIN_WORD_SHARE = 0.7  # share of a claim's words from which a passage that differs in a fact contradicts it


def find_fact_conflicts(claim: str, passage: str, *, context: str = "") -> tuple[FactConflict, ...]:
    """Return the facts of a claim that a passage does not have or contradicts, those with another fact first.

    `context` is what else the names of the claim may stand in, such as the question or the title of the document.
    """
    claim_words = read_words(rewrite_amounts(claim[:MAX_FACT_CHARS]))
    passage_words = read_words(rewrite_amounts(passage[:MAX_FACT_CHARS]))
    context_forms = frozenset(word.form for word in read_words(rewrite_amounts(context[:MAX_FACT_CHARS])))
    found = [
        *compare_facts(claim_words, passage_words, context_forms),
        *compare_names(claim_words, passage_words, context_forms),
    ]
    return tuple(sorted(dict.fromkeys(found), key=lambda conflict: not conflict.stated))


def compare_facts(claim: Words, passage: Words, context_forms: Set[str] = frozenset()) -> list[FactConflict]:
    """Return the facts of a claim's words that a passage's do not have or contradict; names are not compared."""
    amounts, polarity = [*compare_amounts(claim, passage, context_forms)], [*compare_polarity(claim, passage)]
    is_negated_once = has_negation(claim) != has_negation(passage)
    if is_negated_once and any(conflict.kind == "negation" for conflict in polarity):
        amounts = [replace(conflict, stated="") for conflict in amounts]  # "no fee at first", "a fee from year two"
    return [
        *amounts,
        *compare_dates(claim, passage),
        *compare_ranges(claim, passage),
        *polarity,
        *compare_order(claim, passage),
        *compare_ways(claim, passage),
        *compare_quantifiers(claim, passage),
        *compare_modals(claim, passage),
        *compare_duties(claim, passage),
        *compare_units(claim, passage),
    ]


def compute_word_share(claim: str, passage: str) -> float:
    """Return the share of a claim's content words that a passage has in any form and order, 0..1."""
    claim_words = [word for word in read_words(claim) if is_content_word(word)]
    passage_words = read_words(passage)
    found = sum(any(is_same_word(word.form, other.form) for other in passage_words) for word in claim_words)
    return found / max(1, len(claim_words))


def find_contradictions(claim: str, passage: str, *, context: str = "") -> list[FactConflict]:
    """Return the facts in which a passage certainly differs from a claim, MIN_WORD_SHARE of whose words it has."""
    if compute_word_share(claim, passage) < MIN_WORD_SHARE:
        return []
    return [conflict for conflict in find_fact_conflicts(claim, passage, context=context) if conflict.stated]


def is_opposite_of_asked(question: str, statement: str) -> bool:
    """Return whether a question asks what is not, or for the opposite of what a statement says.

    "What is not covered?" is not answered by what is covered. A question for yes or no is answered by either; a
    relation ("before") of a question is often one to something else in the answer.
    """
    if YES_NO_QUESTION.match(question.lstrip()):
        return False
    conflicts = [c for c in compare_polarity(read_words(question), read_words(statement)) if c.stated]
    negated = any(c.kind == "negation" and c.word != NO_NEGATION for c in conflicts)
    return negated or any(c.kind == "direction" and c.word.lower() not in FEEDBACK_STOP_WORDS for c in conflicts)


def read_words(text: str) -> Words:
    """Return the normalized words of a text by which facts are compared, at most MAX_FACT_WORDS."""
    return normalize_words(text[:MAX_FACT_CHARS])[:MAX_FACT_WORDS]
