"""The one way by which claims get their verdicts: citations first, then the judge, and facts over both.

A claim whose words a passage has is supported by them. Any other claim is judged by the model in `Kit.judge`; without
one, or where it fails, by its facts and words alone: a fact that differs contradicts the claim, and one aligned
with its nearest statement is supported. A fact overrules the judge, too: no model's "supported" stands on another
number, date or unit.

The findings become the verdicts of the documents' wire format by VERDICT_BY_FINDING.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rag_core.answering import citations
from rag_core.answering.citations import ClaimPassage
from rag_core.answering.clauses import select_confirmed
from rag_core.answering.facts.amounts import rewrite_fractions
from rag_core.answering.facts.comparison import compute_word_share, find_contradictions, find_fact_conflicts
from rag_core.answering.facts.conflicts import FactConflict
from rag_core.answering.nearest_statement import (
    NearestStatement,
    find_aligned_conflicts,
    find_nearest_statement,
    is_light_paraphrase,
)
from rag_core.answering.statements import is_fragment
from rag_core.core.kit import Kit
from rag_core.core.model import Claim, Evidence, Finding, Judgement, Verdict
from rag_core.core.ports import ClaimToJudge, Judge, WordComparer
from rag_core.core.run import Run
from rag_core.text import languages
from rag_core.text.layout import remove_marks

VERIFICATION_TIMEOUT_S = 60.0
VERDICT_BY_FINDING: Mapping[Finding, Verdict] = {
    "supported": "verified",
    "unclear": "partial",
    "not_stated": "unsupported",
    "contradicted": "unsupported",
}
OVERRULED = "overruled"  # the kind of the reason that names a judge whose "supported" does not stand
# why a claim is not supported, where neither its facts nor the judge say more
REASON_BY_FINDING: Mapping[Finding, str] = {
    "contradicted": "contradicted: the passage says otherwise",
    "not_stated": "not stated: no passage says this",
    "unclear": "unclear: a passage is related, but may not say all of this",
}
NO_PASSAGE_REASONS = ("not stated: no passage has these words",)  # what the facts alone can say of an unrelated claim
COPIED_WORDS = "copied words"  # the judge of a claim that a passage entails word by word
ALIGNED_WORDS = "aligned words"  # of a claim that says in nearly the same words what a passage says
FACTS = "facts"  # the judge of a claim that no model has judged, or that a fact decides against the model
# of a claim that no model has judged: set by hand, not yet calibrated on labelled answers
COPIED_SUPPORT = 0.98
PARAPHRASED_SUPPORT = 0.87  # 93 of 107 that passed were true, of claims made to deceive: decision 47
UNCLEAR_SUPPORT = 0.4
CONTRADICTED_SUPPORT = 0.02
OVERRULING_KINDS = frozenset(["number", "unit", "date"])  # facts that a model's "supported" does not survive
LANGUAGE_REASONS = ("language: in another language than the passages, so not judged",)
MIN_OVERRULING_SHARE = 0.85  # share of a claim's words that a passage must have to contradict a model by such a fact
MIN_RELATED_SHARE = 0.4  # and for a second passage to be one that the claim may need


async def verify_claims(
    claims: Sequence[Claim],
    evidence: Sequence[Sequence[Evidence]],
    kit: Kit,
    run: Run,
    *,
    step: str = "verify",
    within_s: float | None = None,
) -> list[Claim]:
    """Return the claims with verdicts, judgements and citations, each compared with its own evidence.

    The cross-encoder and the judge have `within_s` seconds each, by default VERIFICATION_TIMEOUT_S.
    """
    cited = await cite_claims(claims, evidence, kit, run, step=step, within_s=within_s)
    return await judge_claims(cited, evidence, kit, run, within_s=within_s)


async def cite_claims(
    claims: Sequence[Claim],
    evidence: Sequence[Sequence[Evidence]],
    kit: Kit,
    run: Run,
    *,
    step: str = "verify",
    within_s: float | None = None,
) -> list[Claim]:
    """Return the claims with the passages that have their words, each compared with its own evidence.

    When the cross-encoder fails, the words of the passages decide alone.
    """
    cited = await run.attempt(
        step,
        citations.verify_with_cross_encoder(claims, evidence, kit.reranker),
        otherwise=None,
        fallback="citations by the words of the passages alone",
        within_s=within_s or VERIFICATION_TIMEOUT_S,
    )
    return await asyncio.to_thread(citations.verify_by_rule, claims, evidence) if cited is None else cited


async def judge_claims(
    cited: Sequence[Claim],
    evidence: Sequence[Sequence[Evidence]],
    kit: Kit,
    run: Run,
    *,
    question: str = "",
    within_s: float | None = None,
) -> list[Claim]:
    """Return the claims with their judgements; only those that are not copied are shown to the judge.

    When the judge fails, the facts decide alone, and the run says so.
    """
    passages: list[Sequence[ClaimPassage]] = [()] * len(cited)
    by_claim: dict[int, Judgement | None] = {}
    if kit.judge:
        passages = await asyncio.to_thread(_collect_passages, cited, evidence)
        requests = {
            n: ClaimToJudge(_write_in_context(claim), tuple(passage.text for passage in passages[n]), question)
            for n, claim in enumerate(cited)
            if claim.verdict != "verified" and passages[n] and _can_judge(kit.judge, claim, evidence[n])
        }
        judgements = await _ask_judge(list(requests.values()), kit.judge, run, within_s or VERIFICATION_TIMEOUT_S)
        by_claim = dict(zip(requests, judgements, strict=True))
    unjudged = [n for n, claim in enumerate(cited) if claim.verdict != "verified" and not by_claim.get(n)]
    nearest = await _find_nearest_statements({n: (cited[n], evidence[n]) for n in unjudged}, kit, run, within_s)
    return [
        await asyncio.to_thread(
            _attach_judgement, claim, evidence[n], passages[n], by_claim.get(n), nearest.get(n), question
        )
        for n, claim in enumerate(cited)
    ]


async def _find_nearest_statements(
    claims: Mapping[int, tuple[Claim, Sequence[Evidence]]], kit: Kit, run: Run, within_s: float | None
) -> Mapping[int, NearestStatement]:
    """Return the nearest statement of each claim that has one in its language; without similarities if they fail."""

    async def find_all(comparer: WordComparer | None) -> Mapping[int, NearestStatement]:
        found = {
            n: await find_nearest_statement(claim.statement, evidence, comparer)
            for n, (claim, evidence) in claims.items()
            if evidence and not _is_in_other_language(claim, evidence)
        }
        return {n: nearest for n, nearest in found.items() if nearest}

    if not kit.word_comparer or not claims:
        return await find_all(None)
    aligned = await run.attempt(
        "align",
        find_all(kit.word_comparer),
        otherwise=None,
        fallback="the same words alone",
        within_s=within_s or VERIFICATION_TIMEOUT_S,
    )
    return await find_all(None) if aligned is None else aligned


def _can_judge(judge: Judge, claim: Claim, evidence: Sequence[Evidence]) -> bool:
    return judge.is_multilingual or not _is_in_other_language(claim, evidence)


def _is_in_other_language(claim: Claim, evidence: Sequence[Evidence]) -> bool:
    return languages.is_in_other_language(claim.text, "\n".join(passage.text for passage in evidence))


async def _ask_judge(
    requests: Sequence[ClaimToJudge], judge: Judge, run: Run, within_s: float
) -> Sequence[Judgement | None]:
    """Return the judge's findings, None for those that it left out, which the run says; no call without requests."""
    if not requests:
        return []
    judgements = await run.attempt(
        "judge", judge.judge_claims(requests), otherwise=None, fallback="the facts of each claim", within_s=within_s
    )
    if judgements is None:
        return [None] * len(requests)
    missing = sum(judgement is None for judgement in judgements)
    if missing:
        reason = f"{judge.name} left out {missing} of {len(requests)} claims"
        run.degrade("judge", "judgement_missing", reason, "the facts of each claim")
    run.techniques.setdefault("judge", judge.name)
    return judgements


def _write_in_context(claim: Claim) -> str:
    """Return what a claim states, with the sentence before in brackets where it begins with a pronoun."""
    return f"({claim.context}) {claim.statement}" if claim.context else claim.statement


def _collect_passages(cited: Sequence[Claim], evidence: Sequence[Sequence[Evidence]]) -> list[Sequence[ClaimPassage]]:
    return [
        () if claim.verdict == "verified" else citations.rank_passages_for_judge(_write_in_context(claim), passages)
        for claim, passages in zip(cited, evidence, strict=True)
    ]


def _attach_judgement(
    claim: Claim,
    evidence: Sequence[Evidence],
    passages: Sequence[ClaimPassage],
    found: Judgement | None,
    nearest: NearestStatement | None,
    question: str,
) -> Claim:
    """Return the claim with its judgement and the verdict that follows from it."""
    if claim.verdict == "verified":
        quote = claim.citations[0].quote if claim.citations else ""
        return replace(claim, judgement=Judgement("supported", COPIED_SUPPORT, None, quote, (), COPIED_WORDS))
    if found is None:
        judgement, passage = _judge_by_facts(claim, evidence, nearest, question)
    else:
        judgement = _overrule_by_facts(claim.statement, passages, found, f"{question} {claim.context}")
        passage = None if judgement.passage is None else passages[judgement.passage]
        judgement = replace(judgement, words=judgement.words or _find_nearest_words(claim.statement, passage, evidence))
    return _apply_judgement(claim, passage, judgement)


def _judge_by_facts(
    claim: Claim, evidence: Sequence[Evidence], nearest: NearestStatement | None, question: str
) -> tuple[Judgement, ClaimPassage | None]:
    """Judge a claim without a model, by the statement of the evidence that is nearest to it.

    It is contradicted by another fact there, supported by nothing but other words for the same, and unclear otherwise.
    "not_stated" is a claim to which no passage is related. A claim in another language than the passages is not judged:
    it is unclear, and cites the nearest of them.
    """
    if nearest is None and evidence and _is_in_other_language(claim, evidence):
        windows = citations.rank_passages_for_judge(claim.statement, evidence)
        return Judgement("unclear", UNCLEAR_SUPPORT, None, "", LANGUAGE_REASONS, FACTS), next(iter(windows), None)
    context = f"{question} {claim.context}"
    if nearest and _is_sentence_alone(claim) and is_light_paraphrase(claim.statement, nearest, context=context):
        quote = nearest.passage.quote
        return Judgement("supported", PARAPHRASED_SUPPORT, None, quote, (), ALIGNED_WORDS), nearest.passage
    passage, conflicts = _find_conflicts(claim.statement, evidence, nearest, context)
    if passage and conflicts:
        reasons = tuple(dict.fromkeys(conflict.reason for conflict in conflicts))
        return Judgement("contradicted", CONTRADICTED_SUPPORT, None, passage.quote, reasons, FACTS), passage
    if not claim.citations and nearest and nearest.is_related:
        quote = nearest.passage.quote
        return Judgement("unclear", UNCLEAR_SUPPORT, None, quote, citations.OTHER_WORDS_REASONS, FACTS), nearest.passage
    if not claim.citations:
        words = _find_nearest_words(claim.statement, passage if passage and passage.term_share else None, evidence)
        return Judgement("not_stated", CONTRADICTED_SUPPORT, None, words, NO_PASSAGE_REASONS, FACTS), None
    quote = claim.citations[0].quote
    return Judgement("unclear", UNCLEAR_SUPPORT, None, quote, claim.reasons, FACTS), None


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


def _find_nearest_words(claim_text: str, passage: ClaimPassage | None, evidence: Sequence[Evidence]) -> str:
    """Return the words of a passage; without one, those of the evidence that share most terms with the claim.

    Where none shares any, they are the best of the evidence as a whole.
    """
    if passage is not None:
        return passage.quote
    ranked = citations.rank_passages_by_shared_terms(claim_text, evidence)
    if ranked and ranked[0].term_share:
        return ranked[0].quote
    return evidence[0].text if evidence else ""


def _overrule_by_facts(
    claim_text: str, passages: Sequence[ClaimPassage], judgement: Judgement, question: str
) -> Judgement:
    """Return the judgement, or another in place of "supported" if the claim's facts are not those of the passages.

    A number, unit or date that no related passage has makes it "contradicted", or "not_stated" if there is none in its
    place; one that only another passage than the deciding one has makes it "unclear". Any other fact must not differ
    from the deciding passage, if that has nearly all of the claim's words.
    """
    if judgement.finding != "supported":
        return judgement
    deciding = "" if judgement.passage is None else passages[judgement.passage].text
    related = (p.text for p in passages if compute_word_share(claim_text, p.text) >= MIN_RELATED_SHARE)
    missing = _find_missing_amounts(claim_text, "\n".join(dict.fromkeys([deciding, *related])), question)
    missing += find_contradictions(claim_text, deciding, context=question, min_share=MIN_OVERRULING_SHARE)
    elsewhere = _find_missing_amounts(claim_text, deciding, question)
    if not missing and not elsewhere:
        return judgement
    facts = dict.fromkeys(conflict.reason for conflict in missing or elsewhere)
    reasons = (*facts, f"{OVERRULED}: {judgement.judge} found it supported")
    if not missing:
        return replace(judgement, finding="unclear", support=UNCLEAR_SUPPORT, reasons=reasons, judge=FACTS)
    finding: Finding = "contradicted" if any(conflict.stated for conflict in missing) else "not_stated"
    return replace(judgement, finding=finding, support=CONTRADICTED_SUPPORT, reasons=reasons, judge=FACTS)


def _find_missing_amounts(claim_text: str, passage_text: str, question: str) -> list[FactConflict]:
    found = find_fact_conflicts(rewrite_fractions(claim_text), passage_text, context=question)
    return [conflict for conflict in found if conflict.kind in OVERRULING_KINDS]


def _apply_judgement(claim: Claim, passage: ClaimPassage | None, judgement: Judgement) -> Claim:
    """Return the claim with the verdict of its judgement, citing the passage that decides, and with a reason."""
    if judgement.finding != "supported" and not judgement.reasons:
        judgement = replace(judgement, reasons=(REASON_BY_FINDING[judgement.finding],))
    cited = claim.citations
    decides = judgement.finding in ("supported", "contradicted")
    if passage is not None and (decides or (judgement.finding == "unclear" and not cited)):
        cited = (citations.build_citation(passage, judgement.support),)
    elif judgement.finding == "not_stated":
        cited = ()
    return replace(
        claim,
        verdict=VERDICT_BY_FINDING[judgement.finding],
        citations=cited,
        reasons=judgement.reasons,
        judgement=judgement,
    )
