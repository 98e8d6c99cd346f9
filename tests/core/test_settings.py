"""What the operator says is taken as it stands or refused by its name, never guessed."""

import pytest
from azure.data.tables import TableClient

from rag_core.core import settings
from rag_core.core.errors import Misconfigured

NAMES = {
    "AZURE_SEARCH_ENDPOINT": ("azure_search_endpoint", "https://s.search.windows.net"),
    "APPLICATIONINSIGHTS_CONNECTION_STRING": ("applicationinsights", "InstrumentationKey=secret-15"),
    "OTEL_EXPORTER_OTLP_ENDPOINT": ("otlp_endpoint", "http://127.0.0.1:4318"),
    "AZURE_SEARCH_API_KEY": ("azure_search_key", "secret-1"),
    "AZURE_SEARCH_INDEX": ("azure_search_index", "manuals-2"),
    "AZURE_SEARCH_COMPRESSION": ("azure_search_compression", "binary"),
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
    "RAG_CHAT_PROVIDER": ("chat_provider", "ollama"),
    "RAG_EMBEDDING_PROVIDER": ("embedding_provider", "local"),
    "AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT": ("doc_intelligence_endpoint", "https://d.cognitiveservices.azure.com"),
    "AZURE_DOCUMENT_INTELLIGENCE_KEY": ("doc_intelligence_key", "secret-5"),
    "RAG_COLLECTION": ("collection", "dao-2"),
    "RAG_PROPOSALS_SOURCE": ("proposals_source", "secret-7"),
    "AzureWebJobsStorage": ("jobs_storage", "secret-8"),
    "REDIS_URL": ("redis_url", "rediss://:secret-9@r.example:6380/0"),
    "RAG_CACHE_SIGNING_KEY": ("cache_signing_key", "secret-10"),
    "RAG_WEB_ENDPOINT": ("web_endpoint", "https://search.example/html"),
    "POSTGRES_URL": ("postgres_url", "postgresql://u:secret-7@db:5432/rag?sslmode=require"),
    "ARCHIVE_URL": ("archive_url", "postgresql://u:secret-8@db:5432/archive?sslmode=require"),
    "RAG_FUNCTIONS_URL": ("functions_url", "https://f.azurewebsites.net"),
    "RAG_FUNCTIONS_KEY": ("functions_key", "secret-6"),
}


def test_every_documented_name_is_honoured() -> None:
    """C40, S2-50, S3-10, S4-20: all documented names of services, keys and models are read."""
    read = settings.load_settings(
        {name: value for name, (_, value) in NAMES.items()} | {"OLLAMA_TIMEOUT_SECONDS": "90"}
    )
    assert {name: getattr(read, field) for name, (field, _) in NAMES.items()} == {n: v for n, (_, v) in NAMES.items()}
    assert read.ollama_timeout_s == 90


def test_nothing_said_is_the_offline_default() -> None:
    """C40: no variable is required as such."""
    assert settings.load_settings({}) == settings.DEFAULT_SETTINGS
    assert settings.load_settings(dict.fromkeys(NAMES, "")) == settings.DEFAULT_SETTINGS


def test_defaults_are_the_documents_own() -> None:
    """S2-46, S4-23: text-embedding-3-small, and two minutes for Ollama; the successor of gpt-4o-mini, which retires."""
    assert settings.DEFAULT_SETTINGS.chat_deployment == "gpt-5.4-mini"
    assert settings.DEFAULT_SETTINGS.embedding_deployment == "text-embedding-3-small"
    assert settings.DEFAULT_SETTINGS.ollama_timeout_s == 120


@pytest.mark.parametrize("name", ["RAG_TIMEOUT_S", "OLLAMA_TIMEOUT_SECONDS"])
def test_a_timeout_longer_than_the_front_end_waits_is_refused(name: str) -> None:
    """C22: configuration above 230 s is refused at start."""
    settings.load_settings({name: "230"})
    with pytest.raises(Misconfigured, match=name) as refused:
        settings.load_settings({name: "231"})
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
        ("AZURE_SEARCH_COMPRESSION", "int8"),
        ("AZURE_SEARCH_TRUNCATED_DIMENSIONS", "1"),
        ("AZURE_SEARCH_INDEX", "Manuals"),
        ("AZURE_SEARCH_INDEX", "manuals--2"),
        ("RAG_LLM_PROVIDER", "claude"),
        ("REDIS_URL", "redis://r.example:6379"),  # answers would travel in the clear
        ("REDIS_URL", "r.example:6379"),
        ("REDIS_URL", "rediss://[oops"),
        ("REDIS_URL", "unix://tmp"),
        ("RAG_WEB_FALLBACK", "yes"),
        ("RAG_WEB_ENDPOINT", "http://search.example"),
        ("RAG_EMBEDDING_DIMENSIONS", "wide"),
        ("ARCHIVE_URL", "sqlite:///secret.sqlite3"),  # the file is always the data folder's
        ("ARCHIVE_URL", "mysql://ann:password@db.example/archive"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(Misconfigured, match=name) as refused:
        settings.load_settings({name: value})
    assert refused.value.field == name
    assert "secret" not in str(refused.value)
    assert "password" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"), [("accountName", "ragdata"), ("queueServiceUri", "https://ragdata.queue.core.windows.net")]
)
def test_the_queues_are_reached_by_the_machines_identity_where_there_is_no_key(name: str, value: str) -> None:
    read = settings.load_settings({f"AzureWebJobsStorage__{name}": value})
    assert read.jobs_storage == "https://ragdata.queue.core.windows.net"


def test_a_storage_account_in_development_is_azurite_at_its_own_ports() -> None:
    """As the Functions host reads it; the SDKs for Python do not."""
    read = settings.load_settings({"AzureWebJobsStorage": "UseDevelopmentStorage=true"}).jobs_storage
    assert TableClient.from_connection_string(str(read), "t").url == "http://127.0.0.1:10002/devstoreaccount1"


@pytest.mark.parametrize("address", ["http://127.0.0.1:8080", "http://localhost:8080/"])
def test_plain_http_is_taken_on_this_machine(address: str) -> None:
    assert settings.load_settings({"AZURE_SEARCH_ENDPOINT": address}).azure_search_endpoint == address.rstrip("/")


@pytest.mark.parametrize("address", ["redis://127.0.0.1:6379/1", "redis://localhost", "unix:///tmp/redis.sock"])
def test_a_redis_server_of_this_machine_needs_no_tls(address: str) -> None:
    assert settings.load_settings({"REDIS_URL": address}).redis_url == address


def test_ollamas_own_form_of_an_address_is_understood() -> None:
    assert settings.load_settings({"OLLAMA_HOST": "127.0.0.1:11434"}).ollama_host == "http://127.0.0.1:11434"


def test_keys_are_not_shown() -> None:
    read = settings.load_settings({name: value for name, (_, value) in NAMES.items()})
    assert "secret" not in repr(read)
    assert {field for field, value in NAMES.values() if "secret" in value} == settings.SECRET_FIELDS


def test_the_switches_of_the_classical_pipeline_are_the_documents() -> None:
    """S4-28, S4-39, S4-41: MIN_CHUNK_RELEVANCE 0.35, MULTI_QUERY_ENABLED off, SKIP_CONTEXT_EXPANSION on."""
    assert settings.load_settings({}).preset_overrides["classical"] == {
        "rewordings": 0,
        "neighbours": 0,
        "relevance_min": 0.35,
    }
    said = {"MIN_CHUNK_RELEVANCE": "0.5", "MULTI_QUERY_ENABLED": "1", "SKIP_CONTEXT_EXPANSION": "0"}
    assert settings.load_settings(said).preset_overrides["classical"] == {
        "rewordings": 2,
        "neighbours": 1,
        "relevance_min": 0.5,
    }
