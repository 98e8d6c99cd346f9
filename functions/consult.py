"""The handler of consult_rag, the main retrieval endpoint (S1-56)."""

from typing import TYPE_CHECKING, Any

from functions.routes import Call
from rag_core import replies, service
from rag_core.core import presets
from rag_core.workbench import runs

if TYPE_CHECKING:
    from functions.wire import AskRequest, ConsultRequest

CHOICES = {"pipeline", "preset", "top_k", "top_n", "search_type"} | set(presets.FLAGS.values())


async def consult_rag(asked: "ConsultRequest", call: Call) -> dict[str, Any]:
    """Search by the pipeline and preset of the request, and reply with the ranked passages."""
    from functions import wire

    preset = chosen(asked, call)
    scope = call.scope(asked.workflow_id)
    query = preset.query(asked.query, scope, filters=wire.filters(asked), facets=asked.facets)
    result = await service.consult(query, call.kit, call.run, pipeline=preset.pipeline)
    archived = await runs.keep(query, result, preset, "consult_rag", call.kit, call.run)
    return replies.consulted(result, query, preset, call.run) | archived


def chosen(asked: "ConsultRequest | AskRequest", call: Call) -> presets.Preset:
    """Return the preset that a request names, with the numbers it replaces.

    A flag that the preset cannot follow becomes a `no_effect` warning of the reply.
    """
    choices = asked.model_dump(include=CHOICES)
    preset, ineffective = presets.choose(**choices, house=call.settings.house)
    for message in ineffective:
        call.run.warn("no_effect", message)
    if asked.enable_hyde and preset.imaginings and not call.kit.chat:
        call.run.warn("no_effect", "enable_hyde has no effect: only a chat model can write a hypothetical answer")
    return preset
