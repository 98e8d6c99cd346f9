"""Handlers that answer a question with checked citations, and that check the sentences of any text (S1-59)."""

from typing import TYPE_CHECKING, Any

from functions.consult import chosen
from functions.routes import Call
from rag_core import replies, service
from rag_core.workbench import runs

if TYPE_CHECKING:
    from functions.wire import AskRequest, CitationsRequest


async def ask(asked: "AskRequest", call: Call) -> dict[str, Any]:
    """Answer a question with citations. A reply that the documents do not say it (status `unknown`) is a 200 too."""
    from functions import wire

    preset = chosen(_numbered(asked), call)
    scope = call.scope(asked.workflow_id, tuple(asked.document_ids))
    query = preset.query(asked.query, scope, filters=wire.filters(asked))
    answer = await service.ask(query, call.kit, call.run, pipeline=preset.pipeline)
    archived = await runs.keep_answer(query, answer, preset, "ask", call.kit, call.run)
    return replies.answered(answer, query, preset, call.run, asked.style) | archived


def _numbered(asked: "AskRequest") -> "AskRequest":
    """Return the request with `max_results` as `top_k` and `top_n` where these are not given."""
    limit = asked.max_results
    return asked.model_copy(update={"top_k": asked.top_k or limit, "top_n": asked.top_n or limit})


async def extract_citations(asked: "CitationsRequest", call: Call) -> dict[str, Any]:
    """Check each sentence of a text against the documents."""
    scope = call.scope(asked.workflow_id, tuple(asked.document_ids))
    claims = await service.cite(asked.text, scope, call.kit, call.run)
    return {
        "success": True,
        "claims": replies.checked(claims, asked.style),
        "about_run": asked.run_id,
        "workflow_id": asked.workflow_id,
        **replies.diary(call.run),
    }
