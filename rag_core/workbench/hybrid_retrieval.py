"""Hybrid retrieval of the workbench, with the embeddings that a saved query already has (S0-44 to S0-51)."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from rag_core.core.kit import Kit
from rag_core.core.model import Ranking, SearchType
from rag_core.core.ports import Probe
from rag_core.core.presets import Query
from rag_core.core.rankings import drop_duplicate_hits, fuse_by_reciprocal_rank, pool_rankings, sort_by_code_matches
from rag_core.core.run import Run
from rag_core.retrieval.boosts import boost_by_entities_and_intent
from rag_core.retrieval.search import VectorsByLabel, compute_candidate_limit
from rag_core.retrieval.steps import rerank_with_cross_encoder, search_with_leg_fallback


@dataclass(frozen=True, slots=True)
class RetrievedRankings:
    """The best `top_k` hits, and the rankings they come from: the two legs and their fusion.

    The ranking of a leg that was not searched is empty.
    """

    hits: Ranking
    vector: Ranking
    lexical: Ranking
    fused: Ranking


async def retrieve_with_embeddings(
    query: Query, vectors: VectorsByLabel, kit: Kit, run: Run, *, entities: Sequence[str], intent: str
) -> RetrievedRankings:
    """Retrieve hits by hybrid search without embedding anything.

    The vector leg searches with each vector and keeps each chunk's best score; the lexical leg searches with the query
    text. The legs are fused by reciprocal rank, reranked by the cross-encoder and boosted by entities and intent.

    Raises:
        Unavailable: neither leg could be searched.
    """
    search_type: SearchType = "hybrid" if vectors else "keyword"
    vector_hits, lexical_hits = await search_with_leg_fallback(
        lambda leg: _search_workbench_legs(query, vectors, kit, leg), search_type, run
    )
    fused = sort_by_code_matches(
        drop_duplicate_hits(fuse_by_reciprocal_rank(vector_hits, lexical_hits, k=query.preset.search.rrf_k)), query.text
    )
    reranked = await rerank_with_cross_encoder(fused, query, kit, run)
    head, tail = (
        reranked[: query.preset.search.reranked_hits or None],
        reranked[query.preset.search.reranked_hits or len(reranked) :],
    )
    boosted = boost_by_entities_and_intent(
        head,
        entities,
        intent,
        entity_boost=query.preset.workbench.entity_boost,
        intent_boost=query.preset.workbench.intent_boost,
    )
    return RetrievedRankings([*boosted, *tail][: query.preset.search.top_k], vector_hits, lexical_hits, fused)


def _search_workbench_legs(
    query: Query, vectors: VectorsByLabel, kit: Kit, search_type: SearchType
) -> Awaitable[tuple[Ranking, Ranking]]:
    vector_probes = (
        [] if search_type == "keyword" else [Probe(label, vector=vector) for label, vector in vectors.items()]
    )
    lexical_probes = [] if search_type == "vector" else [Probe("original", lexical_query=query.text)]
    return _run_leg_probes(vector_probes, lexical_probes, query, kit)


async def _run_leg_probes(
    vector_probes: Sequence[Probe], lexical_probes: Sequence[Probe], query: Query, kit: Kit
) -> tuple[Ranking, Ranking]:
    """Return the pooled ranking of the vector probes, and the ranking of the lexical probe if there is one."""
    probes = [*vector_probes, *lexical_probes]
    rankings = await kit.index.search(probes, query.scope, limit=compute_candidate_limit(query), filters=query.filters)
    return pool_rankings(*rankings[: len(vector_probes)]), rankings[-1] if lexical_probes else []
