"""Hybrid retrieval of the workbench, with the embeddings that a saved query already has (S0-44 to S0-51)."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from rag_core.core.kit import Kit
from rag_core.core.model import Query, Ranking, SearchType
from rag_core.core.ports import Probe
from rag_core.core.rankings import codes_first, drop_duplicates, pool, reciprocal_rank
from rag_core.core.run import Run
from rag_core.retrieval.boosts import biased
from rag_core.retrieval.search import Vectors, depth
from rag_core.retrieval.steps import on_any_leg, semantically_ranked


@dataclass(frozen=True, slots=True)
class Pooled:
    """The best `top_k` hits, and the rankings they come from: the two legs and their fusion.

    The ranking of a leg that was not searched is empty.
    """

    hits: Ranking
    dense: Ranking
    words: Ranking
    fused: Ranking


async def pooled(query: Query, vectors: Vectors, kit: Kit, run: Run, *, entities: Sequence[str], intent: str) -> Pooled:
    """Retrieve hits by hybrid search without embedding anything.

    The vector leg searches with each vector and keeps each chunk's best score; the lexical leg searches with the query
    text. The legs are fused by reciprocal rank, reranked by the cross-encoder and boosted by entities and intent.

    Raises:
        Unavailable: neither leg could be searched.
    """
    search_type: SearchType = "hybrid" if vectors else "keyword"
    vector_hits, lexical_hits = await on_any_leg(lambda leg: _legs(query, vectors, kit, leg), search_type, run)
    fused = codes_first(drop_duplicates(reciprocal_rank(vector_hits, lexical_hits, k=query.rrf_k)), query.text)
    reranked = await semantically_ranked(fused, query, kit, run)
    head, tail = reranked[: query.semantic or None], reranked[query.semantic or len(reranked) :]
    boosted = biased(head, entities, intent, entity=query.entity_boost, wanted=query.intent_boost)
    return Pooled([*boosted, *tail][: query.top_k], vector_hits, lexical_hits, fused)


def _legs(query: Query, vectors: Vectors, kit: Kit, how: SearchType) -> Awaitable[tuple[Ranking, Ranking]]:
    vector_probes = [] if how == "keyword" else [Probe(label, vector=vector) for label, vector in vectors.items()]
    lexical_probes = [] if how == "vector" else [Probe("original", words=query.text)]
    return _searched(vector_probes, lexical_probes, query, kit)


async def _searched(
    meanings: Sequence[Probe], words: Sequence[Probe], query: Query, kit: Kit
) -> tuple[Ranking, Ranking]:
    """Return the pooled ranking of the vector probes, and the ranking of the lexical probe if there is one."""
    probes = [*meanings, *words]
    rankings = await kit.index.find(probes, query.scope, limit=depth(query), filters=query.filters)
    return pool(*rankings[: len(meanings)]), rankings[-1] if words else []
