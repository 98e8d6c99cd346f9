"""The advanced pipeline: query expansion and HyDE from the first hits, rank fusion, reranking and LLM grading."""

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

GROUNDING = 10  # passages of the first search that show the chat model the vocabulary of the index
REWRITE_S = 20.0


async def advanced(query: Query, kit: Kit, run: Run) -> Result:
    """Search, expand the query from the first hits, search its variants, fuse by rank, rerank and grade (S1-09).

    The result's variants are those that could be searched.
    """
    rankings = await search(labelled([query.text]), query, kit, run)
    variants = await reworded(query, rankings["original"], kit, run)
    expanded_rankings = await searched_too(variants[1:], query, kit, run)
    rankings |= {label: unscored(ranking) for label, ranking in expanded_rankings.items()}
    fused = drop_duplicates(reciprocal_rank(*weighed(rankings), k=query.rrf_k))
    reranked = await semantically_ranked(fused, query, kit, run)
    best = await graded(reranked, query, kit, run)
    return await evidence(best, [variant for variant in variants if variant.label in rankings], query, kit, run)


def unscored(ranking: Ranking) -> list[Hit]:
    """Return the hits without the signals of the legs.

    Scores for another text are on another scale and do not rate the hit for the query text.
    """
    return [replace(hit, signals={n: s for n, s in hit.signals.items() if n not in LEGS}) for hit in ranking]


def weighed(found: Found) -> list[Ranking]:
    """Return the rankings to fuse, the original query's as often as there are other rankings.

    It then counts as much as all others together. Counted once, the others pushed relevant passages out of the graded
    head: nDCG@10 on psychology was 0.899 instead of 0.926.
    """
    original, *others = found.values()
    return [original] * max(1, len(others)) + others


async def reworded(query: Query, first: Ranking, kit: Kit, run: Run) -> list[Asked]:
    """Return the query's variants: the query text first, then the expanded queries and HyDE answer that were generated.

    `original_ranking` is the ranking of the query text; the model is shown the passages of its head.
    """
    expansion = await expanded(query, [hit.chunk.content for hit in first[:GROUNDING]], kit.llm, run)
    return labelled([query.text, *expansion.wordings], [expansion.imagined] if expansion.imagined else [])


async def expanded(query: Query, passages: Sequence[str], llm: LLM, run: Run, *, told: str = "") -> Expansion:
    """Generate the expanded queries and HyDE answer that `query` asks for, in one model call.

    A failed call gives an empty expansion, and each missing part is noted in `run` as a degradation. `template` is an
    edited prompt template; "" uses the packaged one.
    """
    if not query.rewordings and not query.imaginings:
        return Expansion()
    expansion = await run.attempt(
        "query_expansion",
        expand(query.text, passages, llm, count=query.rewordings, imagine=query.imaginings > 0, told=told),
        otherwise=Expansion(),
        fallback="the original question only",
        within_s=REWRITE_S,
    )
    for part in expansion.missing:
        run.degrade("query_expansion", "llm_output_invalid", f"the model's reply has no {part}", f"no {part}")
    return expansion


async def searched_too(others: Sequence[Asked], query: Query, kit: Kit, run: Run) -> Found:
    """Search for the variants beside the original one; return no rankings when the search fails."""
    if not others:
        return {}
    searching = search(others, query, kit, run)
    return await run.attempt("multi_query", searching, otherwise={}, fallback="the hits of the original question")
