"""Retrieval of the classical pipeline: two legs fused by weighted score, cut to excerpts, reranked by cross-encoder."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from rag_core.core.errors import Unavailable
from rag_core.core.kit import Kit
from rag_core.core.model import Evidence, Query, Ranking, Vector
from rag_core.core.ports import Probe
from rag_core.core.rankings import drop_duplicates, pool, rescaled, weighted
from rag_core.core.run import Run
from rag_core.retrieval.advanced import GROUNDING
from rag_core.retrieval.advanced import expanded as reworded
from rag_core.retrieval.boosts import boosted
from rag_core.retrieval.excerpts import excerpts, relevant
from rag_core.retrieval.neighbours import widened
from rag_core.retrieval.steps import EMBED_S, JUDGE_S, SEARCH_S
from rag_core.text.abbreviations import expanded, folded

WORDS, MEANING = 0.4, 0.6  # S4-14


async def gathered(query: Query, kit: Kit, run: Run) -> list[Evidence]:
    """Retrieve the best `top_k` passages, each cut to an excerpt for the question, best first.

    Abbreviations in the question are written out first.

    Raises:
        Unavailable: the question could not be embedded (its details then have a confidence of 0: S4-50), or neither
            leg could be searched (retrieval_unavailable).
    """
    spelled_out = replace(query, text=expanded(query.text, kit.glossary))
    first = await fused(spelled_out.text, spelled_out, kit, run)
    others = await searched_too(first, spelled_out, kit, run)
    candidates = boosted(spelled_out.text, drop_duplicates(pool(first, *others)))
    best = (await judged(candidates, spelled_out, kit, run))[: query.top_k]
    return await widely(best, spelled_out, kit, run)


async def fused(asked: str, query: Query, kit: Kit, run: Run) -> Ranking:
    """Search both legs for a text and fuse them: score = 0.4 * lexical + 0.6 * vector, each scaled to 0..1.

    When only one leg is requested or answers, its scores stand unweighted.

    Raises:
        Unavailable: the text could not be embedded, or neither leg could be searched (retrieval_unavailable).
    """
    vector = None if query.how == "keyword" else await embedded(asked, kit, run)
    lexical_hits, vector_hits = await asyncio.gather(
        leg("words", Probe("original", words="" if query.how == "vector" else folded(asked)), query, kit, run),
        leg("meaning", Probe("original", vector=vector), query, kit, run),
    )
    if lexical_hits is None and vector_hits is None:
        raise Unavailable("neither the lexical nor the vector leg can be searched now", code="retrieval_unavailable")
    legs = ((lexical_hits, WORDS), (vector_hits, MEANING))
    parts = [(ranking, weight) for ranking, weight in legs if ranking is not None]
    return weighted(*parts) if len(parts) > 1 else parts[0][0]


async def embedded(text: str, kit: Kit, run: Run) -> Vector:
    """Embed the query text; unlike in the other pipelines there is no fallback to lexical search.

    Raises:
        Unavailable: there is no embedder, or it failed; the details have a confidence of 0.
    """
    try:
        return (await run.step("embed", kit.index.embed([text]), within_s=EMBED_S))[0]
    except Unavailable as failure:
        raise Unavailable(
            f"the question could not be embedded: {failure.message}", code=failure.code, details={"confidence": 0.0}
        ) from failure


async def leg(name: str, probe: Probe, query: Query, kit: Kit, run: Run) -> Ranking | None:
    """Search one leg and return its ranking with scores of 0..1; None when the probe is empty or the search fails."""
    if not probe.words and probe.vector is None:
        return None
    rankings = await run.attempt(
        name,
        kit.index.find([probe], query.scope, limit=query.candidates, filters=query.filters),
        otherwise=None,
        fallback="the hits of the other leg",
        within_s=SEARCH_S,
    )
    if rankings is None:
        return None
    return rescaled(rankings[0], best=None if probe.words else 1.0)  # a cosine similarity is already at most 1


async def searched_too(first: Ranking, query: Query, kit: Kit, run: Run) -> list[Ranking]:
    """Search for the expanded queries, where query expansion is on, and return a ranking for each (S4-39).

    A failure of the search returns none.
    """
    if not query.rewordings:
        return []
    expansion = await reworded(query, [hit.chunk.content for hit in first[:GROUNDING]], kit.llm, run)
    searching = asyncio.gather(*(fused(text, query, kit, run) for text in expansion.wordings))
    return await run.attempt("multi_query", searching, otherwise=[], fallback="the hits of the original question")


async def judged(likely: Ranking, query: Query, kit: Kit, run: Run) -> list[Evidence]:
    """Cut the best candidates to excerpts and sort these by the cross-encoder's relevance (S4-17).

    The excerpts keep the order of the candidates when reranking is off or fails.
    """
    head = likely[: query.semantic or None]
    parts = await asyncio.to_thread(excerpts, query.text, head, chars=query.context_chars)
    if not query.semantic:
        return parts
    return await run.attempt(
        "rerank",
        relevant(query.text, parts, kit.reranker),
        otherwise=parts,
        fallback="the order of the fusion",
        within_s=JUDGE_S,
    )


async def widely(best: Sequence[Evidence], query: Query, kit: Kit, run: Run) -> list[Evidence]:
    """Add the excerpts of the neighbouring chunks to the evidence, where that is switched on (S4-41)."""
    if not query.neighbours:
        return list(best)
    hits = [passage.hit for passage in best]
    wider = await run.attempt(
        "neighbours",
        widened(hits, query.scope, kit.index.store, count=query.neighbours),
        otherwise=hits,
        fallback="the passages found, without their neighbours",
        within_s=SEARCH_S,
    )
    return await asyncio.to_thread(excerpts, query.text, wider, chars=query.context_chars)
