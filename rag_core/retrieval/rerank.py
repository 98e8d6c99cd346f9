"""The rerank pipeline: the standard one, with its best candidates graded by a chat model."""

from rag_core.core.kit import Kit
from rag_core.core.model import SearchResult
from rag_core.core.presets import Query
from rag_core.core.run import Run
from rag_core.retrieval.candidates import choose_candidates
from rag_core.retrieval.search import label_variants
from rag_core.retrieval.steps import build_search_result, grade_passages, rerank_with_cross_encoder, search_variants


async def run_rerank(query: Query, kit: Kit, run: Run) -> SearchResult:
    """Search for more hits than are returned, rerank them by cross-encoder, and grade the head by chat model (S1-08).

    The tail keeps its order.
    """
    variants = label_variants([query.text])
    rankings = await search_variants(variants, query, kit, run)
    candidates = choose_candidates(rankings["original"], query)
    reranked = await rerank_with_cross_encoder(candidates, query, kit, run)
    best = await grade_passages(reranked, query, kit, run)
    return await build_search_result(best, variants, query, kit, run)
