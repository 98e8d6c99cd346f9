"""What a question asks for by name or under a condition: quotes that have nothing of it are no answer.

"On Polygon", "for Ruby" and "in pregnancy" decide whether a passage on the right subject answers.
"""

from collections.abc import Sequence

from rag_core.core.model import Evidence
from rag_core.retrieval.extractive_answers import extract_name_terms
from rag_core.text.conditions import list_conditions
from rag_core.text.periods import remove_periods
from rag_core.text.terms import WORD_PATTERN, extract_terms


def find_unmet_conditions(query_text: str, cited: Sequence[Evidence], evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Return the conditions of a question that its cited passages do not have, and the names that no evidence has.

    A condition is what follows a preposition; one word of it in a passage, its title or headings is enough. Periods are
    none: they are compared by what they mean.
    """
    asked = remove_periods(query_text)
    cited_terms, known_terms = extract_evidence_terms(cited), extract_evidence_terms(evidence)
    missing_names = extract_name_terms(asked) - known_terms
    names = [word for word in WORD_PATTERN.findall(asked) if extract_terms(word) & missing_names]
    conditions = [
        phrase
        for phrase in list_conditions(asked)
        if (terms := extract_terms(phrase)) and terms.isdisjoint(cited_terms)
    ]
    return tuple(dict.fromkeys([*names, *conditions]))


def extract_evidence_terms(evidence: Sequence[Evidence]) -> frozenset[str]:
    """Return the terms of passages, their titles and headings."""
    parts = (part for e in evidence for part in (e.hit.chunk.title, *e.hit.chunk.heading_path, e.text))
    return extract_terms(" ".join(parts))
