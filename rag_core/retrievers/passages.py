"""The passages that a retriever hands on: a list of them cannot say that a step failed, so a failure is raised."""

from collections.abc import Mapping, Sequence
from typing import Any

from rag_core.client import consult_rag
from rag_core.core.errors import Unavailable

STOOD_IN_FOR = "function_unavailable"


async def find_passages(query: str, workflow_id: str, options: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the passages that `consult_rag` finds, best first.

    Raises:
        Unavailable: the function app that RAG_FUNCTIONS_URL names did not answer. What the index of this machine has
            in its place may be nothing, which would say that there is nothing to be found.
        RagError: the request was refused.
    """
    reply = await consult_rag(query=query, workflow_id=workflow_id, **options)
    for failure in reply["degraded"]:
        if failure["code"] == STOOD_IN_FOR:
            raise Unavailable(f"{failure['reason']} (RAG_FUNCTIONS_URL)")
    passages: Sequence[Mapping[str, Any]] = reply["documents"]
    return passages
