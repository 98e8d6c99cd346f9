"""The emulator answers as the Functions host does (AZURE 1d)."""

import asyncio
import json
import logging
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection
from itertools import takewhile
from pathlib import Path
from typing import Any

import azure.functions as func
import pytest
from werkzeug.test import Client

from functions.operations import Principal
from functions.principal import PRINCIPAL_HEADER, principal_from_headers
from local_emulator.host import Host, run_host, run_service
from local_emulator.search_service import serving
from rag_core.core.settings import Settings

ROOT = Path(__file__).parents[2]
LOOPS: set[int] = set()
THREADS: set[int] = set()


def planted() -> func.FunctionApp:
    """An app with one function for each habit of the host."""
    app = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)

    @app.route("api/echo/{name}", methods=["GET", "POST"])
    async def echo(req: func.HttpRequest) -> func.HttpResponse:
        LOOPS.add(id(asyncio.get_running_loop()))
        told = {
            "method": req.method,
            "params": dict(req.params),
            "route_params": dict(req.route_params),
            "headers": dict(req.headers),
            "body": req.get_body().decode(),
        }
        return func.HttpResponse(json.dumps(told), mimetype="application/json", headers={"X-Mark": "yes"})

    @app.route("api/echo/{name}", methods=["PATCH"])
    async def patched(req: func.HttpRequest) -> func.HttpResponse:
        return func.HttpResponse("patched", status_code=202)

    @app.route("rag/{id:int}", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
    def numbered(req: func.HttpRequest) -> func.HttpResponse:
        THREADS.add(threading.get_ident())
        return func.HttpResponse(f"number {req.route_params['id']}")

    @app.route("rag/new", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
    async def literal(req: func.HttpRequest) -> func.HttpResponse:
        return func.HttpResponse("new")

    @app.route("files/{*path}", auth_level=func.AuthLevel.ANONYMOUS)
    async def files(req: func.HttpRequest) -> func.HttpResponse:
        return func.HttpResponse(req.route_params.get("path", ""))

    @app.route("api/boom", methods=["GET"])
    async def boom(req: func.HttpRequest) -> func.HttpResponse:
        raise ZeroDivisionError("secret")

    @app.route("api/nothing", methods=["GET"])
    async def nothing(req: func.HttpRequest) -> func.HttpResponse:
        return {"a": "dict"}  # type: ignore[return-value]

    return app


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    host = Host(planted(), max_body=1000)
    yield Client(host)
    host.close()


def test_a_function_gets_what_the_host_would_give_it(client: Client) -> None:
    reply = client.post("/api/echo/x%20y?a=1&a=2&b=&c=&c=3", data=b"hello", headers={"X-Thing": "T"})
    assert (reply.status_code, reply.content_type, reply.headers["X-Mark"]) == (200, "application/json", "yes")
    told: Any = reply.get_json()
    assert told["params"] == {"a": "1,2", "c": "3"}, "repeated joined by commas, empty dropped"
    assert told["route_params"] == {"name": "x y"}
    assert told["headers"]["x-thing"] == "T", "names in lower case"
    assert told["body"] == "hello"


@pytest.mark.parametrize(("method", "path"), [("DELETE", "/api/echo/x"), ("HEAD", "/api/echo/x"), ("GET", "/api/none")])
def test_a_wrong_method_is_not_found_as_a_wrong_route_is(client: Client, method: str, path: str) -> None:
    """C08: the host answers 404, not 405, and nothing besides."""
    reply = client.open(path, method=method)
    assert (reply.status_code, reply.data) == (404, b"")


def test_two_functions_share_a_route_by_method(client: Client) -> None:
    reply = client.patch("/api/echo/x")
    assert (reply.status_code, reply.text, reply.content_type) == (202, "patched", "text/plain; charset=utf-8")


def test_a_literal_route_wins_over_a_parameter_and_a_number_must_be_one(client: Client) -> None:
    """C14: `rag/{id:int}` beside `rag/new`."""
    assert [client.get(f"/rag/{n}").text for n in (7, -7)] == ["number 7", "number -7"]
    assert client.get("/rag/new").text == "new"
    assert [client.get(f"/rag/{n}").status_code for n in ("other", "%D9%A3", "+7")] == [404] * 3, "digits, as in .NET"
    assert client.put("/files").text == client.put("/files/").text == "", "an empty rest is no parameter"
    assert client.put("/files/a/b.txt").text == "a/b.txt", "no methods: all of them"


@pytest.mark.parametrize("path", ["/../etc/passwd", "/rag/../../x", "//rag/7", "/files/../rag/7", "/%2e%2e/x"])
def test_a_path_is_taken_as_it_stands(client: Client, path: str) -> None:
    """C08: dots in a route lead nowhere."""
    reply = client.get(path)
    assert reply.status_code == 404 or reply.text == "../rag/7"


def test_a_failure_is_500_without_a_body_and_logged(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        reply = client.get("/api/boom")
    assert (reply.status_code, reply.data) == (500, b"")
    assert "boom failed" in caplog.text
    assert client.get("/api/nothing").status_code == 500, "an HttpResponse is required"


def test_one_loop_serves_all_and_a_blocking_function_has_its_own_thread(client: Client) -> None:
    for _ in range(3):
        client.get("/api/echo/x")
        client.get("/rag/1")
    assert len(LOOPS) == 1
    assert threading.get_ident() not in THREADS


def test_a_body_over_the_limit_is_refused_unread(client: Client) -> None:
    """C05: nothing of it is read."""

    class Untouched:
        def read(self, size: int = -1) -> bytes:
            raise AssertionError("read")

    told = {"CONTENT_LENGTH": str(2**30), "wsgi.input": Untouched()}
    assert client.post("/api/echo/x", environ_overrides=told).status_code == 413


def test_a_key_is_asked_for_where_a_function_wants_one() -> None:
    """C22: by header or query, 401 without a body, and anonymous functions stay open."""
    host = Host(planted(), key="k")
    client = Client(host)
    try:
        assert [client.get(path).status_code for path in ("/api/echo/x", "/api/echo/x?code=é", "/rag/7")] == [
            401,
            401,
            200,
        ]
        assert client.get("/api/echo/x").data == b""
        assert client.get("/api/echo/x", query_string={"code": "k"}).status_code == 200
        assert client.get("/api/echo/x", headers={"X-Functions-Key": "k"}).status_code == 200
    finally:
        host.close()


HERE = ["localhost:7071", "127.0.0.1", "[::1]:7071"]


@pytest.mark.parametrize("host", [*HERE, "evil.example:7071", "127.0.0.1.evil.example", "0.0.0.0", "[::", ""])
def test_without_a_key_a_name_that_was_made_to_lead_here_is_refused(client: Client, host: str) -> None:
    """(RELIABILITY): DNS rebinding: to the browser we would be the page's own server, whose replies it may read."""
    reply = client.get("/rag/7", headers={"Host": host})
    assert reply.status_code == (200 if host in HERE else 403)


@pytest.mark.parametrize("origin", [*(f"http://{host}" for host in HERE), "https://evil.example", "null", "http://[x"])
def test_without_a_key_a_page_of_another_site_may_not_call(client: Client, origin: str) -> None:
    """Also where its browser asks nobody before: a POST without a body changes things."""
    reply = client.post("/api/echo/x", headers={"Origin": origin})
    assert reply.status_code == (403 if origin.removeprefix("http://") not in HERE else 200)


def test_with_a_key_any_name_and_page_may_call() -> None:
    host = Host(planted(), key="k")
    headers = {"Host": "rag.example", "Origin": "https://ours.example", "x-functions-key": "k"}
    assert Client(host).get("/api/echo/x", headers=headers).status_code == 200
    host.close()


def test_it_vouches_for_an_administrator_only_where_it_is_told_to_and_nobody_is_named() -> None:
    """As Easy Auth would; who names somebody is asked as that one, so that a test can play any user."""
    host = Host(planted(), administrator_functions=["echo"])
    try:
        client = Client(host)
        told: Any = client.get("/api/echo/x").get_json()
        vouched = func.HttpRequest("GET", "/", headers=told["headers"], body=b"").headers
        assert principal_from_headers(vouched) == Principal("local-administrator", roles=("admin",))
        named: Any = client.get("/api/echo/x", headers={PRINCIPAL_HEADER: "somebody"}).get_json()
        assert named["headers"][PRINCIPAL_HEADER] == "somebody"
    finally:
        host.close()
    host = Host(planted())
    try:
        alone: Any = Client(host).get("/api/echo/x").get_json()
        assert PRINCIPAL_HEADER not in alone["headers"]
    finally:
        host.close()


@pytest.mark.parametrize(("admin", "status"), [(True, 200), (False, 403)])
def test_everybody_is_an_administrator_under_admin_and_an_owner_of_nothing(admin: bool, status: int) -> None:
    """S2-51: what wants the role can be done; documents stay everyone's: nobody is named where they are indexed."""
    with run_service(Settings(data_dir=None), admin=admin) as url:
        address = url.removeprefix("http://")
        body = {"document_id": "a", "content": "P0700 is stored by the TCM."}
        assert _sent(address, "POST", "/api/index_document", body) == 200
        assert _sent(address, "POST", "/api/delete_document", {"document_id": "a"}) == 200
        assert _sent(address, "DELETE", "/rag/prompts/query_expansion", {}) == status


def _sent(address: str, method: str, path: str, body: Any) -> int:
    connection = HTTPConnection(address)
    connection.request(method, path, json.dumps(body), {"content-type": "application/json"})
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with run_host(planted(), key="k") as address:
        yield address


def test_it_serves_over_a_socket_on_a_free_port(url: str) -> None:
    connection = HTTPConnection(url.removeprefix("http://"))
    connection.request("POST", "/api/echo/x", b"hello", {"x-functions-key": "k"})
    assert json.load(connection.getresponse())["body"] == "hello"
    connection.close()


def test_a_body_without_a_length_arrives_empty(url: str) -> None:
    """C05: as at the host, a chunked body is not passed on."""
    connection = HTTPConnection(url.removeprefix("http://"))
    connection.request("POST", "/api/echo/x?code=k", iter([b"hello"]), encode_chunked=True)
    assert json.load(connection.getresponse())["body"] == ""
    connection.close()


def test_a_body_cut_short_is_refused_and_harms_nobody(url: str) -> None:
    """C05: Content-Length promises more than is sent."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as raw:
        raw.sendall(b"POST /api/echo/x?code=k HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nhello")
        raw.shutdown(socket.SHUT_WR)
        assert raw.recv(100).startswith(b"HTTP/1.1 400")
    connection = HTTPConnection(host, int(port))
    connection.request("GET", "/rag/7")
    assert connection.getresponse().read() == b"number 7"
    connection.close()


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_serve_says_what_there_is_to_call_and_stops_when_told(stop: signal.Signals, tmp_path: Path) -> None:
    code = (
        "import sys, pathlib, local_emulator.host as host, rag_core.core.settings as settings\n"
        "host.serve_until_interrupted(settings.Settings(data_dir=pathlib.Path(sys.argv[1])), port=0, key='k')"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert child.stdout
    said = list(takewhile(lambda line: line != "Press Ctrl-C to stop.\n", child.stdout))
    child.send_signal(stop)
    rest = child.communicate(timeout=30)[0]
    assert any("/api/consult_rag" in line and "POST" in line for line in said)
    assert f"Data: {tmp_path}\n" in said
    assert any("curl" in line and "x-functions-key: KEY" in line for line in said)
    assert any(re.fullmatch(r"Pages: http://127\.0\.0\.1:\d+/rag\n", line) for line in said)
    assert (child.returncode, rest) == (0, "Stopped.\n")


SLOW_REQUESTS = {  # what comes at once, and what is answered to it at last
    "Content-Length: 1000\r\n\r\n": b"408 REQUEST TIMEOUT",
    "Transfer-Encoding: chunked\r\n\r\n5\r\n": b"",
    "X-Name: ": b"",
}


@pytest.mark.parametrize("sends", ["nothing", "a byte now and then"])
@pytest.mark.parametrize("rest", SLOW_REQUESTS)
def test_what_does_not_come_holds_no_thread(monkeypatch: pytest.MonkeyPatch, rest: str, sends: str) -> None:
    """Neither while it is waited for nor afterwards, when the server reads what is left to read."""
    monkeypatch.setattr(serving, "INPUT_TIMEOUT_S", 1.0)
    monkeypatch.setattr(serving, "IDLE_TIMEOUT_S", 0.5)
    with run_host(planted()) as url:
        address, before = url.removeprefix("http://"), threading.active_count()
        name, port = address.split(":")
        with socket.create_connection((name, int(port)), timeout=0.05) as connection:
            connection.sendall(f"POST /api/echo/x HTTP/1.1\r\nHost: {address}\r\n{rest}".encode())
            answer, ends_at = b"", time.monotonic() + 60.0
            while time.monotonic() < ends_at and (threading.active_count() > before or not answer):
                with suppress(OSError):  # nothing has come yet, or it is closed
                    if sends != "nothing":
                        connection.sendall(b"x")
                    answer += connection.recv(1000) or b"closed"
            assert threading.active_count() <= before
            assert SLOW_REQUESTS[rest] in answer


def test_the_server_names_no_versions() -> None:
    with run_host(planted()) as url:
        connection = HTTPConnection(url.removeprefix("http://"))
        connection.request("GET", "/rag/1")
        assert connection.getresponse().headers["Server"] == "rag"
        connection.close()


@pytest.mark.parametrize(
    ("site", "status"), {"cross-site": 403, "same-site": 403, "same-origin": 200, "none": 200}.items()
)
def test_without_a_key_a_page_of_another_site_changes_nothing(client: Client, site: str, status: int) -> None:
    """Also where no Origin is sent; to follow a link from another site to a page is no change."""
    assert client.post("/api/echo/x", headers={"Sec-Fetch-Site": site}).status_code == status
    assert client.get("/api/echo/x", headers={"Sec-Fetch-Site": site}).status_code == 200


def test_what_is_under_way_ends_before_what_it_uses_is_closed() -> None:
    """A request that went on after the close opened its client again, which nobody closed then."""
    events, begun = [], threading.Event()
    app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)

    @app.route("api/slow", methods=["GET"])
    async def wait(req: func.HttpRequest) -> func.HttpResponse:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            events.append("request ended")
        return func.HttpResponse("never")

    async def close() -> None:
        events.append("closed")

    host = Host(app, on_close=close)
    answers = []
    asking = threading.Thread(target=lambda: answers.append(Client(host).get("/api/slow").status_code))
    asking.start()
    assert begun.wait(60)
    host.close()
    asking.join(60)
    assert (events, answers) == (["request ended", "closed"], [503])
    assert Client(host).get("/api/slow").status_code == 503  # one that came in the last moment


def test_what_loses_a_cancellation_does_not_keep_the_host_from_closing() -> None:
    """As `asyncio.wait_for` did in Python 3.11, when the result arrived together with it: CI hung."""
    begun = threading.Event()
    app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)

    @app.route("api/slow", methods=["GET"])
    async def wait(req: func.HttpRequest) -> func.HttpResponse:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()
        return func.HttpResponse("never")

    host = Host(app)
    threading.Thread(target=Client(host).get, args=["/api/slow"], daemon=True).start()
    assert begun.wait(60)
    closing = threading.Thread(target=host.close, daemon=True)
    closing.start()
    closing.join(60)
    assert not closing.is_alive()
