"""The facets pipeline: counts of the values of fields instead of passages."""

from collections.abc import Sequence

from rag_core.core.kit import Kit
from rag_core.core.model import ANY_ENTITY_FIELD, SearchResult
from rag_core.core.presets import Query
from rag_core.core.run import Run
from rag_core.retrieval.facet_fields import infer_facet_field, resolve_facet_fields


async def run_facets(query: Query, kit: Kit, run: Run) -> SearchResult:
    """Count the values of the requested fields, or of the field that the question names; return no hits (S1-10).

    Raises:
        InvalidRequest: a requested field has no values in this scope (unknown_facet).
    """
    store = kit.index.store
    available = await run.step("facet_fields", store.list_facet_fields(query.scope))
    fields = resolve_facet_fields(query.facets, available) or [_choose_facet_field(query.text, available, run)]
    counted = await run.step(
        "facets", store.count_facets(fields, query.scope, filters=query.filters, limit=query.preset.search.facet_limit)
    )
    return SearchResult(facets=tuple(counted))


def _choose_facet_field(query_text: str, available_fields: Sequence[str], run: Run) -> str:
    """Return the field that the question names, or that of all entities, and note the choice as a warning."""
    field = infer_facet_field(query_text, available_fields)
    if field:
        run.warn("facet_field_chosen", f"counted {field}, the field that the question names")
    else:
        run.warn("facet_field_default", f"the question names no field, so {ANY_ENTITY_FIELD} was counted")
    return field or ANY_ENTITY_FIELD
