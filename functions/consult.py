"""The main retrieval endpoint (S1-56)."""

from typing import TYPE_CHECKING, Any

from functions.routes import Call
from rag_core import presets, reply, service

if TYPE_CHECKING:
    from functions.wire import ConsultRequest


async def consult_rag(asked: "ConsultRequest", call: Call) -> dict[str, Any]:
    """What in the request has no effect stands in the reply's warnings."""
    from functions import wire

    preset, without_effect = presets.choose(
        pipeline=asked.pipeline,
        preset=asked.preset,
        top_k=asked.top_k,
        search_type=asked.search_type,
        enable_rerank=asked.enable_rerank,
        enable_query_expansion=asked.enable_query_expansion,
        enable_hyde=asked.enable_hyde,
    )
    for advice in without_effect:
        call.run.warn("no_effect", advice)
    scope = call.scope(asked.workflow_id)
    query = preset.query(asked.query, scope, filters=wire.filters(asked), facets=asked.facets)
    result = await service.consult(query, call.kit, call.run, pipeline=preset.pipeline)
    return reply.consulted(result, query, preset, call.run)
