"""The main retrieval endpoint (S1-56)."""

from typing import TYPE_CHECKING, Any

from functions.routes import Call
from rag_core import replies, service
from rag_core.core import presets
from rag_core.workbench import runs

if TYPE_CHECKING:
    from functions.wire import AskRequest, ConsultRequest

CHOICES = {"pipeline", "preset", "top_k", "top_n", "search_type"} | set(presets.FLAGS.values())


async def consult_rag(asked: "ConsultRequest", call: Call) -> dict[str, Any]:
    from functions import wire

    preset = chosen(asked, call)
    scope = call.scope(asked.workflow_id)
    query = preset.query(asked.query, scope, filters=wire.filters(asked), facets=asked.facets)
    result = await service.consult(query, call.kit, call.run, pipeline=preset.pipeline)
    told = await runs.keep(query, result, preset, "consult_rag", call.kit, call.run)
    return replies.consulted(result, query, preset, call.run) | told


def chosen(asked: "ConsultRequest | AskRequest", call: Call) -> presets.Preset:
    """The preset that a request means; what in it has no effect is told in the reply's warnings."""
    said = asked.model_dump(include=CHOICES)
    preset, without_effect = presets.choose(**said, house=call.settings.house)
    for advice in without_effect:
        call.run.warn("no_effect", advice)
    if asked.enable_hyde and preset.imaginings and not call.kit.chat:
        call.run.warn("no_effect", "enable_hyde has no effect: only a chat model imagines an answer")
    return preset
