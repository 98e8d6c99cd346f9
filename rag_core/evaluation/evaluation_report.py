"""The report of `rag eval run`: a row for each leg and pipeline, with its scores, times and cost."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rag_core.evaluation import markdown_tables, metrics
from rag_core.evaluation.model_usage import ModelUsage


@dataclass(frozen=True, slots=True)
class EvaluationRow:
    """The result of one search: each query's scores, and the milliseconds of the first TIMED queries.

    `cpu_times_ms` is processor time of the process, which other work on the machine hardly changes.
    `usd` is the cost of 1,000 such questions by model: measured for a hosted model (None: its price is unknown), else
    estimated. `difference` compares the row with the row named `compared_to`.
    """

    pipeline: str
    scores: metrics.MeasureScores
    times_ms: tuple[float, ...]
    cpu_times_ms: tuple[float, ...]
    usage: ModelUsage
    usd_per_1000: Mapping[str, float | None]
    compared_to: str = ""
    difference: metrics.MeanDifference | None = None

    @property
    def percentiles_ms(self) -> tuple[float, float]:
        """The 50th and the 95th percentile."""
        p50, p95 = np.percentile(self.times_ms, [50, 95])
        return float(p50), float(p95)

    @property
    def cpu_ms(self) -> float:
        """The median of the processor times."""
        return float(np.median(self.cpu_times_ms))

    def to_json(self) -> dict[str, str | float]:
        measures = metrics.select_measures(self.scores, metrics.REPORTED_MEASURES)
        means = {measure: round(metrics.average_measure(self.scores, measure), 4) for measure in measures}
        p50, p95 = (round(ms, 1) for ms in self.percentiles_ms)
        times = {"p50_ms": p50, "p95_ms": p95, "cpu_ms": round(self.cpu_ms, 1)}
        return {"pipeline": self.pipeline, **means, **times, "n": len(self.scores)}


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """The report that `rag eval run` prints."""

    collection: str
    document_count: int
    chunk_count: int
    rows: tuple[EvaluationRow, ...]

    def to_json(self) -> dict[str, list[dict[str, str | float]]]:
        return {"rows": [row.to_json() for row in self.rows]}

    def format_table(self) -> str:
        """Format a Markdown table; `*` marks a difference whose 95 % interval excludes 0."""
        counts = f"{self.document_count} documents, {self.chunk_count} chunks, {len(self.rows[0].scores)} queries"
        measures = metrics.select_measures(self.rows[0].scores, metrics.REPORTED_MEASURES)
        columns = ["pipeline", *measures, "p50 ms", "p95 ms", "CPU ms", f"{measures[0]} against, 95 % interval"]
        table = markdown_tables.format_table(columns, map(_format_report_row, self.rows))
        return f"{self.collection}: {counts}\n\n{table}"


def compare_rows(leg_rows: Sequence[EvaluationRow], pipeline_rows: Iterable[EvaluationRow]) -> list[EvaluationRow]:
    """Compare hybrid search with its better leg, and each pipeline with hybrid search."""
    *leg_results, hybrid = leg_rows
    measure = metrics.select_measures(hybrid.scores, metrics.REPORTED_MEASURES)[0]
    best_leg = max(leg_results, key=lambda row: metrics.average_measure(row.scores, measure), default=None)
    return [
        *leg_results,
        _compare_row(hybrid, best_leg, measure),
        *(_compare_row(row, hybrid, measure) for row in pipeline_rows),
    ]


def _compare_row(row: EvaluationRow, other: EvaluationRow | None, measure: str) -> EvaluationRow:
    if other is None:
        return row
    difference = metrics.compare_scores(row.scores, other.scores, measure)
    return replace(row, compared_to=other.pipeline, difference=difference)


def _format_report_row(row: EvaluationRow) -> list[str]:
    name, *means, p50, p95, cpu, _ = row.to_json().values()
    difference = f"{row.compared_to} {row.difference}" if row.difference else ""
    return [str(name), *(f"{x:.3f}" for x in means), f"{p50:.0f}", f"{p95:.0f}", f"{cpu:.0f}", difference]
