"""Run a Python v2 Azure Functions app inside Microsoft's own Python worker, offline.

The worker code that Azure runs for Python 3.13+ is the PyPI package azure-functions-runtime. The
gRPC proxy in front of it is not on PyPI, so this script plays proxy and host: it builds the host's
messages, passes each through its wire bytes and hands it to the worker. The message classes come
from the wheel of azure-functions-runtime-v1. Set up once, with Python 3.13 or newer:

    python3.13 -m venv VENV
    VENV/bin/pip install azure-functions-runtime==1.3.0 azure-functions-runtime-v1==1.2.0 protobuf
    VENV/bin/pip install -r APP/requirements.txt

Use, with APP the folder of host.json and function_app.py:

    VENV/bin/python real_worker.py APP list [--expect name1,name2]    what the worker indexed
    VENV/bin/python real_worker.py APP invoke POST /api/consult_rag --data '{"query": "x"}'
    VENV/bin/python real_worker.py APP trigger queue_function --data '{"id": 1}'
    VENV/bin/python real_worker.py APP serve --port 7071    HTTP on loopback, for a test suite

Settings come from local.settings.json and the environment; function keys are not checked. Exit
status: 0 good; 1 the worker reported a failure, an expected name was missing, or HTTP 5xx.
"""

import argparse
import asyncio
import importlib
import json
import logging
import os
import re
import sys
import time
import types
import uuid
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import distribution
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

HOP_BY_HOP = {"connection", "content-length", "date", "keep-alive", "server", "transfer-encoding"}
PAYLOAD = {"timerTrigger": "json", "eventGridTrigger": "json"}  # how others arrive: string


class WorkerFailure(Exception):
    """The worker answered a message with a failure status."""


def load_protos() -> types.SimpleNamespace:
    """The host/worker message classes, without gRPC (the wheel ships them in its tests)."""
    package = types.ModuleType("_functions_protos")
    package.__path__ = [str(distribution("azure-functions-runtime-v1").locate_file("tests/protos"))]
    sys.modules[package.__name__] = package
    nullable = importlib.import_module("_functions_protos.shared.NullableTypes_pb2")
    rpc = importlib.import_module("_functions_protos.FunctionRpc_pb2")
    return types.SimpleNamespace(**{**vars(nullable), **vars(rpc)})


def route_pattern(route: str) -> str:
    """A host route template, such as ``/api/docs/{id:int}/{*rest}``, as a regular expression."""

    def group(token: str) -> str:
        slash, star, name, whole, maybe = re.fullmatch(r"(/?)\{(\**)(\w+)(:int)?[^}?]*(\??)\}", token).groups()
        inner = f"{slash}(?P<{name}>{'.*' if star else '-?[0-9]+' if whole else '[^/]+'})"
        return f"(?:{inner})?" if star or maybe else inner

    return "".join(group(t) if t.endswith("}") else re.escape(t) for t in re.split(r"(/?\{[^}]*\})", route))


class RealWorker:
    """azure_functions_runtime with one app loaded; its coroutines run on ``self.loop``."""

    def __init__(self, app: Path):
        self.app, self.protos, self.loop = app, load_protos(), asyncio.get_running_loop()
        self.functions, self.begun = [], time.perf_counter()
        self.runtime = importlib.import_module("azure_functions_runtime")

    async def _send(self, handler: str, **content):
        """Give the worker one host message as it would arrive; return its reply likewise."""
        message = self.protos.StreamingMessage(request_id=str(uuid.uuid4()), **content)
        reply = await getattr(self.runtime, handler)(
            types.SimpleNamespace(
                name=handler,
                request=type(message).FromString(message.SerializeToString()),
                properties={"protos": self.protos, "host": "127.0.0.1"},
            )
        )
        reply = type(reply).FromString(reply.SerializeToString())
        if reply.result.status != self.protos.StatusResult.Success:
            error = reply.result.exception
            raise WorkerFailure(f"{handler}: {error.message}\n{error.stack_trace}".rstrip())
        return reply

    async def start(self) -> None:
        """Initialise the worker, index the app, load every function, in the host's order."""
        p, folder = self.protos, str(self.app)
        self.runtime.start_threadpool_executor()
        reply = await self._send(
            "worker_init_request",
            worker_init_request=p.WorkerInitRequest(
                host_version="4.0.0", function_app_directory=folder, worker_directory=folder
            ),
        )
        self.stream_address = urlsplit(reply.capabilities.get("HttpUri", "")).netloc
        reply = await self._send(
            "functions_metadata_request",
            functions_metadata_request=p.FunctionsMetadataRequest(function_app_directory=folder),
        )
        for metadata in reply.function_metadata_results:
            await self._send(
                "function_load_request",
                function_load_request=p.FunctionLoadRequest(function_id=metadata.function_id, metadata=metadata),
            )
            self.functions.append(self._describe(metadata))

    def _describe(self, metadata) -> types.SimpleNamespace:
        trigger = next(b for b in map(json.loads, metadata.raw_bindings) if b["type"].endswith("Trigger"))
        host = json.loads((self.app / "host.json").read_text("utf-8"))
        prefix = host.get("extensions", {}).get("http", {}).get("routePrefix", "api").strip("/")
        route = f"{prefix}/{(trigger.get('route') or metadata.name).strip('/')}".strip("/")
        return types.SimpleNamespace(
            name=metadata.name,
            id=metadata.function_id,
            kind=trigger["type"],
            route=f"/{route}" if trigger["type"] == "httpTrigger" else "",
            argument=trigger["name"],
            auth=trigger.get("authLevel", ""),
            methods=[m.upper() for m in trigger.get("methods") or []],
        )

    def invoke(self, function, invocation_id: str, **value):
        """Start one invocation, its trigger argument a TypedData; a future of the reply."""
        p, trace = self.protos, f"00-{uuid.uuid4().hex}-{uuid.uuid4().hex[:16]}-01"
        argument = p.ParameterBinding(name=function.argument, data=p.TypedData(**value))
        return asyncio.run_coroutine_threadsafe(
            self._send(
                "invocation_request",
                invocation_request=p.InvocationRequest(
                    invocation_id=invocation_id,
                    function_id=function.id,
                    input_data=[argument],
                    trace_context=p.RpcTraceContext(trace_parent=trace),
                ),
            ),
            self.loop,
        )

    def match(self, method: str, path: str):
        """The HTTP function for a request and its route parameters, most literal route first."""
        routed = sorted(
            (f for f in self.functions if f.route), key=lambda f: [("{" in s) + ("*" in s) for s in f.route.split("/")]
        )
        for function in routed:
            hit = re.fullmatch(route_pattern(function.route), path.rstrip("/") or "/", re.IGNORECASE)
            if hit and (not function.methods or method in function.methods):
                return function, {k: unquote(v) for k, v in hit.groupdict().items() if v}
        return None, {}

    def http(self, method: str, url: str, headers: dict, body: bytes):
        """(status, headers, chunks) for one HTTP request. Call it off the loop's thread."""
        parts = urlsplit(url)
        function, params = self.match(method, parts.path)
        if function is None:
            return 404, [], []
        pairs = parse_qsl(parts.query)  # like the host, which drops empty values
        query = {key: ",".join(v for k, v in pairs if k == key) for key, _ in pairs}
        rpc = self.protos.RpcHttp(
            method=method, url=url, params=params, query=query, headers={k.lower(): v for k, v in headers.items()}
        )
        if body:
            rpc.body.bytes = body
        invocation_id = str(uuid.uuid4())
        running = self.invoke(function, invocation_id, http=rpc)
        if self.stream_address:
            target = parts._replace(scheme="", netloc="").geturl()
            return self._stream(method, target, {**headers, "x-ms-invocation-id": invocation_id}, body)
        value = running.result().return_value
        if value.WhichOneof("data") == "string":
            return 200, [("content-type", "text/plain; charset=utf-8")], [value.string.encode()]
        cookies = [("set-cookie", f"{c.name}={c.value}") for c in value.http.cookies]
        return int(value.http.status_code), [*value.http.headers.items(), *cookies], [value.http.body.bytes]

    def _stream(self, method: str, target: str, headers: dict, body: bytes):
        """With HTTP streaming on, the host proxies the request to a server inside the worker."""
        sent = {k: v for k, v in headers.items() if k.lower() not in HOP_BY_HOP}
        for _ in range(50):  # that server comes up shortly after the worker's init reply
            try:
                connection = HTTPConnection(self.stream_address, timeout=300)
                connection.request(method, target, body, sent)
                break
            except ConnectionRefusedError:
                time.sleep(0.1)
        reply = connection.getresponse()
        return reply.status, reply.getheaders(), iter(lambda: reply.read1(65536), b"")


def serve(worker: RealWorker, port: int) -> None:
    class Handler(BaseHTTPRequestHandler):  # HTTP/1.0: a body ends with its connection
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            try:
                url, sent = f"http://{self.headers['host']}{self.path}", dict(self.headers.items())
                status, headers, chunks = worker.http(self.command, url, sent, body)
            except WorkerFailure as failure:
                print(failure, file=sys.stderr, flush=True)
                status, headers, chunks = 500, [], []
            self.send_response(status)
            for key, value in (h for h in headers if h[0].lower() not in HOP_BY_HOP):
                self.send_header(key, value)
            self.end_headers()
            self.wfile.writelines(chunks)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = answer

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    print(f"real worker serving on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


def act(worker: RealWorker, args) -> int:
    """What the command line asked for, off the loop's thread; the exit status."""
    if args.command == "list":
        for f in worker.functions:
            print(f"{f.name:32} {f.kind:16} {f.auth:10} {','.join(f.methods):16} {f.route}")
        missing = set(filter(None, args.expect.split(","))) - {f.name for f in worker.functions}
        seconds = time.perf_counter() - worker.begun
        print(f"{len(worker.functions)} functions indexed in {seconds:.2f} s; missing: {missing or 'none'}")
        return 1 if missing else 0
    if args.command == "trigger":
        function = {f.name: f for f in worker.functions}[args.what[0]]
        print(worker.invoke(function, str(uuid.uuid4()), **{PAYLOAD.get(function.kind, "string"): args.data}).result())
    elif args.command == "invoke":
        method, path = args.what
        status, headers, chunks = worker.http(
            method.upper(), "http://localhost" + path, {"content-type": "application/json"}, args.data.encode()
        )
        print(
            f"HTTP {status}",
            *(f"{k}: {v}" for k, v in headers),
            "",
            b"".join(chunks).decode("utf-8", "replace"),
            sep="\n",
        )
        return 1 if status >= 500 else 0
    else:
        serve(worker, int(args.port or 7071))
    return 0


async def run(args) -> int:
    worker = RealWorker(args.app)
    await worker.start()
    return await asyncio.to_thread(act, worker, args)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("app", type=Path)
    parser.add_argument("-v", "--verbose", action="store_true", help="show the worker's and the app's log")
    parser.add_argument("command", choices=("list", "invoke", "trigger", "serve"))
    parser.add_argument("what", nargs="*", help="invoke: METHOD PATH; trigger: FUNCTION")
    for option in ("--data", "--expect", "--port"):
        parser.add_argument(option, default="")
    args = parser.parse_args()
    args.app = args.app.resolve()
    logging.basicConfig(level=logging.INFO if args.verbose else logging.ERROR, stream=sys.stderr)
    settings = args.app / "local.settings.json"
    values = json.loads(settings.read_text("utf-8-sig")).get("Values", {}) if settings.exists() else {}
    os.environ.update({k: str(v) for k, v in values.items() if k not in os.environ})
    os.chdir(args.app)
    sys.path[0] = str(args.app)  # in place of this script's own folder
    try:
        return asyncio.run(run(args))
    except WorkerFailure as failure:
        print(failure, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
