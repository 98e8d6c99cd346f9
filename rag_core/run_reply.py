"""What every reply says of its call: who did which step, how long it took, what it cost, and what fell back."""

from typing import Literal, TypedDict, cast

from rag_core.core.run import Run


class DegradationReply(TypedDict):
    """A step that fell back: `code` and `reason` say why, `fallback` what was used instead."""

    step: str
    code: str
    reason: str
    fallback: str


class Advice(TypedDict):
    """A warning about the request."""

    code: str
    message: str


class Usage(TypedDict):
    """Tokens used by hosted models, embeddings included; `cost_usd` is null when the price of a model is unknown.

    `layout_pages` were sent to Document Intelligence, and are in the cost.
    """

    input_tokens: int
    output_tokens: int
    layout_pages: int
    cost_usd: float | None


class Done(TypedDict):
    """The fields of every reply: `degraded` has the steps that fell back, `timings` are milliseconds by step."""

    success: Literal[True]
    run_id: str
    degraded: list[DegradationReply]
    warnings: list[Advice]
    timings: dict[str, float]
    techniques: dict[str, str]
    usage: Usage


def format_run(run: Run) -> Done:
    """Return what every reply says of its call: who did which step, how long it took, what it cost, what fell back."""
    return {
        "success": True,
        "run_id": run.id,
        "degraded": [
            {"step": d.step, "code": d.code, "reason": d.reason, "fallback": d.fallback} for d in run.degraded
        ],
        "warnings": [{"code": warning.code, "message": warning.message} for warning in run.warnings],
        "timings": dict(run.timings),
        "techniques": dict(run.techniques),
        "usage": cast(Usage, run.add_up_usage({})),
    }
