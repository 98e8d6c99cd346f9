"""What is counted for the operator: requests, steps, tokens, cost, degradations, answers, verdicts and jobs.

The instruments record only where a meter provider is installed. Names and units follow OpenTelemetry's conventions for
HTTP servers and generative AI (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/) where they have one.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from rag_core.core.telemetry import describe_current_span, is_imported

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram

    from rag_core.core.run import Run

AttributeValue = str | int


@cache
def _get_histogram(name: str, unit: str, description: str) -> "Histogram":
    from opentelemetry import metrics  # here: a cold start can do without

    return metrics.get_meter("azure-rag").create_histogram(name, unit, description)


@cache
def _get_counter(name: str, unit: str, description: str) -> "Counter":
    from opentelemetry import metrics

    return metrics.get_meter("azure-rag").create_counter(name, unit, description)


def record_request(method: str, route: str, status: int, elapsed_s: float, run: "Run | None") -> None:
    """Record a request by route, status and failure, and of its run the steps in seconds and the degradations."""
    if not is_imported("opentelemetry.metrics"):
        return  # nobody has installed a meter provider
    attributes: dict[str, AttributeValue] = {"http.request.method": method, "http.route": route}
    attributes["http.response.status_code"] = status
    if failure := find_request_failure(status, run):
        attributes["error.type"] = failure
    _get_histogram("http.server.request.duration", "s", "Duration of requests").record(elapsed_s, attributes)
    if run is None:
        return
    for step, elapsed_ms in run.timings.items():
        _get_histogram("rag.step.duration", "s", "Duration of steps").record(elapsed_ms / 1000, {"rag.step": step})
    degradations = _get_counter("rag.degradations", "{degradation}", "Steps that fell back")
    for degradation in run.degraded:
        degradations.add(1, {"rag.step": degradation.step, "rag.code": degradation.code})


def find_request_failure(status: int, run: "Run | None") -> str | None:
    """Return the code of what ended the reply after its status was sent, else the status if that is of a failure."""
    return (run and run.failure_code) or (str(status) if status >= 500 else None)


def record_answer(pipeline: str, status: str, verdicts: Iterable[str]) -> None:
    """Record an answer by its status, also on the span of the request, and its claims by their verdicts."""
    describe_current_span({"rag.pipeline": pipeline, "rag.answer.status": status})
    _get_counter("rag.answers", "{answer}", "Answers").add(1, {"rag.pipeline": pipeline, "rag.answer.status": status})
    claims = _get_counter("rag.claims", "{claim}", "Claims of answers")
    for verdict in verdicts:
        claims.add(1, {"rag.pipeline": pipeline, "rag.verdict": verdict})


def record_model_call(
    attributes: Mapping[str, AttributeValue], *, input_tokens: int, output_tokens: int, cost_usd: float | None
) -> None:
    """Record the tokens of a call of a hosted model, and its cost in USD where its price is known."""
    usage = _get_histogram("gen_ai.client.token.usage", "{token}", "Tokens of calls")
    for kind, tokens in (("input", input_tokens), ("output", output_tokens)):
        usage.record(tokens, {**attributes, "gen_ai.token.type": kind})
    if cost_usd is not None:
        record_cost(attributes, cost_usd)


def record_cost(attributes: Mapping[str, AttributeValue], cost_usd: float) -> None:
    """Record the cost of a call in USD."""
    _get_counter("rag.cost", "{USD}", "Cost of calls at list prices").add(cost_usd, attributes)


def record_job(state: str, age_s: float) -> None:
    """Record an attempt at an indexing job: the state that it left, and the job's age when it began."""
    _get_counter("rag.jobs", "{attempt}", "Attempts at indexing jobs").add(1, {"rag.job.state": state})
    _get_histogram("rag.job.age", "s", "Age of jobs when an attempt begins").record(max(age_s, 0.0))
