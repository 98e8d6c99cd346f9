"""Chat models and embedders over OpenAI's protocol, for every provider that has a profile."""

import asyncio
import math
import sys
from array import array
from base64 import b64decode
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Literal, TypeVar

import openai
from openai.types import CreateEmbeddingResponse
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from rag_core.core.batching import batch_items
from rag_core.core.errors import Unavailable
from rag_core.core.hosted_models import find_hosted_model
from rag_core.core.model import Vector
from rag_core.core.ports import Completion, Prompt
from rag_core.core.retrying import RETRIED_STATUS_CODES, Dependency, TransientFailure, parse_retry_after_s
from rag_core.core.telemetry import SpanAttributes, trace_span
from rag_core.prompts.screening import screen_text
from rag_core.providers.call_usage import LOCAL_MODEL_PREFIX, record_usage
from rag_core.providers.certificates import load_trusted_certificates
from rag_core.providers.chat_requests import (
    build_chat_request,
    choose_chat_parameters,
    find_refused_parameter,
    leave_out,
    replace_lone_surrogates,
)
from rag_core.providers.content_filter import describe_filtered_categories, read_filter_result
from rag_core.providers.provider_profiles import ProviderProfile
from rag_core.providers.responses_api import build_responses_request, extract_response_text
from rag_core.text.tokens import count_tokens, decode_tokens, encode_tokens

T = TypeVar("T")
R = TypeVar("R")
ModelOperation = Literal["chat", "embeddings"]

# what the SDK, or our parsing after it, raises for a malformed reply
INVALID_REPLY_ERRORS = (AttributeError, LookupError, RecursionError, TypeError, ValueError, openai.OpenAIError)
MODEL_ERROR_CODES: Mapping[
    ModelOperation, tuple[str, str]
] = {  # for a service that does not answer, and for an invalid answer
    "chat": ("llm_unavailable", "llm_output_invalid"),
    "embeddings": ("embedding_unavailable", "embedding_invalid"),
}
STATUS_EXPLANATIONS = {
    401: "does not accept the key or identity",
    403: "denies access",
    404: "has no such model or deployment",
}
DEPLOYMENT_SETTINGS: Mapping[ModelOperation, str] = {
    "chat": "AZURE_OPENAI_CHAT_DEPLOYMENT or RAG_FULL_MODEL",
    "embeddings": "AZURE_OPENAI_EMBEDDING_DEPLOYMENT",
}
TOKEN_ENCODING: Literal["cl100k_base"] = "cl100k_base"  # noqa: S105 - the encoding of OpenAI's embedding models


class OpenAIChatModel:
    """The chat model of a provider's profile, or of the deployment that bears its name.

    The name of a deployment says nothing about its model, so what the model takes is learned from the first call: by a
    refusal, and by the name of the model in the reply.
    """

    def __init__(self, profile: ProviderProfile, *, key: str | None) -> None:
        self.name = f"{profile.name} {profile.chat_model}"
        self._profile = profile
        self._service = _OpenAIService(profile, key, "chat", profile.chat_model)
        self._parameters = choose_chat_parameters(profile)
        self._is_model_known = find_hosted_model(profile.chat_model) is not None

    async def complete(self, prompt: Prompt) -> Completion:
        """Complete a prompt.

        Raises:
            Unavailable: no reply (llm_unavailable), declined (llm_refused) or malformed (llm_output_invalid).
        """
        refused: set[str] = set()
        while True:
            try:
                return await self._complete_once(prompt)
            except Unavailable as refusal:
                parameter = refusal.details.get("parameter")
                if not isinstance(parameter, str) or parameter in refused:
                    raise
                refused.add(parameter)
                self._parameters = leave_out(parameter, self._parameters)

    async def _complete_once(self, prompt: Prompt) -> Completion:
        uses_responses = self._profile.chat_api == "responses"
        build_request = build_responses_request if uses_responses else build_chat_request
        request = build_request(prompt, self._profile, self._parameters)
        attributes: dict[str, str | int | float] = {"gen_ai.request.max_tokens": prompt.max_tokens}
        if "temperature" in request:
            attributes["gen_ai.request.temperature"] = prompt.temperature

        def send(client: openai.AsyncOpenAI, within_s: float) -> Awaitable[ChatCompletion | Response]:
            create: Any = client.responses.create if uses_responses else client.chat.completions.create
            sent: Awaitable[ChatCompletion | Response] = create(**request, timeout=within_s)
            return sent

        return await self._service.call(send, self._parse_reply, attributes, request=request)

    def _parse_reply(self, reply: ChatCompletion | Response) -> Completion:
        model, _ = screen_text(reply.model or self._profile.chat_model, ())  # the service's own text, too
        self._learn_model(model)
        extract: Any = extract_response_text if isinstance(reply, Response) else _extract_completion_text
        return Completion(extract(reply, self.name), model, local=model.startswith(LOCAL_MODEL_PREFIX))

    def _learn_model(self, model: str) -> None:
        """Take over, once, what is known of the model that a deployment of another name has turned out to have."""
        if not self._is_model_known and find_hosted_model(model):
            self._is_model_known = True
            self._parameters = choose_chat_parameters(replace(self._profile, chat_model=model))

    async def close(self) -> None:
        await self._service.close()


class OpenAIEmbedder:
    """The embedding model of a provider's profile; a text over the model's limit is truncated."""

    def __init__(self, profile: ProviderProfile, *, key: str | None) -> None:
        self.space = profile.embedding_space
        self.dimensions = profile.dimensions
        self._profile = profile
        self._service = _OpenAIService(profile, key, "embeddings", profile.embedding_model)
        self._sends_dimensions = profile.send_dimensions

    async def embed_query(self, text: str) -> Vector:
        return (
            await self._embed_batch(
                [_prepare_embedding_text(self._profile.query_prefix + text, self._profile.max_text_tokens)]
            )
        )[0]

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        batch_vectors = [
            await self._embed_batch(batch) for batch in await asyncio.to_thread(self._split_batches, texts)
        ]
        return [vector for vectors in batch_vectors for vector in vectors]

    def _split_batches(self, texts: Sequence[str]) -> list[list[str]]:
        prefix, max_tokens = self._profile.document_prefix, self._profile.max_text_tokens
        prepared = [_prepare_embedding_text(prefix + text, max_tokens) for text in texts]
        return list(
            batch_texts(prepared, max_texts=self._profile.max_batch_texts, max_tokens=self._profile.max_batch_tokens)
        )

    async def _embed_batch(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector per text; a model whose vectors turn out too long is asked to shorten them from then on."""
        sends_dimensions = self._sends_dimensions  # another call may learn meanwhile that they are needed
        try:
            return await self._embed_batch_once(texts, sends_dimensions=sends_dimensions)
        except Unavailable as error:
            if error.details.get("dimensions", 0) <= self.dimensions or sends_dimensions:  # type: ignore[operator]
                raise
            self._sends_dimensions = True
            return await self._embed_batch_once(texts, sends_dimensions=True)

    async def _embed_batch_once(self, texts: Sequence[str], *, sends_dimensions: bool) -> list[Vector]:
        request: dict[str, Any] = {"model": self._profile.embedding_model, "input": texts}
        request["encoding_format"] = self._profile.embedding_encoding
        if sends_dimensions:
            request["dimensions"] = self.dimensions
        return await self._service.call(
            lambda client, within_s: client.embeddings.create(**request, timeout=within_s),
            lambda response: _parse_embeddings(response, len(texts), self.dimensions),
            {"gen_ai.embeddings.dimension.count": self.dimensions},
            request=request,
        )

    async def close(self) -> None:
        await self._service.close()


class _OpenAIService:
    """One model of a provider: its client, its circuit breaker, and the spans and costs of its calls."""

    def __init__(self, profile: ProviderProfile, key: str | None, operation: ModelOperation, model: str) -> None:
        self._profile, self._key, self._operation, self._model = profile, key, operation, model
        self._unavailable_code, self._invalid_code = MODEL_ERROR_CODES[operation]
        self._dependency = Dependency(
            f"{profile.name} {model}", code=self._unavailable_code, try_s=profile.attempt_timeout_s
        )

    @cached_property
    def _client(self) -> openai.AsyncOpenAI:
        return _create_openai_client(self._profile, self._key, self._unavailable_code)

    async def close(self) -> None:
        await self._client.close()

    async def call(
        self,
        send: Callable[[openai.AsyncOpenAI, float], Awaitable[R]],
        parse: Callable[[R], T],
        attributes: SpanAttributes,
        *,
        request: Mapping[str, Any],
    ) -> T:
        """Send a request and parse the reply by `parse`; record the usage also when parsing fails.

        The `Unavailable` of a refused parameter names it as `parameter` of its details.
        """
        common_attributes = {
            "gen_ai.operation.name": self._operation,
            "gen_ai.provider.name": self._profile.provider,
            "gen_ai.request.model": self._model,
        }
        with trace_span(
            f"{self._operation} {self._model}", {**common_attributes, **attributes}, kind="CLIENT"
        ) as current_span:
            try:
                reply = await self._dependency.call(partial(self._attempt, partial(send, self._client), request))
                current_span.set_attributes(record_usage(reply, common_attributes, requested_model=self._model))
                return parse(reply)
            except INVALID_REPLY_ERRORS as error:
                form = "a reply of another form than its API has, such as an error page or a message without text"
                message = f"{self._dependency.name} returned {form}"
                raise Unavailable(message, code=self._invalid_code) from error

    async def _attempt(self, send: Callable[[float], Awaitable[R]], request: Mapping[str, Any], within_s: float) -> R:
        try:
            return await send(within_s)
        except openai.APIStatusError as error:
            raise self._translate_refusal(error, request) from error
        except openai.APIConnectionError as error:
            raise TransientFailure(
                "no answer" if isinstance(error, openai.APITimeoutError) else "no connection"
            ) from error

    def _translate_refusal(self, refusal: openai.APIStatusError, request: Mapping[str, Any]) -> Exception:
        status, code = refusal.status_code, refusal.code or ""
        if status in RETRIED_STATUS_CODES and code != "insufficient_quota":  # a 429 that waiting does not resolve
            return TransientFailure(f"status {status}", retry_after_s=parse_retry_after_s(refusal.response.headers))
        if code == "content_filter":
            filtered = describe_filtered_categories(read_filter_result(refusal.body))
            return Unavailable(f"{self._dependency.name} declined the prompt{filtered}", code="llm_refused")
        explanation = STATUS_EXPLANATIONS.get(status, "refused the request")
        if status == 404 and self._operation == "chat" and self._profile.chat_api == "responses":
            explanation += ", or does not offer the Responses API: RAG_CHAT_API=completions does without"
        elif status == 404 and self._profile.name == "azure":
            explanation += f": {DEPLOYMENT_SETTINGS[self._operation]} names one that there is not"
        details = {"dependency": self._dependency.name, "attempts": 1, "status": status, "reason": code}
        if status == 400 and (
            parameter := find_refused_parameter(request, param=refusal.param, code=code, message=refusal.message)
        ):
            details["parameter"] = parameter
        return Unavailable(
            f"{self._dependency.name} {explanation} ({status})", code=self._unavailable_code, details=details
        )


def batch_texts(texts: Sequence[str], *, max_texts: int, max_tokens: int) -> Iterator[list[str]]:
    """Split texts, in order, into the fewest batches within both limits; a text over a limit gets its own batch."""
    return batch_items(
        texts, lambda text: count_tokens(text, encoding=TOKEN_ENCODING), max_items=max_texts, max_size=max_tokens
    )


def _create_openai_client(profile: ProviderProfile, key: str | None, unavailable_code: str) -> openai.AsyncOpenAI:
    """Create a client without retries (`Dependency` has them) and redirects (a prompt goes to no other host).

    Azure's `v1` is OpenAI's protocol at one address, whatever the model; a dated version is the protocol before it.
    """
    http_client = openai.DefaultAsyncHttpxClient(follow_redirects=False, verify=load_trusted_certificates())
    if profile.name != "azure":
        return openai.AsyncOpenAI(
            api_key=key or "none", base_url=profile.base_url, max_retries=0, http_client=http_client
        )
    get_token = None if key else _create_entra_token_provider(unavailable_code)
    if profile.api_version == "v1":
        base_url = f"{profile.base_url.rstrip('/')}/openai/v1"
        return openai.AsyncOpenAI(api_key=key or get_token, base_url=base_url, max_retries=0, http_client=http_client)
    return openai.AsyncAzureOpenAI(
        azure_endpoint=profile.base_url,
        api_version=profile.api_version,
        api_key=key,
        azure_ad_token_provider=get_token,
        max_retries=0,
        http_client=http_client,
    )


def _create_entra_token_provider(unavailable_code: str) -> Callable[[], Awaitable[str]]:
    """Create a provider of Microsoft Entra tokens for the machine's identity; it caches them until they expire."""
    from azure.core.exceptions import AzureError
    from azure.identity import DefaultAzureCredential, get_bearer_token_provider

    get_token = get_bearer_token_provider(DefaultAzureCredential(), "https://cognitiveservices.azure.com/.default")

    async def fetch_token() -> str:
        try:
            return await asyncio.to_thread(get_token)  # unlike azure.identity.aio, it needs no close
        except AzureError as error:
            raise Unavailable("this machine has no identity that Azure accepts", code=unavailable_code) from error

    return fetch_token


def _extract_completion_text(completion: ChatCompletion, name: str) -> str:
    choice = completion.choices[0]
    if choice.message.refusal or choice.finish_reason == "content_filter":
        filtered = describe_filtered_categories((choice.model_extra or {}).get("content_filter_results"))
        raise Unavailable(f"{name} declined to answer{filtered}", code="llm_refused")
    if choice.finish_reason == "length":
        raise Unavailable(f"{name} stopped at the token limit", code="llm_output_invalid")
    if not isinstance(choice.message.content, str):
        raise TypeError("content is not a string")
    return choice.message.content


def _parse_embeddings(response: CreateEmbeddingResponse, count: int, dimensions: int) -> list[Vector]:
    """Return the embeddings in the order of their indices, each normalized to a unit vector."""
    vector_by_index = {item.index: _parse_embedding(item.embedding, dimensions) for item in response.data}
    if len(response.data) != count or vector_by_index.keys() != set(range(count)):
        raise Unavailable(f"received {len(response.data)} embeddings for {count} texts", code="embedding_invalid")
    return [vector_by_index[index] for index in range(count)]


def _parse_embedding(embedding: object, dimensions: int) -> Vector:
    vector = _decode_base64_floats(embedding) if isinstance(embedding, str) else list(embedding)  # type: ignore[call-overload]
    norm = math.hypot(*vector)
    if not 0 < norm < math.inf:
        raise Unavailable("an embedding is zero or not finite", code="embedding_invalid")
    if len(vector) != dimensions:
        message = f"an embedding has {len(vector)} dimensions where {dimensions} are configured"
        raise Unavailable(message, code="embedding_invalid", details={"dimensions": len(vector)})
    return [x / norm for x in vector]


def _decode_base64_floats(encoded: str) -> list[float]:
    """Decode base64 of little-endian float32."""
    floats = array("f", b64decode(encoded, validate=True))
    if sys.byteorder == "big":
        floats.byteswap()
    return floats.tolist()


def _prepare_embedding_text(text: str, max_tokens: int) -> str:
    """Return a text that an embedding service accepts: valid UTF-8, not empty, truncated to `tokens`."""
    prepared = replace_lone_surrogates(text) or " "
    if len(prepared.encode()) <= max_tokens:  # a token is at least one byte
        return prepared
    return decode_tokens(encode_tokens(prepared, encoding=TOKEN_ENCODING)[:max_tokens], encoding=TOKEN_ENCODING)
