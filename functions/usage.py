"""The handler of what the saved runs of a workflow have used: tokens, their price, and the steps that fell back."""

from collections.abc import Mapping
from typing import Annotated, TypedDict

from pydantic import Field

from functions.operations import READ_ERRORS, Call, operation
from functions.requests import Identifier, Request
from rag_core.run_reply import Done, format_run
from rag_core.workbench.usage import UsageTotal


class UsageRequest(Request):
    """A request for the usage of a workflow today and on the `days` - 1 days before, in UTC."""

    days: Annotated[int, Field(ge=1, le=366)] = 30
    workflow_id: Identifier = "default"


class UsageTotalReply(TypedDict):
    """The usage of runs together; `runs_of_unknown_price` are not in `cost_usd`."""

    runs: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    runs_of_unknown_price: int
    degraded_runs: int


class UsageGroupReply(UsageTotalReply):
    """The usage of the runs of a day, of a pipeline or of a model, "" where no model was named."""

    name: str


class DegradationCountReply(TypedDict):
    """A step that fell back, why, and in how many runs."""

    step: str
    code: str
    reason: str
    runs: int


class UsageReply(Done):
    """The usage of the saved runs since a day: in all, by day in order, then by pipeline and by model, most runs first.

    A run counts for the model that answered, with all that its other models have used.
    """

    since: str
    total: UsageTotalReply
    by_day: list[UsageGroupReply]
    by_pipeline: list[UsageGroupReply]
    by_model: list[UsageGroupReply]
    degradations: list[DegradationCountReply]
    workflow_id: str


@operation(
    "Sum up what the saved runs of a workflow have used, by day, pipeline and model.",
    errors=READ_ERRORS,
    example={"days": 7},
)
async def handle_usage(request: UsageRequest, call: Call) -> UsageReply:
    """Reply with the tokens and the price of the saved runs of a workflow."""
    report = await call.rag.usage(days=request.days, scope=call.resolve_scope(request.workflow_id), run=call.run)
    return {
        **format_run(call.run),
        "since": report.since,
        "total": _format_total(report.total),
        "by_day": sorted(_format_groups(report.by_day), key=lambda group: group["name"]),
        "by_pipeline": _format_groups(report.by_pipeline),
        "by_model": _format_groups(report.by_model),
        "degradations": [
            {"step": cause.step, "code": cause.code, "reason": cause.reason, "runs": cause.runs}
            for cause in report.degradations
        ],
        "workflow_id": request.workflow_id,
    }


def _format_groups(groups: Mapping[str, UsageTotal]) -> list[UsageGroupReply]:
    ordered = sorted(groups.items(), key=lambda group: -group[1].runs)
    return [{"name": name, **_format_total(total)} for name, total in ordered]


def _format_total(total: UsageTotal) -> UsageTotalReply:
    return {
        "runs": total.runs,
        "input_tokens": total.input_tokens,
        "output_tokens": total.output_tokens,
        "cost_usd": round(total.cost_usd, 6),
        "runs_of_unknown_price": total.runs_of_unknown_price,
        "degraded_runs": total.degraded_runs,
    }
