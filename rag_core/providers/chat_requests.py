"""The request to a chat model, in the parameters that the model takes, and what a refusal teaches about these."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rag_core.core.hosted_models import REASONING_TOKENS, ChatParameters, find_hosted_model
from rag_core.core.ports import Prompt
from rag_core.providers.provider_profiles import ProviderProfile

REFUSABLE_PARAMETERS = (
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "reasoning_effort",
    "response_format",
    "reasoning",  # of the Responses API, like "text"
    "text",
)
UNSUPPORTED_CODES = ("unsupported_parameter", "unsupported_value", "unknown_parameter")
UNSUPPORTED_MESSAGE = re.compile(r"unsupported|unrecogni[sz]ed|unknown|not supported|does not support", re.IGNORECASE)


def choose_chat_parameters(profile: ProviderProfile) -> ChatParameters:
    """Return what a model takes, by its name; for a name not listed the usual, until a refusal says otherwise."""
    listed = find_hosted_model(profile.chat_model)
    chosen = (listed and listed.chat) or ChatParameters()
    return replace(chosen, structured_output=chosen.structured_output and profile.structured_outputs)


def build_chat_request(prompt: Prompt, profile: ProviderProfile, parameters: ChatParameters) -> dict[str, Any]:
    """Return the body of the request in the parameters that the model takes."""
    contents = {"system": prompt.system, "user": prompt.user}
    messages = [
        {"role": role, "content": replace_lone_surrogates(content)} for role, content in contents.items() if content
    ]
    request: dict[str, Any] = {"model": profile.chat_model, "messages": messages}
    request |= _limit_tokens(prompt, profile, parameters)
    if parameters.temperature:
        top_p = prompt.top_p or profile.top_p
        request |= {"temperature": prompt.temperature} | ({"top_p": top_p} if top_p else {})
    if parameters.reasoning_effort:
        request["reasoning_effort"] = parameters.reasoning_effort
    if prompt.schema and parameters.structured_output:
        json_schema = {"name": prompt.task, "strict": True, "schema": _strip_list_limits(prompt.schema)}
        request["response_format"] = {"type": "json_schema", "json_schema": json_schema}
    return request


def find_refused_parameter(
    request: Mapping[str, Any], *, param: str | None, code: str | None, message: str
) -> str | None:
    """Return the parameter of a request that the model does not take, None when a refusal is about something else.

    Most services name it in `param`, some only in the message, where the one that would be right may come after it.
    """
    sent = [name for name in REFUSABLE_PARAMETERS if name in request]
    is_about_effort = param in ("reasoning_effort", "reasoning.effort") and code == "invalid_value"
    if code not in UNSUPPORTED_CODES and not UNSUPPORTED_MESSAGE.search(message) and not is_about_effort:
        return None
    if param:
        return next((name for name in sent if param.split(".")[0] == name), None)
    return min((name for name in sent if name in message), key=message.index, default=None)


def leave_out(parameter: str, parameters: ChatParameters) -> ChatParameters:
    """Return what a model takes that refused a parameter."""
    match parameter:
        case "max_tokens":
            return replace(parameters, limit_parameter="max_completion_tokens")
        case "max_completion_tokens":
            return replace(parameters, limit_parameter="max_tokens")
        case "reasoning_effort" | "reasoning":
            return replace(parameters, reasoning_effort=None)
        case "response_format" | "text":
            return replace(parameters, structured_output=False)
        case _:  # temperature and top_p are taken or refused together
            return replace(parameters, temperature=False)


def _limit_tokens(prompt: Prompt, profile: ProviderProfile, parameters: ChatParameters) -> Mapping[str, int]:
    if parameters.limit_parameter == "max_completion_tokens":
        return {"max_completion_tokens": prompt.max_tokens + REASONING_TOKENS}
    limit = prompt.max_tokens if prompt.needs_whole_reply else min(prompt.max_tokens, profile.max_completion_tokens)
    return {"max_tokens": limit}


def _strip_list_limits(schema: Any) -> Any:
    """Remove `minItems` and `maxItems`, which Azure's structured outputs reject; the reply's parser checks them."""
    if isinstance(schema, Mapping):
        return {
            name: _strip_list_limits(value) for name, value in schema.items() if name not in ("minItems", "maxItems")
        }
    return schema


def replace_lone_surrogates(text: str) -> str:
    """Replace each lone surrogate, which cannot be encoded, by "?"."""
    return text.encode("utf-8", "replace").decode()
