"""The main retrieval endpoint (S1-56)."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from functions.routes import Call
from rag_core import presets, reply, service
from rag_core.kit import Kit
from rag_core.model import Query
from rag_core.run import Run
from rag_core.workbench import runs

if TYPE_CHECKING:
    from functions.wire import AskRequest, ConsultRequest

F = TypeVar("F")
Keep = Callable[[Query, F, presets.Preset, str, Kit, Run], Awaitable[int | None]]
CHOICES = {"pipeline", "preset", "top_k", "top_n", "search_type"} | set(presets.FLAGS.values())


async def consult_rag(asked: "ConsultRequest", call: Call) -> dict[str, Any]:
    from functions import wire

    preset = chosen(asked, call)
    scope = call.scope(asked.workflow_id)
    query = preset.query(asked.query, scope, filters=wire.filters(asked), facets=asked.facets)
    result = await service.consult(query, call.kit, call.run, pipeline=preset.pipeline)
    told = await kept(runs.keep, query, result, preset, "consult_rag", call)
    return reply.consulted(result, query, preset, call.run) | told


async def kept(
    keep: Keep[F], query: Query, found: F, preset: presets.Preset, origin: str, call: Call
) -> dict[str, Any]:
    """What the reply says of its being kept, where calls are; the reply is made after it, to have what went wrong."""
    return {"kept": await keep(query, found, preset, origin, call.kit, call.run)} if call.settings.keep_runs else {}


def chosen(asked: "ConsultRequest | AskRequest", call: Call) -> presets.Preset:
    """The preset that a request means; what in it has no effect is told in the reply's warnings."""
    said = asked.model_dump(include=CHOICES)
    preset, without_effect = presets.choose(**said, house=call.settings.house)
    for advice in without_effect:
        call.run.warn("no_effect", advice)
    return preset
