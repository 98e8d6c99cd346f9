"""The knowledge base over the index: its definition, what is asked of it, and the reading of what it found.

It runs several queries at once, each ranked by the semantic ranker. Version 2026-04-01 plans no queries: callers do.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_core.core.errors import Unavailable
from rag_core.core.metrics import record_cost
from rag_core.core.model import Chunk, Hit
from rag_core.core.run import book_model_usage, degrade_current_run
from rag_core.core.telemetry import describe_current_span
from rag_core.stores.azure_search.schema import SEMANTIC_CONFIGURATION
from rag_core.stores.azure_search.search import MAX_RERANKER_SCORE, parse_finite_score
from rag_core.stores.azure_search.service_errors import MALFORMED_REPLY_ERRORS, make_malformed_reply_error

RETRIEVED_FIELD = "id"  # of a chunk, by which the chunk is then loaded
TOKENS_PER_PASSAGE = 500  # a chunk has at most about so many
MIN_OUTPUT_TOKENS, MAX_OUTPUT_TOKENS = 5_000, 50_000
# of "agentic reasoning tokens", after 50 million that are free each month: as a public note quotes Microsoft's pages,
# read on 2026-11-24. What is left of the allowance is not known here, so every token counts
USD_PER_MILLION_TOKENS = 0.022

RETRIEVAL = {"gen_ai.operation.name": "retrieve", "gen_ai.provider.name": "azure.ai.search"}

Definition = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that a reply refers to: the id of its chunk, the ranker's score 0..4, and the query that found it."""

    chunk_id: str
    reranker_score: float
    query_text: str


def make_knowledge_base_name(index: str) -> str:
    """Return the name that the knowledge base over an index has, and its only knowledge source."""
    return f"{index}-knowledge"


def build_knowledge_source(index: str) -> Definition:
    return {
        "name": make_knowledge_base_name(index),
        "kind": "searchIndex",
        "description": "The chunks of the index: every retrieval must filter them by workflow and readers.",
        "searchIndexParameters": {
            "searchIndexName": index,
            "semanticConfigurationName": SEMANTIC_CONFIGURATION,
            "sourceDataFields": [{"name": RETRIEVED_FIELD}],
        },
    }


def build_knowledge_base(index: str) -> Definition:
    name = make_knowledge_base_name(index)
    return {"name": name, "knowledgeSources": [{"name": name}]}


def build_retrieval_request(
    index: str, query_texts: Sequence[str], *, filter: str, limit: int, in_preview: bool = False
) -> Definition:
    """Build the request for about `limit` passages, for all queries together, of the chunks that a filter selects.

    Previews plan queries by themselves unless they are told not to.
    """
    effort = {"retrievalReasoningEffort": {"kind": "minimal"}} if in_preview else {}
    return {
        **effort,
        "intents": [{"type": "semantic", "search": text} for text in query_texts],
        "includeActivity": True,
        "maxOutputSizeInTokens": min(MAX_OUTPUT_TOKENS, max(MIN_OUTPUT_TOKENS, limit * TOKENS_PER_PASSAGE)),
        "knowledgeSourceParams": [
            {
                "knowledgeSourceName": make_knowledge_base_name(index),
                "kind": "searchIndex",
                "filterAddOn": filter,
                "includeReferences": True,
                "includeReferenceSourceData": True,
            }
        ],
    }


def read_found_passages(reply: Mapping[str, Any]) -> list[FoundPassage]:
    """Read the passages, best first, count in the current run what they cost, and record a search that failed.

    Raises:
        Unavailable: nothing was found and a search failed (knowledge_base_partial), or the reply is malformed.
    """
    try:
        activity = list(reply.get("activity") or ())
        passages = sorted(_iter_passages(reply, activity), key=lambda one: (-one.reranker_score, one.chunk_id))
        tokens = sum(int(record.get("reasoningTokens") or 0) for record in activity)
        failures = [record["error"] for record in activity if record.get("error")]
    except MALFORMED_REPLY_ERRORS as failure:
        raise make_malformed_reply_error(type(failure).__name__) from failure
    _book_cost(tokens * USD_PER_MILLION_TOKENS / 1_000_000)
    if failures:
        _report_failures(failures, bool(passages))
    return passages


def _book_cost(cost_usd: float) -> None:
    """Count the cost of a retrieval in the current run, the metrics and the current span."""
    book_model_usage(input_tokens=0, output_tokens=0, cost_usd=cost_usd)
    record_cost(RETRIEVAL, cost_usd)
    describe_current_span({"rag.cost_usd": cost_usd})


def _iter_passages(reply: Mapping[str, Any], activity: Sequence[Mapping[str, Any]]) -> Iterator[FoundPassage]:
    queries = {record["id"]: (record.get("searchIndexArguments") or {}).get("search", "") for record in activity}
    for reference in reply.get("references") or ():
        chunk_id = str(reference["sourceData"][RETRIEVED_FIELD])
        score = parse_finite_score(reference.get("rerankerScore") or 0.0)
        yield FoundPassage(chunk_id, score, str(queries.get(reference["activitySource"], "")))


def _report_failures(failures: Sequence[Any], has_passages: bool) -> None:
    codes = ", ".join(sorted({str(failure.get("code") or "no code") for failure in failures}))
    reason = f"{len(failures)} of the searches of the knowledge base failed ({codes})"
    if not has_passages:
        raise Unavailable(reason, code="knowledge_base_partial")
    degrade_current_run("retrieve", "knowledge_base_partial", reason, "what the other searches found")


def build_ranking(passages: Sequence[FoundPassage], chunks: Sequence[Chunk], labels: Mapping[str, str]) -> list[Hit]:
    """Return a hit for each passage whose chunk was loaded, in the passages' order; `labels` are by query text."""
    chunks_by_id = {chunk.id: chunk for chunk in chunks}
    hits: dict[str, Hit] = {}
    for passage in passages:
        score = round(min(1.0, passage.reranker_score / MAX_RERANKER_SCORE), 6)
        if passage.chunk_id in chunks_by_id and passage.chunk_id not in hits:
            found_by = labels.get(passage.query_text)
            hits[passage.chunk_id] = Hit(
                chunks_by_id[passage.chunk_id], score, {"semantic": score}, (), (found_by,) if found_by else ()
            )
    return list(hits.values())
