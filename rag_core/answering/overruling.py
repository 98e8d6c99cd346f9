"""Facts over every judge: no model's "supported" stands on a number, unit or date that the passages do not have."""

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

from rag_core.answering.alignment import align_words
from rag_core.answering.citations import ClaimPassage
from rag_core.answering.clauses import find_clause_conflicts, select_confirmed
from rag_core.answering.facts.amount_reading import read_amounts
from rag_core.answering.facts.comparison import (
    compute_word_share,
    find_fact_conflicts,
    read_words,
)
from rag_core.answering.facts.computed_amounts import find_computed_amounts
from rag_core.answering.facts.conflicts import FactConflict
from rag_core.answering.facts.notations import rewrite_amounts
from rag_core.answering.facts.words import Words
from rag_core.answering.table_figures import FoundFigures, look_up_figures
from rag_core.core.model import Finding, Judgement

OVERRULED = "overruled"  # the kind of the reason that names a judge whose "supported" does not stand
FACTS = "facts"  # the judge of a claim that no model has judged, or that a fact decides against the model
UNCLEAR_SUPPORT = 0.4
UNQUOTED_REASON = "unclear: the judge says yes, but quotes no words of the passage"
CONTRADICTED_SUPPORT = 0.02
OVERRULING_KINDS = frozenset(["number", "unit", "date"])  # facts that a model's "supported" does not survive
FRAMED_KINDS = OVERRULING_KINDS | {"name"}  # which may stand above a passage alone
MIN_OVERRULING_SHARE = 0.85  # share of a claim's words that a passage must have to contradict a model by such a fact
MIN_RELATED_SHARE = 0.4  # and for a second passage to be one that the claim may need


def overrule_by_facts(
    claim_text: str, passages: Sequence[ClaimPassage], judgement: Judgement, question: str
) -> Judgement:
    """Return the judgement, or another in place of a yes if the claim's facts are not those of the passages.

    A number, unit or date that no related passage has makes it "contradicted", or "not_stated" if there is none in its
    place; one that only another passage than the deciding one has makes it "unclear". Any other fact must not differ
    from the deciding passage, if that has nearly all of the claim's words.
    """
    if judgement.finding != "supported" and UNQUOTED_REASON not in judgement.reasons:
        return judgement
    deciding = "" if judgement.passage is None else passages[judgement.passage].text
    alignment = align_words(read_words(claim_text), read_words(deciding), ())
    claim = read_words(rewrite_amounts(claim_text))
    related = [p for p in passages if compute_word_share(claim_text, p.text) >= MIN_RELATED_SHARE]
    frame = "" if judgement.passage is None else passages[judgement.passage].frame
    conflicts = _find_framed_conflicts(claim_text, deciding, frame, question)
    elsewhere = _select_amounts(conflicts)
    whole = "\n".join(dict.fromkeys([deciding, *(passage.text for passage in related)]))
    missing = _select_amounts(_find_framed_conflicts(claim_text, whole, frame, question)) if elsewhere else []
    if compute_word_share(claim_text, deciding) >= MIN_OVERRULING_SHARE:
        missing += select_confirmed([conflict for conflict in conflicts if conflict.stated], alignment)
    missing += _select_amounts(find_clause_conflicts(alignment))
    left_open = {conflict.word for conflict in (*missing, *elsewhere)}
    found = _look_up_figures(claim, passages, judgement, left_open)
    settled = found.placed | _list_computed(claim, [*missing, *elsewhere, *found.conflicts], found.placed)
    missing, elsewhere = ([c for c in of if c.word not in settled] for of in (missing, elsewhere))
    missing += found.conflicts
    if not missing and not elsewhere:
        return judgement
    facts = dict.fromkeys(conflict.reason for conflict in missing or elsewhere)
    reasons = (*facts, f"{OVERRULED}: {judgement.judge} found it supported")
    if not missing:
        return replace(judgement, finding="unclear", support=UNCLEAR_SUPPORT, reasons=reasons, judge=FACTS)
    finding: Finding = "contradicted" if any(conflict.stated for conflict in missing) else "not_stated"
    return replace(judgement, finding=finding, support=CONTRADICTED_SUPPORT, reasons=reasons, judge=FACTS)


def _look_up_figures(
    claim: Words, passages: Sequence[ClaimPassage], judgement: Judgement, left_open: Set[str]
) -> FoundFigures:
    """Look up the figures of a claim in the deciding passage, and those left open in the others of its document.

    What is computed from two statements stands in two passages; one whose cell agrees is enough for a figure.
    """
    if judgement.passage is None:
        return FoundFigures(frozenset(), ())
    deciding = passages[judgement.passage].chunk
    found = look_up_figures(claim, deciding)
    chunks = {one.chunk.id: one.chunk for one in passages if one.chunk.document_id == deciding.document_id}
    placed, conflicts = set(found.placed), dict.fromkeys(found.conflicts)
    for chunk in (chunk for id, chunk in chunks.items() if id != deciding.id):
        if left_open <= placed:
            break
        beyond = look_up_figures(claim, chunk)
        placed |= beyond.placed & left_open
        conflicts |= dict.fromkeys(conflict for conflict in beyond.conflicts if conflict.word in left_open)
    standing = [one for one in conflicts if one in found.conflicts or one.word not in placed]
    return FoundFigures(frozenset(placed), tuple(standing))


def _list_computed(claim: Words, conflicts: Sequence[FactConflict], placed: Set[str]) -> Set[str]:
    """Return the figures of a claim, as it has them, that follow from those without a conflict."""
    wrong = {conflict.word for conflict in conflicts} - placed
    amounts = read_amounts(claim) if wrong else []
    known = [one for one in amounts if one.text not in wrong]
    return {one.text for one in find_computed_amounts(amounts, known, claim)}


def _find_framed_conflicts(claim_text: str, text: str, frame: str, question: str) -> list[FactConflict]:
    """Return the facts of a claim that a text does not have, nor what stands above it.

    A scale, a date or a name may stand there alone: "in millions", "fiscal 2023". A text's own date counts.
    """
    conflicts = find_fact_conflicts(claim_text, text, context=question)
    if not frame or not any(conflict.kind in FRAMED_KINDS for conflict in conflicts):
        return list(conflicts)
    framed = {conflict.word for conflict in find_fact_conflicts(claim_text, f"{frame}\n{text}", context=question)}
    return [c for c in conflicts if c.word in framed or c.kind not in FRAMED_KINDS or (c.kind == "date" and c.stated)]


def _select_amounts(conflicts: Iterable[FactConflict]) -> list[FactConflict]:
    return [conflict for conflict in conflicts if conflict.kind in OVERRULING_KINDS]
