"""Sentences that are no answer because of what others say of them: superseded, amended, of another day, or excepted."""

from collections.abc import Sequence

from rag_core.retrieval.passage_sentences import PassageSentence
from rag_core.text.asked_days import read_asked_days, states_other_days
from rag_core.text.validity import Amendment, overrides, points_to_exception, read_amendment, read_clause_number

MIN_VALID_SCORE = 0.5  # of a sentence that is not superseded, from which it is the answer in place of those that are


def discount_outdated(query_text: str, candidates: Sequence[PassageSentence], scores: Sequence[float]) -> list[float]:
    """Return the scores, 0 for records of another day than asked, and for superseded sentences where others answer."""
    asked = read_asked_days(query_text)
    dated = [
        0.0 if states_other_days(asked, one.text) else score for one, score in zip(candidates, scores, strict=True)
    ]
    valid = [score for one, score in zip(candidates, dated, strict=True) if not one.is_superseded]
    if max(valid, default=0.0) < MIN_VALID_SCORE:
        return dated
    return [0.0 if one.is_superseded else score for one, score in zip(candidates, dated, strict=True)]


def replace_amended(chosen: Sequence[int], candidates: Sequence[PassageSentence]) -> list[int]:
    """Return the chosen sentences with the amendments of the same document in place of the clauses that these replace.

    Where a part of a clause is amended, both stay; of several amendments the last one of the whole clause counts, and
    those after it.
    """
    amendments = [
        (candidate.title, n, amendment)
        for n, candidate in enumerate(candidates)
        if (amendment := read_amendment(candidate.text))
    ]
    return list(dict.fromkeys(part for n in chosen for part in _amend(n, candidates, amendments)))


def _amend(
    n: int, candidates: Sequence[PassageSentence], amendments: Sequence[tuple[str, int, Amendment]]
) -> list[int]:
    number = read_clause_number(candidates[n].text)
    kept = [n]
    for title, m, amendment in amendments:
        if number and title == candidates[n].title and amendment.number == number:
            amending = [m, *_find_new_text(m, candidates)]
            if n in amending:
                return amending
            kept = amending if amendment.is_whole else [*kept, *amending]
    return kept


def _find_new_text(m: int, candidates: Sequence[PassageSentence]) -> list[int]:
    """Return the sentence after "Clause 4.2 is replaced by the following:"."""
    is_lead_in = candidates[m].text.endswith(":") and m + 1 < len(candidates)
    return [m + 1] if is_lead_in and candidates[m + 1].passage_index == candidates[m].passage_index else []


def find_exceptions(n: int, candidates: Sequence[PassageSentence]) -> list[int]:
    """Return the sentence after this one that points to its exception, and one of the document that overrides it."""
    here = candidates[n]
    after = n + 1 < len(candidates) and candidates[n + 1].passage_index == here.passage_index
    pointer = [n + 1] if after and points_to_exception(candidates[n + 1].text) else []
    overriding = [
        m for m, other in enumerate(candidates) if other.title == here.title and overrides(other.text, here.text)
    ]
    return [*pointer, *overriding[:1]]
