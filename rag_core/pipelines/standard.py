"""Hybrid search with semantic ranking."""

from rag_core.kit import Kit
from rag_core.model import Query, Result
from rag_core.pipelines.steps import evidence, search, semantically_ranked
from rag_core.rankings import drop_duplicates
from rag_core.run import Run
from rag_core.stages.retrieve import labelled


async def standard(query: Query, kit: Kit, run: Run) -> Result:
    """Search by words and meaning, let the semantic ranker order the best, quote them (S1-07)."""
    asked = labelled([query.text])
    found = await search(asked, query, kit, run)
    ranked = await semantically_ranked(drop_duplicates(found["original"]), query, kit, run)
    return await evidence(ranked, asked, query, kit, run)
