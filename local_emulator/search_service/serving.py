"""Serve any WSGI application on this machine, by http or https: the search service, and what stands beside it."""

import io
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

IDLE_TIMEOUT_S = 30.0  # of a connection on which nothing comes
INPUT_TIMEOUT_S = 120.0  # for all that a client sends: a thread waits for it, also where it comes byte by byte
LOOPBACK = "127.0.0.1"
SHUTDOWN_POLL_S = 0.05  # how often a server looks whether it is to end; the library's half second passes at each end
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
CertificateFiles = tuple[Path, Path]  # the certificate and its key


class _TimedInput(io.RawIOBase):
    """What comes on a connection. Raises TimeoutError when nothing comes for a while, or all takes too long."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._ends_at = connection, time.monotonic() + INPUT_TIMEOUT_S

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        remaining_s = self._ends_at - time.monotonic()
        if remaining_s <= 0:
            raise TimeoutError("the request took too long to come")
        self._connection.settimeout(min(IDLE_TIMEOUT_S, remaining_s))
        try:
            return self._connection.recv_into(buffer)
        finally:
            self._connection.settimeout(IDLE_TIMEOUT_S)


class _UnloggedRequestHandler(WSGIRequestHandler):
    timeout = IDLE_TIMEOUT_S

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(_TimedInput(self.connection))

    def version_string(self) -> str:
        """Name no versions to whoever asks."""
        return "rag"

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log nothing: who is served logs for itself."""


def build_server(
    app: Application, *, host: str = LOOPBACK, port: int = 0, certificate: CertificateFiles | None = None
) -> BaseWSGIServer:
    """Build a server with a thread a request, by https where a certificate is given. Port 0 takes a free one."""
    context = None
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
    server = make_server(host, port, app, threaded=True, request_handler=_UnloggedRequestHandler, ssl_context=context)
    server.log_startup = lambda: None  # type: ignore[method-assign]
    return server


@contextmanager
def serve_wsgi(
    app: Application, *, host: str = LOOPBACK, port: int = 0, certificate: CertificateFiles | None = None
) -> Iterator[str]:
    """Serve an application while the block runs, by default on the loopback interface; yield its address there."""
    server = build_server(app, host=host, port=port, certificate=certificate)
    thread = threading.Thread(target=server.serve_forever, args=(SHUTDOWN_POLL_S,))
    thread.start()
    try:
        # a certificate names both, and the SDKs of other languages trust names rather than numbers
        yield f"https://localhost:{server.port}" if certificate else f"http://{LOOPBACK}:{server.port}"
    finally:
        server.shutdown()
        thread.join()
