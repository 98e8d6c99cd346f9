"""What a question asks for by name or under a condition: quotes that have nothing of it are no answer.

"On Polygon", "for Ruby" and "in pregnancy" decide whether a passage on the right subject answers.
"""

from collections.abc import Sequence

from rag_core.core.model import Evidence
from rag_core.retrieval.extractive_answers import extract_name_terms
from rag_core.text.conditions import list_conditions
from rag_core.text.periods import (
    FiscalCalendar,
    compute_period_share,
    find_periods,
    read_fiscal_calendars,
    remove_periods,
)
from rag_core.text.terms import WORD_PATTERN, extract_terms


def find_unknown_names(query_text: str, evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Return the names of a question that no evidence has, its titles and headings included."""
    asked = remove_periods(query_text)
    missing = extract_name_terms(asked) - extract_evidence_terms(evidence)
    return tuple(dict.fromkeys(word for word in WORD_PATTERN.findall(asked) if extract_terms(word) & missing))


def find_unmet_conditions(query_text: str, cited: Sequence[Evidence]) -> tuple[str, ...]:
    """Return the conditions of a question that its cited passages do not have, in their words.

    A condition is what follows a preposition; one word of it in a passage, its title or headings is enough. Periods are
    none: they are compared by what they mean.
    """
    cited_terms = extract_evidence_terms(cited)
    return tuple(
        phrase
        for phrase in list_conditions(remove_periods(query_text))
        if (terms := extract_terms(phrase)) and terms.isdisjoint(cited_terms)
    )


def find_missing_periods(query_text: str, evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Return the periods of a question, as it has them, if every passage states other periods in their place."""
    asked = tuple(query_text[one.start : one.end] for one in find_periods(query_text))
    if not asked or not evidence:
        return ()
    calendars = read_fiscal_calendars((e.hit.chunk.title, e.text) for e in evidence)
    return () if any(_has_period(query_text, e, calendars[e.hit.chunk.title]) for e in evidence) else asked


def _has_period(query_text: str, passage: Evidence, calendar: FiscalCalendar | None) -> bool:
    text = " ".join((passage.hit.chunk.title, *passage.hit.chunk.heading_path, passage.text))
    return compute_period_share(query_text, text, calendar) > 0


def extract_evidence_terms(evidence: Sequence[Evidence]) -> frozenset[str]:
    """Return the terms of passages, their titles and headings."""
    parts = (part for e in evidence for part in (e.hit.chunk.title, *e.hit.chunk.heading_path, e.text))
    return extract_terms(" ".join(parts))
