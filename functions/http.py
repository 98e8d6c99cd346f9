"""The codec between Azure Functions and the domain: mounts the routes, parses requests, maps errors to statuses."""

import asyncio
import json
import math
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypedDict
from urllib.parse import urlsplit

import azure.functions as func

from functions.admission import Admission
from functions.hidden_faults import hide_faults
from functions.operations import Call, Operation, Principal, is_operation_loaded, load_operation
from functions.principal import principal_from_headers, read_user_token
from functions.routes import Route
from functions.store_probe import StoreProbe
from functions.strict_json import MAX_BODY_BYTES, JsonObject, check_storable_text, parse_json_object
from rag_core.core import errors
from rag_core.core.errors import ErrorDetail, Forbidden, InvalidRequest, RagError, Unavailable, UnsupportedDocument
from rag_core.core.metrics import find_request_failure, record_request
from rag_core.core.run import Run
from rag_core.core.setting_readers import LOOPBACK_HOSTS
from rag_core.core.settings import Settings
from rag_core.core.telemetry import SpanAttributes, end_request_span, trace_request
from rag_core.core.user_token import set_user_token

if TYPE_CHECKING:
    from rag_core.core.kit import Kit


STATUS_BY_ERROR: Mapping[type[RagError], int] = {
    errors.InvalidRequest: 400,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.TooLarge: 413,
    errors.UnsupportedDocument: 415,
    errors.UnreadableDocument: 422,
    errors.Misconfigured: 503,
    errors.Unavailable: 503,
    errors.NotChosen: 503,
    errors.UnsupportedScript: 503,
    errors.DeadlineExceeded: 504,
    errors.Overloaded: 429,
    errors.StorageFull: 507,
}
RETRY_AFTER_S = 5
MAX_BYTES_READ_AT_ONCE = 16 * 1024  # of a body: half a millisecond at the worst; a thread costs a question more
# no-store: a shared cache knows nothing of keys and users; nosniff: a browser must take it for nothing but JSON
JSON_REPLY_HEADERS: Mapping[str, str] = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

EVENT_STREAM = "text/event-stream"
READ_METHODS = ("GET", "HEAD", "OPTIONS")  # they change nothing, whoever has them sent
FOREIGN_SITES = ("cross-site", "same-site")


class Refusal(TypedDict):
    """The reply with every error status."""

    success: Literal[False]
    error: ErrorDetail
    run_id: str


@dataclass(frozen=True)
class Service:
    """What the handlers of an app share: settings and kit, first built by a request, and the places of heavy ones.

    `start_telemetry` is called before each request: its first call starts the export of spans and metrics.
    """

    get_settings: Callable[[], Settings]
    get_kit: Callable[[], "Kit"]
    start_telemetry: Callable[[], None] = lambda: None
    can_stream: bool = False  # the host sends a `StreamedResponse` in parts

    @cached_property
    def store_probe(self) -> StoreProbe:
        """The newest state of the store, which anyone may ask for."""
        return StoreProbe()

    @cached_property
    def admission(self) -> Admission:
        """The places for heavy requests, as many as the settings say."""
        settings = self.get_settings()
        return Admission(settings.max_heavy_requests, settings.max_waiting_requests)


def mount_operations(app: func.FunctionApp, routes: Iterable[Route], service: Service) -> None:
    """Add the operation of each route to the app as a function."""
    for route in routes:
        level = func.AuthLevel.ANONYMOUS if route.anonymous else func.AuthLevel.FUNCTION
        routed = app.route(route.path, methods=route.methods, auth_level=level)
        app.function_name(route.name)(routed(make_handler(route, service)))


def make_handler(route: Route, service: Service) -> Callable[[func.HttpRequest], Awaitable[func.HttpResponse]]:
    """Return the function that the worker calls for a route; it turns every exception into an error reply."""

    async def handle(req: func.HttpRequest) -> func.HttpResponse:  # the worker binds by the name `req`
        service.start_telemetry()
        started_at, run_id, address = time.perf_counter(), uuid.uuid4().hex, f"/{route.path}"
        described = {"http.request.method": req.method, "http.route": address, "rag.run.id": run_id}
        with trace_request(f"{req.method} {address}", described, req.headers) as span:
            response, run = await respond(req, run_id)

        def end_request() -> None:
            status = response.status_code
            record_request(req.method, address, status, time.perf_counter() - started_at, run)
            end_request_span(span, _describe_outcome(status, run), find_request_failure(status, run))

        if isinstance(response, StreamedResponse) and response.later_events:
            response.later_events = _end_request_after(response.later_events, end_request)
            await anext(response.later_events)  # the body: what has not begun would not notice that it is closed
        else:
            end_request()
        return response

    async def respond(req: func.HttpRequest, run_id: str) -> tuple[func.HttpResponse, Run | None]:
        run: Run | None = None

        async def reply_to_caller() -> func.HttpResponse:
            nonlocal run
            settings = service.get_settings()
            run = Run(settings.request_timeout_s, id=run_id)
            trusted_headers = req.headers if settings.trust_principal else {}
            caller = principal_from_headers(trusted_headers, settings.workflow_claim)
            set_user_token(read_user_token(trusted_headers) if settings.azure_search_document_acl else None)
            operation, request = await _load_and_read(route, req, caller, settings)
            is_read = req.method in READ_METHODS
            call = Call(settings, service.get_kit(), run, caller, req.headers, is_read, service.store_probe, req.url)
            if operation.tells and accepts_events(req.headers):
                return await _respond_with_events(operation, request, call, service)
            reply = await _run_operation(operation, request, call, service)
            return make_json_response(_reply_status(reply, operation), reply)

        try:
            return await hide_faults(reply_to_caller(), f"{route.name} failed in run {run_id}"), run
        except RagError as error:
            return make_error_response(_add_warnings(error, run), run_id), run

    return handle


def _describe_outcome(status: int, run: Run | None) -> SpanAttributes:
    """Return what the span of a request says of its reply: the status, and of its run what it used and what fell back.

    The cost is left out where a price is unknown.
    """
    outcome: dict[str, str | int | float | Sequence[str]] = {"http.response.status_code": status}
    if run is None:
        return outcome
    outcome["rag.degraded"] = [f"{degradation.step}:{degradation.code}" for degradation in run.degraded]
    outcome |= {"gen_ai.usage.input_tokens": run.input_tokens, "gen_ai.usage.output_tokens": run.output_tokens}
    return outcome if run.cost_usd is None else {**outcome, "rag.cost_usd": run.cost_usd}


async def _run_operation(operation: Operation, request: Any, call: Call, service: Service) -> Mapping[str, Any]:
    """Return the reply of an operation's handler, which waits for a place where the request is a heavy one."""
    async with service.admission.admit(call.run) if operation.is_heavy(request) else nullcontext():
        reply: Mapping[str, Any] = await operation.handler(request, call)
    return reply


async def _respond_with_events(operation: Operation, request: Any, call: Call, service: Service) -> func.HttpResponse:
    """Respond with the events of a call, in parts where the host can send these.

    Raises:
        RagError: the call failed before its first event, and gets an error reply.
    """
    from functions import event_stream  # imported late: it loads the domain

    answer_events = event_stream.AnswerEvents(request.style or "numbers")
    events = event_stream.stream_events(_run_operation(operation, request, call, service), call.run, answer_events)
    if request.progress_id:
        scope = call.resolve_scope(request.workflow_id)
        events = event_stream.log_events(events, call.kit.answer_log, request.progress_id, scope)
    first = await anext(events)
    all_events = _end_with_error(first, events, call.run)
    if service.can_stream:
        return StreamedResponse(first, all_events)
    return StreamedResponse(b"".join([event async for event in all_events]))


async def _end_with_error(first: bytes, later: AsyncIterator[bytes], run: Run) -> AsyncGenerator[bytes, None]:
    """Yield the events, and for a failure after the first of them the event `error`: no stream ends in silence.

    The run is told how it failed, or that nobody read on.
    """
    from functions.event_stream import encode_event

    try:
        async with aclosing(later):  # type: ignore[type-var]
            yield first
            while event := await hide_faults(anext(later, None), f"run {run.id} failed after its first event"):
                yield event
        return
    except GeneratorExit:
        run.failure_code = "reader_gone"
        raise
    except RagError as error:
        failure = error
    except asyncio.CancelledError:
        failure = Unavailable("the server is stopping: ask again")
    run.failure_code = failure.code
    yield encode_event("error", format_refusal(_add_warnings(failure, run), run.id))


async def _end_request_after(
    events: AsyncGenerator[bytes, None], end_request: Callable[[], None]
) -> AsyncGenerator[bytes, None]:
    """Yield the events and then end the request: what it took, and how it ended, is known only then."""
    try:
        async with aclosing(events):
            async for event in events:
                yield event
    finally:
        end_request()


class StreamedResponse(func.HttpResponse):
    """A response with events, of which `later_events` are still to come: a host that can sends each as it comes."""

    def __init__(self, body: bytes, later_events: AsyncGenerator[bytes, None] | None = None) -> None:
        super().__init__(body, mimetype=EVENT_STREAM, headers=dict(JSON_REPLY_HEADERS))
        self.later_events = later_events


def _add_warnings(error: RagError, run: Run | None) -> RagError:
    """Return the error with the warnings of its run: what is not there may be missing because of a damage."""
    if run and run.warnings:
        error.details["warnings"] = [{"code": warning.code, "message": warning.message} for warning in run.warnings]
    return error


async def _load_and_read(
    route: Route, req: func.HttpRequest, caller: Principal, settings: Settings
) -> tuple[Operation, Any]:
    """Return the operation of a route, whose module the first call imports, with the request parsed as its model.

    An import and a large body are waited for in a thread.
    """

    def load_and_read() -> tuple[Operation, Any]:
        operation = load_operation(route)
        _check_role(caller, operation)
        return operation, read_request(req, operation, settings)

    if is_operation_loaded(route) and len(req.get_body()) <= MAX_BYTES_READ_AT_ONCE:
        return load_and_read()
    return await asyncio.to_thread(load_and_read)


def _reply_status(reply: Mapping[str, Any], operation: Operation) -> int:
    """Return 202 for a job that was accepted, 207 for a reply with failed parts, else 200."""
    if operation.accepted and "status_url" in reply:
        return 202
    return 207 if reply.get("failed") else 200


def _check_role(principal: Principal, operation: Operation) -> None:
    """Raise Forbidden when the operation needs a role that the caller does not have."""
    role = operation.required_role
    if role and role not in principal.roles:
        raise Forbidden(f"the role {role} is required in the credential of the platform's authentication")


def read_request(req: func.HttpRequest, operation: Operation, settings: Settings) -> Any:
    """Return the parsed request of an operation, None when it has no request model.

    The fields come from the route, and from the query string of a GET or the JSON body of another method. A DELETE
    without a body is read from its query string, because some clients cannot send a body with it.
    """
    model = operation.request
    if model is None:
        return None
    from functions.requests import parse_request  # imported late: it loads pydantic

    if req.method == "GET" or (req.method == "DELETE" and not req.get_body()):
        texts = {name: value for name, value in req.params.items() if name != "code"}  # `code` is the function key
        return parse_request(model, _add_route_params(check_storable_text(texts), req), texts=True)
    return parse_request(model, _add_route_params(_read_body(req, operation, settings), req))


def _read_body(req: func.HttpRequest, operation: Operation, settings: Settings) -> JsonObject:
    """Return the JSON object of the body, {} where an operation may be called without one."""
    if operation.body_optional and not req.get_body():
        return {}
    if not has_json_content_type(req):
        raise UnsupportedDocument("the body must be application/json", code="unsupported_media_type")
    upload_bytes = settings.max_upload_bytes * 4 // 3 if operation.takes_upload else 0  # base64 makes three bytes four
    return parse_json_object(req.get_body(), max_bytes=MAX_BODY_BYTES + upload_bytes)


def _add_route_params(fields: JsonObject, req: func.HttpRequest) -> JsonObject:
    """Return the fields with those of the route. Raises InvalidRequest for one that is given in both places."""
    duplicate = next((name for name in fields if name in req.route_params), None)
    if duplicate:
        raise InvalidRequest(duplicate, "is in the address: leave it out elsewhere")
    return fields | check_storable_text(dict(req.route_params))


def accepts_events(headers: Mapping[str, str]) -> bool:
    """Return whether the header Accept names the media type of events, and not JSON, which is preferred to it."""
    accepted = {part.partition(";")[0].strip() for part in headers.get("accept", "").lower().split(",")}
    return EVENT_STREAM in accepted and "application/json" not in accepted


def has_json_content_type(req: func.HttpRequest) -> bool:
    """Return whether the content type is JSON, which a page of another site cannot send without a CORS preflight."""
    content_type: str = req.headers.get("content-type", "")
    return content_type.partition(";")[0].strip().lower() == "application/json"


def is_sent_by_another_site(method: str, origin: str | None, fetch_site: str | None) -> bool:
    """Return whether the page of another machine, or for a change the page of another site, has a browser send this.

    `origin` and `fetch_site` are the headers Origin and Sec-Fetch-Site; a caller that is no browser sends neither. By
    https://www.w3.org/TR/fetch-metadata/ "same-site" is another port or subdomain, which is another's page too.
    """
    is_foreign_change = fetch_site in FOREIGN_SITES and method not in READ_METHODS
    return is_foreign_change or (origin is not None and not is_loopback_address(origin))


def is_loopback_address(address: str) -> bool:
    """Return whether the URL names this machine."""
    try:
        return urlsplit(address).hostname in LOOPBACK_HOSTS
    except ValueError:
        return False


def make_json_response(
    status: int, body: Mapping[str, Any] | list[Any], headers: Mapping[str, str] | None = None
) -> func.HttpResponse:
    """Return a JSON response. Raises ValueError for NaN; half a surrogate pair, as in some PDFs, becomes "?"."""
    data = json.dumps(body, allow_nan=False, ensure_ascii=False).encode("utf-8", "replace")
    all_headers = {**JSON_REPLY_HEADERS, **(headers or {})}
    return func.HttpResponse(data, status_code=status, mimetype="application/json", headers=all_headers)


def make_error_response(error: RagError, run_id: str) -> func.HttpResponse:
    """Return the response for an error, with the status of its class."""
    status = next((STATUS_BY_ERROR[kind] for kind in type(error).__mro__ if kind in STATUS_BY_ERROR), 500)
    wait_s = float(str(error.details.get("retry_after_s") or RETRY_AFTER_S))
    retry_after_s = math.ceil(wait_s)  # the header knows whole seconds alone
    headers = {"Retry-After": str(retry_after_s)} if status in (429, 503) and error.retryable else {}
    return make_json_response(status, format_refusal(error, run_id), headers)


def format_refusal(error: RagError, run_id: str) -> Refusal:
    """Return the body of the reply to an error: one JSON shape for all of them."""
    return {"success": False, "error": error.describe(), "run_id": run_id}
