"""Encoding of hits in JSON types, as saved queries store them and the pages show them."""

from collections.abc import Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from rag_core.core.model import Hit, Ranking

JUDGES = ("rerank", "grade", "relevance", "semantic")  # the first that a hit has is its rerank score
LEGS = (("dense", "meaning"), ("words", "words"))  # the key of a leg's rank, and its signal


def item(hit: Hit, ranks: Mapping[str, int] = MappingProxyType({})) -> dict[str, Any]:
    """Encode a hit with everything needed to cite it (S0-52).

    `scores` has all signals, "fused" (the search score, unless a signal has that name), "rerank" if the hit was
    reranked, and "final", by which it was ordered. `ranks`, from 1, are by leg ("dense", "words") and "fused".
    """
    chunk = hit.chunk
    end = len(chunk.content)
    place = chunk.place(0, end)
    return {
        "id": chunk.id,
        "content": chunk.content,
        "title": chunk.title,
        "document_id": chunk.document_id,
        "source": chunk.source,
        "section": list(chunk.heading_path),
        "page": place and place.page,
        "line_start": place and place.line_start,
        "line_end": place and place.line_end,
        "boxes": [list(box) for box in chunk.boxes(0, end)],
        "scores": _scores(hit),
        "ranks": dict(ranks),
        "found_by": list(hit.found_by),
        "entities": [asdict(entity) for entity in chunk.entities],
        "metadata": dict(chunk.metadata),
        "parent_id": chunk.parent_id,
        "ordinal": chunk.ordinal,
        "spans": [asdict(span) for span in chunk.spans],
    }


def items(hits: Ranking) -> list[dict[str, Any]]:
    """Encode the hits in their order.

    Ranks are computed among these hits, since a finished ranking no longer has the ranks of its legs.
    """
    scores_by_leg = {
        name: {hit.chunk.id: hit.signals[signal] for hit in hits if signal in hit.signals} for name, signal in LEGS
    }
    scores_by_leg["fused"] = {hit.chunk.id: hit.score for hit in hits}
    ranks = {name: _ranks(scores) for name, scores in scores_by_leg.items()}
    return [item(hit, {name: of[hit.chunk.id] for name, of in ranks.items() if hit.chunk.id in of}) for hit in hits]


def _ranks(scores: Mapping[str, float]) -> dict[str, int]:
    """Return the rank of each id, from 1 for the highest score; equal scores keep their order."""
    return {id: rank for rank, id in enumerate(sorted(scores, key=lambda id: -scores[id]), start=1)}


def _scores(hit: Hit) -> dict[str, float]:
    rerank_score = next((hit.signals[name] for name in JUDGES if name in hit.signals), None)
    scores = {"fused": hit.score, **hit.signals, **({} if rerank_score is None else {"rerank": rerank_score})}
    return {"final": scores.get("rerank", scores["fused"]), **scores}
