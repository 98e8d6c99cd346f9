"""Deployments whose name says nothing, or something false, about their model."""

import json
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from local_emulator import model_service
from local_emulator.chat_stub import ChatStub
from local_emulator.model_service import REFUSED_BY_OTHER_MODELS, REFUSED_BY_REASONING_MODELS, ModelService
from local_emulator.search_service.serving import serve_wsgi
from rag_core import prompts
from rag_core.composition import assembly
from rag_core.core.errors import Unavailable
from rag_core.core.ports import Prompt
from rag_core.core.run import Run
from rag_core.core.settings import load_settings
from rag_core.providers.openai import OpenAIChatModel, OpenAIEmbedder
from rag_core.providers.provider_profiles import PROVIDER_PROFILES
from tests import hosted
from tests.fakes import ConceptEmbedder
from tests.faults.replies import completion, embeddings
from tests.faults.server import FaultServer, failing, reply
from tests.nasty_model import FACT, QUESTION

GRADES = prompts.build_grading_prompt("how often?", {"p1": "every 90 days"})
GRADED = '{"grades": [{"id": "p1", "score": 9}]}'


class Deployment(ModelService):
    """A deployment of any name that keeps the bodies of its requests."""

    def __init__(self, *, refused: Collection[str], model: str) -> None:
        stub = ChatStub(hosted.text(), answers={QUESTION: [FACT]}, model=model)
        super().__init__(ConceptEmbedder(), stub, keys={"key"}, refused=refused)
        self.bodies: list[dict[str, Any]] = []

    def _complete_chat(self, body: Any) -> dict[str, Any]:
        self.bodies.append(dict(body))
        return super()._complete_chat(body)


@asynccontextmanager
async def chat(deployment: Deployment, name: str = "chat", *, version: str = "v1") -> AsyncIterator[OpenAIChatModel]:
    with serve_wsgi(deployment) as url:
        profile = replace(PROVIDER_PROFILES["azure"], base_url=url, chat_model=name, api_version=version)
        client = OpenAIChatModel(profile, key="key")
        yield client
        await client.close()


def answer_prompt() -> Prompt:
    return prompts.build_summary_prompt("why?", [])


@pytest.mark.parametrize("version", ["v1", "2025-04-01-preview"])
async def test_a_deployment_called_chat_over_a_reasoning_model_answers(version: str) -> None:
    deployment = Deployment(refused=REFUSED_BY_REASONING_MODELS, model="gpt-5.4-mini-2026-03-17")
    async with chat(deployment, version=version) as client:
        for _ in range(3):
            assert (await client.complete(GRADES)).model == "gpt-5.4-mini-2026-03-17"
    refused, *taken = deployment.bodies[1:]
    assert "max_tokens" in deployment.bodies[0]
    assert "temperature" in refused
    assert len(taken) == 3, "what was learned is kept: later calls are not refused"
    assert all("max_completion_tokens" in body and "temperature" not in body for body in taken)
    assert taken[-1]["reasoning_effort"] == "low", "the reply named a model that is known"


async def test_a_deployment_that_bears_the_name_of_another_model_answers() -> None:
    old_name_over_new = Deployment(refused=REFUSED_BY_REASONING_MODELS, model="tomorrow-1")
    async with chat(old_name_over_new, "gpt-4o-mini") as client:
        assert (await client.complete(GRADES)).model == "tomorrow-1"
    new_name_over_old = Deployment(refused=(*REFUSED_BY_OTHER_MODELS, "max_completion_tokens"), model="yesterday-1")
    async with chat(new_name_over_old, "gpt-5.4-mini") as client:
        for _ in range(2):
            assert (await client.complete(GRADES)).model == "yesterday-1"
    assert len(new_name_over_old.bodies) == 4


async def test_a_model_without_structured_output_is_asked_in_words() -> None:
    deployment = Deployment(refused=("response_format",), model="small-1")
    async with chat(deployment) as client:
        await client.complete(GRADES)
    assert "response_format" not in deployment.bodies[-1]


async def test_what_a_deployment_costs_is_told_by_its_reply() -> None:
    run = Run()
    async with chat(Deployment(refused=(), model="gpt-4o-mini-2024-07-18")) as client:
        await run.step("rerank", client.complete(GRADES))
    assert run.cost_usd
    run = Run()
    async with chat(Deployment(refused=(), model="tomorrow-1")) as client:
        await run.step("rerank", client.complete(GRADES))
    assert run.cost_usd is None, "an unknown price is no price of zero"


async def test_one_who_refuses_everything_is_asked_only_a_few_times() -> None:
    everything = (*REFUSED_BY_REASONING_MODELS, "max_completion_tokens", "response_format")
    deployment = Deployment(refused=everything, model="none")
    async with chat(deployment) as client:
        with pytest.raises(Unavailable, match=r"refused the request \(400\)") as refused:
            await client.complete(GRADES)
    assert refused.value.details["parameter"] in everything
    assert len(deployment.bodies) <= 5


@pytest.mark.parametrize(
    "error",
    [
        {"message": "max_tokens is too large: 512.", "param": "max_tokens", "code": "invalid_value"},
        {"message": "Invalid 'messages': too long for temperature and max_tokens.", "param": None, "code": None},
        {"message": "The model cannot.", "param": "messages", "code": "unsupported_value"},
    ],
)
async def test_a_refusal_for_another_reason_is_not_taken_for_one_of_a_parameter(error: dict[str, Any]) -> None:
    with failing(reply(400, {"error": error})) as server:
        client = OpenAIChatModel(replace(PROVIDER_PROFILES["openai"], base_url=f"{server.url}/v1"), key="k")
        with pytest.raises(Unavailable):
            await client.complete(answer_prompt())
        await client.close()
    assert len(server.requests) == 1


async def test_the_whole_app_asks_a_deployment_called_chat() -> None:
    deployment = Deployment(refused=REFUSED_BY_REASONING_MODELS, model="gpt-5.4-mini")
    with serve_wsgi(deployment) as url:
        variables = {"AZURE_OPENAI_ENDPOINT": url, "AZURE_OPENAI_API_KEY": "key", "RAG_DATA_DIR": ":memory:"}
        kit = assembly.build_kit(load_settings(variables | {"AZURE_OPENAI_CHAT_DEPLOYMENT": "chat"}))
        assert (await kit.llm.complete(GRADES)).model == "gpt-5.4-mini"
        await kit.close()


def sent(server: FaultServer) -> list[dict[str, Any]]:
    return [json.loads(request.partition(b"\r\n\r\n")[2]) for request in server.requests]


async def test_a_deployment_called_embed_whose_vectors_are_too_long_is_asked_to_shorten_them() -> None:
    """text-embedding-3-large has 3072 dimensions unless told otherwise, under whatever name."""
    with failing(reply(200, embeddings([[1.0] * 3072])), reply(200, embeddings([[1.0] * 1536]))) as server:
        profile = replace(PROVIDER_PROFILES["azure"], base_url=server.url, embedding_model="embed")
        client = OpenAIEmbedder(profile, key="k")
        for _ in range(2):
            assert len(await client.embed_query("why?")) == 1536
        await client.close()
    assert [body.get("dimensions") for body in sent(server)] == [None, 1536, 1536]


async def test_vectors_that_stay_too_long_are_an_error() -> None:
    with failing(reply(200, embeddings([[1.0] * 3072]))) as server:
        profile = replace(PROVIDER_PROFILES["azure"], base_url=server.url, embedding_model="embed")
        client = OpenAIEmbedder(profile, key="k")
        with pytest.raises(Unavailable, match="3072 dimensions where 1536 are configured"):
            await client.embed_query("why?")
        await client.close()
    assert len(server.requests) == 2


async def test_tokens_read_from_the_cache_cost_less() -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 900}}
    said = completion(GRADED) | {"usage": usage, "model": "gpt-5.4-mini-2026-03-17"}
    run = Run()
    with failing(reply(200, said)) as server:
        client = OpenAIChatModel(replace(PROVIDER_PROFILES["azure"], base_url=server.url), key="k")
        await run.step("rerank", client.complete(GRADES))
        await client.close()
    assert run.cost_usd == pytest.approx((100 * 0.75 + 900 * 0.075 + 10 * 4.5) / 1e6)


async def test_what_the_content_filter_stopped_is_named() -> None:
    """The categories as Azure gives them; words of its own making are not repeated."""
    found = {
        "violence": {"filtered": True, "severity": "medium"},
        "hate": {"filtered": False, "severity": "safe"},
        "jailbreak": {"filtered": False, "detected": True},
        "see http://elsewhere.example": {"filtered": True},
    }
    inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": found}
    refusal = {"message": "The response was filtered", "code": "content_filter", "param": "prompt", "innererror": inner}
    stopped = completion("")
    stopped["choices"][0] |= {"finish_reason": "content_filter", "content_filter_results": found}
    for answer, said in ((reply(400, {"error": refusal}), "the prompt"), (reply(200, stopped), "to answer")):
        with failing(answer) as server:
            client = OpenAIChatModel(replace(PROVIDER_PROFILES["azure"], base_url=server.url), key="k")
            with pytest.raises(Unavailable) as refused:
                await client.complete(answer_prompt())
            await client.close()
        assert refused.value.code == "llm_refused"
        assert refused.value.message.endswith(f"declined {said}: its content filter found violence, jailbreak")


def test_the_emulated_refusals_are_microsofts_words() -> None:
    """Quoted from github.com/Azure/azure-functions-openai-extension/issues/151 and NextChat#6604."""
    with pytest.raises(model_service.ModelRefusal, match="Use 'max_completion_tokens' instead") as refused:
        model_service._check_taken({"max_tokens": 5}, REFUSED_BY_REASONING_MODELS)
    assert refused.value.body["error"]["code"] == "unsupported_parameter"
