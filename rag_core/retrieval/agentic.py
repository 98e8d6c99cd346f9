"""The agentic pipeline: queries planned by a chat model, run and ranked together by the store's knowledge base."""

from collections.abc import Sequence
from dataclasses import replace

from rag_core.core.kit import Kit
from rag_core.core.model import QueryVariant, Ranking, SearchResult
from rag_core.core.presets import Query
from rag_core.core.rankings import fuse_by_reciprocal_rank
from rag_core.core.run import Run
from rag_core.retrieval.advanced import repeat_original_ranking
from rag_core.retrieval.candidates import choose_candidates
from rag_core.retrieval.search import compute_candidate_limit, label_variants
from rag_core.retrieval.steps import (
    SEARCH_TIMEOUT_S,
    build_search_result,
    expand_with_fallback,
    rerank_with_cross_encoder,
    search_variants,
)

FALLBACK = "the service's own search for the same queries"


async def run_agentic(query: Query, kit: Kit, run: Run) -> SearchResult:
    """Plan queries, let the knowledge base run and rank them, and caption the best hits.

    When the knowledge base does not answer, the store is searched for the same queries.

    Raises:
        InvalidRequest: the store has no knowledge base.
    """
    kit.index.require_knowledge_base()
    variants = await plan_queries(query, kit, run)
    ranking = await run.attempt(
        "retrieve",
        _retrieve(variants, query, kit, run),
        otherwise=None,
        fallback=FALLBACK,
        within_s=SEARCH_TIMEOUT_S,
    )
    if ranking is None:
        ranking = await _search_instead(variants, query, kit, run)
    reranked = await rerank_with_cross_encoder(choose_candidates(ranking, query), query, kit, run)
    return await build_search_result(reranked, variants, query, kit, run)


async def plan_queries(query: Query, kit: Kit, run: Run) -> list[QueryVariant]:
    """Return the query text and the queries into which the chat model divides it; without one, the query text alone."""
    expansion = await expand_with_fallback(query, (), kit.llm, run)
    hyde_answers = [expansion.hyde_answer] if expansion.hyde_answer else []
    return label_variants([query.text, *expansion.expanded_queries], hyde_answers)


async def _retrieve(variants: Sequence[QueryVariant], query: Query, kit: Kit, run: Run) -> Ranking | None:
    original, *others = variants
    asked = [replace(original, text=query.text_in_context), *others]
    limit = compute_candidate_limit(query)
    ranking = await kit.index.retrieve(asked, query.scope, limit=limit, filters=query.filters)
    run.techniques["retrieve"] = "knowledge base of the search service"
    return ranking


async def _search_instead(variants: Sequence[QueryVariant], query: Query, kit: Kit, run: Run) -> Ranking:
    rankings = await search_variants(variants, query, kit, run)
    return fuse_by_reciprocal_rank(*repeat_original_ranking(rankings), k=query.preset.search.rrf_k)
