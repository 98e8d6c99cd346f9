"""Records of the workbench's steps: inputs, outputs, timings, techniques, usage, degradations and warnings."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rag_core.core.run import Run

ORDER = ("expand", "embed", "retrieve", "consolidate", "augment")


def account(run: Run, went_in: Mapping[str, Any], came_out: Mapping[str, Any]) -> dict[str, Any]:
    """Build the record of a step from the run in which it was executed, in JSON types."""
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
    """Return the records of the steps before this one; those of this step and of later ones are dropped."""
    earlier_steps = ORDER[: ORDER.index(step)]
    return {name: record for name, record in accounts.items() if name in earlier_steps}
