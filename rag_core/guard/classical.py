"""The classical pipeline: guarded on the way in and out, remembered, and it answers by itself (S4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from rag_core.answering.answer import quoted, written
from rag_core.answering.drafting import Writing, moved, text_of
from rag_core.core.errors import RagError
from rag_core.core.kit import Kit
from rag_core.core.model import Answer, Chunk, Confidence, Evidence, Hit, PiiSpan, Query, Result
from rag_core.core.ports import WebResult
from rag_core.core.run import Run, Warning_
from rag_core.guard.answer_cache import cache_key, recall, remember
from rag_core.guard.input_check import check
from rag_core.guard.output_redaction import withheld
from rag_core.guard.redaction import redact
from rag_core.retrieval.captions import caption
from rag_core.retrieval.excerpts import numbered, relevance
from rag_core.retrieval.search import labelled
from rag_core.retrieval.weighted import gathered, judged

WRITING = Writing(max_tokens=200, top_p=0.9, within_s=120.0)  # S4-24, S4-23
AS_RELEVANT = 0.9  # of the best passage's relevance
WEB_S = 10.0
WEB_WORTH = 0.5  # of the confidence is left to what nobody here has read: below any threshold that matters
FROM_WEB = "web"  # what found a passage that is not of the index
UNFOUNDED = Confidence(0.0, {}, "0: there is nothing to rely on")
NOTHING = "No relevant results: nothing that was found is about this question."


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer as it is remembered: with who made it, and what was said of it."""

    answer: Answer
    techniques: Mapping[str, str]
    warnings: tuple[Warning_, ...]


async def classical(query: Query, kit: Kit, run: Run) -> Result:
    """The evidence that the pipeline answers from, unabridged; nothing is remembered."""
    asked = await redacted(query, kit, run)
    check(asked.text)
    hits = [passage.hit for passage in await gathered(asked, kit, run)]
    return Result(hits=caption(asked.text, hits), asked=tuple(labelled([asked.text])))


async def answered(query: Query, kit: Kit, run: Run) -> Answer:
    """Redact and check the question; answer it from memory, or from the index, or from the web; keep an account of it.

    Raises:
        InvalidRequest: the question has the shape of an attack (suspicious_input).
        Unavailable: nobody looked for personal data (redaction_failed), the question could not be embedded, or
            nothing could be searched.
    """
    asked = await redacted(query, kit, run)
    try:
        check(asked.text)
        answer = await remembered(asked, kit, run)
    except RagError as failure:
        await account(asked, failure.code, 0.0, {}, kit, run)
        raise
    metrics = {"origin": answer.origin, "chunks": [passage.hit.chunk.id for passage in answer.evidence]}
    await account(asked, answer.status, answer.confidence.value, metrics, kit, run)
    return answer


async def remembered(query: Query, kit: Kit, run: Run) -> Answer:
    """What was answered to the same question of the same documents within the hour, else a new answer (S4-04, C23).

    What leaned on a fallback is not kept.
    """
    key = await run.step("cache", key_of(query, kit))
    if key and (kept := await run.step("cache", recall(key, Kept, kit.cache))):
        run.techniques.update(kept.techniques, cache=f"answered before, kept by {kit.cache.name}")
        run.warnings.extend(kept.warnings)
        return kept.answer
    said = len(run.warnings)
    answer = await made(query, kit, run)
    if key and not run.degraded:
        await remember(key, Kept(answer, run.techniques, tuple(run.warnings[said:])), kit.cache)
    return answer


async def made(query: Query, kit: Kit, run: Run) -> Answer:
    """A new answer: written where it can be relied on, else quoted; from the web where the index has nothing."""
    found = await gathered(query, kit, run)
    most = query.top_n * (1 + 2 * query.neighbours)
    context = tuple(numbered([passage for passage in found if relevance(passage) >= query.relevance_min])[:most])
    answer = await relied_on(query, context, kit, run) if context else await elsewhere(query, found, kit, run)
    clean, spans = await withheld(answer, kit.redactor)
    note_redacted("answer", spans, run)
    return clean


async def relied_on(query: Query, context: tuple[Evidence, ...], kit: Kit, run: Run) -> Answer:
    """What a model writes, if its confidence reaches the threshold; else the documents' key sentences (S4-26)."""
    answer = await written(query.text, context, kit, run, writing=WRITING)
    if answer.origin == "model" and answer.confidence.value >= query.confidence_min:
        return answer
    if answer.origin == "model":
        reached = f"the model's answer reached {answer.confidence.value:.2f} of {query.confidence_min:.2f}"
        run.warn("low_confidence", f"{reached}, so the documents' own sentences are given")
        answer = await quoted(query.text, context, kit, run)
    return await with_others(answer, query, kit, run)


async def with_others(answer: Answer, query: Query, kit: Kit, run: Run) -> Answer:
    """Quotes, and those of a document that is as relevant and not yet quoted: where sources differ, both are shown."""
    cited = {citation.document_id for claim in answer.claims for citation in claim.citations}
    enough = AS_RELEVANT * max(map(relevance, answer.evidence))
    others = [p for p in answer.evidence if relevance(p) >= enough and p.hit.chunk.document_id not in cited]
    if not answer.claims or not others:
        return answer
    more = await quoted(query.text, tuple(others), kit, run)
    if not more.claims:
        return answer
    claims = moved([*answer.claims, *more.claims])
    confidence = min(answer.confidence, more.confidence, key=lambda one: one.value)
    return replace(answer, text=text_of(claims), claims=tuple(claims), confidence=confidence)


async def elsewhere(query: Query, found: Sequence[Evidence], kit: Kit, run: Run) -> Answer:
    """Quotes from the web, where that is switched on, at half their confidence; else that there is nothing (S4-48)."""
    pages = await run.attempt(
        "web_search", kit.web.search(query.text, query.top_k), otherwise=(), fallback="nothing", within_s=WEB_S
    )
    seen = await judged([as_hit(page) for page in pages], query, kit, run) if pages else []
    context = tuple(numbered([passage for passage in seen if relevance(passage) >= query.relevance_min]))
    answer = await quoted(query.text, context, kit, run) if context else None
    if answer is None or answer.status == "unknown":
        return Answer(NOTHING, "unknown", "extractive", (), UNFOUNDED, tuple(found))
    run.degrade("search", "no_results", "the index has nothing about this question", "results of a web search")
    return replace(answer, confidence=discounted(answer.confidence))


def as_hit(page: WebResult) -> Hit:
    """What a search engine says of a page, as a passage: neither leg found it."""
    id = sha256(page.url.encode()).hexdigest()[:32]
    chunk = Chunk(id, id, 0, page.snippet, page.title, page.url, id, metadata={"url": page.url})
    return Hit(chunk, 0.0, found_by=(FROM_WEB,))


def discounted(confidence: Confidence) -> Confidence:
    inputs = {**confidence.inputs, FROM_WEB: WEB_WORTH}
    formula = f"{confidence.formula}; all this x web: {WEB_WORTH}, for nobody here has read those pages"
    return Confidence(round(confidence.value * WEB_WORTH, 4), inputs, formula)


async def redacted(query: Query, kit: Kit, run: Run) -> Query:
    """The question without what tells of a person: nothing of that goes any further, not even into a log."""
    found = await run.step("redact", redact(query.text, kit.redactor))
    note_redacted("question", found.spans, run)
    return replace(query, text=found.text)


def note_redacted(where: str, spans: Sequence[PiiSpan], run: Run) -> None:
    """Redaction is reported by place and type, never silent (C30)."""
    if spans:
        places = ", ".join(f"{span.type} at {span.start} to {span.end}" for span in spans)
        run.warn("personal_data_redacted", f"taken out of the {where}: {places}")


async def key_of(query: Query, kit: Kit) -> str:
    """What the answer is kept under: it changes with the question, its scope and numbers, the documents, and the parts.

    Empty where the store cannot tell whether its documents changed.
    """
    version = await kit.index.store.version(query.scope)
    parts = (kit.llm.name, kit.reranker.name, kit.redactor.name, kit.web.name, sorted(kit.glossary.items()))
    return version and cache_key(query, f"{kit.index.embedder.space} {parts}", version)


async def account(query: Query, status: str, confidence: float, metrics: Mapping[str, Any], kit: Kit, run: Run) -> None:
    """A row of `queries_log` (S4-31); one that cannot be written now is with the next, and spoils no answer."""
    entry = {
        "query": query.text,
        "workflow_id": query.scope.workflow_id,
        "user_id": query.scope.user_id,
        "preset": "classical",
        "status": status,
        "confidence": confidence,
        "metrics": {
            **metrics,
            "run_id": run.id,
            "cached": "cache" in run.techniques,
            "degraded": [degradation.code for degradation in run.degraded],
            "input_tokens": run.input_tokens,
            "output_tokens": run.output_tokens,
        },
        "timings": dict(run.timings),
    }
    await run.attempt("audit", kit.audit.record(entry), otherwise=None, fallback="the row follows with the next")
