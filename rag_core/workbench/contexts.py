"""Contexts as a saved query stores them: encoding of groups, and decoding of contexts for the stages."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from rag_core.core.model import Chunk, Entity, Hit, Span
from rag_core.workbench.groups import Group, extent

Item = Mapping[str, Any]


def found(item: Item) -> Hit:
    """Return the hit that a retrieved context was encoded from."""
    chunk = replace(
        _passage(item, item["id"], item["section"]),
        ordinal=item["ordinal"],
        entities=tuple(Entity(**entity) for entity in item["entities"]),
        metadata=item["metadata"],
    )
    return Hit(chunk, item["scores"]["fused"], item["scores"], found_by=tuple(item["found_by"]))


def context(item: Item) -> Hit:
    """Return a context of a prompt as a hit: a group, or a retrieved passage if nothing was consolidated."""
    if "chunk_ids" not in item:
        return found(item)
    return Hit(_passage(item, item["chunk_ids"][0], item["heading_chain"]), item["score"])


def _passage(item: Item, id: str, headings: Sequence[str]) -> Chunk:
    return Chunk(
        id=id,
        document_id=item["document_id"],
        ordinal=0,
        content=item["content"],
        title=item["title"],
        source=item["source"],
        content_hash="",
        spans=tuple(_span(span) for span in item["spans"]),
        parent_id=item["parent_id"],
        heading_path=tuple(headings),
    )


def kept(group: Group) -> dict[str, Any]:
    """Encode a group in JSON types (S0-61); `parts` has the lines of each of its retrieved chunks."""
    passage = group.passage
    place = passage.place(0, len(passage.content))
    return {
        "chunk_ids": [chunk.id for chunk in group.found],
        "parent_id": next((chunk.parent_id for chunk in group.found if chunk.parent_id), None),
        "work_id": passage.document_id,
        "content": passage.content,
        "heading_chain": list(passage.heading_path),
        "score": group.score,
        "title": passage.title,
        "document_id": passage.document_id,
        "source": passage.source,
        "page": place and place.page,
        "line_start": place and place.line_start,
        "line_end": place and place.line_end,
        "coverage": round(group.coverage, 4),
        "enriched": group.enriched,
        "parts": [{"chunk_id": chunk.id, "lines": extent(chunk)} for chunk in group.found],
        "spans": [asdict(span) for span in passage.spans],
    }


def holder(chunk_id: str, lines: Sequence[int] | None, contexts: Sequence[Item]) -> str:
    """Return the id of the retrieved chunk that contains the first line of a group's citation.

    `chunk_id` is the group's first chunk; it is returned when the line is between the retrieved chunks.
    """
    parts = next((c["parts"] for c in contexts if "parts" in c and c["chunk_ids"][0] == chunk_id), ())
    chunk_ids = (p["chunk_id"] for p in parts if lines and p["lines"] and p["lines"][0] <= lines[0] <= p["lines"][1])
    return next(chunk_ids, chunk_id)


def _span(said: Mapping[str, Any]) -> Span:
    box = said["bbox"]
    return Span(**{**said, "bbox": None if box is None else tuple(box), "section": tuple(said["section"])})
