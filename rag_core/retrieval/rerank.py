"""The standard pipeline with its best candidates graded by a chat model."""

from rag_core.core.kit import Kit
from rag_core.core.model import Query, Result
from rag_core.core.rankings import drop_duplicates
from rag_core.core.run import Run
from rag_core.retrieval.search import labelled
from rag_core.retrieval.steps import evidence, graded, search, semantically_ranked


async def rerank(query: Query, kit: Kit, run: Run) -> Result:
    """Search for more than is wanted, rank, grade the head; the tail keeps its order (S1-08)."""
    asked = labelled([query.text])
    found = await search(asked, query, kit, run)
    ranked = await semantically_ranked(drop_duplicates(found["original"]), query, kit, run)
    best = await graded(ranked, query, kit, run)
    return await evidence(best, asked, query, kit, run)
