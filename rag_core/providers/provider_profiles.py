"""The providers that speak OpenAI's protocol, as data: their addresses, models and limits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rag_core.core.hosted_models import AZURE_API_VERSION, DEFAULT_CHAT_MODEL, DEFAULT_EMBEDDING_MODEL


@dataclass(frozen=True, slots=True)
class ProviderProfile:
    """A provider as data: its address, its models and the limits of their use.

    `base_url` is the resource's endpoint for `azure`. `send_dimensions` asks the model to shorten its vectors to
    `dimensions`. An embedding model reads at most `max_text_tokens` of a text; a request holds at most
    `max_batch_texts` with `max_batch_tokens` in all. `max_completion_tokens` caps `max_tokens` of a prompt whose
    reply may be cut. One attempt takes at most `attempt_timeout_s` seconds.
    """

    name: str
    provider: str  # the name in OpenTelemetry's GenAI conventions
    base_url: str
    chat_model: str
    embedding_model: str
    dimensions: int
    send_dimensions: bool = False
    query_prefix: str = ""
    document_prefix: str = ""
    embedding_encoding: Literal["base64", "float"] = "base64"
    max_text_tokens: int = 8191
    max_batch_texts: int = 2048
    max_batch_tokens: int = 300_000
    structured_outputs: bool = True  # replies follow a JSON schema
    max_completion_tokens: int = 4096
    top_p: float | None = None
    attempt_timeout_s: float = 30.0  # S2-45
    api_version: str = ""
    chat_api: str = "completions"  # or "responses"

    @property
    def embedding_space(self) -> str:
        """The space of its vectors: the model, their number of dimensions, and what is put before a text."""
        return ";".join((self.embedding_model, str(self.dimensions), self.document_prefix.strip()))


PROVIDER_PROFILES: Mapping[str, ProviderProfile] = {
    profile.name: profile
    for profile in (
        ProviderProfile("openai", "openai", "https://api.openai.com/v1", "gpt-4o-mini", "text-embedding-3-small", 1536),
        ProviderProfile(
            "openai-large",
            "openai",
            "https://api.openai.com/v1",
            "gpt-5-mini",
            "text-embedding-3-large",
            1536,  # shortened from 3072
            send_dimensions=True,
        ),
        ProviderProfile(
            "azure",
            "azure.ai.openai",
            "",
            DEFAULT_CHAT_MODEL.name,
            DEFAULT_EMBEDDING_MODEL.name,
            1536,
            api_version=AZURE_API_VERSION,
        ),
        ProviderProfile(
            "gemini",
            "gcp.gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            "gemini-1.5-flash",
            "text-embedding-004",
            768,
            embedding_encoding="float",
            max_text_tokens=2048,
            max_batch_texts=100,
        ),
        ProviderProfile(
            "ollama",
            "ollama",
            "http://127.0.0.1:11434/v1",
            "qwen2.5:1.5b",
            "nomic-embed-text",
            768,
            query_prefix="search_query: ",
            document_prefix="search_document: ",
            embedding_encoding="float",
            max_text_tokens=2048,  # its default context window
            max_batch_texts=64,
            max_completion_tokens=200,
            top_p=0.9,
            attempt_timeout_s=120.0,
        ),
    )
}
