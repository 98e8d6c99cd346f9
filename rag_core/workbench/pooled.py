"""Passages for a question whose wordings are embedded already: the retrieval of the workbench (S0-44 to S0-51)."""

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
    """The best `top_k`, and the two legs and their fusion before: a leg that was not searched is empty."""

    hits: Ranking
    dense: Ranking
    words: Ranking
    fused: Ranking


async def pooled(query: Query, vectors: Vectors, kit: Kit, run: Run, *, entities: Sequence[str], intent: str) -> Pooled:
    """By meaning with each vector, the best score of each chunk kept; by words with the question; fused by rank, judged
    by the ranker, and moved by what the question names and wants. Nothing is embedded.

    Raises:
        Unavailable: neither leg could be searched.
    """
    how: SearchType = "hybrid" if vectors else "keyword"
    dense, words = await on_any_leg(lambda leg: _legs(query, vectors, kit, leg), how, run)
    fused = codes_first(drop_duplicates(reciprocal_rank(dense, words, k=query.rrf_k)), query.text)
    judged = await semantically_ranked(fused, query, kit, run)
    head, tail = judged[: query.semantic or None], judged[query.semantic or len(judged) :]
    best = biased(head, entities, intent, entity=query.entity_boost, wanted=query.intent_boost)
    return Pooled([*best, *tail][: query.top_k], dense, words, fused)


def _legs(query: Query, vectors: Vectors, kit: Kit, how: SearchType) -> Awaitable[tuple[Ranking, Ranking]]:
    meanings = [] if how == "keyword" else [Probe(label, vector=vector) for label, vector in vectors.items()]
    words = [] if how == "vector" else [Probe("original", words=query.text)]
    return _searched(meanings, words, query, kit)


async def _searched(
    meanings: Sequence[Probe], words: Sequence[Probe], query: Query, kit: Kit
) -> tuple[Ranking, Ranking]:
    found = await kit.index.find([*meanings, *words], query.scope, limit=depth(query), filters=query.filters)
    return pool(*found[: len(meanings)]), found[-1] if words else []
