"""The steps that several pipelines take, each with the lesser answer that stands in for it.

A reply's `degraded` names the step and carries the failure's own code. Budgets allow the local cross-encoder
its 20 long passages on two cores; a chat model is quicker.
"""

from collections.abc import Sequence
from dataclasses import replace

from rag_core.errors import Unavailable
from rag_core.kit import Kit
from rag_core.model import Asked, Hit, Query, Ranking, Result
from rag_core.run import Run
from rag_core.stages.grade import grade
from rag_core.stages.quote import caption, quote
from rag_core.stages.retrieve import Found, embed, find
from rag_core.stages.semantic import is_judged, semantic

EMBED_S = 10.0
SEARCH_S = 20.0
JUDGE_S = 60.0


async def search(asked: Sequence[Asked], query: Query, kit: Kit, run: Run) -> Found:
    """A ranking a wording; by words only when there are no vectors, by meaning only when words cannot be searched."""
    vectors = await run.attempt(
        "embed",
        embed(asked, kit.index, how=query.how),
        otherwise={},
        fallback="search by words only",
        within_s=EMBED_S,
    )
    try:
        return await run.step("search", find(asked, vectors, query, kit.index), within_s=SEARCH_S)
    except Unavailable as failure:
        if not vectors or query.how == "vector":
            raise
        by_meaning = find(asked, vectors, replace(query, how="vector"), kit.index)
        found = await run.step("search", by_meaning, within_s=SEARCH_S)
        run.degrade("search", failure.code, failure.message, "search by meaning only")
        return found


async def semantically_ranked(found: Ranking, query: Query, kit: Kit, run: Run) -> Ranking:
    """The head in the semantic ranker's order, or all as found."""
    if not query.semantic:
        return found
    if is_judged(found[: query.semantic]):
        run.techniques["ranker"] = "semantic ranker of the search service"
    return await run.attempt(
        "semantic",
        semantic(query.text, found, kit.reranker, count=query.semantic),
        otherwise=found,
        fallback="the order of the search",
        within_s=JUDGE_S,
    )


async def graded(found: Ranking, query: Query, kit: Kit, run: Run) -> Ranking:
    """The head in the order of its grades, or all as found."""
    if not query.rerank:
        return found
    return await run.attempt(
        "rerank",
        grade(query.text, found, kit.llm, count=query.rerank),
        otherwise=found,
        fallback="the order of the search",
        within_s=JUDGE_S,
    )


async def evidence(ranked: Ranking, asked: Sequence[Asked], query: Query, kit: Kit, run: Run) -> Result:
    """The best `top_k`, quoted: by the ranker, or by the words they share with the question."""
    best = caption(query.text, ranked[: query.top_k])
    hits, answers = await run.attempt(
        "quote",
        quote(query.text, best, kit.reranker, captions=query.captions, answers=query.answers),
        otherwise=(best, ()),
        fallback="captions by shared words, no semantic answers",
        within_s=JUDGE_S,
    )
    return Result(hits=hits, asked=tuple(asked), answers=answers, reranked=_has_grades(hits))


def _has_grades(hits: Sequence[Hit]) -> bool:
    return any("grade" in hit.signals for hit in hits)
