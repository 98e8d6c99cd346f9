"""Hybrid search with semantic ranking."""

from rag_core.core.kit import Kit
from rag_core.core.model import Query, Result
from rag_core.core.rankings import drop_duplicates
from rag_core.core.run import Run
from rag_core.retrieval.search import labelled
from rag_core.retrieval.steps import evidence, search, semantically_ranked


async def standard(query: Query, kit: Kit, run: Run) -> Result:
    """Search by words and meaning, let the semantic ranker order the best, quote them (S1-07)."""
    asked = labelled([query.text])
    found = await search(asked, query, kit, run)
    ranked = await semantically_ranked(drop_duplicates(found["original"]), query, kit, run)
    return await evidence(ranked, asked, query, kit, run)
