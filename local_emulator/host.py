"""Serve a FunctionApp from its own list of functions, as the Functions host does at `func start`.

Where this differs from common web servers, the host does: Azure Functions answers 404 to a wrong method, does not see
empty query values, and gets a body only when Content-Length says that there is one.
"""

import asyncio
import base64
import hmac
import inspect
import json
import logging
import re
import signal
import threading
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import azure.functions as func
from werkzeug.datastructures import Headers
from werkzeug.exceptions import BadRequest, HTTPException, RequestEntityTooLarge
from werkzeug.routing import BaseConverter, Map, Rule
from werkzeug.wrappers import Request, Response

import function_app
from functions.http import is_loopback_address, is_sent_by_another_site
from functions.operations import load_operation
from functions.principal import PRINCIPAL_HEADER
from functions.routes import ROUTES
from functions.triggers import DRAIN_WITHIN_S
from local_emulator.malloc_options import give_freed_memory_back
from local_emulator.search_service.serving import LOOPBACK, serve_wsgi
from rag_core.composition import assembly
from rag_core.core.kit import Kit
from rag_core.core.settings import Settings

logger = logging.getLogger(__name__)

MAX_BODY = 100 * 1024 * 1024  # the host's own limit
READ_BYTES = 1024 * 1024
JOB_POLL_S = 1.0  # between two looks for long work
CANCELLATIONS = 10  # of what is under way when the host is closed
REDIRECTS = {  # to pages. S2-53's address: on Azure the host reserves /admin, as it does "/", and an edge may do this
    "/": "/rag/ask",
    "/admin/rag": "/rag/admin",
}
ADMINISTRATOR = {"claims": [{"typ": "oid", "val": "local-administrator"}, {"typ": "roles", "val": "admin"}]}
Work = Callable[[], Coroutine[Any, Any, None]]
T = TypeVar("T")


async def _do_nothing() -> None:
    """Do nothing, for an app that has no work of its own and holds nothing open."""


class Host:
    """A host serves an app's functions as a WSGI application; it holds a loop and threads until it is closed.

    With a `key`, functions that are not anonymous want it in the header x-functions-key or as `code` in the query.
    Without one, nothing is answered to a page of another site that its reader's browser has open: 403.
    Where a request names nobody, it vouches for an administrator to the functions that `administrator_functions` names,
    as Easy Auth would.
    `get_functions` of an app can be called once only: one host an app.
    """

    def __init__(
        self,
        app: func.FunctionApp,
        *,
        key: str | None = None,
        administrator_functions: Collection[str] = (),
        max_body: int = MAX_BODY,
        background_work: Work = _do_nothing,
        on_close: Work = _do_nothing,
    ) -> None:
        self.functions = [function for function in app.get_functions() if function.is_http_function()]
        rules = [rule for function in self.functions for rule in _build_rules(function)]
        self._routes = Map(rules, strict_slashes=False, merge_slashes=False, converters={"int": _IntegerConverter})
        self._key, self._max_body, self._on_close = key, max_body, on_close
        self._administrator_functions = frozenset(administrator_functions)
        self._is_closing, self._submitting = False, threading.Lock()
        self._threads = ThreadPoolExecutor()
        self._loop = asyncio.new_event_loop()  # one for all requests, as in the worker: pooled clients belong to a loop
        self._runner = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._runner.start()
        self._background_work = asyncio.run_coroutine_threadsafe(background_work(), self._loop)  # a loop keeps no task

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        request = Request(environ)
        try:
            response = self._answer_request(request)
        except HTTPException as refusal:  # the body is over the limit (nothing of it is read), or was cut off
            response = _respond_with_status(refusal.code or 400)
        except TimeoutError:
            response = _respond_with_status(408)
        return response(environ, start_response)

    def close(self) -> None:
        """End requests and work that are still under way, close what was opened in the loop, and end the loop."""
        with self._submitting:
            self._is_closing = True
        asyncio.run_coroutine_threadsafe(self._cancel_work_and_close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._runner.join()
        self._loop.close()
        self._threads.shutdown(cancel_futures=True)

    async def _cancel_work_and_close(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}  # one that went on would open again what is closed
        await _cancel_until_ended(tasks)
        await self._on_close()

    def _answer_request(self, request: Request) -> Response:
        if self._key is None and not _is_sent_from_this_machine(request):
            return _respond_with_status(403)
        function, route_params = self._match_route(request)
        if function is None:
            return _redirect_request(request) or _respond_with_status(404)
        if not self._has_key(function, request):
            return _respond_with_status(401)
        vouched = (
            _build_administrator_headers() if function.get_function_name() in self._administrator_functions else {}
        )
        body = _receive_body(request, self._max_body)
        invoked = self._call_function(function, _convert_request(request, body, route_params, vouched))
        try:
            future = self._submit(invoked)
            failure = future.exception()
        except CancelledError:
            return _respond_with_status(503)
        if failure:
            logger.error("%s failed", function.get_function_name(), exc_info=failure)
            return _respond_with_status(500)
        return self._convert_response(future.result())

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine in the loop. Raises CancelledError once the host is being closed: nothing more is run."""
        with self._submitting:
            if self._is_closing:
                work.close()
                raise CancelledError
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _match_route(self, request: Request) -> tuple[Any, Mapping[str, Any]]:
        try:
            function, route_params = self._routes.bind_to_environ(request.environ).match()
        except HTTPException:
            return None, {}
        methods = _list_methods(function)
        return (function, route_params) if not methods or request.method in methods else (None, {})

    def _has_key(self, function: Any, request: Request) -> bool:
        if self._key is None or function.get_trigger().auth_level is func.AuthLevel.ANONYMOUS:
            return True
        given = request.headers.get("x-functions-key") or request.args.get("code", "")
        return hmac.compare_digest(given.encode(), self._key.encode())

    async def _call_function(self, function: Any, request: func.HttpRequest) -> func.HttpResponse:
        call = partial(function.get_user_function(), **{function.get_trigger().name: request})
        if inspect.iscoroutinefunction(call.func):
            response = await call()
        else:
            response = await self._loop.run_in_executor(self._threads, call)
        if not isinstance(response, func.HttpResponse):
            raise TypeError(f"a function must return an HttpResponse, not {type(response).__name__}")
        return response

    def _convert_response(self, response: func.HttpResponse) -> Response:
        charset = f"; charset={response.charset}" if response.mimetype.startswith("text/") else ""
        headers = Headers(
            {"content-type": response.mimetype + charset}
        )  # as the worker says it where the function does not
        headers.update(response.headers.items())
        later_events = getattr(response, "later_events", None)
        body = self._send_in_parts(response.get_body(), later_events) if later_events else response.get_body()
        return Response(body, response.status_code, headers)

    def _send_in_parts(self, first: bytes, later_events: AsyncIterator[bytes]) -> Iterator[bytes]:
        """Yield the first part and each later one as it comes; what is no longer read is ended."""

        async def get_next() -> bytes | None:
            return await anext(later_events, None)

        async def end() -> None:
            await later_events.aclose()  # type: ignore[attr-defined]

        part: bytes | None = first
        try:
            while part is not None:
                yield part
                part = None if self._is_closing else self._submit(get_next()).result()
        except GeneratorExit:
            with suppress(CancelledError):  # closing ends it, too
                self._submit(end()).result()
            raise


async def _cancel_until_ended(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel tasks, again each second: a library may lose a cancellation, as `wait_for` does in Python 3.11."""
    for _ in range(CANCELLATIONS):
        running = [task for task in tasks if task.cancel()]
        if not running:
            return
        await asyncio.wait(running, timeout=1.0)
    logger.error("these did not end when the server closed: %s", [task for task in tasks if not task.done()])


class _IntegerConverter(BaseConverter):
    regex = "-?[0-9]+"


def _build_rules(function: Any) -> list[Rule]:
    """Build the rules of a function's route: `{name}`, `{name:int}` and `{*rest}` are how the host writes parameters.

    The last of these may be empty, and is then no parameter at all.
    """

    def convert_parameter(found: re.Match[str]) -> str:
        return f"<path:{found[2]}>" if found[1] else f"<{found[3] or 'string'}:{found[2]}>"

    said = function.get_trigger().route
    routes = {
        re.sub(r"\{(\*?)(\w+)(?::(\w+))?\}", convert_parameter, route) for route in (said, re.sub(r"/\{\*.*", "", said))
    }
    return [Rule(f"/{route}", endpoint=function, methods=_list_methods(function) or None) for route in sorted(routes)]


def _is_sent_from_this_machine(request: Request) -> bool:
    """Tell whether both names are this machine's: that of the page that asks, if one does, and that of the server.

    The name in Host is another's when DNS made that lead here, and then the browser takes us for the page's own server.
    """
    origin, fetch_site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    return is_loopback_address(request.host_url) and not is_sent_by_another_site(request.method, origin, fetch_site)


def _list_methods(function: Any) -> list[str]:
    return [method.value for method in function.get_trigger().methods or ()]


def _build_administrator_headers() -> Mapping[str, str]:
    return {PRINCIPAL_HEADER: base64.b64encode(json.dumps(ADMINISTRATOR).encode()).decode()}


def _receive_body(request: Request, max_body: int) -> bytes:
    """Receive the body that Content-Length announces.

    Raises TimeoutError when it does not come in time, as the server's input does, RequestEntityTooLarge when it is over
    the limit, and BadRequest when it is cut off.
    """
    length = request.content_length or 0
    if length > max_body:
        raise RequestEntityTooLarge
    body = bytearray()
    while len(body) < length:
        part = request.environ["wsgi.input"].read1(min(READ_BYTES, length - len(body)))
        if not part:
            raise BadRequest
        body += part
    return bytes(body)


def _convert_request(
    request: Request, body: bytes, route_params: Mapping[str, Any], vouched: Mapping[str, str]
) -> func.HttpRequest:
    values = {name: [value for value in given if value] for name, given in request.args.lists()}
    return func.HttpRequest(
        method=request.method,
        url=request.url,
        headers={**vouched, **{name.lower(): value for name, value in request.headers.items()}},
        params={name: ",".join(given) for name, given in values.items() if given},
        route_params={name: str(value) for name, value in route_params.items()},
        body=body,
    )


def _respond_with_status(status: int) -> Response:
    """Respond as the host itself does: with a status, without a body and a content type."""
    response = Response(status=status)
    del response.headers["content-type"]
    return response


def _redirect_request(request: Request) -> Response | None:
    place = REDIRECTS.get(request.path) if request.method == "GET" else None
    return Response(status=308, headers={"location": place}) if place else None


@contextmanager
def run_host(
    app: func.FunctionApp,
    *,
    interface: str = LOOPBACK,
    port: int = 0,
    key: str | None = None,
    administrator_functions: Collection[str] = (),
    background_work: Work = _do_nothing,
    on_close: Work = _do_nothing,
) -> Iterator[str]:
    """Serve an app while the block runs, by default on the loopback interface, and yield its address there.

    Port 0 takes a free one.
    """
    host = Host(
        app,
        key=key,
        administrator_functions=administrator_functions,
        background_work=background_work,
        on_close=on_close,
    )
    with closing(host), serve_wsgi(host, host=interface, port=port) as url:
        yield url


@contextmanager
def run_service(
    settings: Settings, *, interface: str = LOOPBACK, port: int = 0, key: str | None = None, admin: bool = False
) -> Iterator[str]:
    """Serve our app with these settings while the block runs, and close its parts at the end.

    As an `admin` everybody may do what wants that role, and is nobody elsewhere: an administrator has a user's id, and
    what is indexed or asked under it would be seen by that user alone.
    """
    give_freed_memory_back()
    settings = replace(settings, trust_principal=admin or settings.trust_principal)
    administrator_functions = [route.name for route in ROUTES if admin and load_operation(route).required_role]
    parts = assembly.KitHolder(lambda: settings)
    parts()  # what is misconfigured is told now
    app = function_app.build_app(lambda: settings, parts, public_query=settings.public_query, can_stream=True)
    doing = partial(work_on_jobs, settings, parts)
    with run_host(
        app,
        interface=interface,
        port=port,
        key=key,
        administrator_functions=administrator_functions,
        background_work=doing,
        on_close=parts.close,
    ) as url:
        yield url


async def work_on_jobs(settings: Settings, get_kit: Callable[[], Kit]) -> None:
    """Run pending jobs as they come: a message in the queue and a timer start them on Azure."""
    from functions.job_runner import run_pending_jobs  # loads the ingestion

    async def drain_queue() -> None:
        await run_pending_jobs(settings, get_kit(), within_s=DRAIN_WITHIN_S)

    while True:
        (failure,) = await asyncio.gather(drain_queue(), return_exceptions=True)
        if failure:
            logger.error("the job worker failed", exc_info=failure)
        await asyncio.sleep(JOB_POLL_S)


def serve_until_interrupted(
    settings: Settings, *, interface: str = LOOPBACK, port: int = 7071, key: str | None = None, admin: bool = False
) -> None:
    """Serve our app with these settings until SIGINT or SIGTERM, and first print what there is to call."""
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.default_int_handler)
    running = run_service(settings, interface=interface, port=port, key=key, admin=admin)
    with suppress(KeyboardInterrupt), running as url:
        print(_describe_server(url, settings, key), flush=True)
        threading.Event().wait()
    print("Stopped.")


def _describe_server(url: str, settings: Settings, key: str | None) -> str:
    routes = [f"  {'|'.join(route.methods):8} {url}/{route.path}" for route in ROUTES]
    header = " -H 'x-functions-key: KEY'" if key else ""
    question = """-H 'content-type: application/json' -d '{"query": "What does P0700 mean?", "top_k": 3}'"""
    where = settings.data_dir.resolve() if settings.data_dir else "in memory only, lost when the server stops"
    return "\n".join(
        [
            "Routes:",
            *routes,
            f"Data: {where}",
            f"Ask: {url}/rag/ask",
            f"Pages: {url}/rag",
            f"Example: curl -s {url}/api/consult_rag{header} {question}",
            "Press Ctrl-C to stop.",
        ]
    )
