"""The standard pipeline with its best candidates graded by a chat model."""

from rag_core.kit import Kit
from rag_core.model import Query, Result
from rag_core.pipelines.steps import evidence, graded, search, semantically_ranked
from rag_core.rankings import drop_duplicates
from rag_core.run import Run
from rag_core.stages.retrieve import labelled


async def rerank(query: Query, kit: Kit, run: Run) -> Result:
    """Search for more than is wanted, rank, grade the head; the tail keeps its order (S1-08)."""
    asked = labelled([query.text])
    found = await search(asked, query, kit, run)
    ranked = await semantically_ranked(drop_duplicates(found["original"]), query, kit, run)
    best = await graded(ranked, query, kit, run)
    return await evidence(best, asked, query, kit, run)
