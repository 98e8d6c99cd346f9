"""Chat models and embedders over OpenAI's protocol, with profiles for OpenAI, Azure OpenAI, Gemini and Ollama."""

import asyncio
import math
import re
import sys
from array import array
from base64 import b64decode
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, TypeVar

import openai
from openai.types import CreateEmbeddingResponse
from openai.types.chat import ChatCompletion

from rag_core.core.batching import packed
from rag_core.core.errors import Unavailable
from rag_core.core.model import Vector
from rag_core.core.ports import Prompt, Reply
from rag_core.core.retrying import RETRIED, Dependency, Transient, retry_after_s
from rag_core.core.run import spend
from rag_core.core.telemetry import Attributes, span
from rag_core.providers.prices import cost_usd
from rag_core.text.sentences import count_tokens, decode, encode

T = TypeVar("T")
R = TypeVar("R")
Operation = Literal["chat", "embeddings"]

# what the SDK, or our parsing after it, raises for a malformed reply
GARBAGE = (AttributeError, LookupError, RecursionError, TypeError, ValueError, openai.OpenAIError)
CODES: Mapping[Operation, tuple[str, str]] = {  # for a service that does not answer, and for an invalid answer
    "chat": ("llm_unavailable", "llm_output_invalid"),
    "embeddings": ("embedding_unavailable", "embedding_invalid"),
}
REFUSALS = {
    401: "does not accept the key or identity",
    403: "denies access",
    404: "has no such model or deployment",
}
TABLE: Literal["cl100k_base"] = "cl100k_base"  # the encoding of OpenAI's embedding models
REASONING = re.compile(r"gpt-5|o\d")  # take no temperature, and spend output tokens on reasoning
THINKING_TOKENS = 2048
LOCAL = "local: "  # the prefix of `model` by which a test server says that a local technique answered


@dataclass(frozen=True, slots=True)
class Profile:
    """A provider as data: its address, its models and the limits of their use.

    `base_url` is the resource's endpoint for `azure`. `send_dimensions` asks the model to shorten its vectors to
    `dimensions`. An embedding model reads at most `text_tokens` of a text; a request holds at most `batch_texts`
    with `batch_tokens` in all. `max_tokens` caps that of a prompt. One attempt takes at most `try_s` seconds.
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
    encoding: Literal["base64", "float"] = "base64"
    text_tokens: int = 8191
    batch_texts: int = 2048
    batch_tokens: int = 300_000
    structured: bool = True  # replies follow a JSON schema
    max_tokens: int = 4096
    top_p: float | None = None
    try_s: float = 30.0  # S2-45
    api_version: str = ""


PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("openai", "openai", "https://api.openai.com/v1", "gpt-4o-mini", "text-embedding-3-small", 1536),
        Profile(
            "openai-large",
            "openai",
            "https://api.openai.com/v1",
            "gpt-5-mini",
            "text-embedding-3-large",
            1536,  # shortened from 3072
            send_dimensions=True,
        ),
        Profile(
            "azure",
            "azure.ai.openai",
            "",
            "gpt-4o-mini",
            "text-embedding-3-small",
            1536,
            api_version="2024-10-21",  # the first general release with structured outputs
        ),
        Profile(
            "gemini",
            "gcp.gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            "gemini-1.5-flash",
            "text-embedding-004",
            768,
            encoding="float",
            text_tokens=2048,
            batch_texts=100,
        ),
        Profile(
            "ollama",
            "ollama",
            "http://127.0.0.1:11434/v1",
            "qwen2.5:1.5b",
            "nomic-embed-text",
            768,
            query_prefix="search_query: ",
            document_prefix="search_document: ",
            encoding="float",
            text_tokens=2048,  # its default context window
            batch_texts=64,
            max_tokens=200,
            top_p=0.9,
            try_s=120.0,
        ),
    )
}


class OpenAIChat:
    """The chat model of a provider's profile."""

    def __init__(self, profile: Profile, *, key: str | None) -> None:
        self.name = f"{profile.name} {profile.chat_model}"
        self._profile = profile
        self._service = _Service(profile, key, "chat", profile.chat_model)

    async def complete(self, prompt: Prompt) -> Reply:
        """Complete a prompt.

        Raises:
            Unavailable: no reply (llm_unavailable), declined (llm_refused) or malformed (llm_output_invalid).
        """
        request = _request(prompt, self._profile)
        attributes = {"gen_ai.request.max_tokens": prompt.max_tokens, "gen_ai.request.temperature": prompt.temperature}
        return await self._service.ask(
            lambda client, within_s: client.chat.completions.create(**request, timeout=within_s), self._read, attributes
        )

    def _read(self, completion: ChatCompletion) -> Reply:
        model = completion.model or self._profile.chat_model
        return Reply(_text(completion, self.name), model, local=model.startswith(LOCAL))

    async def close(self) -> None:
        await self._service.close()


class OpenAIEmbedder:
    """The embedding model of a provider's profile; a text over the model's limit is truncated."""

    def __init__(self, profile: Profile, *, key: str | None) -> None:
        self.space = ";".join((profile.embedding_model, str(profile.dimensions), profile.document_prefix.strip()))
        self.dimensions = profile.dimensions
        self._profile = profile
        self._service = _Service(profile, key, "embeddings", profile.embedding_model)

    async def embed_query(self, text: str) -> Vector:
        return (await self._embed([_readable(self._profile.query_prefix + text, self._profile.text_tokens)]))[0]

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        batch_vectors = [await self._embed(batch) for batch in await asyncio.to_thread(self._batches, texts)]
        return [vector for vectors in batch_vectors for vector in vectors]

    def _batches(self, texts: Sequence[str]) -> list[list[str]]:
        prefix, max_tokens = self._profile.document_prefix, self._profile.text_tokens
        prepared = [_readable(prefix + text, max_tokens) for text in texts]
        return list(batches(prepared, texts_each=self._profile.batch_texts, tokens_each=self._profile.batch_tokens))

    async def _embed(self, texts: Sequence[str]) -> list[Vector]:
        request: dict[str, Any] = {"model": self._profile.embedding_model, "input": texts}
        request["encoding_format"] = self._profile.encoding
        if self._profile.send_dimensions:
            request["dimensions"] = self.dimensions
        return await self._service.ask(
            lambda client, within_s: client.embeddings.create(**request, timeout=within_s),
            lambda response: _vectors(response, len(texts), self.dimensions),
            {"gen_ai.embeddings.dimension.count": self.dimensions},
        )

    async def close(self) -> None:
        await self._service.close()


class _Service:
    """One model of a provider: its client, its circuit breaker, and the spans and costs of its calls."""

    def __init__(self, profile: Profile, key: str | None, operation: Operation, model: str) -> None:
        self._profile, self._key, self._operation, self._model = profile, key, operation, model
        self._unreached, self._invalid = CODES[operation]
        self._dependency = Dependency(f"{profile.name} {model}", code=self._unreached, try_s=profile.try_s)

    @cached_property
    def _client(self) -> openai.AsyncOpenAI:
        return _client(self._profile, self._key, self._unreached)

    async def close(self) -> None:
        await self._client.close()

    async def ask(
        self, send: Callable[[openai.AsyncOpenAI, float], Awaitable[R]], read: Callable[[R], T], described: Attributes
    ) -> T:
        """Send a request and parse the reply by `read`; record the usage also when parsing fails."""
        common_attributes = {
            "gen_ai.operation.name": self._operation,
            "gen_ai.provider.name": self._profile.provider,
            "gen_ai.request.model": self._model,
        }
        with span(
            f"{self._operation} {self._model}", {**common_attributes, **described}, kind="CLIENT"
        ) as current_span:
            try:
                reply = await self._dependency.call(partial(self._once, partial(send, self._client)))
                current_span.set_attributes(self._account(reply))
                return read(reply)
            except GARBAGE as error:
                message = f"{self._dependency.name} returned a reply that cannot be parsed ({type(error).__name__})"
                raise Unavailable(message, code=self._invalid) from error

    async def _once(self, send: Callable[[float], Awaitable[R]], within_s: float) -> R:
        try:
            return await send(within_s)
        except openai.APIStatusError as error:
            raise self._translated(error) from error
        except openai.APIConnectionError as error:
            raise Transient("no answer" if isinstance(error, openai.APITimeoutError) else "no connection") from error

    def _translated(self, refusal: openai.APIStatusError) -> Exception:
        status, code = refusal.status_code, refusal.code or ""
        if status in RETRIED and code != "insufficient_quota":  # a 429 that waiting does not resolve
            return Transient(f"status {status}", retry_after_s=retry_after_s(refusal.response.headers))
        if code == "content_filter":
            return Unavailable(f"{self._dependency.name} declined the prompt", code="llm_refused")
        explanation = REFUSALS.get(status, "refused the request")
        details = {"dependency": self._dependency.name, "attempts": 1, "status": status, "reason": code}
        return Unavailable(f"{self._dependency.name} {explanation} ({status})", code=self._unreached, details=details)

    def _account(self, reply: Any) -> Attributes:
        """Record the tokens and cost of a call; return them as span attributes."""
        usage = reply.usage
        input_tokens, output_tokens = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
        model = str(reply.model or self._model)
        is_free = self._profile.provider == "ollama" or model.startswith(LOCAL)
        cost = (
            0.0
            if is_free
            else cost_usd(model, input_tokens=input_tokens, output_tokens=output_tokens)
            if usage
            else None
        )
        spend(input_tokens=input_tokens, output_tokens=output_tokens, cost_usd=cost)
        attributes: dict[str, str | int] = {"gen_ai.response.model": model, "gen_ai.usage.input_tokens": input_tokens}
        return {**attributes, "gen_ai.usage.output_tokens": output_tokens} if self._operation == "chat" else attributes


def batches(texts: Sequence[str], *, texts_each: int, tokens_each: int) -> Iterator[list[str]]:
    """Split texts, in order, into the fewest batches within both limits; a text over a limit gets its own batch."""
    return packed(texts, lambda text: count_tokens(text, table=TABLE), items_each=texts_each, size_each=tokens_each)


def _client(profile: Profile, key: str | None, unreached: str) -> openai.AsyncOpenAI:
    """Create a client without retries (`Dependency` has them) and redirects (a prompt goes to no other host)."""
    http_client = openai.DefaultAsyncHttpxClient(follow_redirects=False)
    if profile.name != "azure":
        return openai.AsyncOpenAI(
            api_key=key or "none", base_url=profile.base_url, max_retries=0, http_client=http_client
        )
    return openai.AsyncAzureOpenAI(
        azure_endpoint=profile.base_url,
        api_version=profile.api_version,
        api_key=key,
        azure_ad_token_provider=None if key else _entra(unreached),
        max_retries=0,
        http_client=http_client,
    )


def _entra(unreached: str) -> Callable[[], Awaitable[str]]:
    """Create a provider of Microsoft Entra tokens for the machine's identity; it caches them until they expire."""
    from azure.core.exceptions import AzureError
    from azure.identity import DefaultAzureCredential, get_bearer_token_provider

    get_token = get_bearer_token_provider(DefaultAzureCredential(), "https://cognitiveservices.azure.com/.default")

    async def fetch_token() -> str:
        try:
            return await asyncio.to_thread(get_token)  # unlike azure.identity.aio, it needs no close
        except AzureError as error:
            raise Unavailable("this machine has no identity that Azure accepts", code=unreached) from error

    return fetch_token


def _request(prompt: Prompt, profile: Profile) -> dict[str, Any]:
    contents = {"system": prompt.system, "user": prompt.user}
    messages = [{"role": role, "content": _whole(content)} for role, content in contents.items() if content]
    request: dict[str, Any] = {"model": profile.chat_model, "messages": messages}
    if REASONING.match(profile.chat_model):
        request |= {"max_completion_tokens": prompt.max_tokens + THINKING_TOKENS, "reasoning_effort": "low"}
    else:
        request |= {"max_tokens": min(prompt.max_tokens, profile.max_tokens), "temperature": prompt.temperature}
    if (top_p := prompt.top_p or profile.top_p) and "temperature" in request:
        request["top_p"] = top_p
    if prompt.schema and profile.structured:
        json_schema = {"name": prompt.task, "strict": True, "schema": _strict(prompt.schema)}
        request["response_format"] = {"type": "json_schema", "json_schema": json_schema}
    return request


def _strict(schema: Any) -> Any:
    """Remove `minItems` and `maxItems`, which Azure's structured outputs reject; the reply's parser checks them."""
    if isinstance(schema, Mapping):
        return {name: _strict(value) for name, value in schema.items() if name not in ("minItems", "maxItems")}
    return schema


def _text(completion: ChatCompletion, name: str) -> str:
    choice = completion.choices[0]
    if choice.message.refusal or choice.finish_reason == "content_filter":
        raise Unavailable(f"{name} declined to answer", code="llm_refused")
    if choice.finish_reason == "length":
        raise Unavailable(f"{name} stopped at the token limit", code="llm_output_invalid")
    if not isinstance(choice.message.content, str):
        raise TypeError("content is not a string")
    return choice.message.content


def _vectors(response: CreateEmbeddingResponse, count: int, dimensions: int) -> list[Vector]:
    """Return the embeddings in the order of their indices, each normalized to a unit vector."""
    vector_by_index = {item.index: _vector(item.embedding, dimensions) for item in response.data}
    if len(response.data) != count or vector_by_index.keys() != set(range(count)):
        raise Unavailable(f"received {len(response.data)} embeddings for {count} texts", code="embedding_invalid")
    return [vector_by_index[index] for index in range(count)]


def _vector(given: object, dimensions: int) -> Vector:
    vector = _floats(given) if isinstance(given, str) else list(given)  # type: ignore[call-overload]
    norm = math.hypot(*vector)
    if not 0 < norm < math.inf:
        raise Unavailable("an embedding is zero or not finite", code="embedding_invalid")
    if len(vector) != dimensions:
        message = f"an embedding has {len(vector)} dimensions where {dimensions} are configured"
        raise Unavailable(message, code="embedding_invalid")
    return [x / norm for x in vector]


def _floats(given: str) -> list[float]:
    """Decode base64 of little-endian float32."""
    floats = array("f", b64decode(given, validate=True))
    if sys.byteorder == "big":
        floats.byteswap()
    return floats.tolist()


def _readable(text: str, tokens: int) -> str:
    """Return a text that an embedding service accepts: valid UTF-8, not empty, truncated to `tokens`."""
    prepared = _whole(text) or " "
    if len(prepared.encode()) <= tokens:  # a token is at least one byte
        return prepared
    return decode(encode(prepared, table=TABLE)[:tokens], table=TABLE)


def _whole(text: str) -> str:
    """Replace each lone surrogate, which cannot be encoded, by "?"."""
    return text.encode("utf-8", "replace").decode()


def _count(usage: object, name: str) -> int:
    count = getattr(usage, name, 0)
    return count if isinstance(count, int) and count > 0 else 0
