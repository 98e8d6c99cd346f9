"""A search service that fails in every way we have seen one fail, and keeps what it says it has kept."""

import io
import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from werkzeug.test import run_wsgi_app
from werkzeug.wrappers import Request, Response

from local_emulator.search_service.serving import Application

Environ = dict[str, Any]
HANGS_S = 20.0  # far beyond any deadline of a test, which sets `release` when it is done
BUSY = (409, 422, 429, 503)
ITEM_FAULTS = ("partial", "too_large", "duplicate")  # of a batch only
CHAOS = ("partial", "throttled", "too_large", "unavailable", "bad_gateway", "reset", "reset_after", "duplicate", "cut")


class Faulty:
    """Wraps a service. `plan` gives the fault of each request, None for none; `seen` counts what was done."""

    def __init__(self, service: Application, plan: Callable[[Request], str | None]) -> None:
        self.service, self.plan = service, plan
        self.seen: Counter[str] = Counter()
        self.release = threading.Event()  # ends what hangs
        self._draw = random.Random(1)

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ = {**environ, "wsgi.input": io.BytesIO(body)}
        fault = self.plan(Request(environ))
        if fault in ITEM_FAULTS and not environ["PATH_INFO"].endswith("search.index"):
            fault = "throttled"
        self.seen[fault or "none"] += 1
        if fault in ("reset", "reset_after", "black_hole", "drip"):
            if fault == "reset_after":
                self._pass(environ, body)
            return self._never_whole(fault, start_response)
        return self._with(fault, environ, body)(environ, start_response)

    def _with(self, fault: str | None, environ: Environ, body: bytes) -> Response:
        match fault:
            case "late":
                self.release.wait(0.3)
            case "duplicate":
                self._pass(environ, body)
                return self._pass(environ, body)
            case "partial":
                return self._partly(environ, json.loads(body)["value"])
            case "too_large":
                return self._pass(environ, body) if len(json.loads(body)["value"]) == 1 else refusal(413)
            case "cut":
                whole = self._pass(environ, body)
                return Response(whole.data[: len(whole.data) // 2], whole.status, mimetype="application/json")
            case "html":
                return Response("<html>it works</html>", 200, mimetype="text/html")
            case "empty":
                return Response("{}", 200, mimetype="application/json")
            case "no_numbers":
                whole = self._pass(environ, body)
                for hit in (told := json.loads(whole.data)).get("value", ()):
                    hit["@search.score"] = "NaN"
                return Response(json.dumps(told), 200, mimetype="application/json")
            case "huge_retry_after":
                return refusal(429, {"Retry-After": "3600"})
            case "throttled" | "unavailable" | "bad_gateway" | "failed" | "gone" | "unauthorized" | "forbidden":
                return refusal(STATUS[fault])
        return self._pass(environ, body)

    def _pass(self, environ: Environ, body: bytes) -> Response:
        told = {**environ, "wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
        parts, status, headers = run_wsgi_app(self.service, told)
        return Response(b"".join(parts), status, headers)

    def _partly(self, environ: Environ, actions: list[dict[str, Any]]) -> Response:
        """Half of a batch is taken; the rest is told to be busy."""
        taken = [action for action in actions if self._draw.random() < 0.5]
        told = json.loads(self._pass(environ, json.dumps({"value": taken}).encode()).data)["value"] if taken else []
        keys = {action["key"] for action in taken}
        told += [
            {"key": a["key"], "status": False, "errorMessage": "busy", "statusCode": self._draw.choice(BUSY)}
            for a in actions
            if a["key"] not in keys
        ]
        return Response(json.dumps({"value": told}), 207, mimetype="application/json")

    def _never_whole(self, fault: str, start_response: Callable[..., Any]) -> Iterator[bytes]:
        """Headers that promise a body, and then the end of the connection, silence, or a byte now and then."""
        if fault == "black_hole":
            self.release.wait(HANGS_S)
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", "1000")])
        yield b'{"value":['
        while fault == "drip" and not self.release.wait(0.05):
            yield b" "


STATUS = {
    "throttled": 429,
    "unavailable": 503,
    "bad_gateway": 502,
    "failed": 500,
    "gone": 404,
    "unauthorized": 401,
    "forbidden": 403,
}


def refusal(status: int, headers: dict[str, str] | None = None) -> Response:
    body = {"error": {"code": "", "message": f"planted {status}"}}
    return Response(json.dumps(body), status, headers or {}, mimetype="application/json")
