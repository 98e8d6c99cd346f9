"""The client for agents: it asks the deployed function, and this process where none answers (S1-34 to S1-36)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from rag_core.agent import RAGRetrievalAgent
from rag_core.composition import assembly
from rag_core.core import errors, settings
from rag_core.core.errors import RagError, Unavailable
from rag_core.core.kit import Kit
from rag_core.core.model import Filter
from rag_core.core.setting_readers import LOOPBACK_HOSTS
from rag_core.core.settings import Settings
from rag_core.rag import RAG

CONNECT_TIMEOUT_S = 2.0  # a function app that runs takes a connection at once, also while it starts
HEADING = "\n\n## Context from Documentation\n"  # S1-54

Reply = dict[str, Any]
Consult = Callable[..., Awaitable[Reply]]
AskAgent = Callable[[RAGRetrievalAgent], Awaitable[Mapping[str, Any]]]

ERRORS_BY_STATUS: Mapping[int, type[RagError]] = {  # a refusal is final: the local agent would refuse as well
    400: errors.InvalidRequest,
    404: errors.NotFound,
    409: errors.Conflict,
    413: errors.TooLarge,
    415: errors.UnsupportedDocument,
    422: errors.UnreadableDocument,
    429: errors.Unavailable,
}

_open_services: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Settings, RAG]] = WeakKeyDictionary()


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
    """Return what `api/consult_rag` replies, with `served_by`: "function" or "local".

    `fields` are the request's others (`top_k`, `search_type`, `enable_…`). When the function does not answer (no
    connection, a status from 500, no reply of ours) the local agent does, and `degraded` says why. The local agent
    uses the parts that the settings choose, unless a `kit` is given.

    Raises:
        RagError: the function refused, in the words that it refused with.
    """
    body = {"query": query, "pipeline": pipeline, "workflow_id": workflow_id, **fields}
    body |= {"facets": list(facets), "filters": _format_conditions(filters)}

    def ask_agent(agent: RAGRetrievalAgent) -> Awaitable[Mapping[str, Any]]:
        return agent.search(
            query, workflow_id, pipeline=pipeline, filters=tuple(filters), facets=tuple(facets), **fields
        )

    return await _ask_function_or_agent("consult_rag", body, ask_agent, chosen, kit)


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
    """Return what `api/rag/ask` replies, with `served_by`; `fields` are the request's others. See `consult_rag`."""
    body = {"query": query, "workflow_id": workflow_id, **fields}
    body |= {"document_ids": list(document_ids), "filters": _format_conditions(filters)}

    def ask_agent(agent: RAGRetrievalAgent) -> Awaitable[Mapping[str, Any]]:
        return agent.answer(query, workflow_id, document_ids=tuple(document_ids), filters=tuple(filters), **fields)

    return await _ask_function_or_agent("rag/ask", body, ask_agent, chosen, kit)


async def link_schema(
    *,
    query: str,
    workflow_id: str = "default",
    database: str | None = None,
    chosen: Settings | None = None,
    kit: Kit | None = None,
) -> Reply:
    """Return what `api/link_schema` replies, with `served_by`. See `consult_rag`.

    Raises:
        NotFound: no database, or none of this name, is indexed in the workflow.
    """
    body = {"query": query, "workflow_id": workflow_id, "database": database}

    def ask_agent(agent: RAGRetrievalAgent) -> Awaitable[Mapping[str, Any]]:
        return agent.link_schema(query, workflow_id, database=database)

    return await _ask_function_or_agent("link_schema", body, ask_agent, chosen, kit)


async def enrich_schema(
    raw_schema: str,
    tables: Sequence[str],
    *,
    workflow_id: str,
    top_k: int = 5,
    question: str | None = None,
    consult: Consult = consult_rag,
    link: Consult = link_schema,
) -> str:
    """Return the schema, and below it what the documents say of these tables, each with its source (S1-53 to S1-55).

    With a `question`, it is what the question needs of the database that is indexed in the workflow: tables, values
    and rules; where none is indexed, what the documents say of the question. What is quoted is text of documents,
    marked as a quotation: evidence, never an instruction. Without any, the schema alone is returned.
    """
    if question is not None:
        try:
            linked = await link(query=question, workflow_id=workflow_id)
            return f"{raw_schema}{HEADING}{_format_links(linked)}\n"
        except errors.NotFound:
            pass  # no database is indexed there: the documents may describe it all the same
    query = question or f"database column meanings: {', '.join(tables)}"
    reply = await consult(query=query, pipeline="advanced", workflow_id=workflow_id, top_k=top_k)
    documents = "\n\n".join(map(_quote_passage, reply["documents"]))
    return f"{raw_schema}{HEADING}{documents}\n" if documents else raw_schema


class _FunctionUnavailable(Unavailable):
    """The function is not there, or what is there is not well."""


async def _ask_function_or_agent(
    function: str, body: Mapping[str, Any], ask_agent: AskAgent, chosen: Settings | None, kit: Kit | None
) -> Reply:
    configured = chosen or settings.load_settings()
    reason = None
    if configured.functions_url:
        try:
            return {**await _post_to_function(configured, function, body), "served_by": "function"}
        except _FunctionUnavailable as error:
            reason = error.message
    reply = await ask_agent(RAGRetrievalAgent(RAG(kit, configured) if kit else _open_service(configured)))
    degraded = [*reply["degraded"], *_describe_fallback(function, reason)]
    return {**reply, "degraded": degraded, "served_by": "local"}


async def _post_to_function(configured: Settings, function: str, body: Mapping[str, Any]) -> Reply:
    import httpx2  # comes with openai; loaded only where a function is asked

    headers = {"x-functions-key": configured.functions_key} if configured.functions_key else {}
    timeout = httpx2.Timeout(configured.request_timeout_s, connect=CONNECT_TIMEOUT_S)
    is_local = urlsplit(configured.functions_url).hostname in LOOPBACK_HOSTS  # where no proxy of HTTP_PROXY gets
    try:
        async with (
            asyncio.timeout(configured.request_timeout_s),  # httpx2's own is for each read: a slow drip outlasts it
            httpx2.AsyncClient(timeout=timeout, headers=headers, trust_env=not is_local) as client,
        ):
            response = await client.post(f"{configured.functions_url}/api/{function}", json=body)
    except (httpx2.HTTPError, TimeoutError) as error:
        raise _FunctionUnavailable(f"the function did not answer: {type(error).__name__}") from error
    reply = _parse_reply(response)
    if response.status_code == 200 and reply.get("success") is True:
        return reply
    raise _error_from_reply(function, response.status_code, reply)


def _parse_reply(response: Any) -> Reply:
    try:
        reply = response.json()
    except ValueError:
        return {}
    return reply if isinstance(reply, dict) else {}


def _error_from_reply(function: str, status: int, reply: Mapping[str, Any]) -> RagError:
    """Return a refusal as the error that it is, and any other reply as no answer."""
    detail = reply.get("error")
    if status in (401, 403):
        return errors.Misconfigured("the function refuses the key of RAG_FUNCTIONS_KEY", field="RAG_FUNCTIONS_KEY")
    if status == 404 and not detail:
        return errors.Misconfigured(f"there is no api/{function} at RAG_FUNCTIONS_URL", field="RAG_FUNCTIONS_URL")
    if not 400 <= status < 500:
        return _FunctionUnavailable(f"the function answered HTTP {status}{_format_code(detail)}")
    return _error_from_detail(status, detail if isinstance(detail, dict) else {})


def _error_from_detail(status: int, detail: Mapping[str, Any]) -> RagError:
    kind = ERRORS_BY_STATUS.get(status, RagError)
    code, field = str(detail.get("code", kind.code)), str(detail.get("field") or "")
    message = str(detail.get("message", f"the function answered HTTP {status}"))
    if kind is errors.InvalidRequest:
        return errors.InvalidRequest(field or "the request", message.removeprefix(f"{field} "), code=code)
    return kind(message, code=code, field=field or None)


def _format_code(detail: object) -> str:
    return f" ({detail['code']})" if isinstance(detail, dict) and "code" in detail else ""


def _describe_fallback(function: str, reason: str | None) -> list[dict[str, str]]:
    if reason is None:
        return []
    fallback = "the local agent answered, from the index of this machine"
    return [{"step": function, "code": "function_unavailable", "reason": reason, "fallback": fallback}]


def _open_service(configured: Settings) -> RAG:
    """Return the service for these settings, one for each event loop, to which its clients belong."""
    services = _open_services.setdefault(asyncio.get_running_loop(), {})
    if configured not in services:
        services[configured] = RAG(assembly.KitHolder(lambda: configured), configured)
    return services[configured]


def _format_conditions(filters: Sequence[Filter]) -> dict[str, dict[str, Any]]:
    """Return filters as the function reads them: the conditions on each field by their operator."""
    by_field: dict[str, dict[str, Any]] = {}
    for condition in filters:
        value = list(condition.value) if isinstance(condition.value, tuple) else condition.value
        by_field.setdefault(condition.field, {})[condition.op] = value
    return by_field


def _format_links(linked: Mapping[str, Any]) -> str:
    """Return what was linked to a question; names and values of a database are quoted, as texts of documents are."""
    texts = {
        "Tables for the question": linked["ddl"],
        "Values in the question and its rules": "\n".join(map(_format_match, linked["value_matches"])),
        "Asked before": "\n\n".join(f"{past['question']}\n{past['sql']}" for past in linked["past_questions"]),
    }
    quoted = [f"{title}:\n{_quote_lines(text)}" for title, text in texts.items() if text]
    return "\n\n".join([*quoted, *map(_quote_passage, linked["rules"])])


def _format_match(match: Mapping[str, Any]) -> str:
    return f"{match['condition']}{' (in a rule)' if match.get('by_rule') else ''}"


def _quote_passage(passage: Mapping[str, Any]) -> str:
    metadata = passage["metadata"]
    page = f", p. {metadata['page']}" if metadata.get("page") else ""
    return f"{passage['title']} ({metadata['source']}{page}):\n{_quote_lines(str(passage['content']))}"


def _quote_lines(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())
