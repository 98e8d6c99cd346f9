"""Records of the workbench's steps: inputs, outputs, timings, techniques, usage, degradations and warnings."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rag_core.core.model import Ranking
from rag_core.core.run import Run

STEP_ORDER = ("expand", "embed", "retrieve", "consolidate", "augment")


def build_step_record(run: Run, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Build the record of a step from the run in which it was executed, in JSON types."""
    return {
        "ms": round(sum(run.timings.values()), 3),
        "timings": dict(run.timings),
        "went_in": dict(inputs),
        "came_out": dict(outputs),
        "techniques": dict(run.techniques),
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "cost_usd": run.cost_usd,
        "degraded": [asdict(degradation) for degradation in run.degraded],
        "warnings": [asdict(warning) for warning in run.warnings],
    }


def select_earlier_records(step: str, records: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the records of the steps before this one; those of this step and of later ones are dropped."""
    earlier_steps = STEP_ORDER[: STEP_ORDER.index(step)]
    return {name: record for name, record in records.items() if name in earlier_steps}


def list_document_ids(hits: Ranking) -> list[str]:
    """Return the ids of the hits' documents, sorted; a purge searches saved queries for them."""
    return sorted({hit.chunk.document_id for hit in hits})
