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

from rag_core.answering import citations, local_judging
from rag_core.answering.citations import ClaimPassage
from rag_core.answering.facts.comparison import read_words
from rag_core.answering.facts.notations import rewrite_amounts
from rag_core.answering.local_judging import ExaminedClaim, is_claim_in_other_language
from rag_core.answering.overruling import CONTRADICTED_SUPPORT, UNCLEAR_SUPPORT, overrule_by_facts
from rag_core.answering.record_claims import FieldJudgement, judge_by_records
from rag_core.answering.records import Record, read_records
from rag_core.answering.table_figures import find_places_beyond
from rag_core.core.kit import Kit
from rag_core.core.model import Claim, Evidence, Finding, Judgement, Verdict
from rag_core.core.ports import ClaimToJudge, Judge
from rag_core.core.run import Run
from rag_core.text.request_memory import keep_results

VERIFICATION_TIMEOUT_S = 60.0
PASSAGES_OF_NAMED = 24  # excerpts of the evidence that a model names, four times what the judge is shown of all
VERDICT_BY_FINDING: Mapping[Finding, Verdict] = {
    "supported": "verified",
    "unclear": "partial",
    "not_stated": "unsupported",
    "contradicted": "unsupported",
}
# why a claim is not supported, where neither its facts nor the judge say more
REASON_BY_FINDING: Mapping[Finding, str] = {
    "contradicted": "contradicted: the passage says otherwise",
    "not_stated": "not stated: no passage says this",
    "unclear": "unclear: a passage is related, but may not say all of this",
}
COPIED_WORDS = "copied words"  # the judge of a claim that a passage entails word by word
COPIED_SUPPORT = 0.98  # set by hand; of fields of records, too
RECORD_FIELD = "a field of a record"  # the judge of a claim that says what a row has below a head, or "key: value"


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
    with keep_results(run.results):
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
    named: Sequence[Sequence[Evidence]] = (),
    within_s: float | None = None,
) -> list[Claim]:
    """Return the claims with their judgements; only those that are not copied are shown to the judge.

    When the judge fails, the facts decide alone, and the run says so. What a field of a record says is decided by it.
    `named` is the evidence that a model says its claims rest on: the judge, who is shown the excerpts that share most
    words with a claim, reads all of it where it finds no claim stated, because the whole answer would be lost.
    """
    within_s = within_s or VERIFICATION_TIMEOUT_S
    with keep_results(run.results):
        judged = await _judge_by_excerpts(cited, evidence, kit, run, question, within_s)
        is_lost = all(claim.verdict == "unsupported" for claim in judged)
        is_unstated = any(claim.judgement and claim.judgement.finding == "not_stated" for claim in judged)
        if kit.judge is None or not (named and is_lost and is_unstated):
            return judged
        read = await _judge_by_excerpts(cited, named, kit, run, question, within_s, most=PASSAGES_OF_NAMED)
    return judged if all(claim.verdict == "unsupported" for claim in read) else read


async def _judge_by_excerpts(
    cited: Sequence[Claim],
    evidence: Sequence[Sequence[Evidence]],
    kit: Kit,
    run: Run,
    question: str,
    within_s: float,
    *,
    most: int = citations.PASSAGES_FOR_JUDGE,
) -> list[Claim]:
    """Judge each claim by fields of records, by the judge who is shown `most` excerpts, or by its facts."""
    said = await asyncio.to_thread(_judge_by_fields, cited, evidence)
    fields = {n: found for n, found in said.items() if found.finding != "unclear"}
    unsettled = {n: claim for n, claim in enumerate(cited) if claim.verdict != "verified" and n not in fields}
    passages: list[Sequence[ClaimPassage]] = [()] * len(cited)
    by_claim: dict[int, Judgement | None] = {}
    if kit.judge:
        passages = await asyncio.to_thread(_collect_passages, cited, evidence, most)
        requests = {
            n: ClaimToJudge(
                claim.write_in_context(), tuple(passage.write_in_frame() for passage in passages[n]), question
            )
            for n, claim in unsettled.items()
            if passages[n] and _can_judge(kit.judge, claim, evidence[n])
        }
        judgements = await _ask_judge(list(requests.values()), kit.judge, run, within_s)
        by_claim = dict(zip(requests, judgements, strict=True))
    unjudged = [n for n in unsettled if not by_claim.get(n)]
    examined = await local_judging.examine_claims({n: (cited[n], evidence[n]) for n in unjudged}, kit, run, within_s)
    judged = [
        claim
        if n in fields
        else await asyncio.to_thread(
            _attach_judgement, claim, evidence[n], passages[n], by_claim.get(n), examined.get(n), question
        )
        for n, claim in enumerate(cited)
    ]
    return [
        _attach_field(claim, said[n]) if n in fields or (n in said and claim.verdict == "verified") else claim
        for n, claim in enumerate(judged)
    ]


def _judge_by_fields(cited: Sequence[Claim], evidence: Sequence[Sequence[Evidence]]) -> dict[int, FieldJudgement]:
    """Return what the records of its evidence say of each claim that they decide.

    Copied words stand where they are a quote of the record, or of something else.
    """
    read: dict[tuple[str, ...], list[Record]] = {}
    decided = {}
    for n, claim in enumerate(cited):
        key = tuple(f"{item.hit.chunk.id} {item.start} {item.end}" for item in evidence[n])
        if key not in read:
            read[key] = read_records(evidence[n])
        found = judge_by_records(claim, read[key])
        if found and (claim.verdict != "verified" or (found.finding != "supported" and _is_jumbled(claim, found))):
            decided[n] = found
    return decided


def _is_jumbled(claim: Claim, found: FieldJudgement) -> bool:
    """Return whether the words that verified a claim are those of the record, in another order."""
    quotes = [citation.quote for citation in claim.citations if citation.chunk_id == found.record.chunk.id]
    return bool(quotes) and all(quote in found.passage.quote and claim.text not in quote for quote in quotes)


def _attach_field(claim: Claim, found: FieldJudgement) -> Claim:
    """Return the claim with what a field of a record says of it, citing the record."""
    support = {"supported": COPIED_SUPPORT, "contradicted": CONTRADICTED_SUPPORT}.get(found.finding, UNCLEAR_SUPPORT)
    words, reasons = f"{found.field.head}: {found.field.value}", (found.conflict.reason,) if found.conflict else ()
    return _apply_judgement(claim, found.passage, Judgement(found.finding, support, None, words, reasons, RECORD_FIELD))


def _can_judge(judge: Judge, claim: Claim, evidence: Sequence[Evidence]) -> bool:
    return judge.is_multilingual or not is_claim_in_other_language(claim, evidence)


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


def _collect_passages(
    cited: Sequence[Claim], evidence: Sequence[Sequence[Evidence]], most: int
) -> list[Sequence[ClaimPassage]]:
    return [
        ()
        if claim.verdict == "verified"
        else citations.rank_passages_for_judge(claim.write_in_context(), passages, most=most)
        for claim, passages in zip(cited, evidence, strict=True)
    ]


def _attach_judgement(
    claim: Claim,
    evidence: Sequence[Evidence],
    passages: Sequence[ClaimPassage],
    found: Judgement | None,
    examined: ExaminedClaim | None,
    question: str,
) -> Claim:
    """Return the claim with its judgement and the verdict that follows from it."""
    if claim.verdict == "verified":
        quote = claim.citations[0].quote if claim.citations else ""
        return replace(claim, judgement=Judgement("supported", COPIED_SUPPORT, None, quote, (), COPIED_WORDS))
    if found is None:
        judgement, passage = local_judging.judge_by_facts(claim, evidence, examined, question)
    else:
        judgement = overrule_by_facts(claim.statement, passages, found, f"{question} {claim.context}")
        passage = None if judgement.passage is None else passages[judgement.passage]
        judgement = replace(
            judgement, words=judgement.words or local_judging.find_nearest_words(claim.statement, passage, evidence)
        )
    return _apply_judgement(claim, passage, judgement)


def _apply_judgement(claim: Claim, passage: ClaimPassage | None, judgement: Judgement) -> Claim:
    """Return the claim with the verdict of its judgement, citing the passage that decides, and with a reason."""
    if judgement.finding != "supported" and not judgement.reasons:
        judgement = replace(judgement, reasons=(REASON_BY_FINDING[judgement.finding],))
    cited = claim.citations
    decides = judgement.finding in ("supported", "contradicted")
    if passage is not None and (decides or (judgement.finding == "unclear" and not cited)):
        beyond = _find_rows_beyond(claim, passage) if judgement.finding == "supported" else []
        cited = tuple(citations.build_citation(one, judgement.support) for one in (passage, *beyond))
    elif judgement.finding == "not_stated":
        cited = ()
    return replace(
        claim,
        verdict=VERDICT_BY_FINDING[judgement.finding],
        citations=cited,
        reasons=judgement.reasons,
        judgement=judgement,
    )


def _find_rows_beyond(claim: Claim, passage: ClaimPassage) -> list[ClaimPassage]:
    """Return what else of its chunk a claim is cited with: the rows beyond the passage whose cells have its figures.

    Where they are more than a claim has citations, all from the first to the last of them are one.
    """
    words, quoted = read_words(rewrite_amounts(claim.statement)), (passage.start, passage.end)
    places = find_places_beyond(words, passage.chunk, quoted, passage.text)
    if len(places) >= citations.MAX_CITATIONS_PER_CLAIM:
        places = [(places[0][0], places[-1][1])]
    return [ClaimPassage(passage.chunk, *place, passage.chunk.content[slice(*place)], 1.0) for place in places]
