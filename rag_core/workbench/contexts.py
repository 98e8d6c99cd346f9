"""Contexts as a saved query stores them and the pages show them: hits and groups in JSON types, and back."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from rag_core.core.json_codec import entity_from_json, entity_to_json, place_to_json, span_from_json, span_to_json
from rag_core.core.model import Chunk, Hit, Ranking
from rag_core.workbench.passage_groups import PassageGroup, find_line_range

RERANK_SIGNALS = ("rerank", "grade", "relevance", "semantic")  # the first that a hit has is its rerank score
LEG_RANK_SIGNALS = (("dense", "meaning"), ("words", "words"))  # the key of a leg's rank, and its signal

StoredContext = Mapping[str, Any]


def encode_hit(hit: Hit, ranks: Mapping[str, int] = MappingProxyType({})) -> dict[str, Any]:
    """Encode a hit with everything needed to cite it (S0-52).

    `scores` has all signals, "fused" (the search score, unless a signal has that name), "rerank" if the hit was
    reranked, and "final", by which it was ordered. `ranks`, from 1, are by leg ("dense", "words") and "fused".
    """
    chunk = hit.chunk
    return {
        "id": chunk.id,
        "content": chunk.content,
        **_encode_source(chunk),
        "section": list(chunk.heading_path),
        **place_to_json(chunk.place),
        "boxes": [list(box) for box in chunk.locate_boxes(0, len(chunk.content))],
        "scores": _collect_hit_scores(hit),
        "ranks": dict(ranks),
        "found_by": list(hit.found_by),
        "entities": list(map(entity_to_json, chunk.entities)),
        "metadata": dict(chunk.metadata),
        "parent_id": chunk.parent_id,
        "ordinal": chunk.ordinal,
        "spans": list(map(span_to_json, chunk.spans)),
    }


def encode_ranking(hits: Ranking) -> list[dict[str, Any]]:
    """Encode the hits in their order.

    Ranks are computed among these hits, since a finished ranking no longer has the ranks of its legs.
    """
    scores_by_leg = {
        name: {hit.chunk.id: hit.signals[signal] for hit in hits if signal in hit.signals}
        for name, signal in LEG_RANK_SIGNALS
    }
    scores_by_leg["fused"] = {hit.chunk.id: hit.score for hit in hits}
    ranks = {name: _rank_by_score(scores) for name, scores in scores_by_leg.items()}
    return [
        encode_hit(hit, {name: of[hit.chunk.id] for name, of in ranks.items() if hit.chunk.id in of}) for hit in hits
    ]


def encode_group(group: PassageGroup) -> dict[str, Any]:
    """Encode a group in JSON types (S0-61); `parts` has the lines of each of its retrieved chunks."""
    passage = group.passage
    return {
        "chunk_ids": [chunk.id for chunk in group.retrieved],
        "parent_id": next((chunk.parent_id for chunk in group.retrieved if chunk.parent_id), None),
        "work_id": passage.document_id,
        "content": passage.content,
        "heading_chain": list(passage.heading_path),
        "score": group.score,
        **_encode_source(passage),
        **place_to_json(passage.place),
        "coverage": round(group.coverage, 4),
        "enriched": group.enriched,
        "parts": [{"chunk_id": chunk.id, "lines": find_line_range(chunk)} for chunk in group.retrieved],
        "spans": list(map(span_to_json, passage.spans)),
    }


def decode_hit(context: StoredContext) -> Hit:
    """Return the hit that a retrieved context was encoded from."""
    chunk = replace(
        _chunk_from_context(context, context["id"], context["section"]),
        ordinal=context["ordinal"],
        entities=tuple(map(entity_from_json, context["entities"])),
        metadata=context["metadata"],
    )
    return Hit(chunk, context["scores"]["fused"], context["scores"], found_by=tuple(context["found_by"]))


def decode_context(context: StoredContext) -> Hit:
    """Return a context of a prompt as a hit: a group, or a retrieved passage if nothing was consolidated."""
    if "chunk_ids" not in context:
        return decode_hit(context)
    return Hit(_chunk_from_context(context, context["chunk_ids"][0], context["heading_chain"]), context["score"])


def find_cited_chunk_id(chunk_id: str, lines: Sequence[int] | None, contexts: Sequence[StoredContext]) -> str:
    """Return the id of the retrieved chunk that contains the first line of a group's citation.

    `chunk_id` is the group's first chunk; it is returned when the line is between the retrieved chunks.
    """
    parts = next((c["parts"] for c in contexts if "parts" in c and c["chunk_ids"][0] == chunk_id), ())
    chunk_ids = (p["chunk_id"] for p in parts if lines and p["lines"] and p["lines"][0] <= lines[0] <= p["lines"][1])
    return next(chunk_ids, chunk_id)


def _encode_source(chunk: Chunk) -> dict[str, str]:
    return {"title": chunk.title, "document_id": chunk.document_id, "source": chunk.source}


def _chunk_from_context(context: StoredContext, chunk_id: str, heading_path: Sequence[str]) -> Chunk:
    return Chunk(
        id=chunk_id,
        document_id=context["document_id"],
        ordinal=0,
        content=context["content"],
        title=context["title"],
        source=context["source"],
        content_hash="",
        spans=tuple(map(span_from_json, context["spans"])),
        parent_id=context["parent_id"],
        heading_path=tuple(heading_path),
    )


def _rank_by_score(scores: Mapping[str, float]) -> dict[str, int]:
    """Return the rank of each id, from 1 for the highest score; equal scores keep their order."""
    return {id: rank for rank, id in enumerate(sorted(scores, key=lambda id: -scores[id]), start=1)}


def _collect_hit_scores(hit: Hit) -> dict[str, float]:
    rerank_score = next((hit.signals[name] for name in RERANK_SIGNALS if name in hit.signals), None)
    scores = {"fused": hit.score, **hit.signals, **({} if rerank_score is None else {"rerank": rerank_score})}
    return {"final": scores.get("rerank", scores["fused"]), **scores}
