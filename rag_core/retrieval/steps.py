"""Stages that several pipelines share, each with the fallback that replaces its result when a service fails.

A reply's `degraded` names the stage and carries the failure's own code. The timeouts allow the local cross-encoder
its 20 long passages on two cores; a chat model is quicker.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

from rag_core.core.errors import Unavailable
from rag_core.core.kit import Kit
from rag_core.core.model import Asked, Hit, Query, Ranking, Result, SearchType
from rag_core.core.run import Run
from rag_core.retrieval.captions import caption, quote
from rag_core.retrieval.cross_encode import is_judged, semantic
from rag_core.retrieval.grading import grade
from rag_core.retrieval.search import Found, embed, find

EMBED_S = 10.0
SEARCH_S = 20.0
JUDGE_S = 60.0
LEGS: Mapping[SearchType, str] = MappingProxyType({"vector": "vector search only", "keyword": "lexical search only"})

T = TypeVar("T")


async def search(asked: Sequence[Asked], query: Query, kit: Kit, run: Run) -> Found:
    """Embed the variants and search for each; return the rankings by label.

    Without vectors only the lexical leg is searched; when both legs cannot be searched together, one of them is.

    Raises:
        Unavailable: no leg could be searched, or not the one that was requested.
    """
    vectors = await run.attempt(
        "embed",
        embed(asked, kit.index, how=query.how),
        otherwise={},
        fallback="lexical search only",
        within_s=EMBED_S,
    )

    def search_by(how: SearchType) -> Awaitable[Found]:
        return find(asked, {} if how == "keyword" else vectors, replace(query, how=how), kit.index)

    return await on_any_leg(search_by, query.how if vectors or query.how == "vector" else "keyword", run)


async def on_any_leg(look: Callable[[SearchType], Awaitable[T]], how: SearchType, run: Run) -> T:
    """Search as requested or, when the two legs cannot be searched together, by the first leg that answers.

    `search_legs` searches by a search type. A fallback to one leg is noted in `run` as a degradation.

    Raises:
        Unavailable: no leg could be searched, or not the one that was requested.
    """
    try:
        return await run.step("search", look(how), within_s=SEARCH_S)
    except Unavailable as failure:
        for leg, fallback in LEGS.items() if how not in LEGS else ():
            with suppress(Unavailable):
                result = await run.step("search", look(leg), within_s=SEARCH_S / 4)  # the first leg may hang, too
                run.degrade("search", failure.code, failure.message, fallback)
                return result
        raise


async def semantically_ranked(found: Ranking, query: Query, kit: Kit, run: Run) -> Ranking:
    """Rerank the head of a ranking by cross-encoder; return the ranking unchanged when that is off or fails."""
    if not query.semantic:
        return found
    if is_judged(found[: query.semantic]):
        run.techniques["ranker"] = "semantic ranker of the search service"
    return await run.attempt(
        "semantic",
        semantic(query.text, found, kit.reranker, count=query.semantic, prior=query.prior),
        otherwise=found,
        fallback="the order of the search",
        within_s=JUDGE_S,
    )


async def graded(found: Ranking, query: Query, kit: Kit, run: Run) -> Ranking:
    """Reorder the head of a ranking by a chat model's grades; return it unchanged when that is off or fails."""
    if not query.rerank:
        return found
    return await run.attempt(
        "rerank",
        grade(query.text, found, kit.llm, count=query.rerank, prior=query.prior),
        otherwise=found,
        fallback="the order of the search",
        within_s=JUDGE_S,
    )


async def evidence(ranked: Ranking, asked: Sequence[Asked], query: Query, kit: Kit, run: Run) -> Result:
    """Return the best `top_k` hits with captions, the semantic answers among these, and the variants searched for.

    Captions are chosen by cross-encoder or, when that fails, by the terms shared with the question.
    """
    best = caption(query.text, ranked[: query.top_k])
    hits, answers = await run.attempt(
        "quote",
        quote(query.text, best, kit.reranker, captions=query.captions, answers=query.answers),
        otherwise=(best, ()),
        fallback="captions by shared terms, no semantic answers",
        within_s=JUDGE_S,
    )
    return Result(hits=hits, asked=tuple(asked), answers=answers, reranked=_has_grades(hits))


def _has_grades(hits: Sequence[Hit]) -> bool:
    return any("grade" in hit.signals for hit in hits)
