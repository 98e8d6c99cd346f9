"""The package serves, on this machine, the part of Azure AI Search that this project uses."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from .semantic import Ranker, RankerUnavailable
from .service import SearchService
from .serving import serve_wsgi

__all__ = ["Ranker", "RankerUnavailable", "SearchService", "running"]


@contextmanager
def run_search_service(service: SearchService, *, port: int = 0) -> Iterator[str]:
    """Serve the service on the loopback interface while the block runs, then close it; yield its address."""
    with closing(service), serve_wsgi(service, port=port) as url:
        yield url
