"""What clients of HTTP services trust."""

import ssl
from collections.abc import Iterator

import pytest

from rag_core.providers import certificates
from rag_core.providers.openai import OpenAIChatModel, OpenAIEmbedder
from rag_core.providers.provider_profiles import PROVIDER_PROFILES
from rag_core.providers.web_search import DuckDuckGoSearch


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """An entry for each file of certificates that is loaded."""
    loaded: list[str] = []
    load = ssl.SSLContext.load_verify_locations

    def load_and_note(context: ssl.SSLContext, cafile: str | None = None, *rest: str | None, **named: str) -> None:
        loaded.append(str(cafile))
        load(context, cafile, *rest, **named)

    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", load_and_note)
    certificates.load_trusted_certificates.cache_clear()
    yield loaded
    certificates.load_trusted_certificates.cache_clear()


async def test_certificates_are_loaded_once_for_all_clients_and_checked(loads: list[str]) -> None:
    profile = PROVIDER_PROFILES["openai"]
    models = [OpenAIChatModel(profile, key="k"), OpenAIEmbedder(profile, key="k"), OpenAIChatModel(profile, key="k")]
    for client in (*models, DuckDuckGoSearch()):
        await client.close()  # which opens it, where nothing was asked
    assert len(loads) == 1
    trusted = certificates.load_trusted_certificates()
    assert (trusted.verify_mode, trusted.check_hostname) == (ssl.CERT_REQUIRED, True)
