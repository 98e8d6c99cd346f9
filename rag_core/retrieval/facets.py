"""The facets pipeline: counts of the values of fields instead of passages."""

from collections.abc import Sequence

from rag_core.core.kit import Kit
from rag_core.core.model import ANY_ENTITY, Query, Result
from rag_core.core.run import Run
from rag_core.retrieval.facet_fields import meant, requested


async def facets(query: Query, kit: Kit, run: Run) -> Result:
    """Count the values of the requested fields, or of the field that the question names; return no hits (S1-10).

    Raises:
        InvalidRequest: a requested field has no values in this scope (unknown_facet).
    """
    store = kit.index.store
    available = await run.step("facet_fields", store.facet_fields(query.scope))
    fields = requested(query.facets, available) or [_field_of(query.text, available, run)]
    counted = await run.step(
        "facets", store.facets(fields, query.scope, filters=query.filters, limit=query.facet_limit)
    )
    return Result(facets=tuple(counted))


def _field_of(query_text: str, available_fields: Sequence[str], run: Run) -> str:
    """Return the field that the question names, or that of all entities, and note the choice as a warning."""
    field = meant(query_text, available_fields)
    if field:
        run.warn("facet_field_chosen", f"counted {field}, the field that the question names")
    else:
        run.warn("facet_field_default", f"the question names no field, so {ANY_ENTITY} was counted")
    return field or ANY_ENTITY
