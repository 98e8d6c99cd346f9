"""What the loopback model service gives and refuses, asked with the vendor's own client and without."""

import base64
import json
import struct
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import jsonschema_rs
import pytest
from openai import AuthenticationError, AzureOpenAI, BadRequestError, NotFoundError, OpenAI

from rag_core import prompts
from rag_core.core.model import Evidence
from rag_core.core.ports import Prompt
from rag_core.prompts.augmentation import build_augmentation_prompt
from rag_core.providers.chat_requests import _strip_list_limits
from rag_core.text.tokens import count_tokens
from tests import hosted
from tests.fakes import hit

PASSAGES = ["Signing keys are rotated every 90 days by the platform team.", "Bananas are yellow."]
GRADES = prompts.build_grading_prompt("how often are keys rotated?", {"p1": PASSAGES[0], "p2": PASSAGES[1]})


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with hosted.running() as url:
        yield url


@pytest.fixture
def client(url: str) -> Iterator[OpenAI]:
    with OpenAI(api_key="key", base_url=f"{url}/v1", max_retries=0) as client:
        yield client


def messages(prompt: Prompt) -> Any:
    return [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]


def held_to(prompt: Prompt) -> Any:
    schema = {"name": prompt.task, "strict": True, "schema": _strip_list_limits(prompt.schema)}
    return {"type": "json_schema", "json_schema": schema}


def refusal(url: str, body: object, *, path: str = "/v1/chat/completions", key: str = "key") -> tuple[int, Any]:
    """What an error looks like on the wire."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    with closing(HTTPConnection(url.removeprefix("http://"))) as connection:
        connection.request("POST", path, data, {"authorization": f"Bearer {key}"})
        response = connection.getresponse()
        return response.status, json.load(response)["error"]


@pytest.mark.parametrize(
    "prompt", [GRADES, prompts.build_query_expansion_prompt("keys?", PASSAGES, count=2, with_hyde=True)]
)
def test_a_reply_is_held_to_the_schema_that_came_with_the_request(client: OpenAI, prompt: Prompt) -> None:
    made = client.chat.completions.create(model="m", messages=messages(prompt), response_format=held_to(prompt))
    assert prompt.schema is not None
    assert jsonschema_rs.is_valid(dict(prompt.schema), json.loads(made.choices[0].message.content or ""))


def test_rag_doctor_is_told_that_there_is_no_chat_model_and_that_the_service_answers(client: OpenAI) -> None:
    reply = client.chat.completions.create(model="m", messages=messages(prompts.AVAILABILITY_PROMPT))
    assert (reply.model, reply.choices[0].message.content) == ("local: no chat model", "Yes.")


def test_a_reply_is_labelled_as_a_technique_s_and_its_tokens_are_counted(client: OpenAI) -> None:
    made = client.chat.completions.create(model="gpt-4o-mini", messages=messages(GRADES))
    assert made.model.startswith("local: cross-encoder")
    assert made.system_fingerprint == "local-techniques"
    assert made.usage is not None
    framing = 3 + 2 * (3 + 1)
    assert made.usage.prompt_tokens == count_tokens(GRADES.system) + count_tokens(GRADES.user) + framing
    assert made.usage.completion_tokens == count_tokens(made.choices[0].message.content or "")


def test_the_prompt_of_the_workbench_is_read_back_and_answered(client: OpenAI) -> None:
    """S0-68: the light and the full model alike, over the real client."""
    texts = ["The signing keys are rotated every 90 days by the key service.", "Bananas are yellow."]
    evidence = [Evidence(f"e{n}", hit(str(n), content=text), 0, len(text)) for n, text in enumerate(texts, start=1)]
    asked = build_augmentation_prompt("How often are the signing keys rotated?", evidence)
    made = client.chat.completions.create(model="m", messages=messages(asked))
    assert made.choices[0].message.content == texts[0]
    assert made.model.startswith("local: sentences chosen")


def test_a_limit_of_tokens_is_kept_to_and_named(client: OpenAI) -> None:
    made = client.chat.completions.create(
        model="m", messages=messages(prompts.build_summary_prompt("keys?", PASSAGES)), max_tokens=4
    )
    assert made.choices[0].finish_reason == "length"
    assert made.usage is not None
    assert made.usage.completion_tokens == 4


def test_scripted_replies_come_first_and_as_they_stand() -> None:
    with (
        hosted.running("not JSON at all") as url,
        OpenAI(api_key="key", base_url=f"{url}/v1", max_retries=0) as client,
    ):
        asked: Any = {"model": "m", "messages": messages(GRADES), "response_format": held_to(GRADES)}
        first, second = (client.chat.completions.create(**asked) for _ in range(2))
    assert (first.choices[0].message.content, first.model) == ("not JSON at all", "scripted")
    assert second.model.startswith("local: ")


def test_both_encodings_of_an_embedding_mean_the_same(client: OpenAI) -> None:
    asked: Any = {"model": "m", "input": ["Keys are rotated.", "Bananas."], "dimensions": hosted.DIMENSIONS}
    floats = client.embeddings.create(**asked, encoding_format="float")
    packed = client.embeddings.create(**asked, encoding_format="base64")
    for one, other in zip(floats.data, packed.data, strict=True):
        raw = base64.b64decode(str(other.embedding))
        assert struct.unpack(f"<{hosted.DIMENSIONS}f", raw) == pytest.approx(one.embedding, abs=1e-7)
    assert floats.usage.prompt_tokens == sum(count_tokens(text, encoding="cl100k_base") for text in asked["input"])


def test_keys_are_checked_in_both_shapes(url: str) -> None:
    with OpenAI(api_key="other", base_url=f"{url}/v1", max_retries=0) as client:
        with pytest.raises(AuthenticationError) as refused:
            client.embeddings.create(model="m", input="x")
        assert refused.value.code == "invalid_api_key"
    azure: Any = {"azure_endpoint": url, "api_version": "2024-10-21", "max_retries": 0}
    with AzureOpenAI(**azure, api_key="other") as client, pytest.raises(AuthenticationError, match="subscription key"):
        client.embeddings.create(model="m", input="x")
    with AzureOpenAI(**azure, api_key="key") as client:
        assert client.embeddings.create(model="m", input="x").data
    with AzureOpenAI(**azure, azure_ad_token="key") as client:
        assert client.embeddings.create(model="m", input="x").data


def test_an_unknown_path_or_a_missing_version_is_not_found(url: str, client: OpenAI) -> None:
    with pytest.raises(NotFoundError):
        client.images.generate(model="m", prompt="x")
    assert refusal(url, {}, path="/openai/deployments/m/embeddings")[0] == 404


def test_another_width_than_the_model_s_is_refused(client: OpenAI) -> None:
    with pytest.raises(BadRequestError) as refused:
        client.embeddings.create(model="m", input="x", dimensions=1536)
    assert refused.value.param == "dimensions"


CHAT = {"model": "m", "messages": messages(GRADES)}
EMBED = {"model": "m", "input": "x"}
NOT_DONE = [
    (CHAT | {"stream": True}, "stream"),
    (CHAT | {"n": 2}, "n"),
    (CHAT | {"tools": []}, "tools"),
    (CHAT | {"logprobs": True}, "logprobs"),
    (CHAT | {"response_format": {"type": "json_object"}}, "response_format"),
    (CHAT | {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]}, "messages"),
    ({"model": "m", "messages": [{"role": "user", "content": "Write me a poem."}]}, "messages"),
    (
        {
            "model": "m",
            "messages": messages(prompts.build_summary_prompt("x", PASSAGES)),
            "response_format": held_to(GRADES),
        },
        None,
    ),
]


@pytest.mark.parametrize(("body", "param"), NOT_DONE)
def test_what_is_not_implemented_is_refused_and_never_ignored(url: str, body: object, param: str | None) -> None:
    status, error = refusal(url, body)
    assert (status, error["type"]) == (501, "server_error")
    assert param in (error["param"], None)


WRONG = [
    (b"{", "/v1/embeddings"),
    (b"[]", "/v1/embeddings"),
    ({"input": "x"}, "/v1/embeddings"),
    (EMBED | {"input": ""}, "/v1/embeddings"),
    (EMBED | {"input": []}, "/v1/embeddings"),
    (EMBED | {"input": ["x"] * 2049}, "/v1/embeddings"),
    (EMBED | {"input": "word " * 9000}, "/v1/embeddings"),
    (EMBED | {"encoding_format": "int8"}, "/v1/embeddings"),
    ({"model": "m", "messages": []}, "/v1/chat/completions"),
    ({"model": "m", "messages": [{"role": "pirate", "content": "x"}]}, "/v1/chat/completions"),
]


@pytest.mark.parametrize(("body", "path"), WRONG)
def test_what_the_service_would_refuse_is_refused(url: str, body: object, path: str) -> None:
    status, error = refusal(url, body, path=path)
    assert (status, error["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "number"}, "maxItems": 3},
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": [], "additionalProperties": False},
        {"properties": {}},
    ],
)
def test_a_schema_that_strict_outputs_refuse_is_refused(url: str, schema: object) -> None:
    """What Azure's structured outputs do not allow cannot pass here unseen."""
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}}
    status, error = refusal(url, CHAT | {"response_format": wanted})
    assert (status, error["param"]) == (400, "response_format")


def test_inputs_that_a_technique_cannot_work_from_are_refused(url: str) -> None:
    unfit = [
        {"role": "system", "content": GRADES.system},
        {"role": "user", "content": prompts.build_summary_prompt("x", []).user},
    ]
    status, error = refusal(url, {"model": "m", "messages": unfit})
    assert (status, error["param"]) == (400, "messages")
