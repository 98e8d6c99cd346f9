"""`python -m evals.quality DATA`: the rows of `rag eval run` and of `rag eval ablate` on every set of DATA, kept.

DATA holds the folders of SETS, each as `rag_core.evaluation.labelled_collection` reads it. The questions are of the
half that nothing was tuned on. What is found is written to quality.json and stages.json of evals/results, from which
`make pictures` draws.
"""

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from evals import record
from rag_core.evaluation import metrics, pipeline_evaluation
from rag_core.evaluation.ablation import ABLATION_BASELINE, ABLATION_PRESETS, compare_presets
from rag_core.evaluation.evaluation_report import EvaluationRow

SETS: Mapping[str, Mapping[str, Any]] = {  # and how it is asked: how many of its questions, the first ones
    "retrieval/cranfield": {"max_questions": 100},
    "retrieval/claude-docs": {"max_questions": 50},
    "pdf/contoso": {"max_questions": 100},
    "domain/psychology": {"max_questions": 100},
    "sql/bird": {"max_questions": 100, "workflow_field": "db"},
    "domain/dtc": {"max_questions": 125},
    "domain/governance/arbitrum": {},
    "domain/governance/aave-proposals": {"max_questions": 50},
    "pdf/usgov": {},
    "retrieval/xquad": {"max_questions": 100},
}
HALF = "second"


def evaluate_sets(data: Path) -> record.Result:
    """Return what `rag eval run` says of each set, with the 95 % interval of every mean nDCG@10."""
    return {(data / name).name: _evaluate_set(data / name, **how) for name, how in SETS.items()}


def _evaluate_set(folder: Path, **how: Any) -> record.Result:
    report = pipeline_evaluation.evaluate_pipelines(folder, half=HALF, **how)
    return {
        "documents": report.document_count,
        "chunks": report.chunk_count,
        "rows": [_convert_row(row) for row in report.rows],
    }


def _convert_row(row: EvaluationRow) -> record.Result:
    beside = {"against": row.compared_to, "difference": asdict(row.difference)} if row.difference else {}
    return {**row.to_json(), "interval": _compute_interval(row.scores), **beside}


def _compute_interval(scores: metrics.MeasureScores, measure: str = "ndcg@10") -> tuple[float, float]:
    """Return a bootstrap interval over the questions, as of the difference to a system that finds nothing."""
    gap = metrics.compare_scores(scores, {query: {measure: 0.0} for query in scores}, measure)
    return gap.low, gap.high


def ablate_sets(data: Path) -> record.Result:
    """Return what `rag eval ablate --json` says of each set."""
    ways = {name: preset for name, (preset, _) in ABLATION_PRESETS.items()}
    return {
        (data / name).name: compare_presets(data / name, ways, ABLATION_BASELINE, half=HALF, **how).to_json()
        for name, how in SETS.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data: Path = parser.parse_args().data
    record.record_result(record.RESULTS / "quality.json", "python -m evals.quality DATA", partial(evaluate_sets, data))
    record.record_result(record.RESULTS / "stages.json", "python -m evals.quality DATA", partial(ablate_sets, data))


if __name__ == "__main__":
    main()
