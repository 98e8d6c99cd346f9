"""Fixtures for the tests of whoever uses Azure AI Search; pytest finds them when the package is installed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from . import SearchService, run_search_service
from .certificates import write_certificate
from .faults import Faults
from .rewriting import WordRewriter
from .word_ranker import WordRanker

KEY = "emulator-key"


@dataclass(frozen=True, slots=True)
class SearchEmulator:
    """An emulator that runs: where it is, what it takes for a key or a token, and whom to trust."""

    endpoint: str
    certificate: Path
    key: str = KEY
    faults: Faults = field(default_factory=Faults)


@pytest.fixture(scope="session")
def azure_ai_search_certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The certificate and the key of the emulators of this session, as files."""
    return write_certificate(tmp_path_factory.mktemp("azure-ai-search-emulator"))


@pytest.fixture
def azure_ai_search_emulator(azure_ai_search_certificate: tuple[Path, Path]) -> Iterator[SearchEmulator]:
    """An empty emulator over https; clients are given `connection_verify=str(emulator.certificate)`."""
    faults = Faults()
    service = SearchService(
        None, keys=[KEY], tokens=[KEY], reranker=WordRanker(), rewriter=WordRewriter(), faults=faults
    )
    with run_search_service(service, certificate=azure_ai_search_certificate) as endpoint:
        yield SearchEmulator(endpoint, azure_ai_search_certificate[0], faults=faults)
