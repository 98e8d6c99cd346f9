"""What is kept of a step besides what it made: what went in and came out, its time, its cost, what it did without."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rag_core.core.run import Run

ORDER = ("expand", "embed", "retrieve", "consolidate", "augment")


def account(run: Run, went_in: Mapping[str, Any], came_out: Mapping[str, Any]) -> dict[str, Any]:
    """The diary of the run in which the step was taken, in JSON types."""
    return {
        "ms": round(sum(run.timings.values()), 3),
        "timings": dict(run.timings),
        "went_in": dict(went_in),
        "came_out": dict(came_out),
        "techniques": dict(run.techniques),
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "cost_usd": run.cost_usd,
        "degraded": [asdict(degradation) for degradation in run.degraded],
        "warnings": [asdict(warning) for warning in run.warnings],
    }


def until(step: str, accounts: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The accounts of the steps before this one: what came after it is to be taken again."""
    before = ORDER[: ORDER.index(step)]
    return {name: told for name, told in accounts.items() if name in before}
