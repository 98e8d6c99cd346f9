"""What the client asks of each provider; what they promise is under contracts, how they fail under faults."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import azure.identity
import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError
from hypothesis import given
from hypothesis import strategies as st
from openai.types import CreateEmbeddingResponse

from rag_core import prompts
from rag_core.core.errors import Unavailable
from rag_core.core.ports import Completion, Prompt
from rag_core.core.run import Run
from rag_core.providers.openai import OpenAIChatModel, OpenAIEmbedder, batch_texts
from rag_core.providers.prices import calculate_cost_usd
from rag_core.providers.provider_profiles import PROVIDER_PROFILES, ProviderProfile
from rag_core.text.tokens import count_tokens
from tests import hosted
from tests.faults.replies import completion, embeddings
from tests.faults.server import FaultServer, failing, reply

GRADES = prompts.build_grading_prompt("how often?", {"p1": "every 90 days", "p2": "bananas"})
GRADED = '{"grades": [{"id": "p1", "score": 9}, {"id": "p2", "score": 0}]}'


@pytest.fixture
def chat_service() -> Iterator[FaultServer]:
    with failing(reply(200, completion(GRADED))) as server:
        yield server


def body(server: FaultServer, request: int = -1) -> dict[str, Any]:
    asked: dict[str, Any] = json.loads(server.requests[request].partition(b"\r\n\r\n")[2])
    return asked


def head(server: FaultServer) -> str:
    return server.requests[-1].partition(b"\r\n\r\n")[0].decode().lower()


def at(name: str, server: FaultServer) -> ProviderProfile:
    return replace(PROVIDER_PROFILES[name], base_url=server.url if name == "azure" else f"{server.url}/v1")


@asynccontextmanager
async def chat(profile: ProviderProfile, key: str | None = "k") -> AsyncIterator[OpenAIChatModel]:
    client = OpenAIChatModel(profile, key=key)
    yield client
    await client.close()


@asynccontextmanager
async def embedder(profile: ProviderProfile, key: str | None = "k") -> AsyncIterator[OpenAIEmbedder]:
    client = OpenAIEmbedder(profile, key=key)
    yield client
    await client.close()


async def complete(profile: ProviderProfile, prompt: Prompt = GRADES) -> Completion:
    async with chat(profile) as client:
        return await client.complete(prompt)


@pytest.mark.parametrize(
    ("name", "chat_model", "embedding_model", "dimensions"),
    [
        ("openai", "gpt-4o-mini", "text-embedding-3-small", 1536),
        ("openai-large", "gpt-5-mini", "text-embedding-3-large", 1536),
        ("azure", "gpt-5.4-mini", "text-embedding-3-small", 1536),  # S2-46's gpt-4o-mini cannot be deployed any more
        ("gemini", "gemini-1.5-flash", "text-embedding-004", 768),
        ("ollama", "qwen2.5:1.5b", "nomic-embed-text", 768),
    ],
)
def test_each_provider_has_its_documented_models(
    name: str, chat_model: str, embedding_model: str, dimensions: int
) -> None:
    """S2-46, S2-47, S3-11, S3-12, S4-07, S4-20: the documents' models are the profiles' own."""
    profile = PROVIDER_PROFILES[name]
    assert (profile.chat_model, profile.embedding_model, profile.dimensions) == (
        chat_model,
        embedding_model,
        dimensions,
    )


async def test_the_same_client_speaks_to_whoever_is_configured(chat_service: FaultServer) -> None:
    """S3-10: a provider is data; the code is one."""
    for name in PROVIDER_PROFILES:
        assert (await complete(at(name, chat_service))).text == GRADED
    models = [body(chat_service, at).get("model") for at in range(len(PROVIDER_PROFILES))]
    assert models == [profile.chat_model for profile in PROVIDER_PROFILES.values()]


async def test_what_documents_say_stays_out_of_the_system_message(chat_service: FaultServer) -> None:
    await complete(at("openai", chat_service))
    assert body(chat_service)["messages"] == [
        {"role": "system", "content": GRADES.system},
        {"role": "user", "content": GRADES.user},
    ]


async def test_azure_is_asked_by_deployment_version_and_key(chat_service: FaultServer) -> None:
    dated = replace(at("azure", chat_service), chat_model="our-chat", api_version="2024-10-21")
    await complete(dated)
    assert head(chat_service).startswith("post /openai/deployments/our-chat/chat/completions?api-version=2024-10-21 ")
    assert "api-key: k" in head(chat_service)


async def test_azure_is_asked_at_the_address_that_takes_every_model(chat_service: FaultServer) -> None:
    """A dated version before 2024-12-01 refuses models that reason."""
    await complete(replace(at("azure", chat_service), chat_model="our-chat"))
    assert head(chat_service).startswith("post /openai/v1/chat/completions ")
    assert "authorization: bearer k" in head(chat_service)
    assert body(chat_service)["model"] == "our-chat"


class Identity:
    """This machine's identity, as it would be on Azure."""

    def get_token(self, *scopes: str, **_: object) -> AccessToken:
        assert scopes == ("https://cognitiveservices.azure.com/.default",)
        return AccessToken("a-token", 2**40)


class Nobody:
    def get_token(self, *_: str, **__: object) -> AccessToken:
        raise ClientAuthenticationError("secret details")


async def test_azure_without_a_key_is_asked_as_this_machine(
    chat_service: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(azure.identity, "DefaultAzureCredential", Identity)
    async with chat(at("azure", chat_service), key=None) as client:
        await client.complete(GRADES)
    assert "authorization: bearer a-token" in head(chat_service)
    assert "api-key" not in head(chat_service)


async def test_a_machine_without_identity_is_told_so(
    chat_service: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(azure.identity, "DefaultAzureCredential", Nobody)
    async with chat(at("azure", chat_service), key=None) as client:
        with pytest.raises(Unavailable, match="this machine has no identity that Azure accepts") as refused:
            await client.complete(GRADES)
    assert refused.value.code == "llm_unavailable"
    assert chat_service.requests == []


async def test_no_prompt_follows_a_redirect() -> None:
    with (
        failing(reply(500)) as stranger,
        failing(reply(307, location=stranger.url)) as moved,
        pytest.raises(Unavailable, match="refused the request"),
    ):
        await complete(at("azure", moved))
    assert stranger.requests == []


async def test_ollama_is_asked_with_its_documented_numbers(chat_service: FaultServer) -> None:
    """S4-23, S4-24: temperature 0, at most 200 tokens, top_p 0.9, and 120 s for an answer."""
    await complete(at("ollama", chat_service), prompts.build_answer_prompt("how often?", []))
    asked = body(chat_service)
    assert (asked["temperature"], asked["max_tokens"], asked["top_p"]) == (0.0, 200, 0.9)
    assert PROVIDER_PROFILES["ollama"].attempt_timeout_s == 120


async def test_a_reply_that_is_useless_when_cut_gets_all_the_tokens_that_it_needs(chat_service: FaultServer) -> None:
    """Twenty grades with their ids are more than Ollama's 200 tokens, which are for an answer."""
    twenty = prompts.build_grading_prompt("how often?", {f"p{number}": "bananas" for number in range(1, 21)})
    await complete(at("ollama", chat_service), twenty)
    assert body(chat_service)["max_tokens"] == twenty.max_tokens > 400


async def test_a_reasoning_model_is_asked_in_its_own_terms(chat_service: FaultServer) -> None:
    """S2-47, C06: gpt-5-mini refuses `temperature` and `max_tokens`."""
    await complete(at("openai-large", chat_service))
    asked = body(chat_service)
    assert asked["max_completion_tokens"] > GRADES.max_tokens
    assert not {"temperature", "max_tokens"} & asked.keys()


async def test_a_reply_is_held_to_its_schema_where_that_is_offered(chat_service: FaultServer) -> None:
    await complete(at("openai", chat_service))
    held = body(chat_service)["response_format"]["json_schema"]
    assert (held["name"], held["strict"]) == ("rerank", True)
    assert held["schema"]["properties"]["grades"].keys() == {"type", "items"}
    assert held["schema"]["properties"]["grades"]["items"]["properties"]["id"]["enum"] == ["p1", "p2"]
    await complete(replace(at("openai", chat_service), structured_outputs=False))
    assert "response_format" not in body(chat_service)
    await complete(at("openai", chat_service), prompts.build_summary_prompt("why?", []))
    assert "response_format" not in body(chat_service)


async def test_half_a_surrogate_pair_is_sent_as_a_question_mark(chat_service: FaultServer) -> None:
    await complete(at("openai", chat_service), prompts.build_summary_prompt("why \ud800?", []))
    assert "why ??" in body(chat_service)["messages"][1]["content"]


async def test_texts_are_sent_in_batches_and_come_back_in_order() -> None:
    """A request holds as many texts as the provider takes."""
    first, second = [[1.0, 0.0], [0.0, 1.0]], [[0.6, 0.8]]
    with failing(reply(200, embeddings(first)), reply(200, embeddings(second))) as server:
        async with embedder(replace(at("ollama", server), dimensions=2, max_batch_texts=2)) as client:
            assert await client.embed_documents(["a", "b", "c"]) == [*first, pytest.approx(second[0])]
    assert [body(server, at)["input"] for at in (0, 1)] == [
        ["search_document: a", "search_document: b"],
        ["search_document: c"],
    ]


async def test_a_question_has_its_own_prefix() -> None:
    """S4-08."""
    with failing(reply(200, embeddings([[1.0, 0.0]]))) as server:
        async with embedder(replace(at("ollama", server), dimensions=2)) as client:
            await client.embed_query("why?")
    assert body(server)["input"] == ["search_query: why?"]


async def test_a_model_that_is_too_wide_is_asked_for_less() -> None:
    """C06: text-embedding-3-large has 3072 dimensions unless told otherwise."""
    with failing(reply(200, embeddings([[1.0] * 1536]))) as server:
        async with embedder(at("openai-large", server)) as client:
            await client.embed_query("why?")
        assert body(server)["dimensions"] == 1536
        async with embedder(at("openai", server)) as client:
            await client.embed_query("why?")
        assert "dimensions" not in body(server)


async def test_two_questions_at_once_learn_that_a_model_is_too_wide() -> None:
    """The first call of each was sent before anybody knew: the second is not refused for what the first learned."""

    class WideService:
        """Gives 4 numbers unless it is asked for fewer, both first calls at the same time."""

        def __init__(self) -> None:
            self.embeddings, self.both_asked, self.asked = self, asyncio.Event(), 0

        async def create(self, *, dimensions: int = 4, **_: Any) -> CreateEmbeddingResponse:
            self.asked += 1
            if self.asked == 2:
                self.both_asked.set()
            await self.both_asked.wait()
            return CreateEmbeddingResponse.model_validate(embeddings([[1.0] * dimensions]))

    async with embedder(replace(PROVIDER_PROFILES["openai"], dimensions=2)) as client:
        client._service.__dict__["_client"] = WideService()
        vectors = await asyncio.gather(client.embed_query("a"), client.embed_query("b"))
        client._service.__dict__.pop("_client")
    assert [len(vector) for vector in vectors] == [2, 2]


async def test_of_a_text_too_long_the_beginning_is_sent() -> None:
    with failing(reply(200, embeddings([[1.0, 0.0]]))) as server:
        async with embedder(replace(at("openai", server), dimensions=2, max_text_tokens=5)) as client:
            await client.embed_query("one two three four five six seven")
    assert body(server)["input"] == ["one two three four five"]


def test_another_width_or_model_or_prefix_is_another_space() -> None:
    """S3-13, C05: what changes the vectors changes the space's name, and so calls for indexing again."""
    own = PROVIDER_PROFILES["openai"]
    others = [
        own,
        replace(own, dimensions=512),
        replace(own, embedding_model="other"),
        replace(own, document_prefix="d: "),
    ]
    assert len({OpenAIEmbedder(profile, key="k").space for profile in others}) == len(others)


@given(st.lists(st.text(max_size=40), max_size=30), st.integers(1, 7), st.integers(1, 30))
def test_batches_keep_every_text_in_order_within_both_limits(texts: list[str], most: int, tokens: int) -> None:
    made = list(batch_texts(texts, max_texts=most, max_tokens=tokens))
    assert [text for batch in made for text in batch] == texts
    for batch in made:
        held = sum(count_tokens(text, encoding="cl100k_base") for text in batch)
        assert len(batch) == 1 or (len(batch) <= most and held <= tokens)


async def test_what_a_call_costs_is_booked_to_its_request(chat_service: FaultServer) -> None:
    """Tokens as the provider counts them, money by the price of the model that answered."""
    run = Run()
    async with chat(at("azure", chat_service)) as client:
        await run.step("rerank", client.complete(GRADES))
    with failing(reply(200, embeddings([[1.0, 0.0]]))) as server:
        async with embedder(replace(at("openai", server), dimensions=2)) as client:
            await run.step("embed", client.embed_query("why?"))
    assert (run.input_tokens, run.output_tokens) == (8, 4)
    assert run.cost_usd == pytest.approx((4 * 0.15 + 2 * 0.60 + 4 * 0.02 + 2 * 0.0) / 1e6)


async def test_what_has_no_known_price_makes_the_sum_unknown_and_ollama_is_free() -> None:
    unknown = completion() | {"model": "tomorrow-1"}
    with failing(reply(200, unknown)) as server:
        for name, cost in (("ollama", 0.0), ("openai", None)):
            run = Run()
            async with chat(at(name, server)) as client:
                await run.step("rerank", client.complete(GRADES))
            assert (run.input_tokens, run.cost_usd) == (4, cost)


@pytest.mark.parametrize(
    ("model", "cost"),
    [
        ("gpt-4o-mini", 0.75),
        ("gpt-4o-mini-2024-07-18", 0.75),
        ("gpt-4o", 12.5),
        ("models/gemini-1.5-flash-002", 0.375),
        ("gpt-4o-mini-mine", None),
        ("", None),
    ],
)
def test_a_dated_version_costs_what_its_model_does(model: str, cost: float | None) -> None:
    assert calculate_cost_usd(model, input_tokens=1_000_000, output_tokens=1_000_000) == cost


def test_no_key_is_ever_shown() -> None:
    for client in (
        OpenAIChatModel(PROVIDER_PROFILES["openai"], key="hidden"),
        OpenAIEmbedder(PROVIDER_PROFILES["azure"], key="hidden"),
    ):
        assert "hidden" not in repr(client) + repr(vars(client))


async def test_the_client_s_own_base64_is_what_the_service_gives() -> None:
    """Both encodings of the loopback service mean the same vectors, to the precision of float32."""
    with hosted.running() as url:
        vectors = []
        for encoding in ("float", "base64"):
            profile = replace(hosted.at(PROVIDER_PROFILES["openai"], url), embedding_encoding=encoding)
            async with embedder(profile, key="key") as client:
                vectors.append(await client.embed_query("Signing keys are rotated."))
    assert vectors[0] == pytest.approx(vectors[1], abs=1e-7)
