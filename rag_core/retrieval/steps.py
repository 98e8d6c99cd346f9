"""Stages that several pipelines share, each with the fallback that replaces its result when a service fails.

A reply's `degraded` names the stage and carries the failure's own code. The timeouts allow the local cross-encoder
its 20 long passages on two cores; a chat model is quicker.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import TypeVar

from rag_core.core.errors import Unavailable
from rag_core.core.kit import Kit
from rag_core.core.model import Hit, QueryVariant, Ranking, SearchResult, SearchType
from rag_core.core.ports import LLM
from rag_core.core.presets import FEW_SEMANTIC_CANDIDATES, Query
from rag_core.core.run import Run
from rag_core.retrieval import conversation
from rag_core.retrieval.asked_documents import give_asked_figures_room
from rag_core.retrieval.captions import add_lexical_captions, extract_captions_and_answers
from rag_core.retrieval.cross_encoding import has_semantic_scores, rerank_hits
from rag_core.retrieval.expansion import QueryExpansion, generate_expansion
from rag_core.retrieval.grading import grade_hits
from rag_core.retrieval.search import RankingsByLabel, search_index

EXPANSION_TIMEOUT_S = 20.0
EMBED_TIMEOUT_S = 10.0
SEARCH_TIMEOUT_S = 20.0
RERANK_TIMEOUT_S = 60.0
LEG_FALLBACKS: Mapping[SearchType, str] = MappingProxyType(
    {"vector": "vector search only", "keyword": "lexical search only"}
)

T = TypeVar("T")


async def expand_with_fallback(
    query: Query, passages: Sequence[str], llm: LLM, run: Run, *, template: str = ""
) -> QueryExpansion:
    """Generate the expanded queries and HyDE answer that `query` asks for, in one model call.

    A failed call gives an empty expansion, and each missing part is noted in `run` as a degradation. `template` is an
    edited prompt template; "" uses the packaged one.
    """
    if not query.preset.expansion.expanded_queries and not query.preset.expansion.hyde_answers:
        return QueryExpansion()
    expansion = await run.attempt(
        "query_expansion",
        generate_expansion(
            query.text,
            passages,
            llm,
            count=query.preset.expansion.expanded_queries,
            with_hyde=query.preset.expansion.hyde_answers > 0,
            template=template,
        ),
        otherwise=QueryExpansion(),
        fallback="the original question only",
        within_s=EXPANSION_TIMEOUT_S,
    )
    for part in expansion.missing_parts:
        run.degrade("query_expansion", "llm_output_invalid", f"the model's reply has no {part}", f"no {part}")
    return expansion


async def search_variants(variants: Sequence[QueryVariant], query: Query, kit: Kit, run: Run) -> RankingsByLabel:
    """Embed the variants and search for each; return the rankings by label, the original one steered by the history.

    Without vectors only the lexical leg is searched; when both legs cannot be searched together, one of them is.

    Raises:
        Unavailable: no leg could be searched, or not the one that was requested.
    """
    search_type = query.preset.search.search_type
    turns = conversation.label_turns(query.history) if variants[0].label == "original" else []
    vectors = await run.attempt(
        "embed",
        conversation.embed_in_context(variants, query, kit.index),
        otherwise={},
        fallback="lexical search only",
        within_s=EMBED_TIMEOUT_S,
    )

    def search_legs(legs: SearchType) -> Awaitable[RankingsByLabel]:
        used_vectors = {} if legs == "keyword" else vectors
        return search_index([*variants, *turns], used_vectors, query.override(search_type=legs), kit.index)

    legs = search_type if vectors or search_type == "vector" else "keyword"
    rankings = await search_with_leg_fallback(search_legs, legs, run)
    return conversation.merge_turns(rankings, query.text) if turns else rankings


async def search_with_leg_fallback(
    search_legs: Callable[[SearchType], Awaitable[T]], search_type: SearchType, run: Run
) -> T:
    """Search as requested or, when the two legs cannot be searched together, by the first leg that answers.

    `search_legs` searches by a search type. A fallback to one leg is noted in `run` as a degradation.

    Raises:
        Unavailable: no leg could be searched, or not the one that was requested.
    """
    try:
        return await run.step("search", search_legs(search_type), within_s=SEARCH_TIMEOUT_S)
    except Unavailable as failure:
        for leg, fallback in LEG_FALLBACKS.items() if search_type not in LEG_FALLBACKS else ():
            with suppress(Unavailable):
                result = await run.step(
                    "search", search_legs(leg), within_s=SEARCH_TIMEOUT_S / 4
                )  # the first leg may hang, too
                run.degrade("search", failure.code, failure.message, fallback)
                return result
        raise


async def rerank_with_cross_encoder(ranking: Ranking, query: Query, kit: Kit, run: Run) -> Ranking:
    """Rerank the head of a ranking by cross-encoder; return the ranking unchanged when that is off or fails."""
    if not query.preset.search.reranked_hits:
        return ranking
    is_judged = has_semantic_scores(ranking[: query.preset.search.reranked_hits])
    if is_judged:
        run.techniques["ranker"] = "semantic ranker of the search service"
    reranked = await run.attempt(
        "semantic",
        rerank_hits(
            query.text,
            ranking,
            kit.reranker,
            count=query.preset.search.reranked_hits,
            prior=query.preset.search.search_prior,
        ),
        otherwise=ranking,
        fallback="the order of the search",
        within_s=RERANK_TIMEOUT_S,
    )
    return reranked if is_judged else give_asked_figures_room(query.text, query.text_in_context, reranked)


async def grade_passages(ranking: Ranking, query: Query, kit: Kit, run: Run) -> Ranking:
    """Reorder the head of a ranking by a chat model's grades; return it unchanged when that is off or fails.

    Where the cross-encoder stands in for a chat model, it reads no more than in ranking. Passages that the model left
    ungraded are noted in `run` as a degradation.
    """
    count = query.preset.grading.graded_hits
    if not kit.has_chat_model:
        count = min(count, FEW_SEMANTIC_CANDIDATES)
    if not count:
        return ranking
    graded = await run.attempt(
        "rerank",
        grade_hits(query.text, ranking, kit.llm, count=count, prior=query.preset.search.search_prior),
        otherwise=ranking,
        fallback="the order of the search",
        within_s=RERANK_TIMEOUT_S,
    )
    head = graded[:count]
    ungraded = sum("grade" not in hit.signals for hit in head)
    if 0 < ungraded < len(head):
        reason = f"the model's reply has no grade for {ungraded} of {len(head)} passages"
        run.degrade("rerank", "grade_missing", reason, "these follow the graded ones, in the order of the search")
    return graded


async def build_search_result(
    ranking: Ranking, variants: Sequence[QueryVariant], query: Query, kit: Kit, run: Run
) -> SearchResult:
    """Return the best `top_k` hits with captions, the semantic answers among these, and the variants searched for.

    Captions are chosen by cross-encoder or, when that fails, by the terms shared with the question; a preset of 0
    captions has none but a store's own.
    """
    best = list(ranking[: query.preset.search.top_k])
    if query.preset.search.captions:
        best = add_lexical_captions(query.text, best)
    hits, answers = await run.attempt(
        "quote",
        extract_captions_and_answers(
            query.text,
            best,
            kit.reranker,
            caption_count=query.preset.search.captions,
            answer_count=query.preset.search.answers,
        ),
        otherwise=(best, ()),
        fallback="captions by shared terms, no semantic answers",
        within_s=RERANK_TIMEOUT_S,
    )
    return SearchResult(hits=hits, variants=tuple(variants), answers=answers, reranked=_has_grades(hits))


def _has_grades(hits: Sequence[Hit]) -> bool:
    return any("grade" in hit.signals for hit in hits)
