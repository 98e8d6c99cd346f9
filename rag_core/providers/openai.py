"""Chat and embeddings of whoever speaks OpenAI's protocol: OpenAI, Azure OpenAI, Gemini and Ollama are profiles."""

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

# what the SDK lets through or leaks of a reply that is none (RELIABILITY F5)
GARBAGE = (AttributeError, LookupError, RecursionError, TypeError, ValueError, openai.OpenAIError)
CODES: Mapping[Operation, tuple[str, str]] = {  # of a service that does not answer, and of an answer that is none
    "chat": ("llm_unavailable", "llm_output_invalid"),
    "embeddings": ("embedding_unavailable", "embedding_invalid"),
}
REFUSALS = {
    401: "does not accept the key or identity",
    403: "does not allow it",
    404: "has no such model or deployment",
}
TABLE: Literal["cl100k_base"] = "cl100k_base"  # the embedders' own tokens
REASONING = re.compile(r"gpt-5|o\d")  # these take no temperature, and think in the tokens that they may write
THINKING_TOKENS = 2048
LOCAL = "local: "  # how a stand-in's name begins: a server that is none says so in `model`


@dataclass(frozen=True, slots=True)
class Profile:
    """A provider as data: where it is, its models, and how they want to be used.

    `base_url` is an Azure resource's endpoint for `azure`. `send_dimensions` cuts the model's own width to
    `dimensions`. An embedding model reads at most `text_tokens` of a text, and a request holds at most `batch_texts`
    with `batch_tokens` together. `max_tokens` bounds a prompt's own. One try takes at most `try_s`.
    """

    name: str
    provider: str  # as OpenTelemetry's GenAI conventions call it
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
    structured: bool = True  # replies held to a JSON schema
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
            1536,  # of 3072: C06
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
            text_tokens=2048,  # its default window
            batch_texts=64,
            max_tokens=200,
            top_p=0.9,
            try_s=120.0,
        ),
    )
}


class OpenAIChat:
    """A chat model of the profile's provider."""

    def __init__(self, profile: Profile, *, key: str | None) -> None:
        self.name = f"{profile.name} {profile.chat_model}"
        self._profile = profile
        self._service = _Service(profile, key, "chat", profile.chat_model)

    async def complete(self, prompt: Prompt) -> Reply:
        """Raises Unavailable: no reply (llm_unavailable), declined (llm_refused), of no use (llm_output_invalid)."""
        asked = _request(prompt, self._profile)
        described = {"gen_ai.request.max_tokens": prompt.max_tokens, "gen_ai.request.temperature": prompt.temperature}
        return await self._service.ask(
            lambda client, within_s: client.chat.completions.create(**asked, timeout=within_s), self._read, described
        )

    def _read(self, completion: ChatCompletion) -> Reply:
        said = completion.model or self._profile.chat_model
        return Reply(_text(completion, self.name), said, local=said.startswith(LOCAL))

    async def close(self) -> None:
        await self._service.close()


class OpenAIEmbedder:
    """An embedding model of the profile's provider. Of a text over the model's limit the beginning is embedded."""

    def __init__(self, profile: Profile, *, key: str | None) -> None:
        self.space = ";".join((profile.embedding_model, str(profile.dimensions), profile.document_prefix.strip()))
        self.dimensions = profile.dimensions
        self._profile = profile
        self._service = _Service(profile, key, "embeddings", profile.embedding_model)

    async def embed_query(self, text: str) -> Vector:
        return (await self._embed([_readable(self._profile.query_prefix + text, self._profile.text_tokens)]))[0]

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        parts = [await self._embed(batch) for batch in await asyncio.to_thread(self._batches, texts)]
        return [vector for part in parts for vector in part]

    def _batches(self, texts: Sequence[str]) -> list[list[str]]:
        prefix, most = self._profile.document_prefix, self._profile.text_tokens
        whole = [_readable(prefix + text, most) for text in texts]
        return list(batches(whole, texts_each=self._profile.batch_texts, tokens_each=self._profile.batch_tokens))

    async def _embed(self, texts: Sequence[str]) -> list[Vector]:
        asked: dict[str, Any] = {"model": self._profile.embedding_model, "input": texts}
        asked["encoding_format"] = self._profile.encoding
        if self._profile.send_dimensions:
            asked["dimensions"] = self.dimensions
        return await self._service.ask(
            lambda client, within_s: client.embeddings.create(**asked, timeout=within_s),
            lambda response: _vectors(response, len(texts), self.dimensions),
            {"gen_ai.embeddings.dimension.count": self.dimensions},
        )

    async def close(self) -> None:
        await self._service.close()


class _Service:
    """One model of a provider: its client, what is remembered of its failures, and the spans and costs of its calls."""

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
        """What `read` finds in the reply; a call is paid for also when it finds nothing."""
        known = {
            "gen_ai.operation.name": self._operation,
            "gen_ai.provider.name": self._profile.provider,
            "gen_ai.request.model": self._model,
        }
        with span(f"{self._operation} {self._model}", {**known, **described}, kind="CLIENT") as current:
            try:
                reply = await self._dependency.call(partial(self._once, partial(send, self._client)))
                current.set_attributes(self._account(reply))
                return read(reply)
            except GARBAGE as garbage:
                what = f"{self._dependency.name} gave a reply that cannot be read ({type(garbage).__name__})"
                raise Unavailable(what, code=self._invalid) from garbage

    async def _once(self, send: Callable[[float], Awaitable[R]], within_s: float) -> R:
        try:
            return await send(within_s)
        except openai.APIStatusError as refusal:
            raise self._translated(refusal) from refusal
        except openai.APIConnectionError as failure:
            raise Transient(
                "no answer" if isinstance(failure, openai.APITimeoutError) else "no connection"
            ) from failure

    def _translated(self, refusal: openai.APIStatusError) -> Exception:
        status, code = refusal.status_code, refusal.code or ""
        if status in RETRIED and code != "insufficient_quota":  # a 429 that no time puts right
            return Transient(f"status {status}", retry_after_s=retry_after_s(refusal.response.headers))
        if code == "content_filter":
            return Unavailable(f"{self._dependency.name} declined the prompt", code="llm_refused")
        what = REFUSALS.get(status, "refused the request")
        details = {"dependency": self._dependency.name, "attempts": 1, "status": status, "reason": code}
        return Unavailable(f"{self._dependency.name} {what} ({status})", code=self._unreached, details=details)

    def _account(self, reply: Any) -> Attributes:
        """Book what the call used, and give it as a span has it."""
        usage = reply.usage
        asked, said = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
        model = str(reply.model or self._model)
        free = self._profile.provider == "ollama" or model.startswith(LOCAL)
        cost = 0.0 if free else cost_usd(model, input_tokens=asked, output_tokens=said) if usage else None
        spend(input_tokens=asked, output_tokens=said, cost_usd=cost)
        used: dict[str, str | int] = {"gen_ai.response.model": model, "gen_ai.usage.input_tokens": asked}
        return {**used, "gen_ai.usage.output_tokens": said} if self._operation == "chat" else used


def batches(texts: Sequence[str], *, texts_each: int, tokens_each: int) -> Iterator[list[str]]:
    """The texts in order, in the fewest runs within both limits; one text over the limit goes alone."""
    return packed(texts, lambda text: count_tokens(text, table=TABLE), items_each=texts_each, size_each=tokens_each)


def _client(profile: Profile, key: str | None, unreached: str) -> openai.AsyncOpenAI:
    """Without retries: those are ours, in one layer. Without redirects: a prompt goes to no other host."""
    direct = openai.DefaultAsyncHttpxClient(follow_redirects=False)
    if profile.name != "azure":
        return openai.AsyncOpenAI(api_key=key or "none", base_url=profile.base_url, max_retries=0, http_client=direct)
    return openai.AsyncAzureOpenAI(
        azure_endpoint=profile.base_url,
        api_version=profile.api_version,
        api_key=key,
        azure_ad_token_provider=None if key else _entra(unreached),
        max_retries=0,
        http_client=direct,
    )


def _entra(unreached: str) -> Callable[[], Awaitable[str]]:
    """Tokens of the machine's own identity, kept until they expire."""
    from azure.core.exceptions import AzureError
    from azure.identity import DefaultAzureCredential, get_bearer_token_provider

    token = get_bearer_token_provider(DefaultAzureCredential(), "https://cognitiveservices.azure.com/.default")

    async def current() -> str:
        try:
            return await asyncio.to_thread(token)  # nothing to close, unlike azure.identity.aio
        except AzureError as failure:
            raise Unavailable("no identity of this machine is known to Azure", code=unreached) from failure

    return current


def _request(prompt: Prompt, profile: Profile) -> dict[str, Any]:
    parts = {"system": prompt.system, "user": prompt.user}
    messages = [{"role": role, "content": _whole(said)} for role, said in parts.items() if said]
    asked: dict[str, Any] = {"model": profile.chat_model, "messages": messages}
    if REASONING.match(profile.chat_model):
        asked |= {"max_completion_tokens": prompt.max_tokens + THINKING_TOKENS, "reasoning_effort": "low"}
    else:
        asked |= {"max_tokens": min(prompt.max_tokens, profile.max_tokens), "temperature": prompt.temperature}
    if (top_p := prompt.top_p or profile.top_p) and "temperature" in asked:
        asked["top_p"] = top_p
    if prompt.schema and profile.structured:
        held = {"name": prompt.task, "strict": True, "schema": _strict(prompt.schema)}
        asked["response_format"] = {"type": "json_schema", "json_schema": held}
    return asked


def _strict(schema: Any) -> Any:
    """Without the limits on lists, which Azure's structured outputs refuse; our reader checks them."""
    if isinstance(schema, Mapping):
        return {name: _strict(part) for name, part in schema.items() if name not in ("minItems", "maxItems")}
    return schema


def _text(completion: ChatCompletion, name: str) -> str:
    choice = completion.choices[0]
    if choice.message.refusal or choice.finish_reason == "content_filter":
        raise Unavailable(f"{name} declined to answer", code="llm_refused")
    if choice.finish_reason == "length":
        raise Unavailable(f"{name} was cut off by the limit of tokens", code="llm_output_invalid")
    if not isinstance(choice.message.content, str):
        raise TypeError("content is no text")
    return choice.message.content


def _vectors(response: CreateEmbeddingResponse, count: int, dimensions: int) -> list[Vector]:
    """The vectors at the places their indices name, each made a unit vector."""
    placed = {item.index: _vector(item.embedding, dimensions) for item in response.data}
    if len(response.data) != count or placed.keys() != set(range(count)):
        raise Unavailable(f"{len(response.data)} embeddings came for {count} texts", code="embedding_invalid")
    return [placed[index] for index in range(count)]


def _vector(given: object, dimensions: int) -> Vector:
    vector = _floats(given) if isinstance(given, str) else list(given)  # type: ignore[call-overload]
    length = math.hypot(*vector)
    if not 0 < length < math.inf:
        raise Unavailable("an embedding is zero or not finite", code="embedding_invalid")
    if len(vector) != dimensions:
        what = f"an embedding has {len(vector)} dimensions where {dimensions} are set"
        raise Unavailable(what, code="embedding_invalid")
    return [x / length for x in vector]


def _floats(given: str) -> list[float]:
    """Base64 of little-endian float32."""
    packed = array("f", b64decode(given, validate=True))
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tolist()


def _readable(text: str, tokens: int) -> str:
    """What an embedding service takes: not empty, whole characters, the beginning of a text too long."""
    whole = _whole(text) or " "
    if len(whole.encode()) <= tokens:  # a token is at least one byte
        return whole
    return decode(encode(whole, table=TABLE)[:tokens], table=TABLE)


def _whole(text: str) -> str:
    """Half a surrogate pair cannot be sent: it reads as "?"."""
    return text.encode("utf-8", "replace").decode()


def _count(usage: object, name: str) -> int:
    given = getattr(usage, name, 0)
    return given if isinstance(given, int) and given > 0 else 0
