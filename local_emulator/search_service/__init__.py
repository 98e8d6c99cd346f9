"""An emulator of Azure AI Search: its REST API on this machine, for the tests of whoever uses it."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from .faults import Fault, Faults
from .rewriting import Rewriter, RewriterUnavailable, WordRewriter
from .semantic import Ranker, RankerUnavailable
from .service import SearchService
from .serving import CertificateFiles, serve_wsgi
from .word_ranker import WordRanker

__all__ = [
    "Fault",
    "Faults",
    "Ranker",
    "RankerUnavailable",
    "Rewriter",
    "RewriterUnavailable",
    "SearchService",
    "WordRanker",
    "WordRewriter",
    "run_search_service",
]


@contextmanager
def run_search_service(
    service: SearchService, *, port: int = 0, certificate: CertificateFiles | None = None
) -> Iterator[str]:
    """Serve the service on the loopback interface while the block runs, then close it; yield its address."""
    with closing(service), serve_wsgi(service, port=port, certificate=certificate) as url:
        yield url
