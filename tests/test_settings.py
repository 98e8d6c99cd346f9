"""What the operator says is taken as it stands or refused by its name, never guessed."""

import pytest

from rag_core import settings
from rag_core.errors import Misconfigured

NAMES = {
    "AZURE_SEARCH_ENDPOINT": ("azure_search_endpoint", "https://s.search.windows.net"),
    "AZURE_SEARCH_API_KEY": ("azure_search_key", "secret-1"),
    "AZURE_SEARCH_INDEX": ("azure_search_index", "manuals-2"),
    "AZURE_OPENAI_ENDPOINT": ("azure_openai_endpoint", "https://o.openai.azure.com"),
    "AZURE_OPENAI_API_KEY": ("azure_openai_key", "secret-2"),
    "AZURE_OPENAI_API_VERSION": ("azure_openai_api_version", "2025-01-01-preview"),
    "AZURE_OPENAI_CHAT_DEPLOYMENT": ("chat_deployment", "chat"),
    "AZURE_OPENAI_EMBEDDING_DEPLOYMENT": ("embedding_deployment", "embed"),
    "OPENAI_API_KEY": ("openai_api_key", "secret-3"),
    "OPENAI_BASE_URL": ("openai_base_url", "https://proxy.example/v1"),
    "OPENAI_EMBEDDING_MODEL": ("embedding_model", "text-embedding-3-large"),
    "OPENAI_CHAT_MODEL": ("chat_model", "gpt-4o"),
    "GEMINI_API_KEY": ("gemini_api_key", "secret-4"),
    "OLLAMA_HOST": ("ollama_host", "http://gpu-box:11434"),
    "OLLAMA_MODEL": ("ollama_model", "qwen2.5:1.5b"),
    "AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT": ("doc_intelligence_endpoint", "https://d.cognitiveservices.azure.com"),
    "AZURE_DOCUMENT_INTELLIGENCE_KEY": ("doc_intelligence_key", "secret-5"),
    "RAG_FUNCTIONS_URL": ("functions_url", "https://f.azurewebsites.net"),
    "RAG_FUNCTIONS_KEY": ("functions_key", "secret-6"),
}


def test_every_documented_name_is_honoured() -> None:
    """C40, S3-10, S4-20: all documented names of services, keys and models are read."""
    read = settings.load({name: value for name, (_, value) in NAMES.items()} | {"OLLAMA_TIMEOUT_SECONDS": "90"})
    assert {name: getattr(read, field) for name, (field, _) in NAMES.items()} == {n: v for n, (_, v) in NAMES.items()}
    assert read.ollama_timeout_s == 90


def test_nothing_said_is_the_offline_default() -> None:
    """C40: no variable is required as such."""
    assert settings.load({}) == settings.DEFAULTS
    assert settings.load(dict.fromkeys(NAMES, "")) == settings.DEFAULTS


def test_defaults_are_the_documents_own() -> None:
    """S2-46, S4-23: gpt-4o-mini, text-embedding-3-small, and two minutes for Ollama."""
    assert settings.DEFAULTS.chat_deployment == "gpt-4o-mini"
    assert settings.DEFAULTS.embedding_deployment == "text-embedding-3-small"
    assert settings.DEFAULTS.ollama_timeout_s == 120


@pytest.mark.parametrize("name", ["RAG_TIMEOUT_S", "OLLAMA_TIMEOUT_SECONDS"])
def test_a_timeout_longer_than_the_front_end_waits_is_refused(name: str) -> None:
    """C22: configuration above 230 s is refused at start."""
    settings.load({name: "230"})
    with pytest.raises(Misconfigured, match=name) as refused:
        settings.load({name: "231"})
    assert refused.value.field == name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AZURE_SEARCH_ENDPOINT", "http://s.search.windows.net"),  # the key would travel in the clear
        ("AZURE_SEARCH_ENDPOINT", "s.search.windows.net"),
        ("AZURE_SEARCH_ENDPOINT", "https://user:password@s.search.windows.net"),
        ("AZURE_OPENAI_ENDPOINT", "ftp://o.openai.azure.com"),
        ("AZURE_OPENAI_ENDPOINT", "https://"),
        ("RAG_FUNCTIONS_URL", "https://f.azurewebsites.net/api/consult_rag?code=secret"),
        ("OPENAI_BASE_URL", "https://[oops"),
        ("OLLAMA_HOST", "http://"),
        ("AZURE_SEARCH_INDEX", "Manuals"),
        ("AZURE_SEARCH_INDEX", "manuals--2"),
        ("RAG_LLM_PROVIDER", "claude"),
        ("RAG_EMBEDDING_DIMENSIONS", "wide"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(Misconfigured, match=name) as refused:
        settings.load({name: value})
    assert refused.value.field == name
    assert "secret" not in str(refused.value)
    assert "password" not in str(refused.value)


@pytest.mark.parametrize("address", ["http://127.0.0.1:8080", "http://localhost:8080/"])
def test_plain_http_is_taken_on_this_machine(address: str) -> None:
    assert settings.load({"AZURE_SEARCH_ENDPOINT": address}).azure_search_endpoint == address.rstrip("/")


def test_ollamas_own_form_of_an_address_is_understood() -> None:
    assert settings.load({"OLLAMA_HOST": "127.0.0.1:11434"}).ollama_host == "http://127.0.0.1:11434"


def test_keys_are_not_shown() -> None:
    read = settings.load({name: value for name, (_, value) in NAMES.items()})
    assert "secret" not in repr(read)
    assert {field for field, value in NAMES.values() if value.startswith("secret")} == settings.SECRETS
