"""Counting values instead of finding passages."""

from collections.abc import Sequence

from rag_core.core.kit import Kit
from rag_core.core.model import ANY_ENTITY, Query, Result
from rag_core.core.run import Run
from rag_core.retrieval.facet_fields import meant, requested


async def facets(query: Query, kit: Kit, run: Run) -> Result:
    """The values of the fields asked for, or of the one that the question means (S1-10); no documents."""
    store = kit.index.store
    available = await run.step("facet_fields", store.facet_fields(query.scope))
    fields = requested(query.facets, available) or [_field_of(query.text, available, run)]
    counted = await run.step(
        "facets", store.facets(fields, query.scope, filters=query.filters, limit=query.facet_limit)
    )
    return Result(facets=tuple(counted))


def _field_of(text: str, available: Sequence[str], run: Run) -> str:
    field = meant(text, available)
    if field:
        run.warn("facet_field_chosen", f"counted {field}, the field that the question names")
    else:
        run.warn("facet_field_default", f"the question names no field, so {ANY_ENTITY} was counted")
    return field or ANY_ENTITY
