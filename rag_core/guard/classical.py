"""The classical pipeline: redaction, input check, answer cache, retrieval, answer and query log (S4)."""

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
AS_RELEVANT = 0.9  # of the best passage's relevance, for a document to be quoted beside it
WEB_S = 10.0
WEB_WORTH = 0.5  # the pages are not read, so a quote from the web stays below the usual confidence threshold
FROM_WEB = "web"  # in `found_by` of a passage that is not from the index
UNFOUNDED = Confidence(0.0, {}, "0: there is nothing to rely on")
NOTHING = "No relevant results: nothing that was found is about this question."


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer as the answer cache keeps it, with the techniques and warnings of the run that made it."""

    answer: Answer
    techniques: Mapping[str, str]
    warnings: tuple[Warning_, ...]


async def classical(query: Query, kit: Kit, run: Run) -> Result:
    """Retrieve the evidence of the pipeline's answers as whole hits with captions; nothing is cached or logged.

    Raises:
        InvalidRequest: the question has the form of an attack (suspicious_input).
        Unavailable: the redactor failed (redaction_failed), the question could not be embedded, or nothing could be
            searched.
    """
    clean_query = await redacted(query, kit, run)
    check(clean_query.text)
    hits = [passage.hit for passage in await gathered(clean_query, kit, run)]
    return Result(hits=caption(clean_query.text, hits), asked=tuple(labelled([clean_query.text])))


async def answered(query: Query, kit: Kit, run: Run) -> Answer:
    """Redact and check the question, answer it from the cache, the index or the web, and log the redacted query.

    Raises:
        InvalidRequest: the question has the form of an attack (suspicious_input).
        Unavailable: the redactor failed (redaction_failed), the question could not be embedded, or nothing could be
            searched.
    """
    clean_query = await redacted(query, kit, run)
    try:
        check(clean_query.text)
        answer = await remembered(clean_query, kit, run)
    except RagError as failure:
        await account(clean_query, failure.code, 0.0, {}, kit, run)
        raise
    metrics = {"origin": answer.origin, "chunks": [passage.hit.chunk.id for passage in answer.evidence]}
    await account(clean_query, answer.status, answer.confidence.value, metrics, kit, run)
    return answer


async def remembered(query: Query, kit: Kit, run: Run) -> Answer:
    """Return the cached answer to the same question on the same documents, else a new answer (S4-04).

    A new answer is cached for an hour unless it relied on a fallback.
    """
    key = await run.step("cache", key_of(query, kit))
    if key and (cached := await run.step("cache", recall(key, Kept, kit.cache))):
        run.techniques.update(cached.techniques, cache=f"answered before, kept by {kit.cache.name}")
        run.warnings.extend(cached.warnings)
        return cached.answer
    warnings_before = len(run.warnings)
    answer = await made(query, kit, run)
    if key and not run.degraded:
        await remember(key, Kept(answer, run.techniques, tuple(run.warnings[warnings_before:])), kit.cache)
    return answer


async def made(query: Query, kit: Kit, run: Run) -> Answer:
    """Answer from the relevant evidence or, where the index has none, from the web; redact the answer."""
    passages = await gathered(query, kit, run)
    limit = query.top_n * (1 + 2 * query.neighbours)
    relevant = tuple(numbered([passage for passage in passages if relevance(passage) >= query.relevance_min])[:limit])
    answer = await relied_on(query, relevant, kit, run) if relevant else await elsewhere(query, passages, kit, run)
    clean_answer, spans = await withheld(answer, kit.redactor)
    note_redacted("answer", spans, run)
    return clean_answer


async def relied_on(query: Query, context: tuple[Evidence, ...], kit: Kit, run: Run) -> Answer:
    """Answer by chat model if the confidence reaches the threshold, else by quotes from the evidence (S4-26)."""
    answer = await written(query.text, context, kit, run, writing=WRITING)
    if answer.origin == "model" and answer.confidence.value >= query.confidence_min:
        return answer
    if answer.origin == "model":
        reached = f"the model's answer reached {answer.confidence.value:.2f} of {query.confidence_min:.2f}"
        run.warn("low_confidence", f"{reached}, so the documents' own sentences are given")
        answer = await quoted(query.text, context, kit, run)
    return await with_others(answer, query, kit, run)


async def with_others(answer: Answer, query: Query, kit: Kit, run: Run) -> Answer:
    """Add quotes of equally relevant documents that the answer does not cite, so that sources that differ are shown."""
    cited_ids = {citation.document_id for claim in answer.claims for citation in claim.citations}
    threshold = AS_RELEVANT * max(map(relevance, answer.evidence))
    others = [p for p in answer.evidence if relevance(p) >= threshold and p.hit.chunk.document_id not in cited_ids]
    if not answer.claims or not others:
        return answer
    addition = await quoted(query.text, tuple(others), kit, run)
    if not addition.claims:
        return answer
    claims = moved([*answer.claims, *addition.claims])
    confidence = min(answer.confidence, addition.confidence, key=lambda confidence: confidence.value)
    return replace(answer, text=text_of(claims), claims=tuple(claims), confidence=confidence)


async def elsewhere(query: Query, found: Sequence[Evidence], kit: Kit, run: Run) -> Answer:
    """Answer by quotes from the web, where that is switched on, at half their confidence; else refuse (S4-48).

    A refusal has the passages of `nearest` as its evidence.
    """
    pages = await run.attempt(
        "web_search", kit.web.search(query.text, query.top_k), otherwise=(), fallback="nothing", within_s=WEB_S
    )
    passages = await judged([as_hit(page) for page in pages], query, kit, run) if pages else []
    relevant = tuple(numbered([passage for passage in passages if relevance(passage) >= query.relevance_min]))
    answer = await quoted(query.text, relevant, kit, run) if relevant else None
    if answer is None or answer.status == "unknown":
        return Answer(NOTHING, "unknown", "extractive", (), UNFOUNDED, tuple(found))
    run.degrade("search", "no_results", "the index has nothing about this question", "results of a web search")
    return replace(answer, confidence=discounted(answer.confidence))


def as_hit(page: WebResult) -> Hit:
    """Return a web search result as a hit whose chunk is the snippet; no leg found it."""
    id = sha256(page.url.encode()).hexdigest()[:32]
    chunk = Chunk(id, id, 0, page.snippet, page.title, page.url, id, metadata={"url": page.url})
    return Hit(chunk, 0.0, found_by=(FROM_WEB,))


def discounted(confidence: Confidence) -> Confidence:
    inputs = {**confidence.inputs, FROM_WEB: WEB_WORTH}
    formula = f"{confidence.formula}; all of this x web: {WEB_WORTH}, because the pages themselves are not read"
    return Confidence(round(confidence.value * WEB_WORTH, 4), inputs, formula)


async def redacted(query: Query, kit: Kit, run: Run) -> Query:
    """Redact the query text, so that its personal data reaches no prompt, cache or log.

    Raises:
        Unavailable: the redactor failed (redaction_failed).
    """
    redaction = await run.step("redact", redact(query.text, kit.redactor))
    note_redacted("question", redaction.spans, run)
    return replace(query, text=redaction.text)


def note_redacted(where: str, spans: Sequence[PiiSpan], run: Run) -> None:
    """Warn of each redaction by type and position; the values are not repeated."""
    if spans:
        positions = ", ".join(f"{span.type} at {span.start} to {span.end}" for span in spans)
        run.warn("personal_data_redacted", f"redacted in the {where}: {positions}")


async def key_of(query: Query, kit: Kit) -> str:
    """Return the cache key of a query; it changes with question, scope, preset, documents and models.

    "" when the store cannot tell whether its documents have changed: nothing may then be cached.
    """
    version = await kit.index.store.version(query.scope)
    parts = (kit.llm.name, kit.reranker.name, kit.redactor.name, kit.web.name, sorted(kit.glossary.items()))
    return version and cache_key(query, f"{kit.index.embedder.space} {parts}", version)


async def account(query: Query, status: str, confidence: float, metrics: Mapping[str, Any], kit: Kit, run: Run) -> None:
    """Log the query in `queries_log` (S4-31); an entry that cannot be written now is written with the next one."""
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
    await run.attempt("audit", kit.audit.record(entry), otherwise=None, fallback="the log entry is written later")
