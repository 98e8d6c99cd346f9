"""Serve any WSGI application on the loopback interface: the search service, and what the emulator has beside it."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from werkzeug.serving import WSGIRequestHandler, make_server

IDLE_TIMEOUT_S = 30.0  # of a connection on which nothing comes
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class _UnloggedRequestHandler(WSGIRequestHandler):
    timeout = IDLE_TIMEOUT_S

    def version_string(self) -> str:
        """Name no versions to whoever asks."""
        return "rag"

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log nothing: who is served logs for itself."""


@contextmanager
def serve_wsgi(app: Application, *, port: int = 0) -> Iterator[str]:
    """Serve an application while the block runs, a thread a request; yield its address. Port 0 takes a free one."""
    server = make_server("127.0.0.1", port, app, threaded=True, request_handler=_UnloggedRequestHandler)
    server.log_startup = lambda: None  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.shutdown()
        thread.join()
