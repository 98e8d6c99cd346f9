"""The facets pipeline: counts of the values of fields instead of passages."""

from collections.abc import Sequence
from dataclasses import replace

from rag_core.core.field_values import iter_field_values
from rag_core.core.kit import Kit
from rag_core.core.model import ANY_ENTITY_FIELD, Chunk, Facet, FacetBucket, Filter, Scope, SearchResult
from rag_core.core.ports import ChunkStore
from rag_core.core.presets import Query
from rag_core.core.run import Run
from rag_core.retrieval.facet_conditions import FacetConditions, find_facet_conditions
from rag_core.retrieval.facet_fields import infer_facet_field, resolve_facet_fields

MAX_CITED_VALUES = 50  # of a field, each with a chunk that has it
MAX_CITED_CHUNKS = 500  # looked through for them


async def run_facets(query: Query, kit: Kit, run: Run) -> SearchResult:
    """Count the values of the requested fields, or of the field that the question names; return no hits (S1-10).

    As a pipeline it counts under the conditions that the question names, and nothing where it cannot apply one of them;
    the run says which.

    Raises:
        InvalidRequest: a requested field has no values in this scope (unknown_facet).
    """
    store = kit.index.store
    available = await run.step("facet_fields", store.list_facet_fields(query.scope))
    fields = resolve_facet_fields(query.facets, available) or [_choose_facet_field(query.text, available, run)]
    if query.preset.pipeline != "facets":
        return SearchResult(facets=await _count(fields, query.filters, query, kit, run))
    finding = find_facet_conditions(query.text, fields, available, query.filters, query.scope, store)
    conditions = await run.step("conditions", finding)
    _note_conditions(conditions, run)
    if conditions.unknown:
        return SearchResult()
    filters = (*query.filters, *(named.to_filter() for named in conditions.applied))
    counted = await _count(fields, filters, query, kit, run)
    citing = [cite_values(facet, filters, query.scope, store) for facet in counted]
    return SearchResult(facets=tuple([await run.step("cite", cited) for cited in citing]))


async def cite_values(facet: Facet, filters: Sequence[Filter], scope: Scope, store: ChunkStore) -> Facet:
    """Return the facet with a chunk for each of its first values, by which the count can be checked."""
    first, rest = facet.buckets[:MAX_CITED_VALUES], facet.buckets[MAX_CITED_VALUES:]
    if not first:
        return facet
    having = Filter(facet.field, "in", tuple(bucket.value for bucket in first))
    chunks = _index_by_value(facet.field, await store.select(scope, filters=(*filters, having), limit=MAX_CITED_CHUNKS))
    cited: list[FacetBucket] = []
    for bucket in first:
        chunk = chunks.get(bucket.value)
        if chunk is None:
            same = Filter(facet.field, "eq", bucket.value)
            chunk = next(iter(await store.select(scope, filters=(*filters, same), limit=1)), None)
        cited.append(replace(bucket, chunk=chunk))
    return replace(facet, buckets=(*cited, *rest))


def _index_by_value(field: str, chunks: Sequence[Chunk]) -> dict[object, Chunk]:
    return {value: chunk for chunk in reversed(chunks) for name, value in iter_field_values(chunk) if name == field}


async def _count(
    fields: Sequence[str], filters: Sequence[Filter], query: Query, kit: Kit, run: Run
) -> tuple[Facet, ...]:
    limit = query.preset.search.facet_limit
    counting = kit.index.store.count_facets(fields, query.scope, filters=filters, limit=limit)
    return tuple(await run.step("facets", counting))


def _note_conditions(conditions: FacetConditions, run: Run) -> None:
    for named in conditions.applied:
        others = f" ({', '.join(named.others)} has it, too: name the one that is meant)" if named.others else ""
        run.warn("facet_condition", f"counted only where {named}{others}")
    if conditions.unknown:
        words = ", ".join(f"“{words}”" for words in conditions.unknown)
        run.warn("facet_condition_unknown", f"nothing was counted: no value of a field here is {words}")


def _choose_facet_field(query_text: str, available_fields: Sequence[str], run: Run) -> str:
    """Return the field that the question names, or that of all entities, and note the choice as a warning."""
    field = infer_facet_field(query_text, available_fields)
    if field:
        run.warn("facet_field_chosen", f"counted {field}, the field that the question names")
    else:
        run.warn("facet_field_default", f"the question names no field, so {ANY_ENTITY_FIELD} was counted")
    return field or ANY_ENTITY_FIELD
