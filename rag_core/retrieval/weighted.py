"""Evidence by two legs whose scores are weighed, and by a ranker that reads the sentences that matter."""

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
    """The best `top_k` passages, each cut to what speaks to the question, best first.

    Raises:
        Unavailable: the question could not be embedded (its details have a confidence of 0: S4-50), or nothing
            could be searched (retrieval_unavailable).
    """
    asked = replace(query, text=expanded(query.text, kit.glossary))
    first = await fused(asked.text, asked, kit, run)
    others = await searched_too(first, asked, kit, run)
    likely = boosted(asked.text, drop_duplicates(pool(first, *others)))
    best = (await judged(likely, asked, kit, run))[: query.top_k]
    return await widely(best, asked, kit, run)


async def fused(asked: str, query: Query, kit: Kit, run: Run) -> Ranking:
    """final = 0.4 * words + 0.6 * meaning, both 0..1, over the best of each leg; one that is alone counts whole."""
    vector = None if query.how == "keyword" else await embedded(asked, kit, run)
    words, meaning = await asyncio.gather(
        leg("words", Probe("original", words="" if query.how == "vector" else folded(asked)), query, kit, run),
        leg("meaning", Probe("original", vector=vector), query, kit, run),
    )
    if words is None and meaning is None:
        raise Unavailable("neither words nor meaning can be searched now", code="retrieval_unavailable")
    parts = [(part, weight) for part, weight in ((words, WORDS), (meaning, MEANING)) if part is not None]
    return weighted(*parts) if len(parts) > 1 else parts[0][0]


async def embedded(text: str, kit: Kit, run: Run) -> Vector:
    """The question's vector. Unlike elsewhere, without it there is no answer (C25)."""
    try:
        return (await run.step("embed", kit.index.embed([text]), within_s=EMBED_S))[0]
    except Unavailable as failure:
        raise Unavailable(
            f"the question could not be embedded: {failure.message}", code=failure.code, details={"confidence": 0.0}
        ) from failure


async def leg(name: str, probe: Probe, query: Query, kit: Kit, run: Run) -> Ranking | None:
    """What one leg finds, by scores of 0..1; None when it is not asked, or does not answer."""
    if not probe.words and probe.vector is None:
        return None
    found = await run.attempt(
        name,
        kit.index.find([probe], query.scope, limit=query.candidates, filters=query.filters),
        otherwise=None,
        fallback="what the other leg finds",
        within_s=SEARCH_S,
    )
    return None if found is None else rescaled(found[0], best=None if probe.words else 1.0)  # a cosine is a share


async def searched_too(first: Ranking, query: Query, kit: Kit, run: Run) -> list[Ranking]:
    """What other wordings of the question find, where those are switched on (S4-39)."""
    if not query.rewordings:
        return []
    found = await reworded(query, [hit.chunk.content for hit in first[:GROUNDING]], kit.llm, run)
    more = asyncio.gather(*(fused(text, query, kit, run) for text in found.wordings))
    return await run.attempt("multi_query", more, otherwise=[], fallback="what the original wording found")


async def judged(likely: Ranking, query: Query, kit: Kit, run: Run) -> list[Evidence]:
    """The likeliest, cut to the part that speaks to the question, in the ranker's order of those parts (S4-17)."""
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
    """The same with the passages beside them, where that is switched on (S4-41)."""
    if not query.neighbours:
        return list(best)
    hits = [passage.hit for passage in best]
    more = await run.attempt(
        "neighbours",
        widened(hits, query.scope, kit.index.store, count=query.neighbours),
        otherwise=hits,
        fallback="the passages found, without those beside them",
        within_s=SEARCH_S,
    )
    return await asyncio.to_thread(excerpts, query.text, more, chars=query.context_chars)
