"""The classical pipeline: redaction, input check, answer cache, retrieval, answer and query log (S4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from rag_core.answering.answer import answer_by_extraction, answer_from_evidence
from rag_core.answering.computing.computed_answers import asks_to_compute_rows, has_row
from rag_core.answering.computing.named_cells import has_any
from rag_core.answering.computing.questions import parse_operation
from rag_core.answering.drafting import GenerationOptions, join_claims, realign_claims
from rag_core.core.errors import RagError
from rag_core.core.kit import Kit
from rag_core.core.model import Answer, Chunk, Confidence, Evidence, Hit, PiiSpan, SearchResult
from rag_core.core.ports import WebResult
from rag_core.core.presets import Query
from rag_core.core.run import Run, RunWarning
from rag_core.core.user_token import hash_user_token
from rag_core.guard.answer_cache import hash_cache_key, load_cached, save_cached
from rag_core.guard.input_check import check_input
from rag_core.guard.output_redaction import redact_answer
from rag_core.guard.placeholders import remove_placeholders
from rag_core.guard.redaction import redact_text
from rag_core.retrieval.captions import add_lexical_captions
from rag_core.retrieval.classical_retrieval import rank_excerpts_by_relevance, retrieve_evidence
from rag_core.retrieval.excerpts import get_relevance, number_evidence
from rag_core.retrieval.search import label_variants
from rag_core.retrieval.spelling_reranker import SpellingReranker
from rag_core.text.abbreviations import expand_abbreviations, spell_as_in
from rag_core.text.terms import extract_terms

CLASSICAL_GENERATION = GenerationOptions(max_tokens=200, top_p=0.9, within_s=120.0)  # S4-24, S4-23
MIN_RELEVANCE_RATIO = 0.9  # of the best passage's relevance, for a document to be quoted beside it
WEB_SEARCH_TIMEOUT_S = 10.0
LOG_TIMEOUT_S = 10.0  # the answer is ready and waits; what comes too late for it is written all the same
# the pages are not read, so a quote from the web stays below the usual confidence threshold
WEB_CONFIDENCE_FACTOR = 0.5
WEB_LABEL = "web"  # in `found_by` of a passage that is not from the index
ZERO_CONFIDENCE = Confidence(0.0, {}, "0: there is nothing to rely on")
NOTHING_COMPUTED = "the pipeline classical quotes and computes nothing over tables; standard, rerank and advanced do"
NO_RESULTS_TEXT = "No relevant results: nothing that was found is about this question."


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """An answer as the answer cache keeps it, with the techniques and warnings of the run that made it."""

    answer: Answer
    techniques: Mapping[str, str]
    warnings: tuple[RunWarning, ...]


async def run_classical(query: Query, kit: Kit, run: Run) -> SearchResult:
    """Retrieve the evidence of the pipeline's answers as whole hits with captions; nothing is cached or logged.

    Raises:
        InvalidRequest: the question has the form of an attack (suspicious_input).
        Unavailable: the redactor failed (redaction_failed), the question could not be embedded, or nothing could be
            searched.
    """
    clean_query = await redact_query(query, kit, run)
    check_input(clean_query.text)
    question, kit = prepare_question(clean_query, kit)
    hits = [passage.hit for passage in await retrieve_evidence(question, kit, run)]
    return SearchResult(
        hits=add_lexical_captions(expand_abbreviations(question.text, kit.glossary), hits),
        variants=tuple(label_variants([clean_query.text])),
    )


async def answer_classical(query: Query, kit: Kit, run: Run) -> Answer:
    """Redact and check the question, answer it from the cache, the index or the web, and log the redacted query.

    Raises:
        InvalidRequest: the question has the form of an attack (suspicious_input).
        Unavailable: the redactor failed (redaction_failed), the question could not be embedded, or nothing could be
            searched.
    """
    clean_query = await redact_query(query, kit, run)
    try:
        check_input(clean_query.text)
        answer = await answer_with_cache(clean_query, kit, run)
    except RagError as failure:
        await log_query(clean_query, failure.code, 0.0, {}, kit, run)
        raise
    metrics = {"origin": answer.origin, "chunks": [passage.hit.chunk.id for passage in answer.evidence]}
    await log_query(clean_query, answer.status, answer.confidence.value, metrics, kit, run)
    return answer


async def answer_with_cache(query: Query, kit: Kit, run: Run) -> Answer:
    """Return the cached answer to the same question on the same documents, else a new answer (S4-04).

    A new answer is cached for an hour unless it relied on a fallback.
    """
    key = await run.step("cache", build_query_cache_key(query, kit))
    if key and (cached := await run.step("cache", load_cached(key, CachedAnswer, kit.cache))):
        run.techniques.update(cached.techniques, cache=f"answered before, kept by {kit.cache.name}")
        run.warnings.extend(cached.warnings)
        return cached.answer
    warnings_before = len(run.warnings)
    answer = await generate_answer(query, kit, run)
    if key and not run.degraded:
        await save_cached(key, CachedAnswer(answer, run.techniques, tuple(run.warnings[warnings_before:])), kit.cache)
    return answer


async def generate_answer(query: Query, kit: Kit, run: Run) -> Answer:
    """Answer from the relevant evidence or, where the index has none, from the web; redact the answer."""
    query, kit = prepare_question(query, kit)
    passages = await retrieve_evidence(query, kit, run)
    limit = query.preset.evidence.top_n * (1 + 2 * query.preset.guard.neighbours)
    relevant = tuple(
        number_evidence(
            [passage for passage in passages if get_relevance(passage) >= query.preset.guard.relevance_min]
        )[:limit]
    )
    answer = (
        await answer_from_index(query, relevant, kit, run)
        if relevant
        else await answer_from_web(query, passages, kit, run)
    )
    answer = refuse_uncomputed(answer, query, run)
    clean_answer, spans = await run.step("redact_answer", redact_answer(answer, kit.redactor))
    report_redactions("answer", spans, run)
    return clean_answer


async def answer_from_index(query: Query, evidence: tuple[Evidence, ...], kit: Kit, run: Run) -> Answer:
    """Answer by chat model if the confidence reaches the threshold, else by quotes from the evidence (S4-26).

    The question's abbreviations are spelled as in the evidence, for the model as for the quotes.
    """
    query = spell_as_in_evidence(query, evidence, kit)
    answer = await answer_from_evidence(query.text, evidence, kit, run, options=CLASSICAL_GENERATION)
    if answer.origin == "model" and answer.confidence.value >= query.preset.guard.confidence_min:
        return answer
    if answer.origin == "model":
        reached = f"the model's answer reached {answer.confidence.value:.2f} of {query.preset.guard.confidence_min:.2f}"
        run.warn("low_confidence", f"{reached}, so the documents' own sentences are given")
        answer = await answer_by_extraction(query.text, evidence, kit, run)
    return await add_quotes_of_other_documents(answer, query, kit, run)


def refuse_uncomputed(answer: Answer, query: Query, run: Run) -> Answer:
    """Return a refusal where only rows are quoted over which a count, sum or comparison is asked, and say why.

    A refusal for another reason says so too, where rows on the subject were found.
    """
    if answer.origin == "model" or parse_operation(query.text) is None:
        return answer
    is_refused = answer.status == "unknown"
    if is_refused and not any(_has_row_on(query.text, passage) for passage in answer.evidence):
        return answer
    if not is_refused and not asks_to_compute_rows(query.text, answer.claims, answer.evidence):
        return answer
    run.warn("not_computed", f"this was not computed: {NOTHING_COMPUTED}")
    refusal = f"I don't know: {NOTHING_COMPUTED}."
    return replace(answer, text=refusal, status="unknown", claims=(), confidence=ZERO_CONFIDENCE)


def _has_row_on(query_text: str, passage: Evidence) -> bool:
    chunk = passage.hit.chunk
    return has_row(passage.text, chunk.metadata) and has_any(
        extract_terms(query_text), extract_terms(f"{chunk.title} {passage.text}")
    )


async def add_quotes_of_other_documents(answer: Answer, query: Query, kit: Kit, run: Run) -> Answer:
    """Add quotes of equally relevant documents that the answer does not cite, so that sources that differ are shown."""
    cited_ids = {citation.document_id for claim in answer.claims for citation in claim.citations}
    threshold = MIN_RELEVANCE_RATIO * max(map(get_relevance, answer.evidence))
    others = [p for p in answer.evidence if get_relevance(p) >= threshold and p.hit.chunk.document_id not in cited_ids]
    if not answer.claims or not others:
        return answer
    addition = await answer_by_extraction(spell_as_in_evidence(query, others, kit).text, tuple(others), kit, run)
    if not addition.claims:
        return answer
    claims = realign_claims([*answer.claims, *addition.claims])
    confidence = min(answer.confidence, addition.confidence, key=lambda confidence: confidence.value)
    return replace(answer, text=join_claims(claims), claims=tuple(claims), confidence=confidence)


async def answer_from_web(query: Query, nearest: Sequence[Evidence], kit: Kit, run: Run) -> Answer:
    """Answer by quotes from the web, where that is switched on, at half their confidence; else refuse (S4-48).

    A refusal has the passages of `nearest` as its evidence.
    """
    pages = await run.attempt(
        "web_search",
        kit.web.search(query.text, query.preset.search.top_k),
        otherwise=(),
        fallback="nothing",
        within_s=WEB_SEARCH_TIMEOUT_S,
    )
    passages = (
        await rank_excerpts_by_relevance([hit_from_web_result(page) for page in pages], query, kit, run)
        if pages
        else []
    )
    relevant = tuple(
        number_evidence([passage for passage in passages if get_relevance(passage) >= query.preset.guard.relevance_min])
    )
    spelled = spell_as_in_evidence(query, relevant, kit)
    answer = await answer_by_extraction(spelled.text, relevant, kit, run) if relevant else None
    if answer is None or answer.status == "unknown":
        return Answer(NO_RESULTS_TEXT, "unknown", "extractive", (), ZERO_CONFIDENCE, tuple(nearest))
    run.degrade("search", "no_results", "the index has nothing about this question", "results of a web search")
    return replace(answer, confidence=discount_confidence(answer.confidence))


def prepare_question(query: Query, kit: Kit) -> tuple[Query, Kit]:
    """Return the redacted query as it is searched and answered, without placeholders, and a kit that ranks for it.

    Its reranker spells abbreviations as each passage does.
    """
    ranking_kit = replace(kit, reranker=SpellingReranker(kit.reranker, kit.glossary))
    return replace(query, text=remove_placeholders(query.text)), ranking_kit


def spell_as_in_evidence(query: Query, evidence: Sequence[Evidence], kit: Kit) -> Query:
    """Return the query with its abbreviations and their meanings spelled as in the evidence, best passage first."""
    texts = [f"{passage.hit.chunk.title}\n{passage.text}" for passage in evidence]
    return replace(query, text=spell_as_in(texts, query.text, kit.glossary))


def hit_from_web_result(page: WebResult) -> Hit:
    """Return a web search result as a hit whose chunk is the snippet; no leg found it."""
    id = sha256(page.url.encode()).hexdigest()[:32]
    chunk = Chunk(id, id, 0, page.snippet, page.title, page.url, id, metadata={"url": page.url})
    return Hit(chunk, 0.0, found_by=(WEB_LABEL,))


def discount_confidence(confidence: Confidence) -> Confidence:
    inputs = {**confidence.inputs, WEB_LABEL: WEB_CONFIDENCE_FACTOR}
    formula = (
        f"{confidence.formula}; all of this x web: {WEB_CONFIDENCE_FACTOR}, because the pages themselves are not read"
    )
    return Confidence(round(confidence.value * WEB_CONFIDENCE_FACTOR, 4), inputs, formula)


async def redact_query(query: Query, kit: Kit, run: Run) -> Query:
    """Redact the query text, so that its personal data reaches no prompt, cache or log.

    Raises:
        Unavailable: the redactor failed (redaction_failed).
    """
    redaction = await run.step("redact", redact_text(query.text, kit.redactor, is_question=True))
    report_redactions("question", redaction.spans, run)
    return replace(query, text=redaction.text)


def report_redactions(place: str, spans: Sequence[PiiSpan], run: Run) -> None:
    """Warn of each redaction by type and position; the values are not repeated."""
    if spans:
        positions = ", ".join(f"{span.type} at {span.start} to {span.end}" for span in spans)
        run.warn("personal_data_redacted", f"redacted in the {place}: {positions}")


async def build_query_cache_key(query: Query, kit: Kit) -> str:
    """Return the cache key of a query; it changes with question, scope, preset, documents and models.

    "" when the store cannot tell whether its documents have changed: nothing may then be cached.
    """
    version = await kit.index.store.load_corpus_version(query.scope)
    parts = (kit.llm.name, kit.reranker.name, kit.redactor.name, kit.web.name, sorted(kit.glossary.items()))
    seen_by = hash_user_token()  # "" unless the search service itself checks who may see what
    return version and hash_cache_key(query, f"{kit.index.embedder.space} {parts}{seen_by}", version)


async def log_query(
    query: Query, status: str, confidence: float, metrics: Mapping[str, Any], kit: Kit, run: Run
) -> None:
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
    await run.attempt(
        "audit",
        kit.query_log.record(entry),
        otherwise=None,
        fallback="the log entry is written later",
        within_s=LOG_TIMEOUT_S,
    )
