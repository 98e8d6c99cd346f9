"""OpenAI's Responses API: the request to it, and the text of its reply. Some deployments offer nothing else."""

from collections.abc import Mapping
from typing import Any

from openai.types.responses import Response, ResponseOutputMessage

from rag_core.core.errors import Unavailable
from rag_core.core.hosted_models import ChatParameters
from rag_core.core.ports import Prompt
from rag_core.providers.chat_requests import build_chat_request
from rag_core.providers.content_filter import describe_filtered_categories
from rag_core.providers.provider_profiles import ProviderProfile

MIN_OUTPUT_TOKENS = 16  # fewer are refused


def build_responses_request(prompt: Prompt, profile: ProviderProfile, parameters: ChatParameters) -> dict[str, Any]:
    """Return the body of the request: that of a chat completion under this API's names.

    `store` is off: by default the service keeps every prompt and reply for 30 days.
    """
    chat = build_chat_request(prompt, profile, parameters)
    limit = max(MIN_OUTPUT_TOKENS, chat.get("max_completion_tokens") or chat["max_tokens"])
    contents = {message["role"]: message["content"] for message in chat["messages"]}
    request: dict[str, Any] = {"model": chat["model"], "store": False, "max_output_tokens": limit}
    request["input"] = [{"role": "user", "content": contents["user"]}] if "user" in contents else []
    if "system" in contents:
        request["instructions"] = contents["system"]
    request |= {name: chat[name] for name in ("temperature", "top_p") if name in chat}
    if "reasoning_effort" in chat:
        request["reasoning"] = {"effort": chat["reasoning_effort"]}
    if "response_format" in chat:
        request["text"] = {"format": {"type": "json_schema", **chat["response_format"]["json_schema"]}}
    return request


def extract_response_text(response: Response, name: str) -> str:
    """Return the text of a reply.

    Raises:
        Unavailable: it was declined (llm_refused), cut off (llm_output_invalid), or the service failed meanwhile
            (llm_unavailable).
        TypeError: the reply has no text.
    """
    parts = [part for item in response.output if isinstance(item, ResponseOutputMessage) for part in item.content]
    reason = response.incomplete_details.reason if response.incomplete_details else None
    if reason == "content_filter" or any(part.type == "refusal" for part in parts):
        raise Unavailable(f"{name} declined to answer{_describe_filters(response)}", code="llm_refused")
    if response.status == "incomplete":
        raise Unavailable(f"{name} stopped at the token limit", code="llm_output_invalid")
    if response.status == "failed":
        raise Unavailable(f"{name} failed while it answered", code="llm_unavailable")
    texts = [part.text for part in parts if part.type == "output_text"]
    if not texts:
        raise TypeError("the reply has no text")
    return "".join(texts)


def _describe_filters(response: Response) -> str:
    """Describe what Azure's content filter stopped; it reports on the prompt and on the reply."""
    reports = (response.model_extra or {}).get("content_filters")
    found: dict[str, Any] = {}
    for report in reports if isinstance(reports, list) else ():
        results = report.get("content_filter_results") if isinstance(report, Mapping) else None
        found |= results if isinstance(results, Mapping) else {}
    return describe_filtered_categories(found)
