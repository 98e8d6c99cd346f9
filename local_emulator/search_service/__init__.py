"""The part of Azure AI Search that this project uses, on this machine."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

from werkzeug.serving import WSGIRequestHandler, make_server

from local_emulator.search_service.semantic import Ranker, RankerUnavailable
from local_emulator.search_service.service import SearchService

__all__ = ["Ranker", "RankerUnavailable", "SearchService", "running"]


class _UnloggedRequestHandler(WSGIRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log nothing."""


@contextmanager
def running(service: SearchService, *, port: int = 0) -> Iterator[str]:
    """Serve the service on the loopback interface while the block runs, then close it; yield its address.

    Port 0 takes a free one. Each request has a thread of its own.
    """
    with closing(service):
        server = make_server("127.0.0.1", port, service, threaded=True, request_handler=_UnloggedRequestHandler)
        server.log_startup = lambda: None  # type: ignore[method-assign]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.port}"
        finally:
            server.shutdown()
            thread.join()
