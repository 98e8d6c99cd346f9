"""Answers from the hits of a pipeline: evidence selected, an answer drafted, and each of its sentences verified."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from rag_core.answering.answerability import SCORING_TIMEOUT_S, score_answered
from rag_core.answering.asked_fields import narrow_to_field
from rag_core.answering.citations import cite_quote
from rag_core.answering.computing.computed_answers import (
    PLANNING_TIMEOUT_S,
    ComputedAnswer,
    FoundTables,
    find_uncomputed,
    is_row_of,
    look_up_answer,
    plan_answer,
    read_or_compute_answer,
)
from rag_core.answering.computing.stored_tables import StoredTable
from rag_core.answering.conditions import find_missing_periods, find_unknown_names, find_unmet_conditions
from rag_core.answering.confidence import (
    compute_confidence,
    explain_low_confidence,
    find_missing_words,
    select_cited_passages,
)
from rag_core.answering.drafting import (
    Draft,
    DraftSentence,
    GenerationOptions,
    claims_from_statements,
    draft_answer,
    drop_instruction_echoes,
    drop_redundant_hits,
    drop_unfounded_frames,
    extract_draft,
    extract_draft_by_shared_terms,
    join_claims,
    pack_evidence,
    rank_hits_by_relevance,
    realign_claims,
)
from rag_core.answering.facts.comparison import is_opposite_of_asked
from rag_core.answering.statements import relate_parts
from rag_core.answering.verification import cite_claims, judge_claims
from rag_core.core.kit import Kit
from rag_core.core.model import Answer, Claim, Evidence, Ranking
from rag_core.core.presets import Query
from rag_core.core.run import Run
from rag_core.prompts.screening import screen_text
from rag_core.retrieval.asked_documents import asks_for_reported_figure
from rag_core.retrieval.document_versions import is_superseded_chunk, put_superseded_last
from rag_core.retrieval.extractive_answers import get_least_answerability

MIN_ANSWERED = 0.9  # probability from which the small model is believed that a condition is met in other words
COMPUTING_TIMEOUT_S = 10.0  # reading the tables of a few documents takes milliseconds
REFUSAL_TEXT = "I don't know: what was found does not state the answer."
NOTHING_FOUND_TEXT = "I don't know: no passage was found."
UNREAD_TEXT = "I don't know: what was found could not be read for an answer, only compared by its words."
UNANSWERED_TEXT = "I don't know: the chat model gave no answer, and no sentence of what was found does by itself."
REFUSAL_TEXTS = frozenset({REFUSAL_TEXT, NOTHING_FOUND_TEXT, UNREAD_TEXT, UNANSWERED_TEXT})
DEFAULT_GENERATION = GenerationOptions()


@dataclass(frozen=True, slots=True)
class CheckedDraft:
    """The claims of a draft with their verdicts: those that are the answer, and the unsupported ones of a model."""

    kept: Sequence[Claim]
    left_out: Sequence[Claim] = ()
    answered: float | None = None  # what `score_answered` says of them


async def answer_query(query: Query, hits: Ranking, kit: Kit, run: Run) -> Answer:
    """Answer the query from these hits by chat model or, when that fails, by extraction; refuse when neither can.

    A question for a count, sum or comparison is computed from the cells of tables: as a chat model plans it, or without
    one by the words of the question. Where it cannot be, a chat model is asked; without one the refusal says why.
    """
    evidence = await _collect_evidence(query, hits, kit, run)
    planned, tables = kit.has_chat_model, FoundTables(query, hits, kit)
    computing = (
        plan_answer(query, tables, evidence, kit, run) if planned else read_or_compute_answer(query.text, tables, run)
    )
    within_s = COMPUTING_TIMEOUT_S + (PLANNING_TIMEOUT_S if planned else 0)
    computed = await _attempt_over_tables("compute", computing, "an answer in the words of the passages", run, within_s)
    if computed and computed.reason:
        run.warn("not_computed", f"this was not computed: {computed.reason}")
    if computed and (computed.claim or not planned):
        return _build_computed_answer(query.text, computed, evidence)
    if computed and computed.absent_from:
        return await _answer_beside(computed.absent_from, query.text, computed, evidence, kit, run)
    answer, notes = await run.try_out(answer_from_evidence(query.text, evidence, kit, run, tells_claims=True))
    computed = None if planned else await _find_in_tables(query.text, answer, tables, kit, run)
    if computed is None or (computed.claim and answer.status == "answered"):  # a field is of what was quoted
        run.keep_notes(notes)
    return answer if computed is None else _build_computed_answer(query.text, computed, evidence)


async def _answer_beside(
    table: StoredTable,
    query_text: str,
    absent: ComputedAnswer,
    evidence: tuple[Evidence, ...],
    kit: Kit,
    run: Run,
) -> Answer:
    """Answer by the chat model from elsewhere where a table has no such cell, else refuse with that reason.

    Rows of that table, which a model or the extraction would quote instead, are of something else.
    """
    answer, notes = await run.try_out(answer_from_evidence(query_text, evidence, kit, run))
    citations = [citation for claim in answer.claims for citation in claim.citations]
    if answer.origin == "model" and citations and not any(is_row_of(one, table) for one in citations):
        run.keep_notes(notes)
        return answer
    return _build_computed_answer(query_text, absent, evidence)


async def _find_in_tables(
    query_text: str, answer: Answer, tables: FoundTables, kit: Kit, run: Run
) -> ComputedAnswer | None:
    """Return what tables say in place of a quoted answer: the asked field, or why that is none; None for neither."""
    if answer.status == "unknown":  # a cell may be too terse for the small model
        looking_up = look_up_answer(query_text, tables, run)
        found = await _attempt_over_tables("look_up", looking_up, "the refusal of what was quoted", run)
    elif uncomputed := find_uncomputed(query_text, answer.claims):
        run.warn("not_computed", f"this was not computed: {uncomputed.reason}")
        return uncomputed
    else:
        narrowing = narrow_to_field(query_text, answer.claims, answer.evidence, tables, kit, run)
        found = await _attempt_over_tables("narrow", narrowing, "the whole record that was quoted", run)
    return found if found and found.claim else None


async def _attempt_over_tables(
    step: str,
    awaitable: Awaitable[ComputedAnswer | None],
    fallback: str,
    run: Run,
    within_s: float = COMPUTING_TIMEOUT_S,
) -> ComputedAnswer | None:
    return await run.attempt(step, awaitable, otherwise=None, fallback=fallback, within_s=within_s)


def _build_computed_answer(query_text: str, computed: ComputedAnswer, evidence: tuple[Evidence, ...]) -> Answer:
    """Return the answer that was computed, or a refusal that says why none was."""
    claims = (computed.claim,) if computed.claim else ()
    cited = select_cited_passages(claims, evidence)
    confidence = compute_confidence(query_text, 1.0, claims, cited, quoted=False)
    return Answer(
        text=computed.claim.text if computed.claim else f"I don't know: {computed.reason}.",
        status="answered" if claims else "unknown",
        origin="extractive",
        claims=claims,
        confidence=confidence,
        evidence=evidence,
        missing_words=find_missing_words(query_text, cited or evidence[:1]),
    )


async def answer_from_evidence(
    query_text: str,
    evidence: tuple[Evidence, ...],
    kit: Kit,
    run: Run,
    *,
    options: GenerationOptions | None = None,
    tells_claims: bool = False,
) -> Answer:
    """Draft an answer from the evidence, verify its sentences, and leave out the unsupported ones.

    When none of a model's is supported, the answer is made by extraction. `options` default to DEFAULT_GENERATION. With
    `tells_claims` the run's listener hears of a model's sentences as they are verified.
    """
    answer_draft = await _draft_or_extract(query_text, evidence, kit, run, options or DEFAULT_GENERATION)
    checked = await _verify_draft(query_text, answer_draft, evidence, kit, run, tells_claims=tells_claims)
    if answer_draft.sentences and not checked.kept and not answer_draft.local:
        return await answer_by_extraction(query_text, evidence, kit, run)
    return _build_answer(query_text, answer_draft, checked, evidence, run)


async def answer_by_extraction(query_text: str, evidence: tuple[Evidence, ...], kit: Kit, run: Run) -> Answer:
    """Answer in sentences of the evidence, without a chat model; each of them is verified, too."""
    answer_draft = await _extract_with_fallback(query_text, evidence, kit, run)
    checked = await _verify_draft(query_text, answer_draft, evidence, kit, run)
    return _build_answer(query_text, answer_draft, checked, evidence, run)


async def _collect_evidence(query: Query, hits: Ranking, kit: Kit, run: Run) -> tuple[Evidence, ...]:
    ranking = await run.attempt(
        "relevance",
        rank_hits_by_relevance(query.text, hits, kit.reranker),
        otherwise=hits,
        fallback="the order of the search",
        within_s=SCORING_TIMEOUT_S,
    )
    more = query.preset.evidence.figure_passages
    if more and not asks_for_reported_figure(query.text, query.text_in_context, ranking):
        more = 0
    return await select_evidence(query, ranking, run, more=more)


async def select_evidence(query: Query, ranking: Ranking, run: Run, *, more: int = 0) -> tuple[Evidence, ...]:
    """Select the best `top_n` hits and `more` as evidence of `context_tokens`; a warning says if it cuts the best."""
    count, tokens = query.preset.evidence.top_n, query.preset.evidence.context_tokens
    best = drop_redundant_hits(put_superseded_last(query.text, ranking))[: count + more]
    packing = asyncio.to_thread(pack_evidence, query.text, best, max_passages=count + more, max_tokens=tokens)
    evidence = await run.step("gather", packing)
    is_cut = any(passage.text != passage.hit.chunk.content for passage in evidence[:count])
    if is_cut or len(evidence) < min(count, len(best)):
        run.warn("context_trimmed", f"cut to {tokens} tokens: {len(evidence)} of {len(best)} passages, some in part")
    return evidence


async def _draft_or_extract(
    query_text: str, evidence: Sequence[Evidence], kit: Kit, run: Run, options: GenerationOptions
) -> Draft:
    if not evidence:
        return Draft((), True, 1.0)
    model_draft = await run.attempt(
        "answer",
        draft_answer(query_text, evidence, kit.llm, options=options),
        otherwise=None,
        fallback="the documents' own sentences",
        within_s=options.within_s,
    )
    return await _extract_with_fallback(query_text, evidence, kit, run) if model_draft is None else model_draft


async def _extract_with_fallback(query_text: str, evidence: Sequence[Evidence], kit: Kit, run: Run) -> Draft:
    least = get_least_answerability(kit.entailment_scorer)
    extracted_draft = await run.attempt(
        "extract",
        extract_draft(query_text, evidence, kit.reranker, least=least),
        otherwise=None,
        fallback="sentences that share terms with the question",
        within_s=SCORING_TIMEOUT_S,
    )
    if extracted_draft is not None:
        return extracted_draft
    return await asyncio.to_thread(extract_draft_by_shared_terms, query_text, evidence)


async def _verify_draft(
    query_text: str,
    answer_draft: Draft,
    evidence: Sequence[Evidence],
    kit: Kit,
    run: Run,
    *,
    tells_claims: bool = False,
) -> CheckedDraft:
    """Return the draft's statements as claims with verdicts and citations; headings, lead-ins and the like are none.

    Each is verified against the passages that it cites and, if these do not support it, against all evidence. The
    unsupported sentences of a model's draft are left out; an extracted one keeps all of its own, see
    `_keep_what_was_asked`.
    """
    screened = _screen_links(answer_draft, _screen_instruction_echoes(answer_draft, evidence, run), evidence, run)
    statements = relate_parts(
        [sentence.part for sentence in screened], question="" if answer_draft.local else query_text
    )
    sentences = [s for s, statement in zip(screened, statements, strict=True) if statement.reading]
    unverified = claims_from_statements(statements)
    named = [_select_cited_evidence(sentence, evidence) for sentence in sentences]
    cited = await cite_claims(unverified, named, kit, run)
    if answer_draft.local:
        pairs = zip(cited, named, strict=True)
        cited = [one if one.verdict == "verified" else cite_quote(one, passages) for one, passages in pairs]
    uncited = [n for n, claim in enumerate(cited) if claim.verdict == "unsupported"]
    second_try = await cite_claims([unverified[n] for n in uncited], [evidence] * len(uncited), kit, run)
    for n, claim in zip(uncited, second_try, strict=True):
        cited[n] = claim
    if tells_claims and run.listener and not answer_draft.local:
        first = list(takewhile(lambda claim: claim.verdict == "verified", cited))  # of these no judge is asked
        checked = await judge_claims(first, [evidence] * len(first), kit, run, question=query_text)
        run.tell("claims", _lay_out_supported(checked, query_text, evidence))
    read = () if answer_draft.local else named
    verified = await judge_claims(cited, [evidence] * len(cited), kit, run, question=query_text, named=read)
    if answer_draft.local:
        quotes = [claim for claim in verified if not is_opposite_of_asked(query_text, claim.statement)]
        answered = await score_answered(query_text, quotes, select_cited_passages(quotes, evidence), kit, run)
        return CheckedDraft(_keep_what_was_asked(query_text, quotes, evidence, run, answered), (), answered)
    supported = _lay_out_supported(verified, query_text, evidence)
    answered = await score_answered(query_text, supported, select_cited_passages(supported, evidence), kit, run)
    left_out = [claim for claim in verified if claim.verdict == "unsupported"]
    _report_unverified(len(left_out), sentences, evidence, run)
    return CheckedDraft(supported, left_out, answered)


def _lay_out_supported(verified: Sequence[Claim], query_text: str, evidence: Sequence[Evidence]) -> list[Claim]:
    """Return the claims that are not unsupported, at their positions in the text that they make."""
    supported = [claim for claim in verified if claim.verdict != "unsupported"]
    return realign_claims(drop_unfounded_frames(supported, query_text, evidence))


def _keep_what_was_asked(
    query_text: str, quotes: Sequence[Claim], evidence: Sequence[Evidence], run: Run, answered: float | None
) -> list[Claim]:
    """Return the quotes, or none where a name, period or condition of the question is unmet.

    A condition may be met in other words, where the small model is sure that the cited passages have what is asked; a
    name or period may not.
    """
    unmet = find_unmet_conditions(query_text, select_cited_passages(quotes, evidence)) if quotes else ()
    is_unmet = unmet and (answered is None or answered < MIN_ANSWERED)
    is_missing = find_unknown_names(query_text, evidence) or find_missing_periods(query_text, evidence)
    if not quotes or not (is_unmet or is_missing):
        return realign_claims(quotes)
    run.warn("condition_not_found", "the passages on the subject lack a name, period or condition of the question")
    return []


def _screen_instruction_echoes(answer_draft: Draft, evidence: Sequence[Evidence], run: Run) -> Sequence[DraftSentence]:
    """Drop a model's sentences that repeat its instructions instead of the evidence, and note that in `run`."""
    if answer_draft.local:
        return answer_draft.sentences
    kept = drop_instruction_echoes(answer_draft.sentences, evidence)
    if len(kept) < len(answer_draft.sentences):
        run.degrade("screen", "prompt_repeated", "a sentence repeats the instructions to the model", "left out")
    return kept


def _screen_links(
    answer_draft: Draft, sentences: Sequence[DraftSentence], evidence: Sequence[Evidence], run: Run
) -> list[DraftSentence]:
    """Remove images, and links that the evidence a sentence cites does not contain; note that in `run`, once."""
    kept, is_screened = [], answer_draft.screened
    for sentence in sentences:
        text, removed = screen_text(
            sentence.text, [passage.text for passage in _select_cited_evidence(sentence, evidence)]
        )
        is_screened = is_screened or bool(removed)
        if text.strip():
            kept.append(replace(sentence, part=replace(sentence.part, text=text.strip())))
    if is_screened:
        run.degrade("screen", "link_removed", "a link or image is not in the cited passage", "left out")
    return kept


def _report_unverified(
    dropped: int, sentences: Sequence[DraftSentence], evidence: Sequence[Evidence], run: Run
) -> None:
    evidence_ids = {passage.id for passage in evidence}
    invented = sum(1 for sentence in sentences if not evidence_ids.issuperset(sentence.cited_ids))
    if dropped:
        reason = f"{dropped} of {len(sentences)} sentences are not supported by the evidence"
        run.degrade("verify", "citation_unverified", reason, "they are left out")
    if invented:
        reason = f"{invented} of {len(sentences)} sentences cite a passage that was not given"
        run.degrade("verify", "citation_unverified", reason, "they cite what supports them, or are left out")


def _select_cited_evidence(sentence: DraftSentence, evidence: Sequence[Evidence]) -> list[Evidence]:
    return [passage for passage in evidence if passage.id in sentence.cited_ids]


def _build_answer(
    query_text: str, answer_draft: Draft, checked: CheckedDraft, evidence: tuple[Evidence, ...], run: Run
) -> Answer:
    """Return the answer that the claims make, or a refusal without any, or with quotes that are hardly right."""
    verified, quoted = checked.kept, answer_draft.local
    cited = select_cited_passages(verified, evidence)
    confidence = compute_confidence(
        query_text,
        answer_draft.certainty,
        verified,
        cited,
        quoted=quoted,
        left_out=checked.left_out,
        answered=checked.answered,
        margin=answer_draft.margin,
    )
    if quoted and verified and (doubt := explain_low_confidence(confidence)):
        run.warn("low_confidence", doubt)
        verified, confidence = (), compute_confidence(query_text, answer_draft.certainty, (), (), quoted=True)
    if verified and any(is_superseded_chunk(query_text, passage.hit.chunk) for passage in cited):
        run.warn("superseded_cited", "a cited passage stands under a heading that marks it as superseded")
    return Answer(
        text=join_claims(verified) or _write_refusal(evidence, run),
        status="answered" if verified else "unknown",
        origin="extractive" if answer_draft.local else "model",
        claims=tuple(verified),
        confidence=confidence,
        evidence=evidence,
        missing_words=find_missing_words(query_text, cited or evidence[:1]),
    )


def _write_refusal(evidence: tuple[Evidence, ...], run: Run) -> str:
    """Return why there is no answer: a step that failed is never told as passages that do not have it."""
    failed = {degradation.step for degradation in run.degraded}
    if not evidence:
        return NOTHING_FOUND_TEXT
    if "extract" in failed:
        return UNREAD_TEXT
    return UNANSWERED_TEXT if "answer" in failed else REFUSAL_TEXT
