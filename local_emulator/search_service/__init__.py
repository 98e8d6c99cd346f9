"""The package serves, on this machine, the part of Azure AI Search that this project uses."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from local_emulator.search_service.semantic import Ranker, RankerUnavailable
from local_emulator.search_service.service import SearchService
from local_emulator.search_service.serving import serve_wsgi

__all__ = ["Ranker", "RankerUnavailable", "SearchService", "running"]


@contextmanager
def run_search_service(service: SearchService, *, port: int = 0) -> Iterator[str]:
    """Serve the service on the loopback interface while the block runs, then close it; yield its address."""
    with closing(service), serve_wsgi(service, port=port) as url:
        yield url
