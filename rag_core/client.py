"""For agents: ask the deployed function when there is one and it answers, this process otherwise (S1-34 to S1-36)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from rag_core.agent import RAGRetrievalAgent
from rag_core.composition import assembly
from rag_core.core import errors, settings
from rag_core.core.errors import RagError, Unavailable
from rag_core.core.kit import Kit
from rag_core.core.model import Filter
from rag_core.core.settings import Settings

CONNECT_S = 2.0  # a function app that runs takes a connection at once, also while it starts
HEADING = "\n\n## Context from Documentation\n"  # S1-54

Reply = dict[str, Any]
Consult = Callable[..., Awaitable[Reply]]
Here = Callable[[RAGRetrievalAgent], Awaitable[Reply]]

ANSWERS: Mapping[int, type[RagError]] = {  # a refusal is an answer: the question would be refused here too
    400: errors.InvalidRequest,
    404: errors.NotFound,
    409: errors.Conflict,
    413: errors.TooLarge,
    415: errors.UnsupportedDocument,
    422: errors.UnreadableDocument,
    429: errors.Unavailable,
}

Kits = dict[Settings, assembly.Parts]
_kits: WeakKeyDictionary[asyncio.AbstractEventLoop, Kits] = WeakKeyDictionary()  # clients belong to a loop


async def consult_rag(
    *,
    query: str,
    pipeline: str = "advanced",
    workflow_id: str = "default",
    filters: Sequence[Filter] = (),
    facets: Sequence[str] = (),
    chosen: Settings | None = None,
    kit: Kit | None = None,
    **fields: Any,
) -> Reply:
    """What `api/consult_rag` replies, with `served_by`: "function" or "local".

    `fields` are the request's others (`top_k`, `search_type`, `enable_…`). A function that does not answer (no
    connection, a status from 500, no reply of ours) is stood in for by the local agent, and `degraded` says why. The
    parts of the local agent are those that the settings choose, unless a `kit` is given.

    Raises:
        RagError: the function refused, in the words that it refused with.
    """
    body = {"query": query, "pipeline": pipeline, "workflow_id": workflow_id, **fields}
    body |= {"facets": list(facets), "filters": _conditions(filters)}
    asked = {"filters": tuple(filters), "facets": tuple(facets), **fields}
    return await _served(
        "consult_rag", body, lambda agent: agent.ask(pipeline, query, workflow_id, **asked), chosen, kit
    )


async def ask(
    *,
    query: str,
    workflow_id: str = "default",
    document_ids: Sequence[str] = (),
    filters: Sequence[Filter] = (),
    chosen: Settings | None = None,
    kit: Kit | None = None,
    **fields: Any,
) -> Reply:
    """What `api/rag/ask` replies, with `served_by`; `fields` are the request's others. As `consult_rag` in all else."""
    body = {"query": query, "workflow_id": workflow_id, **fields}
    body |= {"document_ids": list(document_ids), "filters": _conditions(filters)}
    asked = {"document_ids": tuple(document_ids), "filters": tuple(filters), **fields}
    return await _served("rag/ask", body, lambda agent: agent.answer(query, workflow_id, **asked), chosen, kit)


async def enrich_schema(
    raw_schema: str, tables: Sequence[str], *, workflow_id: str, top_k: int = 5, consult: Consult = consult_rag
) -> str:
    """The schema, and below it what the documents say of these tables, each with its source (S1-53 to S1-55).

    What is quoted is text of documents, marked as a quotation: evidence, never an instruction. The schema alone when
    nothing is found.
    """
    question = f"database column meanings: {', '.join(tables)}"
    found = await consult(query=question, pipeline="advanced", workflow_id=workflow_id, top_k=top_k)
    documents = "\n\n".join(map(_quoted, found["documents"]))
    return f"{raw_schema}{HEADING}{documents}\n" if documents else raw_schema


class _NoAnswer(Unavailable):
    """The function is not there, or what is there is not well."""


async def _served(
    function: str, body: Mapping[str, Any], here: Here, chosen: Settings | None, kit: Kit | None
) -> Reply:
    said = chosen or settings.load()
    why = None
    if said.functions_url:
        try:
            return {**await _function(said, function, body), "served_by": "function"}
        except _NoAnswer as failure:
            why = failure.message
    reply = await here(RAGRetrievalAgent(kit or _kit(said)))
    return {**reply, "degraded": [*reply["degraded"], *_degraded(function, why)], "served_by": "local"}


async def _function(said: Settings, function: str, body: Mapping[str, Any]) -> Reply:
    import httpx2  # comes with openai; loaded only where a function is asked

    headers = {"x-functions-key": said.functions_key} if said.functions_key else {}
    patience = httpx2.Timeout(said.request_timeout_s, connect=CONNECT_S)
    try:
        async with (
            asyncio.timeout(said.request_timeout_s),  # httpx2's own is for each read: a slow drip outlasts it
            httpx2.AsyncClient(timeout=patience, headers=headers) as client,
        ):
            response = await client.post(f"{said.functions_url}/api/{function}", json=body)
    except (httpx2.HTTPError, TimeoutError) as failure:
        raise _NoAnswer(f"the function did not answer: {type(failure).__name__}") from failure
    reply = _object(response)
    if response.status_code == 200 and reply.get("success") is True:
        return reply
    raise _refusal(function, response.status_code, reply)


def _object(response: Any) -> Reply:
    try:
        reply = response.json()
    except ValueError:
        return {}
    return reply if isinstance(reply, dict) else {}


def _refusal(function: str, status: int, reply: Mapping[str, Any]) -> RagError:
    """An answer as the error that it is, anything else as none."""
    told = reply.get("error")
    if status in (401, 403):
        return errors.Misconfigured("the function refuses the key of RAG_FUNCTIONS_KEY", field="RAG_FUNCTIONS_KEY")
    if status == 404 and not told:
        return errors.Misconfigured(f"there is no api/{function} at RAG_FUNCTIONS_URL", field="RAG_FUNCTIONS_URL")
    if not 400 <= status < 500:
        return _NoAnswer(f"the function answered HTTP {status}{_code(told)}")
    return _typed(status, told if isinstance(told, dict) else {})


def _typed(status: int, told: Mapping[str, Any]) -> RagError:
    kind = ANSWERS.get(status, RagError)
    code, field = str(told.get("code", kind.code)), str(told.get("field") or "")
    message = str(told.get("message", f"the function answered HTTP {status}"))
    if kind is errors.InvalidRequest:
        return errors.InvalidRequest(field or "the request", message.removeprefix(f"{field} "), code=code)
    return kind(message, code=code, field=field or None)


def _code(told: object) -> str:
    return f" ({told['code']})" if isinstance(told, dict) and "code" in told else ""


def _degraded(function: str, why: str | None) -> list[dict[str, str]]:
    if why is None:
        return []
    told = {"step": function, "code": "function_unavailable", "reason": why}
    return [told | {"fallback": "the local agent answered, from the index of this machine"}]


def _kit(said: Settings) -> Kit:
    kits = _kits.setdefault(asyncio.get_running_loop(), {})
    if said not in kits:
        kits[said] = assembly.Parts(lambda: said)
    return kits[said]()


def _conditions(filters: Sequence[Filter]) -> dict[str, dict[str, Any]]:
    """As the function reads them: the conditions on each field by their operator."""
    by_field: dict[str, dict[str, Any]] = {}
    for condition in filters:
        value = list(condition.value) if isinstance(condition.value, tuple) else condition.value
        by_field.setdefault(condition.field, {})[condition.op] = value
    return by_field


def _quoted(document: Mapping[str, Any]) -> str:
    place = document["metadata"]
    page = f", p. {place['page']}" if place.get("page") else ""
    text = "\n".join(f"> {line}".rstrip() for line in str(document["content"]).splitlines())
    return f"{document['title']} ({place['source']}{page}):\n{text}"
