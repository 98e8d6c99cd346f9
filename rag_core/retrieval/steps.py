"""The steps that several pipelines take, each with the lesser answer that stands in for it.

A reply's `degraded` names the step and carries the failure's own code. Budgets allow the local cross-encoder
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
LEGS: Mapping[SearchType, str] = MappingProxyType(
    {"vector": "search by meaning only", "keyword": "search by words only"}
)

T = TypeVar("T")


async def search(asked: Sequence[Asked], query: Query, kit: Kit, run: Run) -> Found:
    """A ranking a wording; by words only when there are no vectors, by one leg when the other cannot be searched."""
    vectors = await run.attempt(
        "embed",
        embed(asked, kit.index, how=query.how),
        otherwise={},
        fallback="search by words only",
        within_s=EMBED_S,
    )

    def look(how: SearchType) -> Awaitable[Found]:
        return find(asked, {} if how == "keyword" else vectors, replace(query, how=how), kit.index)

    return await on_any_leg(look, query.how if vectors or query.how == "vector" else "keyword", run)


async def on_any_leg(look: Callable[[SearchType], Awaitable[T]], how: SearchType, run: Run) -> T:
    """What `look` finds as asked for or, when the two legs cannot be searched together, by one of them.

    Raises:
        Unavailable: no leg could be searched, or not the one that was asked for.
    """
    try:
        return await run.step("search", look(how), within_s=SEARCH_S)
    except Unavailable as failure:
        for leg, fallback in LEGS.items() if how not in LEGS else ():
            with suppress(Unavailable):
                found = await run.step("search", look(leg), within_s=SEARCH_S / 4)  # the first may hang, too
                run.degrade("search", failure.code, failure.message, fallback)
                return found
        raise


async def semantically_ranked(found: Ranking, query: Query, kit: Kit, run: Run) -> Ranking:
    """The head in the semantic ranker's order, or all as found."""
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
    """The head in the order of its grades, or all as found."""
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
