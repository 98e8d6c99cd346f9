"""Several wordings of the question and an imagined answer, fused, and graded."""

from collections.abc import Sequence
from dataclasses import replace

from rag_core.core.kit import Kit
from rag_core.core.model import Asked, Hit, Query, Ranking, Result
from rag_core.core.ports import LLM
from rag_core.core.rankings import LEGS, drop_duplicates, reciprocal_rank
from rag_core.core.run import Run
from rag_core.retrieval.expansion import Expansion, expand
from rag_core.retrieval.search import Found, labelled
from rag_core.retrieval.steps import evidence, graded, search, semantically_ranked

GROUNDING = 10  # passages of the first search that show the rewriter how the index speaks
REWRITE_S = 20.0


async def advanced(query: Query, kit: Kit, run: Run) -> Result:
    """Search, reword and imagine from what was found, search with those too, fuse, grade, quote (S1-09)."""
    found = await search(labelled([query.text]), query, kit, run)
    asked = await reworded(query, found["original"], kit, run)
    found |= {label: unscored(hits) for label, hits in (await searched_too(asked[1:], query, kit, run)).items()}
    fused = drop_duplicates(reciprocal_rank(*weighed(found), k=query.rrf_k))
    ranked = await semantically_ranked(fused, query, kit, run)
    best = await graded(ranked, query, kit, run)
    return await evidence(best, [wording for wording in asked if wording.label in found], query, kit, run)


def unscored(ranking: Ranking) -> list[Hit]:
    """Without what the legs scored: the scores of other words are of another scale, and not of the question."""
    return [replace(hit, signals={n: s for n, s in hit.signals.items() if n not in LEGS}) for hit in ranking]


def weighed(found: Found) -> list[Ranking]:
    """The rankings, that of the original as often as there are others: it counts as much as all of them together.

    Counting it once, the others pushed passages out of those graded: psychology nDCG@10 0.899, so 0.926.
    """
    original, *others = found.values()
    return [original] * max(1, len(others)) + others


async def reworded(query: Query, first: Ranking, kit: Kit, run: Run) -> list[Asked]:
    """The original first, then what the rewriter made of it; what it did not give is done without."""
    found = await expanded(query, [hit.chunk.content for hit in first[:GROUNDING]], kit.llm, run)
    return labelled([query.text, *found.wordings], [found.imagined] if found.imagined else [])


async def expanded(query: Query, passages: Sequence[str], llm: LLM, run: Run, *, told: str = "") -> Expansion:
    """The question's other wordings and imagined answer, as many as it asks for: one call of the model."""
    if not query.rewordings and not query.imaginings:
        return Expansion()
    found = await run.attempt(
        "query_expansion",
        expand(query.text, passages, llm, count=query.rewordings, imagine=query.imaginings > 0, told=told),
        otherwise=Expansion(),
        fallback="the original wording only",
        within_s=REWRITE_S,
    )
    for part in found.missing:
        run.degrade("query_expansion", "llm_output_invalid", f"the model's reply has no {part}", f"no {part}")
    return found


async def searched_too(others: Sequence[Asked], query: Query, kit: Kit, run: Run) -> Found:
    """What the other wordings find; a failure leaves what the original found."""
    if not others:
        return {}
    more = search(others, query, kit, run)
    return await run.attempt("multi_query", more, otherwise={}, fallback="what the original wording found")
