"""Claims that no judge has judged: their facts and words, and the probabilities of a small model beside them.

A fact that differs contradicts a claim; one aligned with its nearest statement is supported. Of what words leave open
the small model decides where it is sure, and facts overrule its "supported" as they do any judge's.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag_core.answering import citations
from rag_core.answering.citations import ClaimPassage
from rag_core.answering.clauses import select_confirmed
from rag_core.answering.facts.comparison import compute_word_share, find_contradictions
from rag_core.answering.facts.conflicts import FactConflict
from rag_core.answering.nearest_statement import (
    NearestStatement,
    find_aligned_conflicts,
    find_nearest_statement,
    is_light_paraphrase,
)
from rag_core.answering.overruling import CONTRADICTED_SUPPORT, FACTS, UNCLEAR_SUPPORT, overrule_by_facts
from rag_core.answering.paraphrases import find_exchange
from rag_core.answering.statements import is_fragment
from rag_core.core.kit import Kit
from rag_core.core.model import Claim, Evidence, Judgement
from rag_core.core.ports import EntailmentScorer, PassageScores, WordComparer
from rag_core.core.run import Run
from rag_core.text import languages
from rag_core.text.layout import remove_marks
from rag_core.text.oppositions import QUANTIFIER_BY_FORM

ALIGNED_WORDS = "aligned words"  # the judge of a claim that says in nearly the same words what a passage says
SMALL_MODEL = "local entailment model"
PARAPHRASED_SUPPORT = 0.87  # 93 of 107 that passed were true, of claims made to deceive: decision 47
# of the small model, from which it decides: docs/decisions/0075-a-small-entailment-model.md
MIN_SUPPORT = 0.94
MIN_CONFIRMING_SUPPORT = 0.8  # of a claim that is nearly aligned: two techniques of different kind agree
MIN_CONTRADICTION = 0.8
NO_PASSAGE_REASONS = ("not stated: no passage has these words",)  # what the facts alone can say of an unrelated claim
LANGUAGE_REASONS = ("language: in another language than the passages, so not judged",)


@dataclass(frozen=True, slots=True)
class ExaminedClaim:
    """What the local technique knows of a claim: its nearest statement, and the scores of passages that it may need."""

    nearest: NearestStatement | None
    passages: Sequence[ClaimPassage] = ()
    scores: Sequence[PassageScores] = ()


async def examine_claims(
    claims: Mapping[int, tuple[Claim, Sequence[Evidence]]], kit: Kit, run: Run, within_s: float
) -> Mapping[int, ExaminedClaim]:
    """Return what is known of each claim that is in the language of its evidence; by forms alone if a model fails."""
    readable = {
        n: (claim, evidence)
        for n, (claim, evidence) in claims.items()
        if evidence and not is_claim_in_other_language(claim, evidence)
    }

    async def examine_all(
        comparer: WordComparer | None, scorer: EntailmentScorer | None
    ) -> Mapping[int, ExaminedClaim]:
        return {n: await _examine_claim(*readable[n], comparer, scorer) for n in readable}

    if not readable or not (kit.word_comparer or kit.entailment_scorer):
        return await examine_all(None, None)
    examined = await run.attempt(
        "align",
        examine_all(kit.word_comparer, kit.entailment_scorer),
        otherwise=None,
        fallback="the same words alone",
        within_s=within_s,
    )
    return await examine_all(None, None) if examined is None else examined


async def _examine_claim(
    claim: Claim, evidence: Sequence[Evidence], comparer: WordComparer | None, scorer: EntailmentScorer | None
) -> ExaminedClaim:
    nearest = await find_nearest_statement(claim.statement, evidence, comparer)
    if scorer is None:
        return ExaminedClaim(nearest)
    text = claim.write_in_context()
    passages = await asyncio.to_thread(citations.rank_passages_for_judge, text, evidence)
    return ExaminedClaim(nearest, passages, await scorer.score_claim(text, [passage.text for passage in passages]))


def is_claim_in_other_language(claim: Claim, evidence: Sequence[Evidence]) -> bool:
    """Return whether a claim seems to be in another language than its evidence."""
    return languages.is_in_other_language(claim.text, "\n".join(passage.text for passage in evidence))


def judge_by_facts(
    claim: Claim, evidence: Sequence[Evidence], examined: ExaminedClaim | None, question: str
) -> tuple[Judgement, ClaimPassage | None]:
    """Judge a claim without a judge, by the statement of the evidence that is nearest to it.

    It is supported by nothing but other words for the same, or by the small model where no fact differs; contradicted
    by another fact, or by the model; and unclear otherwise. "not_stated" is a claim to which no passage is related. A
    claim in another language than the passages is not judged: it is unclear, and cites the nearest of them.
    """
    if examined is None and evidence:
        windows = citations.rank_passages_for_judge(claim.statement, evidence)
        return Judgement("unclear", UNCLEAR_SUPPORT, None, "", LANGUAGE_REASONS, FACTS), next(iter(windows), None)
    context = f"{question} {claim.context}"
    examined = examined or ExaminedClaim(None)
    return (
        _support_by_words(claim, examined, context)
        or _contradict_by_facts(claim, evidence, examined, context)
        or _decide_by_model(claim, examined, context)
        or _leave_open(claim, evidence, examined)
    )


_Judged = tuple[Judgement, ClaimPassage | None]


def _support_by_words(claim: Claim, examined: ExaminedClaim, context: str) -> _Judged | None:
    nearest = examined.nearest
    if nearest and _is_sentence_alone(claim) and is_light_paraphrase(claim.statement, nearest, context=context):
        quote = nearest.passage.quote
        return Judgement("supported", PARAPHRASED_SUPPORT, None, quote, (), ALIGNED_WORDS), nearest.passage
    return None


def _contradict_by_facts(
    claim: Claim, evidence: Sequence[Evidence], examined: ExaminedClaim, context: str
) -> _Judged | None:
    passage, conflicts = _find_conflicts(claim.statement, evidence, examined.nearest, context)
    if passage is None or not conflicts:
        return None
    reasons = tuple(dict.fromkeys(conflict.reason for conflict in conflicts))
    return Judgement("contradicted", CONTRADICTED_SUPPORT, None, passage.quote, reasons, FACTS), passage


def _decide_by_model(claim: Claim, examined: ExaminedClaim, context: str) -> _Judged | None:
    """Return "supported" or "contradicted" where the small model is sure, and facts say nothing else; else None."""
    if not examined.scores:
        return None
    scored = list(zip(examined.passages, examined.scores, strict=True))
    passage, scores = max(scored, key=lambda one: one[1].support)
    is_exchanged = examined.nearest and find_exchange(examined.nearest.alignment)  # which the model often misses
    if _is_enough(scores.support, claim, examined.nearest) and not is_exchanged:
        number = examined.passages.index(passage)
        found = Judgement("supported", scores.support, number, passage.quote, judge=SMALL_MODEL)
        return overrule_by_facts(claim.statement, examined.passages, found, context), passage
    passage, denied = max(scored, key=lambda one: one[1].contradiction)
    if denied.contradiction >= MIN_CONTRADICTION and not _leaves_out_only(examined.nearest):
        return Judgement("contradicted", scores.support, None, passage.quote, (), SMALL_MODEL), passage
    return None


def _is_enough(support: float, claim: Claim, nearest: NearestStatement | None) -> bool:
    """Return whether the small model supports a claim by this probability: less is needed where the words nearly do."""
    if support >= MIN_SUPPORT or support < MIN_CONFIRMING_SUPPORT or nearest is None:
        return support >= MIN_SUPPORT
    return _is_sentence_alone(claim) and nearest.is_nearly_paraphrased


def _leaves_out_only(nearest: NearestStatement | None) -> bool:
    """Return whether a claim is its nearest statement without "only": it says less, and denies nothing."""
    if nearest is None:
        return False
    claimed, stated = ([word.form for word in side] for side in (nearest.alignment.claim, nearest.alignment.passage))
    return claimed != stated and claimed == [form for form in stated if QUANTIFIER_BY_FORM.get(form) != "only"]


def _leave_open(claim: Claim, evidence: Sequence[Evidence], examined: ExaminedClaim) -> _Judged:
    support = max((scores.support for scores in examined.scores), default=UNCLEAR_SUPPORT)
    nearest = examined.nearest
    if claim.citations:
        return Judgement("unclear", support, None, claim.citations[0].quote, claim.reasons, FACTS), None
    if nearest and nearest.is_related:
        quote = nearest.passage.quote
        return Judgement("unclear", support, None, quote, citations.OTHER_WORDS_REASONS, FACTS), nearest.passage
    words = find_nearest_words(claim.statement, None, evidence)
    return Judgement("not_stated", min(support, UNCLEAR_SUPPORT), None, words, NO_PASSAGE_REASONS, FACTS), None


def _is_sentence_alone(claim: Claim) -> bool:
    """Return whether a claim is a sentence that needs no other; a list item needs its lead-in, a row its header."""
    return not claim.context and claim.statement == remove_marks(claim.text) and not is_fragment(claim.statement)


def _find_conflicts(
    claim_text: str, evidence: Sequence[Evidence], nearest: NearestStatement | None, context: str
) -> tuple[ClaimPassage | None, Sequence[FactConflict]]:
    """Return the passage with most of a claim's words and the facts that differ there, or else in the nearest one."""
    passages = citations.rank_passages_by_shared_terms(claim_text, evidence)
    passage = max(passages, key=lambda p: (compute_word_share(claim_text, p.text), -len(p.text)), default=None)
    conflicts = passage and find_contradictions(claim_text, passage.text, context=context)
    if nearest and conflicts:
        conflicts = select_confirmed(conflicts, nearest.alignment)
    if nearest and not conflicts and (aligned := find_aligned_conflicts(claim_text, nearest, context=context)):
        return nearest.passage, aligned
    return passage, conflicts or ()


def find_nearest_words(claim_text: str, passage: ClaimPassage | None, evidence: Sequence[Evidence]) -> str:
    """Return the words of a passage; without one, those of the evidence that share most terms with the claim.

    Where none shares any, they are the best of the evidence as a whole.
    """
    if passage is not None:
        return passage.quote
    ranked = citations.rank_passages_by_shared_terms(claim_text, evidence)
    if ranked and ranked[0].term_share:
        return ranked[0].quote
    return evidence[0].text if evidence else ""
