"""What a call of a hosted model used: read off its reply, priced, booked to the run, measured, and told to its span."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_core.core.metrics import record_model_call
from rag_core.core.run import book_model_usage
from rag_core.core.telemetry import SpanAttributes
from rag_core.providers.prices import calculate_cost_usd

LOCAL_MODEL_PREFIX = "local: "  # the prefix of `model` by which a test server says that a local technique answered
FREE_PROVIDER = "ollama"


@dataclass(frozen=True, slots=True)
class UsageNames:
    """The names of the counts in a reply's usage, which differ between the two APIs."""

    input: str
    output: str
    input_details: str
    output_details: str


COMPLETIONS_USAGE = UsageNames(
    "prompt_tokens", "completion_tokens", "prompt_tokens_details", "completion_tokens_details"
)
RESPONSES_USAGE = UsageNames("input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details")


@dataclass(frozen=True, slots=True)
class CallUsage:
    """Tokens of one call: `cached_tokens` are those of the input that the provider had, `reasoning_tokens` are output.

    `cost_usd` is None where the price of the model is unknown or the reply says no tokens.
    """

    model: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    finish_reasons: Sequence[str]
    cost_usd: float | None

    def describe(self) -> SpanAttributes:
        """Return the attributes of the call's span, by OpenTelemetry's GenAI conventions."""
        attributes: dict[str, str | int | float | Sequence[str]] = {
            "gen_ai.response.model": self.model,
            "gen_ai.usage.input_tokens": self.input_tokens,
        }
        if self.finish_reasons:  # a completion, not an embedding
            attributes["gen_ai.usage.output_tokens"] = self.output_tokens
            attributes["gen_ai.usage.cache_read.input_tokens"] = self.cached_tokens
            attributes["gen_ai.usage.reasoning.output_tokens"] = self.reasoning_tokens
            attributes["gen_ai.response.finish_reasons"] = self.finish_reasons
        return attributes if self.cost_usd is None else {**attributes, "rag.cost_usd": self.cost_usd}


def record_usage(reply: Any, described: Mapping[str, str], *, requested_model: str) -> SpanAttributes:
    """Book and measure what a call used, and return it as attributes of its span; `described` are those of the call."""
    used = read_usage(reply, described["gen_ai.provider.name"], requested_model)
    book_model_usage(input_tokens=used.input_tokens, output_tokens=used.output_tokens, cost_usd=used.cost_usd)
    record_model_call(
        described, input_tokens=used.input_tokens, output_tokens=used.output_tokens, cost_usd=used.cost_usd
    )
    return used.describe()


def read_usage(reply: Any, provider: str, requested_model: str) -> CallUsage:
    """Return what a reply of OpenAI's protocol says that it used; a number that is none counts as 0."""
    usage, model = reply.usage, str(reply.model or requested_model)
    names = RESPONSES_USAGE if hasattr(usage, "input_tokens") else COMPLETIONS_USAGE
    input_tokens, output_tokens = _read_count(usage, names.input), _read_count(usage, names.output)
    cached = _read_count(getattr(usage, names.input_details, None), "cached_tokens")
    cost = calculate_cost_usd(model, input_tokens=input_tokens, output_tokens=output_tokens, cached_tokens=cached)
    if provider == FREE_PROVIDER or model.startswith(LOCAL_MODEL_PREFIX):
        cost = 0.0
    return CallUsage(
        model=model,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_tokens=cached,
        reasoning_tokens=_read_count(getattr(usage, names.output_details, None), "reasoning_tokens"),
        finish_reasons=_list_finish_reasons(reply),
        cost_usd=cost if usage or cost == 0.0 else None,
    )


def _list_finish_reasons(reply: Any) -> list[str]:
    """Return why each choice of a completion ended, or why a response did, in the words of a completion."""
    if getattr(reply, "object", None) != "response":
        return [str(choice.finish_reason) for choice in getattr(reply, "choices", None) or ()]
    reason = reply.incomplete_details.reason if reply.incomplete_details else None
    return ["length" if reason == "max_output_tokens" else reason or ("error" if reply.error else "stop")]


def _read_count(usage: object, name: str) -> int:
    count = getattr(usage, name, 0)
    return count if isinstance(count, int) and count > 0 else 0
