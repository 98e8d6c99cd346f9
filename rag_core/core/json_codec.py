"""Spans, entities and blocks as JSON values: each stored format is written and read here and nowhere else.

An object names its fields; saved queries, jobs, the sandbox and the index of Azure AI Search hold objects. An array has
the values in the order of the record; the tables of the embedded store and of PostgreSQL hold arrays.
A span may lack the locator, and its array the section too, which were added later.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rag_core.core.model import Block, Box, Entity, Span


def span_to_json(span: Span) -> dict[str, Any]:
    """Return a span as an object."""
    return {
        "start": span.start,
        "end": span.end,
        "page": span.page,
        "line_start": span.line_start,
        "line_end": span.line_end,
        "bbox": span.bbox,
        "section": span.section,
        **_locator_to_json(span),
    }


def span_from_json(fields: Mapping[str, Any]) -> Span:
    """Return the span of an object."""
    return Span(**{**fields, "bbox": _box_from_json(fields["bbox"]), "section": tuple(fields["section"])})


def span_to_json_array(span: Span) -> tuple[Any, ...]:
    """Return a span as an array."""
    return (
        span.start,
        span.end,
        span.page,
        span.line_start,
        span.line_end,
        span.bbox,
        span.section,
        *_locator_to_json(span).values(),
    )


def span_from_json_array(values: Sequence[Any]) -> Span:
    """Return the span of an array."""
    start, end, page, line_start, line_end, bbox, *later = values
    section = tuple(later[0]) if later else ()
    locator = later[1] if len(later) > 1 else ""
    return Span(start, end, page, line_start, line_end, _box_from_json(bbox), section, locator)


def place_to_json(place: Span | None) -> dict[str, int | None]:
    """Return the page and lines of a passage, each None where it is not known."""
    return {
        "page": place.page if place else None,
        "line_start": place.line_start if place else None,
        "line_end": place.line_end if place else None,
    }


def lines_to_json(place: Span | None) -> list[int] | None:
    """Return the first and last line of a passage; None where they are not known."""
    return [place.line_start, place.line_end] if place else None


def entity_to_json(entity: Entity) -> dict[str, str]:
    """Return an entity as an object."""
    return {"type": entity.type, "value": entity.value}


def entity_from_json(fields: Mapping[str, str]) -> Entity:
    """Return the entity of an object."""
    return Entity(fields["type"], fields["value"])


def entity_to_json_array(entity: Entity) -> tuple[str, str]:
    """Return an entity as an array."""
    return entity.type, entity.value


def entity_from_json_array(values: Sequence[str]) -> Entity:
    """Return the entity of an array."""
    type, value = values
    return Entity(type, value)


def block_to_json(block: Block) -> dict[str, Any]:
    """Return a block as an object."""
    return {
        "text": block.text,
        "kind": block.kind,
        "line_start": block.line_start,
        "line_end": block.line_end,
        "page": block.page,
        "bbox": block.bbox,
        "headings": block.headings,
        "fields": dict(block.fields),
        "boxes": block.boxes,
        "page_label": block.page_label,
        **_locator_to_json(block),
    }


def block_from_json(fields: Mapping[str, Any]) -> Block:
    """Return the block of an object.

    Raises:
        KeyError, TypeError: it lacks a field, or has one that a block has not.
    """
    tuples = {"headings": tuple(fields["headings"]), "boxes": tuple(map(tuple, fields["boxes"]))}
    return Block(**{**fields, **tuples, "bbox": _box_from_json(fields["bbox"])})


def _locator_to_json(placed: Span | Block) -> dict[str, str]:
    """Return the locator where there is one: all other records are stored as they were before there were locators."""
    return {"locator": placed.locator} if placed.locator else {}


def _box_from_json(values: Sequence[float] | None) -> Box | None:
    return (values[0], values[1], values[2], values[3]) if values else None
