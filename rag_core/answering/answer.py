"""Answers from the hits of a pipeline: evidence selected, an answer drafted, and each of its sentences verified."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from rag_core.answering import citations
from rag_core.answering.drafting import (
    Draft,
    Sentence,
    Writing,
    claims,
    coverage,
    distinct,
    draft,
    extract,
    extract_by_words,
    gather,
    moved,
    relevant,
    stated,
    text_of,
)
from rag_core.core.kit import Kit
from rag_core.core.model import Answer, Claim, Confidence, Evidence, Query, Ranking
from rag_core.core.run import Run
from rag_core.prompts.screening import screen

JUDGE_S = 60.0
UNKNOWN = "I don't know: what was found does not state the answer."
FORMULA = (
    "certainty x verified x mean(relevance, coverage). certainty: the share of sentences that cite given evidence and "
    "do not hedge, 1 for sentences quoted from it; verified: the share of sentences that are verified, a partial one "
    "counting half; relevance: the cross-encoder's best score of a cited passage, 0 without a cross-encoder; "
    "coverage: the share of the question's terms in the cited passages and their titles"
)
WRITING = Writing()
WORTH = {"verified": 1.0, "partial": 0.5, "unsupported": 0.0}


async def answered(query: Query, hits: Ranking, kit: Kit, run: Run) -> Answer:
    """Answer the query from these hits by chat model or, when that fails, by extraction; refuse when neither can."""
    return await written(query.text, await _gathered(query, hits, kit, run), kit, run)


async def written(
    question: str, evidence: tuple[Evidence, ...], kit: Kit, run: Run, *, writing: Writing | None = None
) -> Answer:
    """Draft an answer from the evidence, verify its sentences, and leave out the unsupported ones.

    When none is supported, the answer is made by extraction instead. `options` default to DEFAULT_GENERATION.
    """
    answer_draft = await _drafted(question, evidence, kit, run, writing or WRITING)
    verified = await _checked(answer_draft, evidence, kit, run)
    if answer_draft.sentences and not verified:
        return await quoted(question, evidence, kit, run)
    return _concluded(question, answer_draft, verified, evidence)


async def quoted(question: str, evidence: tuple[Evidence, ...], kit: Kit, run: Run) -> Answer:
    """Answer in sentences of the evidence, without a chat model; each of them is verified, too."""
    answer_draft = await _extracted(question, evidence, kit, run)
    return _concluded(question, answer_draft, await _checked(answer_draft, evidence, kit, run), evidence)


async def _gathered(query: Query, hits: Ranking, kit: Kit, run: Run) -> tuple[Evidence, ...]:
    ranking = await run.attempt(
        "relevance",
        relevant(query.text, hits, kit.reranker),
        otherwise=hits,
        fallback="the order of the search",
        within_s=JUDGE_S,
    )
    return await fitting(query, ranking, run)


async def fitting(query: Query, ranked: Ranking, run: Run) -> tuple[Evidence, ...]:
    """Select the best `top_n` hits as evidence of at most `context_tokens` tokens, with a warning if that cuts them."""
    limit, tokens = query.top_n, query.context_tokens
    best = distinct(ranked)[:limit]
    evidence = await run.step("gather", asyncio.to_thread(gather, query.text, best, limit=limit, tokens=tokens))
    if len(evidence) < len(best) or any(passage.text != passage.hit.chunk.content for passage in evidence):
        run.warn("context_trimmed", f"cut to {tokens} tokens: {len(evidence)} of {len(best)} passages, some in part")
    return evidence


async def _drafted(query_text: str, evidence: Sequence[Evidence], kit: Kit, run: Run, options: Writing) -> Draft:
    if not evidence:
        return Draft((), True, 1.0)
    model_draft = await run.attempt(
        "answer",
        draft(query_text, evidence, kit.llm, writing=options),
        otherwise=None,
        fallback="the documents' own sentences",
        within_s=options.within_s,
    )
    return await _extracted(query_text, evidence, kit, run) if model_draft is None else model_draft


async def _extracted(query_text: str, evidence: Sequence[Evidence], kit: Kit, run: Run) -> Draft:
    extracted_draft = await run.attempt(
        "extract",
        extract(query_text, evidence, kit.reranker),
        otherwise=None,
        fallback="sentences that share terms with the question",
        within_s=JUDGE_S,
    )
    if extracted_draft is not None:
        return extracted_draft
    return await asyncio.to_thread(extract_by_words, query_text, evidence)


async def _checked(answer_draft: Draft, evidence: Sequence[Evidence], kit: Kit, run: Run) -> list[Claim]:
    """Return the draft's sentences as claims with verdicts and citations.

    Each is verified against the passages that it cites and, if these do not support it, against all evidence. The
    unsupported sentences of a model's draft are left out; an extracted one keeps all of its own.
    """
    sentences = _screened(_stated(answer_draft, evidence, run), evidence, run)
    unverified = claims([sentence.text for sentence in sentences])
    verified = await judged(unverified, [_cited(sentence, evidence) for sentence in sentences], kit, run)
    unsupported = [n for n, claim in enumerate(verified) if claim.verdict == "unsupported"]
    second_try = await judged([unverified[n] for n in unsupported], [evidence] * len(unsupported), kit, run)
    for n, claim in zip(unsupported, second_try, strict=True):
        verified[n] = claim
    if answer_draft.local:
        return verified
    supported = [claim for claim in verified if claim.verdict != "unsupported"]
    _note_unverified(len(verified) - len(supported), sentences, evidence, run)
    return moved(supported)


def _stated(answer_draft: Draft, evidence: Sequence[Evidence], run: Run) -> Sequence[Sentence]:
    """Drop a model's sentences that repeat its instructions instead of the evidence, and note that in `run`."""
    if answer_draft.local:
        return answer_draft.sentences
    kept = stated(answer_draft.sentences, evidence)
    if len(kept) < len(answer_draft.sentences):
        run.degrade("screen", "prompt_repeated", "a sentence repeats the instructions to the model", "left out")
    return kept


def _screened(sentences: Sequence[Sentence], evidence: Sequence[Evidence], run: Run) -> list[Sentence]:
    """Remove links and images that the cited evidence does not contain, and note that in `run`."""
    kept = []
    for sentence in sentences:
        text, removed = screen(sentence.text, [passage.text for passage in _cited(sentence, evidence)])
        if removed:
            run.degrade("screen", "link_removed", "a link or image is not in the cited passage", "left out")
        if text.strip():
            kept.append(replace(sentence, text=text.strip()))
    return kept


async def judged(made: Sequence[Claim], evidence: Sequence[Sequence[Evidence]], kit: Kit, run: Run) -> list[Claim]:
    """Return the claims with verdicts and citations, each compared with its own evidence (as many as claims).

    When the cross-encoder fails, the verdicts are made by rule, which verifies no claim.
    """
    verified = await run.attempt(
        "verify",
        citations.judge(made, evidence, kit.reranker),
        otherwise=None,
        fallback="citations by rule, none of them verified",
        within_s=JUDGE_S,
    )
    return await asyncio.to_thread(citations.judge_by_rule, made, evidence) if verified is None else verified


def _note_unverified(dropped: int, sentences: Sequence[Sentence], evidence: Sequence[Evidence], run: Run) -> None:
    evidence_ids = {passage.id for passage in evidence}
    invented = sum(1 for sentence in sentences if not evidence_ids.issuperset(sentence.cited))
    if dropped:
        reason = f"{dropped} of {len(sentences)} sentences are not supported by the evidence"
        run.degrade("verify", "citation_unverified", reason, "they are left out")
    if invented:
        reason = f"{invented} of {len(sentences)} sentences cite a passage that was not given"
        run.degrade("verify", "citation_unverified", reason, "they cite what supports them, or are left out")


def _cited(sentence: Sentence, evidence: Sequence[Evidence]) -> list[Evidence]:
    return [passage for passage in evidence if passage.id in sentence.cited]


def _concluded(
    query_text: str, answer_draft: Draft, verified: Sequence[Claim], evidence: tuple[Evidence, ...]
) -> Answer:
    return Answer(
        text=text_of(verified) or UNKNOWN,
        status="answered" if verified else "unknown",
        origin="extractive" if answer_draft.local else "model",
        claims=tuple(verified),
        confidence=_confidence(query_text, answer_draft.certainty, verified, evidence),
        evidence=evidence,
    )


def _confidence(
    query_text: str, certainty: float, verified: Sequence[Claim], evidence: Sequence[Evidence]
) -> Confidence:
    """Compute the confidence of an answer by CONFIDENCE_FORMULA, with its inputs rounded to four decimals."""
    cited_ids = {citation.chunk_id for claim in verified for citation in claim.citations}
    cited_evidence = [passage for passage in evidence if passage.hit.chunk.id in cited_ids]
    inputs = {
        "certainty": certainty,
        "verified": sum(WORTH[claim.verdict] for claim in verified) / max(1, len(verified)),
        "relevance": max((passage.hit.signals.get("relevance", 0.0) for passage in cited_evidence), default=0.0),
        "coverage": coverage(query_text, cited_evidence),
    }
    value = inputs["certainty"] * inputs["verified"] * (inputs["relevance"] + inputs["coverage"]) / 2
    return Confidence(round(value, 4), {name: round(number, 4) for name, number in inputs.items()}, FORMULA)
