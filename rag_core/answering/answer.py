"""From the evidence that a pipeline found to an answer of which every sentence was checked."""

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
    "counting half; relevance: the ranker's best score of a cited passage against the question, 0 without a ranker; "
    "coverage: the share of the question's terms in the cited passages and their titles"
)
WRITING = Writing()
WORTH = {"verified": 1.0, "partial": 0.5, "unsupported": 0.0}


async def answered(query: Query, hits: Ranking, kit: Kit, run: Run) -> Answer:
    """The answer to `query` from these hits: a model's, else in the documents' own sentences, else "don't know"."""
    return await written(query.text, await _gathered(query, hits, kit, run), kit, run)


async def written(
    question: str, evidence: tuple[Evidence, ...], kit: Kit, run: Run, *, writing: Writing | None = None
) -> Answer:
    """The same from this evidence."""
    drafted = await _drafted(question, evidence, kit, run, writing or WRITING)
    checked = await _checked(drafted, evidence, kit, run)
    if drafted.sentences and not checked:
        return await quoted(question, evidence, kit, run)
    return _concluded(question, drafted, checked, evidence)


async def quoted(question: str, evidence: tuple[Evidence, ...], kit: Kit, run: Run) -> Answer:
    """The same in the documents' own sentences; no model is asked."""
    drafted = await _extracted(question, evidence, kit, run)
    return _concluded(question, drafted, await _checked(drafted, evidence, kit, run), evidence)


async def _gathered(query: Query, hits: Ranking, kit: Kit, run: Run) -> tuple[Evidence, ...]:
    ranked = await run.attempt(
        "relevance",
        relevant(query.text, hits, kit.reranker),
        otherwise=hits,
        fallback="the order of the search",
        within_s=JUDGE_S,
    )
    return await fitting(query, ranked, run)


async def fitting(query: Query, ranked: Ranking, run: Run) -> tuple[Evidence, ...]:
    """The best `top_n` as evidence of at most `context_tokens`; a warning says when that cut them."""
    limit, tokens = query.top_n, query.context_tokens
    given = distinct(ranked)[:limit]
    evidence = await run.step("gather", asyncio.to_thread(gather, query.text, given, limit=limit, tokens=tokens))
    if len(evidence) < len(given) or any(passage.text != passage.hit.chunk.content for passage in evidence):
        run.warn("context_trimmed", f"cut to {tokens} tokens: {len(evidence)} of {len(given)} passages, some in part")
    return evidence


async def _drafted(question: str, evidence: Sequence[Evidence], kit: Kit, run: Run, writing: Writing) -> Draft:
    if not evidence:
        return Draft((), True, 1.0)
    drafted = await run.attempt(
        "answer",
        draft(question, evidence, kit.llm, writing=writing),
        otherwise=None,
        fallback="the documents' own sentences",
        within_s=writing.within_s,
    )
    return await _extracted(question, evidence, kit, run) if drafted is None else drafted


async def _extracted(question: str, evidence: Sequence[Evidence], kit: Kit, run: Run) -> Draft:
    drafted = await run.attempt(
        "extract",
        extract(question, evidence, kit.reranker),
        otherwise=None,
        fallback="sentences that share the question's words",
        within_s=JUDGE_S,
    )
    return await asyncio.to_thread(extract_by_words, question, evidence) if drafted is None else drafted


async def _checked(drafted: Draft, evidence: Sequence[Evidence], kit: Kit, run: Run) -> list[Claim]:
    """The sentences with verdicts and citations; a model's that nothing supports are left out."""
    sentences = _screened(_stated(drafted, evidence, run), evidence, run)
    made = claims([sentence.text for sentence in sentences])
    checked = await judged(made, [_cited(sentence, evidence) for sentence in sentences], kit, run)
    doubted = [n for n, claim in enumerate(checked) if claim.verdict == "unsupported"]
    again = await judged([made[n] for n in doubted], [evidence] * len(doubted), kit, run)
    for n, claim in zip(doubted, again, strict=True):
        checked[n] = claim
    if drafted.local:
        return checked
    supported = [claim for claim in checked if claim.verdict != "unsupported"]
    _note_unverified(len(checked) - len(supported), sentences, evidence, run)
    return moved(supported)


def _stated(drafted: Draft, evidence: Sequence[Evidence], run: Run) -> Sequence[Sentence]:
    """Without a model's sentences that repeat what it was told instead of what it was given."""
    if drafted.local:
        return drafted.sentences
    kept = stated(drafted.sentences, evidence)
    if len(kept) < len(drafted.sentences):
        run.degrade("screen", "prompt_repeated", "a sentence repeats the instructions to the model", "left out")
    return kept


def _screened(sentences: Sequence[Sentence], evidence: Sequence[Evidence], run: Run) -> list[Sentence]:
    """Without links and images that the cited evidence does not have."""
    kept = []
    for sentence in sentences:
        text, removed = screen(sentence.text, [passage.text for passage in _cited(sentence, evidence)])
        if removed:
            run.degrade("screen", "link_removed", "a link or image does not stand in the cited passage", "left out")
        if text.strip():
            kept.append(replace(sentence, text=text.strip()))
    return kept


async def judged(made: Sequence[Claim], evidence: Sequence[Sequence[Evidence]], kit: Kit, run: Run) -> list[Claim]:
    """The claims with verdicts and citations: by the ranker, else by rule, which verifies none."""
    checked = await run.attempt(
        "verify",
        citations.judge(made, evidence, kit.reranker),
        otherwise=None,
        fallback="citations by rule, none of them verified",
        within_s=JUDGE_S,
    )
    return await asyncio.to_thread(citations.judge_by_rule, made, evidence) if checked is None else checked


def _note_unverified(dropped: int, sentences: Sequence[Sentence], evidence: Sequence[Evidence], run: Run) -> None:
    given = {passage.id for passage in evidence}
    invented = sum(1 for sentence in sentences if not given.issuperset(sentence.cited))
    if dropped:
        reason = f"{dropped} of {len(sentences)} sentences are not supported by the evidence"
        run.degrade("verify", "citation_unverified", reason, "they are left out")
    if invented:
        reason = f"{invented} of {len(sentences)} sentences cite a passage that was not given"
        run.degrade("verify", "citation_unverified", reason, "they cite what supports them, or are left out")


def _cited(sentence: Sentence, evidence: Sequence[Evidence]) -> list[Evidence]:
    return [passage for passage in evidence if passage.id in sentence.cited]


def _concluded(question: str, drafted: Draft, checked: Sequence[Claim], evidence: tuple[Evidence, ...]) -> Answer:
    return Answer(
        text=text_of(checked) or UNKNOWN,
        status="answered" if checked else "unknown",
        origin="extractive" if drafted.local else "model",
        claims=tuple(checked),
        confidence=_confidence(question, drafted.certainty, checked, evidence),
        evidence=evidence,
    )


def _confidence(question: str, certainty: float, checked: Sequence[Claim], evidence: Sequence[Evidence]) -> Confidence:
    cited = {citation.chunk_id for claim in checked for citation in claim.citations}
    relied = [passage for passage in evidence if passage.hit.chunk.id in cited]
    inputs = {
        "certainty": certainty,
        "verified": sum(WORTH[claim.verdict] for claim in checked) / max(1, len(checked)),
        "relevance": max((passage.hit.signals.get("relevance", 0.0) for passage in relied), default=0.0),
        "coverage": coverage(question, relied),
    }
    value = inputs["certainty"] * inputs["verified"] * (inputs["relevance"] + inputs["coverage"]) / 2
    return Confidence(round(value, 4), {name: round(number, 4) for name, number in inputs.items()}, FORMULA)
