"""The Responses API beside chat completions: what holds of the one holds of the other, by the vendor's own client."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import azure.identity
import pytest
from azure.core.credentials import AccessToken

from local_emulator.chat_stub import ChatStub
from local_emulator.model_service import REFUSED_BY_OTHER_MODELS, REFUSED_BY_REASONING_MODELS, ModelService
from local_emulator.search_service.serving import serve_wsgi
from rag_core import prompts
from rag_core.composition.model_assembly import build_provider_profile
from rag_core.core import retrying
from rag_core.core.errors import Unavailable
from rag_core.core.ports import Completion, Prompt
from rag_core.core.run import Run
from rag_core.core.settings import load_settings
from rag_core.providers.openai import OpenAIChatModel
from rag_core.providers.provider_profiles import PROVIDER_PROFILES, ProviderProfile
from tests import hosted
from tests.fakes import ConceptEmbedder
from tests.faults.replies import completion
from tests.faults.server import FaultServer, failing, reply

GRADES = prompts.build_grading_prompt("how often?", {"p1": "every 90 days"})
GRADED = '{"grades": [{"id": "p1", "score": 9}]}'
APIS = ("completions", "responses")


def respond(text: str = GRADED, **changed: Any) -> dict[str, Any]:
    """A reply of the Responses API."""
    content = {"type": "output_text", "text": text, "annotations": []}
    message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [content]}
    usage = {
        "input_tokens": 1000, "input_tokens_details": {"cached_tokens": 400},
        "output_tokens": 50, "output_tokens_details": {"reasoning_tokens": 20}, "total_tokens": 1050,
    }  # fmt: skip
    told = {
        "id": "r", "object": "response", "created_at": 0, "status": "completed", "model": "gpt-5.4-mini-2026-03-17",
        "output": [{"type": "reasoning", "id": "x", "summary": []}, message], "error": None,
        "incomplete_details": None, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": usage,
    }  # fmt: skip
    return told | changed


def said(api: str, text: str = GRADED) -> dict[str, Any]:
    """The same reply by either API, with its tokens."""
    if api == "responses":
        return respond(text)
    used = {
        "prompt_tokens": 1000, "prompt_tokens_details": {"cached_tokens": 400},
        "completion_tokens": 50, "completion_tokens_details": {"reasoning_tokens": 20}, "total_tokens": 1050,
    }  # fmt: skip
    return completion(text) | {"model": "gpt-5.4-mini-2026-03-17", "usage": used}


@asynccontextmanager
async def chat(url: str, api: str, key: str | None = "key", **changed: Any) -> AsyncIterator[OpenAIChatModel]:
    profile: ProviderProfile = replace(PROVIDER_PROFILES["azure"], base_url=url, chat_api=api, **changed)
    client = OpenAIChatModel(profile, key=key)
    yield client
    await client.close()


async def complete(url: str, api: str, prompt: Prompt = GRADES, **changed: Any) -> Completion:
    async with chat(url, api, **changed) as client:
        return await client.complete(prompt)


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def emulated() -> Iterator[str]:
    with hosted.running() as url:
        yield url


def body(server: FaultServer) -> dict[str, Any]:
    asked: dict[str, Any] = json.loads(server.requests[-1].partition(b"\r\n\r\n")[2])
    return asked


async def test_the_emulated_service_gives_the_same_grades_by_either_api(emulated: str) -> None:
    by_api = [await complete(emulated, api) for api in APIS]
    assert json.loads(by_api[0].text) == json.loads(by_api[1].text)
    assert by_api[0].local
    assert by_api[1].local


async def test_a_request_keeps_nothing_at_the_provider_and_holds_the_reply_to_its_schema() -> None:
    with failing(reply(200, respond())) as server:
        assert (await complete(server.url, "responses")).text == GRADED
    asked = body(server)
    assert server.requests[-1].startswith(b"POST /openai/v1/responses ")
    assert asked["store"] is False
    assert asked["text"]["format"]["schema"]["properties"]["grades"]["items"]["properties"]["id"]["enum"] == ["p1"]
    assert (asked["reasoning"], asked["instructions"]) == ({"effort": "low"}, GRADES.system)
    assert asked["max_output_tokens"] > GRADES.max_tokens
    assert not {"temperature", "messages", "response_format", "reasoning_effort"} & asked.keys()


@pytest.mark.parametrize("version", ["v1", "2025-04-01-preview"])
@pytest.mark.parametrize("refused", [REFUSED_BY_REASONING_MODELS, (*REFUSED_BY_OTHER_MODELS, "max_completion_tokens")])
async def test_what_a_deployment_takes_is_learned_from_its_refusals(
    api: str, version: str, refused: tuple[str, ...]
) -> None:
    service = ModelService(ConceptEmbedder(), ChatStub(hosted.text(), model="m"), keys={"key"}, refused=refused)
    with serve_wsgi(service) as url:
        for name in ("gpt-4o-mini", "gpt-5.4-mini"):
            assert (await complete(url, api, chat_model=name, api_version=version)).model == "m"


async def test_cached_and_reasoning_tokens_are_counted_and_priced(api: str) -> None:
    run = Run()
    with failing(reply(200, said(api))) as server:
        await run.step("rerank", complete(server.url, api))
    assert (run.input_tokens, run.output_tokens) == (1000, 50)
    assert run.cost_usd == pytest.approx((600 * 0.75 + 400 * 0.075 + 50 * 4.5) / 1e6)


FILTERED = {"hate": {"filtered": False}, "violence": {"filtered": True, "severity": "high"}}


def stopped(api: str) -> dict[str, Any]:
    """A reply that the content filter stopped."""
    if api == "responses":
        filters = [{"blocked": True, "source_type": "completion", "content_filter_results": FILTERED}]
        return respond(status="incomplete", incomplete_details={"reason": "content_filter"}, content_filters=filters)
    told = completion(GRADED)
    told["choices"][0] |= {"finish_reason": "content_filter", "content_filter_results": FILTERED}
    return told


async def test_what_the_content_filter_stops_is_named(api: str) -> None:
    innererror = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": FILTERED}
    error = {"code": "content_filter", "message": "no", "param": "prompt", "innererror": innererror}
    for fault in (reply(200, stopped(api)), reply(400, {"error": error})):
        with failing(fault) as server, pytest.raises(Unavailable, match="filter found violence") as declined:
            await complete(server.url, api)
        assert declined.value.code == "llm_refused"


def cut(api: str) -> dict[str, Any]:
    if api == "responses":
        return respond(status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    told = completion(GRADED)
    told["choices"][0]["finish_reason"] = "length"
    return told


async def test_a_reply_that_was_cut_is_no_reply(api: str) -> None:
    with failing(reply(200, cut(api))) as server, pytest.raises(Unavailable, match="token limit") as useless:
        await complete(server.url, api)
    assert useless.value.code == "llm_output_invalid"


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"output": [{"type": "message", "id": "m", "role": "assistant", "status": "completed",
                      "content": [{"type": "refusal", "refusal": "no"}]}]}, "llm_refused"),
        ({"status": "failed", "error": {"code": "server_error", "message": "m"}}, "llm_unavailable"),
        ({"output": []}, "llm_output_invalid"),
        ({"output": None}, "llm_output_invalid"),
    ],
)  # fmt: skip
async def test_a_response_without_an_answer_says_why(changed: dict[str, Any], code: str) -> None:
    with failing(reply(200, respond(**changed))) as server, pytest.raises(Unavailable) as useless:
        await complete(server.url, "responses")
    assert useless.value.code == code


async def test_the_service_s_own_time_to_wait_is_kept(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(retrying.asyncio, "sleep", sleep)
    throttled = reply(429, {"error": {"code": "rate_limit_exceeded", "message": "m"}}, retry_after="3")
    with failing(throttled, reply(200, said(api))) as server:
        await complete(server.url, api)
    assert len(server.requests) == 2
    assert waited[0] >= 3


async def test_this_machine_s_identity_is_used_where_there_is_no_key(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Identity:
        def get_token_info(self, *_: str, **__: object) -> Any:
            return AccessToken("entra", 9_999_999_999)

        get_token = get_token_info

    monkeypatch.setattr(azure.identity, "DefaultAzureCredential", Identity)
    with failing(reply(200, said(api))) as server:
        await complete(server.url, api, key=None)
    assert b"authorization: bearer entra" in server.requests[-1].lower()


async def test_a_service_without_the_api_is_named_with_what_to_set() -> None:
    missing = reply(404, {"error": {"code": "404", "message": "Resource not found"}})
    said = "does not offer the Responses API: RAG_CHAT_API=completions"
    with failing(missing) as server, pytest.raises(Unavailable, match=said):
        await complete(server.url, "responses")


def test_the_setting_chooses_the_api() -> None:
    for chosen in APIS:
        settings = load_settings({"RAG_CHAT_API": chosen, "OPENAI_API_KEY": "k"})
        assert build_provider_profile(settings, "openai")[0].chat_api == chosen
