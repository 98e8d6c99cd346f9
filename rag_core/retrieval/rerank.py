"""The rerank pipeline: the standard one, with its best candidates graded by a chat model."""

from rag_core.core.kit import Kit
from rag_core.core.model import Query, Result
from rag_core.core.rankings import drop_duplicates
from rag_core.core.run import Run
from rag_core.retrieval.search import labelled
from rag_core.retrieval.steps import evidence, graded, search, semantically_ranked


async def rerank(query: Query, kit: Kit, run: Run) -> Result:
    """Search for more hits than are returned, rerank them by cross-encoder, and grade the head by chat model (S1-08).

    The tail keeps its order.
    """
    variants = labelled([query.text])
    rankings = await search(variants, query, kit, run)
    reranked = await semantically_ranked(drop_duplicates(rankings["original"]), query, kit, run)
    best = await graded(reranked, query, kit, run)
    return await evidence(best, variants, query, kit, run)
