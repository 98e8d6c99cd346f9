"""The standard pipeline: hybrid search, reranked by a cross-encoder."""

from rag_core.core.kit import Kit
from rag_core.core.model import Query, Result
from rag_core.core.rankings import drop_duplicates
from rag_core.core.run import Run
from rag_core.retrieval.search import labelled
from rag_core.retrieval.steps import evidence, search, semantically_ranked


async def standard(query: Query, kit: Kit, run: Run) -> Result:
    """Search both legs, rerank the head by cross-encoder, and caption the best hits (S1-07)."""
    variants = labelled([query.text])
    rankings = await search(variants, query, kit, run)
    reranked = await semantically_ranked(drop_duplicates(rankings["original"]), query, kit, run)
    return await evidence(reranked, variants, query, kit, run)
