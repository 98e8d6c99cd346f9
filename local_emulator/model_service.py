"""Serve the local models behind an OpenAI-shaped endpoint, for the real client where there is no account.

No chat model is here. A request is recognised by our own system prompts and answered by the local technique for it,
which the reply names as its `model`; any other is refused. What is not implemented is refused with 501, never ignored.
"""

import asyncio
import json
import time
import uuid
from array import array
from base64 import b64encode
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any, TypeVar

from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Request, Response

from rag_core import prompts
from rag_core.core.errors import RagError
from rag_core.core.ports import LLM, Completion, Embedder, Prompt
from rag_core.prompts import augmentation
from rag_core.text.tokens import count_tokens, decode_tokens, encode_tokens

T = TypeVar("T")

TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
REFUSED_BY_REASONING_MODELS = ("max_tokens", "temperature", "top_p")
REFUSED_BY_OTHER_MODELS = ("reasoning_effort",)
INEFFECTIVE = ("temperature", "top_p", "reasoning_effort", "seed", "user")  # without effect on what a technique says
CHAT_MEMBERS = frozenset(("model", "messages", "response_format", "n", "stream", *TOKEN_LIMITS, *INEFFECTIVE))
EMBEDDING_MEMBERS = frozenset(("model", "input", "encoding_format", "dimensions", "user"))
RESPONSES_MEMBERS = frozenset(
    ("model", "input", "instructions", "max_output_tokens", "text", "store", "temperature", "top_p", "reasoning")
)
MIN_OUTPUT_TOKENS = 16  # of a response
SCHEMA_MEMBERS = frozenset(("type", "properties", "required", "additionalProperties", "items", "enum", "description"))
SCHEMA_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
}
AVAILABILITY = prompts.AVAILABILITY_PROMPT
MOST_TEXTS = 2048
MOST_TOKENS = 8192  # of one text

ROUTES = Map(
    [
        Rule(f"{place}/{operation}", endpoint=(operation, azure), methods=["POST"])
        for place, azure in (("/openai/deployments/<deployment>", True), ("/v1", False), ("/openai/v1", False))
        for operation in ("chat/completions", "embeddings", "responses")
        if operation != "responses" or not azure  # dated versions have it without the deployment
    ]
    + [Rule("/openai/responses", endpoint=("responses", True), methods=["POST"])]
)


class ModelRefusal(Exception):
    """A refusal is replied as an error in the service's own shape."""

    def __init__(self, status: int, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        kind = "server_error" if status >= 500 else "invalid_request_error"
        self.status = status
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": code}}


class ModelService:
    """Each of `replies` answers one chat request as it stands; after them `llm` answers.

    A local technique whose reply breaks the schema is refused. A stub of a chat model may break it, as models do.
    `refused` are parameters that the model behind the deployment does not take: `REFUSED_BY_REASONING_MODELS`, say.
    A reply names the technique that made it, which is free; with `priced` it names the model that was asked for, as
    Azure's does, so that its tokens have that model's price.
    """

    def __init__(
        self,
        embedder: Embedder,
        llm: LLM,
        *,
        keys: Collection[str],
        replies: Iterable[str] = (),
        refused: Collection[str] = (),
        priced: bool = False,
    ) -> None:
        self._embedder, self._llm, self._keys, self._priced = embedder, llm, frozenset(keys), priced
        self._replies, self._refused = iter(replies), tuple(refused)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        try:
            status, body = 200, self._answer_request(Request(environ))
        except ModelRefusal as refusal:
            status, body = refusal.status, refusal.body
        response = Response(json.dumps(body), status, {"x-request-id": str(uuid.uuid4())}, mimetype="application/json")
        return response(environ, start_response)

    def _answer_request(self, request: Request) -> dict[str, Any]:
        try:
            (operation, azure), given = ROUTES.bind_to_environ(request.environ).match()
        except HTTPException as unknown:
            raise ModelRefusal(unknown.code or 404, "Resource not found", code=str(unknown.code)) from unknown
        if azure and not request.args.get("api-version"):
            raise ModelRefusal(404, "Resource not found", code="404")  # the service's own answer to that
        self._check_key(request, azure)
        named = {"model": given["deployment"]} if "deployment" in given else {}  # the address names it, the body may
        body = named | _parse_json_object(request.get_data())
        match operation:
            case "embeddings":
                return self._embed_texts(body)
            case "responses":
                return self._respond(body)
            case _:
                return self._complete_chat(body)

    def _check_key(self, request: Request, azure: bool) -> None:
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        given = request.headers.get("api-key", bearer) if azure else bearer
        if given in self._keys:
            return
        if azure:
            raise ModelRefusal(401, "Access denied due to invalid subscription key or wrong API endpoint.", code="401")
        raise ModelRefusal(401, "Incorrect API key provided.", code="invalid_api_key")

    def _embed_texts(self, body: Mapping[str, Any]) -> dict[str, Any]:
        _check_members(body, EMBEDDING_MEMBERS)
        texts, width, encoding = (
            _read_input_texts(body),
            self._embedder.dimensions,
            body.get("encoding_format", "float"),
        )
        if body.get("dimensions", width) != width:
            raise ModelRefusal(
                400, f"This model has {width} dimensions; no other number is supported.", param="dimensions"
            )
        if encoding not in ("float", "base64"):
            raise ModelRefusal(400, f"{encoding!r} is not one of 'float', 'base64'.", param="encoding_format")
        packed = _encode_base64 if encoding == "base64" else list
        vectors = _run_technique(self._embedder.embed_documents(texts))
        data = [{"object": "embedding", "index": at, "embedding": packed(v)} for at, v in enumerate(vectors)]
        used = sum(count_tokens(text, encoding="cl100k_base") for text in texts)
        usage = {"prompt_tokens": used, "total_tokens": used}
        model = body["model"] if self._priced else f"local: {self._embedder.space}"
        return {"object": "list", "data": data, "model": model, "usage": usage}

    def _complete_chat(self, body: Mapping[str, Any]) -> dict[str, Any]:
        _check_members(body, CHAT_MEMBERS)
        _check_taken(body, self._refused)
        for name, only in (("stream", False), ("n", 1)):
            if body.get(name, only) != only:
                raise ModelRefusal(501, f"The emulator implements {name} only with the value {only}.", param=name)
        messages, schema = _read_messages(body), _read_reply_schema(body)
        reply = self._generate_reply(messages, schema)
        text, finish = _truncate_reply(
            reply.text, min((body[limit] for limit in TOKEN_LIMITS if limit in body), default=None)
        )
        # three tokens frame each message and three open the reply: the counting rule of OpenAI's cookbook
        asked = 3 + sum(3 + count_tokens(m["role"]) + count_tokens(m["content"]) for m in messages)
        used = count_tokens(text)
        message = {"role": "assistant", "content": text, "refusal": None}
        return {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": body["model"] if self._priced else reply.model,
            "system_fingerprint": "local-techniques" if reply.local else "stub",
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
            "usage": {"prompt_tokens": asked, "completion_tokens": used, "total_tokens": asked + used},
        }

    def _respond(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer by the Responses API what a chat completion would answer."""
        _check_members(body, RESPONSES_MEMBERS)
        _check_taken(body, {"temperature", "top_p"} & {*self._refused})
        if "reasoning" in body and "reasoning_effort" in self._refused:
            message = "Unsupported parameter: 'reasoning.effort' is not supported with this model."
            raise ModelRefusal(400, message, param="reasoning.effort", code="unsupported_parameter")
        limit_name = next(name for name in TOKEN_LIMITS if name not in self._refused)
        completion = self._complete_chat(_read_response_request(body, limit_name))
        choice, usage = completion["choices"][0], completion["usage"]
        is_cut = choice["finish_reason"] == "length"
        content = {"type": "output_text", "text": choice["message"]["content"], "annotations": [], "logprobs": []}
        status = "incomplete" if is_cut else "completed"
        output = {"type": "message", "id": f"msg_{uuid.uuid4().hex}", "role": "assistant", "status": status}
        return {
            "id": f"resp_{uuid.uuid4().hex}",
            "object": "response",
            "created_at": completion["created"],
            "status": status,
            "model": completion["model"],
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
            "instructions": body.get("instructions"),
            "output": [{**output, "content": [content]}],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": usage["prompt_tokens"],
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": usage["completion_tokens"],
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage["total_tokens"],
            },
        }

    def _generate_reply(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any] | None) -> Completion:
        scripted = next(self._replies, None)
        if scripted is not None:
            return Completion(scripted, "scripted")
        if [message["content"] for message in messages] == [AVAILABILITY.system, AVAILABILITY.user]:
            return Completion("Yes.", "local: no chat model", local=True)
        reply = _run_technique(self._llm.complete(_recognise_prompt(messages)))
        return _hold_to_schema(reply, schema) if reply.local and schema is not None else reply


def _hold_to_schema(reply: Completion, schema: Mapping[str, Any]) -> Completion:
    """Return a local technique's reply without the fields that the schema does not have, such as `margin`."""
    fields = _parse_json_reply(reply.text)
    if isinstance(fields, dict):
        fields = {name: value for name, value in fields.items() if name in schema.get("properties", ())}
    if not _matches_schema(fields, schema):
        raise ModelRefusal(501, "The local techniques do not reply in this schema.", param="response_format")
    return replace(reply, text=json.dumps(fields))


def _read_response_request(body: Mapping[str, Any], limit_name: str) -> dict[str, Any]:
    """Read a request of the Responses API as that of a chat completion, whose limit of tokens has this name."""
    if body.get("store", True) is not False:
        raise ModelRefusal(501, "The emulator keeps no responses: set store to false.", param="store")
    given = body.get("input")
    messages = [{"role": "user", "content": given}] if isinstance(given, str) else given
    system = [{"role": "system", "content": body["instructions"]}] if body.get("instructions") else []
    chat: dict[str, Any] = {"model": body.get("model"), "messages": [*system, *(messages or [])]}
    limit = body.get("max_output_tokens")
    if limit is not None:
        if limit < MIN_OUTPUT_TOKENS:
            message = f"Invalid 'max_output_tokens': expected a value >= {MIN_OUTPUT_TOKENS}, but got {limit} instead."
            raise ModelRefusal(400, message, param="max_output_tokens", code="integer_below_min_value")
        chat[limit_name] = limit
    chat |= {name: body[name] for name in ("temperature", "top_p") if name in body}
    wanted = body.get("text", {}).get("format")
    if wanted is not None:
        schema = {name: value for name, value in wanted.items() if name != "type"}
        chat["response_format"] = {"type": wanted.get("type"), "json_schema": schema}
    return chat


def _check_taken(body: Mapping[str, Any], refused: Iterable[str]) -> None:
    """Refuse the first parameter that the model does not take, as Azure does: one at a time, in these words."""
    for name in refused:
        if name not in body:
            continue
        if name in ("temperature", "top_p"):
            message = f"Unsupported value: '{name}' does not support {body[name]} with this model. "
            message += "Only the default (1) value is supported."
            raise ModelRefusal(400, message, param=name, code="unsupported_value")
        if name == "reasoning_effort":  # neither `param` nor `code`
            raise ModelRefusal(400, "Unrecognized request argument supplied: reasoning_effort")
        instead = " Use 'max_completion_tokens' instead." * (name == "max_tokens")
        message = f"Unsupported parameter: '{name}' is not supported with this model.{instead}"
        raise ModelRefusal(400, message, param=name, code="unsupported_parameter")


def _run_technique(work: Coroutine[Any, Any, T]) -> T:
    try:
        return asyncio.run(work)
    except RagError as failure:
        status = 501 if failure.code == "llm_unavailable" else 503  # no technique: to ask again is of no use
        raise ModelRefusal(status, failure.message, code=failure.code) from failure
    except (LookupError, TypeError, ValueError) as unfit:
        raise ModelRefusal(
            400, "The user message does not match the template of this prompt.", param="messages"
        ) from unfit


def _recognise_prompt(messages: Sequence[Mapping[str, str]]) -> Prompt:
    """Find which of our prompts these messages are, and read its inputs back from the user message."""
    said = {message["role"]: message["content"] for message in messages}
    system, user = said.get("system", ""), said.get("user", "")
    if (read := augmentation.parse_augmentation_prompt(f"{system}\n\n{user}")) is not None:
        return Prompt(augmentation.AUGMENTATION_TASK, system, user, read)
    inputs = _parse_fenced_input(user)
    if system not in _load_tasks_by_prompt() or not isinstance(inputs, dict):
        raise ModelRefusal(
            501, "The emulator has no chat model and answers only prompts of this project.", param="messages"
        )
    return Prompt(_load_tasks_by_prompt()[system], system, user, inputs)


def _parse_fenced_input(user: str) -> object:
    try:
        return prompts.parse_fenced_data(user)
    except (ValueError, RecursionError):
        return None


@cache
def _load_tasks_by_prompt() -> Mapping[str, str]:
    """Load the task of each of our system prompts."""
    wordings = (file for file in resources.files("rag_core.prompts").iterdir() if file.name.endswith(".md"))
    return {file.read_text("utf-8").strip(): file.name.removesuffix(".md") for file in wordings}


def _parse_json_object(data: bytes) -> dict[str, Any]:
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as garbage:
        raise ModelRefusal(400, "We could not parse the JSON body of your request.") from garbage
    if not isinstance(body, dict):
        raise ModelRefusal(400, "The JSON body of your request must be an object.")
    return body


def _check_members(body: Mapping[str, Any], known: Collection[str]) -> None:
    for name in sorted(body.keys() - known):
        raise ModelRefusal(501, f"The emulator does not implement {name}.", param=name)
    if not isinstance(body.get("model"), str):
        raise ModelRefusal(400, "you must provide a model parameter", param="model")


def _read_input_texts(body: Mapping[str, Any]) -> list[str]:
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not 0 < len(texts) <= MOST_TEXTS:
        raise ModelRefusal(400, f"input must be a text or a list of 1 to {MOST_TEXTS} texts.", param="input")
    if not all(isinstance(text, str) for text in texts):
        raise ModelRefusal(501, "The emulator implements texts as input, not tokens.", param="input")
    if not all(texts):
        raise ModelRefusal(400, "input cannot be an empty string.", param="input")
    if any(count_tokens(text, encoding="cl100k_base") > MOST_TOKENS for text in texts):
        raise ModelRefusal(400, f"This model's maximum context length is {MOST_TOKENS} tokens.", param="input")
    return texts


def _read_messages(body: Mapping[str, Any]) -> list[dict[str, str]]:
    given = body.get("messages")
    if not isinstance(given, list) or not given:
        raise ModelRefusal(400, "messages must be a list of at least one message.", param="messages")
    for message in given:
        if not isinstance(message, dict) or message.get("role") not in ("system", "user", "assistant"):
            raise ModelRefusal(400, "A message must have the role system, user or assistant.", param="messages")
        if message.keys() != {"role", "content"} or not isinstance(message["content"], str):
            raise ModelRefusal(
                501, "The emulator implements only messages whose content is one text.", param="messages"
            )
    return given


def _read_reply_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Read the schema that the reply is held to, in the strict subset; return None for free text."""
    wanted = body.get("response_format", {"type": "text"})
    match wanted:
        case {"type": "text"}:
            return None
        case {"type": "json_schema", "json_schema": {"name": str(), "strict": True, "schema": dict(schema)}}:
            _check_reply_schema(schema)
            return schema
        case _:
            raise ModelRefusal(
                501, "The emulator implements only text and strict json_schema.", param="response_format"
            )


def _check_reply_schema(schema: Mapping[str, Any]) -> None:
    """Refuse what strict structured outputs refuse, by the rules of Azure OpenAI, which are the narrower."""
    inner = schema.get("properties", {})
    if unknown := schema.keys() - SCHEMA_MEMBERS:
        raise ModelRefusal(400, f"Invalid schema: {min(unknown)} is not permitted.", param="response_format")
    if schema.get("type") not in SCHEMA_TYPES:
        raise ModelRefusal(400, "Invalid schema: every part must have a type.", param="response_format")
    if schema["type"] == "object" and (
        schema.get("additionalProperties") is not False or set(schema.get("required", ())) != inner.keys()
    ):
        what = "Invalid schema: additionalProperties must be false, and every property required."
        raise ModelRefusal(400, what, param="response_format")
    for part in (*inner.values(), *([schema["items"]] if "items" in schema else [])):
        _check_reply_schema(part)


def _matches_schema(value: object, schema: Mapping[str, Any]) -> bool:
    if not isinstance(value, SCHEMA_TYPES[schema["type"]]) or value not in schema.get("enum", [value]):
        return False
    if isinstance(value, dict):
        parts = schema["properties"]
        return value.keys() == parts.keys() and all(_matches_schema(value[name], parts[name]) for name in parts)
    return not isinstance(value, list) or all(_matches_schema(item, schema["items"]) for item in value)


def _truncate_reply(text: str, most: int | None) -> tuple[str, str]:
    """Cut a reply to its limit of tokens, and say why it ends."""
    tokens = encode_tokens(text)
    return (text, "stop") if most is None or len(tokens) <= most else (decode_tokens(tokens[:most]), "length")


def _parse_json_reply(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _encode_base64(vector: Sequence[float]) -> str:
    return b64encode(array("f", vector).tobytes()).decode()
