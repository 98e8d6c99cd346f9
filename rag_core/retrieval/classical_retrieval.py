"""Retrieval of the classical pipeline: two legs fused by weighted score, cut to excerpts, reranked by cross-encoder."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from rag_core.core.concurrency import run_together
from rag_core.core.errors import Unavailable
from rag_core.core.kit import Kit
from rag_core.core.model import Evidence, Ranking, Vector
from rag_core.core.ports import Probe
from rag_core.core.presets import Query
from rag_core.core.rankings import drop_duplicate_hits, fuse_by_weighted_sum, pool_rankings, rescale_scores
from rag_core.core.run import Run
from rag_core.retrieval.advanced import EXPANSION_CONTEXT_PASSAGES
from rag_core.retrieval.boosts import boost_by_entities
from rag_core.retrieval.excerpts import excerpt_hits, keep_first_excerpts, rank_evidence_by_relevance
from rag_core.retrieval.neighbours import add_neighbouring_chunks
from rag_core.retrieval.spelling_reranker import SpellingReranker
from rag_core.retrieval.steps import EMBED_TIMEOUT_S, RERANK_TIMEOUT_S, SEARCH_TIMEOUT_S, expand_with_fallback
from rag_core.text.abbreviations import (
    Glossary,
    expand_abbreviations,
    find_definitions,
    fold_case_except_codes,
    merge_glossaries,
)

LEXICAL_WEIGHT, VECTOR_WEIGHT = 0.4, 0.6  # S4-14
EXCERPTS_PER_HIT = 3  # of the best hits, to choose from: S4-17


async def retrieve_evidence(query: Query, kit: Kit, run: Run) -> list[Evidence]:
    """Retrieve the best `top_k` passages, each cut to an excerpt for the question, best first.

    Abbreviations in the question are written out first.

    Raises:
        Unavailable: the question could not be embedded (its details then have a confidence of 0: S4-50), or neither
            leg could be searched (retrieval_unavailable).
    """
    spelled_out = replace(query, text=expand_abbreviations(query.text, kit.glossary))
    first = await search_and_fuse_legs(spelled_out.text, spelled_out, kit, run)
    others = await search_expanded_queries(first, spelled_out, kit, run)
    candidates = boost_by_entities(spelled_out.text, drop_duplicate_hits(pool_rankings(first, *others)))
    best = (await rank_excerpts_by_relevance(candidates, query, kit, run))[: query.preset.search.top_k]
    return await widen_evidence(best, spelled_out, kit, run)


async def search_and_fuse_legs(query_text: str, query: Query, kit: Kit, run: Run) -> Ranking:
    """Search both legs for a text and fuse them: score = 0.4 * lexical + 0.6 * vector, each scaled to 0..1.

    When only one leg is requested or answers, its scores stand unweighted.

    Raises:
        Unavailable: the text could not be embedded, or neither leg could be searched (retrieval_unavailable).
    """
    vector = None if query.preset.search.search_type == "keyword" else await embed_query_text(query_text, kit, run)
    words = "" if query.preset.search.search_type == "vector" else fold_case_except_codes(query_text)
    probes = {"words": Probe("original", lexical_query=words), "meaning": Probe("original", vector=vector)}
    lexical_hits, vector_hits = await run_together(
        search_leg(leg, probe, query, kit, run) for leg, probe in probes.items()
    )
    if lexical_hits is None and vector_hits is None:
        raise Unavailable("neither the lexical nor the vector leg can be searched now", code="retrieval_unavailable")
    legs = ((lexical_hits, LEXICAL_WEIGHT), (vector_hits, VECTOR_WEIGHT))
    parts = [(ranking, weight) for ranking, weight in legs if ranking is not None]
    return fuse_by_weighted_sum(*parts) if len(parts) > 1 else parts[0][0]


async def embed_query_text(query_text: str, kit: Kit, run: Run) -> Vector:
    """Embed the query text; unlike in the other pipelines there is no fallback to lexical search.

    Raises:
        Unavailable: there is no embedder, or it failed; the details have a confidence of 0.
    """
    try:
        return (await run.step("embed", kit.index.embed_queries([query_text]), within_s=EMBED_TIMEOUT_S))[0]
    except Unavailable as failure:
        raise Unavailable(
            f"the question could not be embedded: {failure.message}", code=failure.code, details={"confidence": 0.0}
        ) from failure


async def search_leg(name: str, probe: Probe, query: Query, kit: Kit, run: Run) -> Ranking | None:
    """Search one leg and return its ranking with scores of 0..1; None when the probe is empty or the search fails."""
    if not probe.lexical_query and probe.vector is None:
        return None
    rankings = await run.attempt(
        name,
        kit.index.search([probe], query.scope, limit=query.preset.search.candidates, filters=query.filters),
        otherwise=None,
        fallback="the hits of the other leg",
        within_s=SEARCH_TIMEOUT_S,
    )
    if rankings is None:
        return None
    return rescale_scores(
        rankings[0], best=None if probe.lexical_query else 1.0
    )  # a cosine similarity is already at most 1


async def search_expanded_queries(original_ranking: Ranking, query: Query, kit: Kit, run: Run) -> list[Ranking]:
    """Search for the expanded queries, where query expansion is on, and return a ranking for each (S4-39).

    A failure of the search returns none.
    """
    if not query.preset.expansion.expanded_queries:
        return []
    expansion = await expand_with_fallback(
        query, [hit.chunk.content for hit in original_ranking[:EXPANSION_CONTEXT_PASSAGES]], kit.llm, run
    )
    searching = run_together(search_and_fuse_legs(text, query, kit, run) for text in expansion.expanded_queries)
    return await run.attempt("multi_query", searching, otherwise=[], fallback="the hits of the original question")


async def rank_excerpts_by_relevance(candidates: Ranking, query: Query, kit: Kit, run: Run) -> list[Evidence]:
    """Cut the best candidates to excerpts and sort these by the cross-encoder's relevance (S4-17).

    An excerpt is sought, and scored, in either spelling of an abbreviation, of the glossary or of what the candidates
    define. Of the best candidates the cross-encoder chooses the excerpt, too. The excerpts keep the order of the
    candidates when reranking is off or fails.
    """
    head = candidates[: query.preset.search.reranked_hits or None]
    glossary = await asyncio.to_thread(_collect_glossary, head, kit.glossary)
    parts = await asyncio.to_thread(
        excerpt_hits,
        query.text,
        head,
        max_chars=query.preset.guard.context_chars,
        glossary=glossary,
        alternatives=EXCERPTS_PER_HIT if query.preset.search.reranked_hits else 1,
    )
    if not query.preset.search.reranked_hits:
        return parts
    return await run.attempt(
        "rerank",
        rank_evidence_by_relevance(query.text, parts, SpellingReranker(kit.reranker, glossary)),
        otherwise=keep_first_excerpts(parts),
        fallback="the order of the fusion",
        within_s=RERANK_TIMEOUT_S,
    )


def _collect_glossary(hits: Ranking, glossary: Glossary) -> Glossary:
    """Return the glossary with the abbreviations that the hits define themselves."""
    return merge_glossaries(glossary, *(find_definitions(hit.chunk.content) for hit in hits))


async def widen_evidence(evidence: Sequence[Evidence], query: Query, kit: Kit, run: Run) -> list[Evidence]:
    """Add the excerpts of the neighbouring chunks to the evidence, where that is switched on (S4-41)."""
    if not query.preset.guard.neighbours:
        return list(evidence)
    hits = [passage.hit for passage in evidence]
    wider = await run.attempt(
        "neighbours",
        add_neighbouring_chunks(hits, query.scope, kit.index.store, count=query.preset.guard.neighbours),
        otherwise=hits,
        fallback="the passages found, without their neighbours",
        within_s=SEARCH_TIMEOUT_S,
    )
    return await asyncio.to_thread(
        excerpt_hits, query.text, wider, max_chars=query.preset.guard.context_chars, glossary=kit.glossary
    )
