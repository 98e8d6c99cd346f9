"""A found passage as plain data: what a kept question has of each, and what the pages show."""

from collections.abc import Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from rag_core.core.model import Hit, Ranking

JUDGES = ("rerank", "grade", "relevance", "semantic")  # signals of what reordered a hit: the first that it has counts
LEGS = (("dense", "meaning"), ("words", "words"))  # the name of a leg's rank, and its signal


def item(hit: Hit, ranks: Mapping[str, int] = MappingProxyType({})) -> dict[str, Any]:
    """A hit with everything needed to cite it, in JSON types (S0-52).

    `scores` has all its signals, "fused" (the search's own, the hit's score unless it is a signal), "rerank" where a
    judge has seen it, and "final", what it was ordered by. `ranks`, from 1, are by leg ("dense", "words") and "fused".
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
    """The hits in their order. Their ranks are among themselves: of a finished ranking the legs' own are not known."""
    scored = {name: {h.chunk.id: h.signals[signal] for h in hits if signal in h.signals} for name, signal in LEGS}
    scored["fused"] = {hit.chunk.id: hit.score for hit in hits}
    ranks = {name: _ranks(scores) for name, scores in scored.items()}
    return [item(hit, {name: of[hit.chunk.id] for name, of in ranks.items() if hit.chunk.id in of}) for hit in hits]


def _ranks(scores: Mapping[str, float]) -> dict[str, int]:
    """The place of each, from 1, highest first; equals as they stand."""
    return {id: rank for rank, id in enumerate(sorted(scores, key=lambda id: -scores[id]), start=1)}


def _scores(hit: Hit) -> dict[str, float]:
    judged = next((hit.signals[judge] for judge in JUDGES if judge in hit.signals), None)
    scores = {"fused": hit.score, **hit.signals, **({} if judged is None else {"rerank": judged})}
    return {"final": scores.get("rerank", scores["fused"]), **scores}
