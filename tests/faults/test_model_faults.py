"""What becomes of a call when the model's service fails: every fault ends in its documented error, in time."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from rag_core import prompts
from rag_core.core.errors import Unavailable
from rag_core.core.run import Run
from rag_core.pipelines import search_with_pipeline as consult
from rag_core.providers.openai import OpenAIChatModel, OpenAIEmbedder
from rag_core.providers.provider_profiles import PROVIDER_PROFILES
from tests import fakes
from tests.faults.replies import VECTORS, completion, embeddings, error, packed
from tests.faults.server import Fault, black_hole, drip, failing, late, reply, reset, reset_within

WITHIN_S = 8.0  # the request's deadline: a call that overran it would end as deadline_exceeded
TRY_S = 30.0
SHORT_S = 0.3  # for what would hang
TEXTS = ["one", "two"]
PROMPT = prompts.build_summary_prompt("why?", [])


class Asked:
    """One of the two clients at a failing service: `good` is a reply of that service that is as it should be."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.good = reply(200, embeddings(VECTORS) if kind == "embedder" else completion())
        self.unreached, self.invalid = {
            "embedder": ("embedding_unavailable", "embedding_invalid"),
            "chat": ("llm_unavailable", "llm_output_invalid"),
        }[kind]

    @asynccontextmanager
    async def client(self, url: str, try_s: float = TRY_S) -> AsyncIterator[Callable[[], Awaitable[object]]]:
        """A call of a client of its own, with its own breaker."""
        profile = replace(PROVIDER_PROFILES["openai"], base_url=f"{url}/v1", dimensions=2, attempt_timeout_s=try_s)
        embedder, chat = OpenAIEmbedder(profile, key="k"), OpenAIChatModel(profile, key="k")

        def call() -> Awaitable[object]:
            work = embedder.embed_documents(TEXTS) if self.kind == "embedder" else chat.complete(PROMPT)
            return Run(WITHIN_S).step(self.kind, work)

        yield call
        await embedder.close()
        await chat.close()

    async def answer(self, url: str, try_s: float = TRY_S) -> object:
        async with self.client(url, try_s) as call:
            return await call()

    async def failure(self, url: str, try_s: float = TRY_S) -> Unavailable:
        with pytest.raises(Unavailable) as refused:
            await self.answer(url, try_s)
        return refused.value


@pytest.fixture(params=["embedder", "chat"])
def asked(request: pytest.FixtureRequest) -> Asked:
    return Asked(request.param)


HANGING: dict[str, Fault] = {
    "a reply that comes too late": late(1.0, reply(200, {})),
    "a black hole": black_hole,
    "a slow drip": drip,
}


@pytest.mark.parametrize("fault", HANGING.values(), ids=HANGING)
async def test_a_service_that_hangs_is_unavailable(asked: Asked, fault: Fault) -> None:
    """F4: not even a drip of bytes, each of them in time, outlasts the try."""
    with failing(fault) as server:
        failure = await asked.failure(server.url, SHORT_S)
    assert (failure.code, failure.details["attempts"]) == (asked.unreached, 3)
    assert len(server.requests) <= 3


UNANSWERED: dict[str, tuple[Fault, int]] = {  # and how often it is asked: never more than three times (G7)
    "a reset before the reply": (reset, 3),
    "a reset within the reply": (reset_within, 3),
    "408": (error(408), 3),
    "429 without a wait": (error(429), 3),
    "429 with a short wait": (error(429, retry_after="0.05"), 3),
    "429 with a huge wait": (error(429, retry_after="3600"), 1),
    "429 of a spent quota": (error(429, "insufficient_quota"), 1),
    "500": (error(500), 3),
    "502 of a proxy": (reply(502, b"<html>Bad gateway</html>", kind="text/html"), 3),
    "503": (error(503), 3),
    "504": (error(504), 3),
    "400": (error(400), 1),
    "401": (error(401, "invalid_api_key"), 1),
    "403": (error(403), 1),
    "404": (error(404, "DeploymentNotFound"), 1),
    "422": (error(422), 1),
    "501": (error(501), 1),
}


@pytest.mark.parametrize(("fault", "times"), UNANSWERED.values(), ids=UNANSWERED)
async def test_a_service_that_does_not_answer_is_unavailable(asked: Asked, fault: Fault, times: int) -> None:
    """F3, F6: no wait that the service asks for outlasts the deadline, and no layer below tries again by itself."""
    with failing(fault) as server:
        failure = await asked.failure(server.url)
    assert failure.code == asked.unreached
    assert len(server.requests) == times == failure.details["attempts"]


GARBAGE: dict[str, Fault] = {
    "HTML with 200": reply(200, b"<html>Sign in</html>", kind="text/html"),
    "HTML that is called JSON": reply(200, b"<html>Sign in</html>"),
    "truncated JSON": reply(200, json.dumps(completion()).encode()[:-20]),
    "an empty body": reply(200, b""),
    "an empty object": reply(200, {}),
    "a list": reply(200, []),
    "null": reply(200, b"null"),
    "bytes that are no text": reply(200, b"\xff\xfe\xfa"),
    "deep nesting": reply(200, b"[" * 100_000),
    "another type of everything": reply(200, {"data": 5, "choices": "x", "usage": "y", "model": 7}),
    "nothing in it": reply(200, {"data": [], "choices": [], "usage": None, "model": None}),
    "nulls in it": reply(200, {"data": [None], "choices": [None], "usage": {}, "model": "m"}),
}


@pytest.mark.parametrize("fault", GARBAGE.values(), ids=GARBAGE)
async def test_a_reply_that_is_none_is_invalid_and_not_asked_for_again(asked: Asked, fault: Fault) -> None:
    """F5: what the SDK leaks of garbage never leaves the adapter as anything but Unavailable."""
    with failing(fault) as server:
        failure = await asked.failure(server.url)
    assert failure.code == asked.invalid
    assert len(server.requests) == 1


NO_VECTORS: dict[str, dict[str, Any]] = {
    "too few": embeddings(VECTORS[:1]),
    "too many": embeddings([*VECTORS, [1.0, 1.0]]),
    "the same place twice": embeddings(VECTORS, [0, 0]),
    "one place twice": embeddings([*VECTORS, [1.0, 0.0]], [0, 1, 1]),
    "places that were not asked for": embeddings(VECTORS, [1, 2]),
    "places that are no numbers": embeddings(VECTORS, ["a", None]),
    "too wide": embeddings([[1.0, 0.0, 0.0]] * 2),
    "too narrow": embeddings([[1.0]] * 2),
    "empty": embeddings([[], []]),
    "zero": embeddings([[0.0, 0.0], [0.0, 1.0]]),
    "NaN": embeddings([[float("nan"), 0.0], [0.0, 1.0]]),
    "infinite": embeddings([[float("inf"), 0.0], [0.0, 1.0]]),
    "NaN in base64": embeddings([packed(float("nan"), 1), packed(0, 1)]),
    "base64 of another width": embeddings([packed(1), packed(1)]),
    "base64 cut off": embeddings([packed(1, 0)[:-4], packed(0, 1)]),
    "no base64": embeddings(["!", "!"]),
    "texts": embeddings([["1", "0"], ["0", "1"]]),
    "nulls": embeddings([None, None]),
}


@pytest.mark.parametrize("body", NO_VECTORS.values(), ids=NO_VECTORS)
async def test_no_wrong_vector_is_ever_given(body: dict[str, Any]) -> None:
    """F5, C05: count, order, width, finite, not zero."""
    embedder = Asked("embedder")
    with failing(reply(200, body)) as server:
        assert (await embedder.failure(server.url)).code == "embedding_invalid"


async def test_vectors_are_placed_by_their_index_and_made_unit() -> None:
    with failing(reply(200, embeddings([[0.0, 3.0], packed(5, 0)], [1, 0]))) as server:
        assert await Asked("embedder").answer(server.url) == VECTORS


NO_TEXT: dict[str, tuple[dict[str, Any], str]] = {
    "no content": (completion(None), "llm_output_invalid"),
    "content that is no text": (completion(["a"]), "llm_output_invalid"),
    "a reply cut off": (completion("Half a", "length"), "llm_output_invalid"),
    "a refusal": (completion(None, refusal="I can't help with that."), "llm_refused"),
    "a filtered reply": (completion("", "content_filter"), "llm_refused"),
}


@pytest.mark.parametrize(("body", "code"), NO_TEXT.values(), ids=NO_TEXT)
async def test_a_chat_reply_of_no_use_says_why(body: dict[str, Any], code: str) -> None:
    """RELIABILITY C48: a lesser answer takes its place; what it cost is booked all the same."""
    run = Run()
    with failing(reply(200, body)) as server:
        profile = replace(PROVIDER_PROFILES["openai"], base_url=f"{server.url}/v1")
        client = OpenAIChatModel(profile, key="k")
        text = await run.attempt("summary", _said(client), otherwise="", fallback="no summary")
        await client.close()
    assert (text, [noted.code for noted in run.degraded]) == ("", [code])
    assert (run.input_tokens, run.output_tokens) == (4, 2)


async def _said(client: OpenAIChatModel) -> str:
    return (await client.complete(PROMPT)).text


async def test_a_prompt_that_azure_s_filter_stops_is_a_refusal() -> None:
    with failing(error(400, "content_filter")) as server:
        assert (await Asked("chat").failure(server.url)).code == "llm_refused"


async def test_a_reply_that_comes_in_time_is_given(asked: Asked) -> None:
    with failing(late(0.05, asked.good)) as server:
        assert await asked.answer(server.url)


@pytest.mark.parametrize("fault", [error(429), error(503), reset, reset_within])
async def test_what_passes_is_passed_over(asked: Asked, fault: Fault) -> None:
    with failing(fault, asked.good) as server:
        assert await asked.answer(server.url)
    assert len(server.requests) == 2


async def test_a_connection_that_is_refused_is_tried_three_times(asked: Asked) -> None:
    with failing(reset) as server:
        gone = server.url
    assert (await asked.failure(gone)).details["attempts"] == 3


async def test_a_key_that_is_changed_meanwhile_ends_the_next_call(asked: Asked) -> None:
    """RELIABILITY 6.5: 401 mid-flight. The reply names the key as the cause, and shows none."""
    with failing(asked.good, error(401, "invalid_api_key")) as server:
        async with asked.client(server.url) as call:
            assert await call()
            with pytest.raises(Unavailable) as refused:
                await call()
    failure = refused.value
    assert (failure.code, failure.details["status"]) == (asked.unreached, 401)
    assert "does not accept the key or identity" in failure.message
    assert len(server.requests) == 2


async def test_an_outage_is_not_asked_again_and_again(asked: Asked) -> None:
    """G7: after five failures the breaker answers in the service's stead."""

    with failing(error(503)) as server:
        async with asked.client(server.url) as call:
            for _ in range(20):
                with pytest.raises(Unavailable):
                    await call()
    assert len(server.requests) == 5


@pytest.mark.parametrize(
    ("fault", "code"), [(error(503), "llm_unavailable"), (GARBAGE["HTML with 200"], "llm_output_invalid")]
)
async def test_a_question_is_answered_without_the_chat_model_and_says_so(fault: Fault, code: str) -> None:
    """RELIABILITY 3.1: no expansion, no imagined answer, the order of the search; each named, none an error."""
    with failing(fault) as server:
        chat = OpenAIChatModel(replace(PROVIDER_PROFILES["openai"], base_url=f"{server.url}/v1"), key="k")
        run = Run()
        parts = fakes.kit(await fakes.filled(fakes.chunk("one", "P0700 is a transmission code", "P0700")), llm=chat)
        result = await consult(fakes.query("P0700"), parts, run)
        await chat.close()
    assert [hit.chunk.id for hit in result.hits] == ["one"]
    assert {noted.step for noted in run.degraded} == {"query_expansion", "rerank"}
    assert {noted.code for noted in run.degraded} <= {code, "llm_unavailable"}, "or the breaker answered"
