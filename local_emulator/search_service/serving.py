"""Serve any WSGI application on this machine, by http or https: the search service, and what stands beside it."""

import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

IDLE_TIMEOUT_S = 30.0  # of a connection on which nothing comes
LOOPBACK = "127.0.0.1"
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
CertificateFiles = tuple[Path, Path]  # the certificate and its key


class _UnloggedRequestHandler(WSGIRequestHandler):
    timeout = IDLE_TIMEOUT_S

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
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        # a certificate names both, and the SDKs of other languages trust names rather than numbers
        yield f"https://localhost:{server.port}" if certificate else f"http://{LOOPBACK}:{server.port}"
    finally:
        server.shutdown()
        thread.join()
