"""Answers whose sentences are held against the documents, and the same for any text (S1-59)."""

from typing import TYPE_CHECKING, Any

from functions.consult import chosen
from functions.routes import Call
from rag_core import replies, service
from rag_core.workbench import runs

if TYPE_CHECKING:
    from functions.wire import AskRequest, CitationsRequest


async def ask(asked: "AskRequest", call: Call) -> dict[str, Any]:
    """An answer with its citations; that nobody knows is one too."""
    from functions import wire

    preset = chosen(_numbered(asked), call)
    scope = call.scope(asked.workflow_id, tuple(asked.document_ids))
    query = preset.query(asked.query, scope, filters=wire.filters(asked))
    answer = await service.ask(query, call.kit, call.run, pipeline=preset.pipeline)
    told = await runs.keep_answer(query, answer, preset, "ask", call.kit, call.run)
    return replies.answered(answer, query, preset, call.run, asked.style) | told


def _numbered(asked: "AskRequest") -> "AskRequest":
    """With `max_results` under the names that it has here (C01)."""
    most = asked.max_results
    return asked.model_copy(update={"top_k": asked.top_k or most, "top_n": asked.top_n or most})


async def extract_citations(asked: "CitationsRequest", call: Call) -> dict[str, Any]:
    scope = call.scope(asked.workflow_id, tuple(asked.document_ids))
    claims = await service.cite(asked.text, scope, call.kit, call.run)
    return {
        "success": True,
        "claims": replies.checked(claims, asked.style),
        "about_run": asked.run_id,
        "workflow_id": asked.workflow_id,
        **replies.diary(call.run),
    }
