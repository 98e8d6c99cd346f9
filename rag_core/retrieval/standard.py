"""The standard pipeline: hybrid search, reranked by a cross-encoder."""

from rag_core.core.kit import Kit
from rag_core.core.model import SearchResult
from rag_core.core.presets import Query
from rag_core.core.run import Run
from rag_core.retrieval.candidates import choose_candidates
from rag_core.retrieval.search import label_variants
from rag_core.retrieval.steps import build_search_result, rerank_with_cross_encoder, search_variants


async def run_standard(query: Query, kit: Kit, run: Run) -> SearchResult:
    """Search both legs, rerank the head by cross-encoder, and caption the best hits (S1-07)."""
    variants = label_variants([query.text])
    rankings = await search_variants(variants, query, kit, run)
    candidates = choose_candidates(rankings["original"], query)
    reranked = await rerank_with_cross_encoder(candidates, query, kit, run)
    return await build_search_result(reranked, variants, query, kit, run)
