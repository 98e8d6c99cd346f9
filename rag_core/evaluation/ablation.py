"""`rag eval compare` and `rag eval ablate`: quality, latency and cost of each stage on labelled questions.

With --json they print the object below. The measures depend on the collection: recall@10, precision@5 and ndcg@10
where documents or pages are judged, recall@5 and iou@5 where characters are judged.

    {"set": "contoso", "questions": 201, "base": "hybrid", "hosted": false,
     "measures": ["recall@10", "precision@5", "ndcg@10"],
     "rows": [{"name": "hybrid", "recall@10": 0.945, "precision@5": 0.2, "ndcg@10": 0.783,
               "differences": {"recall@10": {"mean": 0.01, "low": -0.01, "high": 0.03}, ...},  # {} for the base itself
               "p50_ms": 12.1, "p95_ms": 14.0, "cpu_ms": 11.8,  # processor time: the median
               "input_tokens": 0, "output_tokens": 0,  # totals of all questions
               "usd_per_1000": {"gpt-4o-mini": 0.0, "gpt-4o": 0.0},  # hosted: {its name: the cost, or null}
               "lesser": {"query_expansion: llm_unavailable": 3}}, ...],  # number of questions by degradation
     "halves": {"first half": {"questions": 101, "rows": [...]}, "second half": {"questions": 100, "rows": [...]}}}

In the rows of the halves, times, tokens and costs are those of all questions. With --half, "halves" is {}.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from rag_core.core.settings import DEFAULT_SETTINGS, Settings
from rag_core.evaluation import labelled_collection, markdown_tables, metrics
from rag_core.evaluation.evaluation_cache import DEFAULT_CACHE_FILE
from rag_core.evaluation.evaluation_report import EvaluationRow
from rag_core.evaluation.pipeline_evaluation import (
    EvaluationProgress,
    IndexedCollection,
    parse_preset,
    run_on_collection,
)

ABLATION_BASELINE = "hybrid"
ABLATION_PRESETS: Mapping[str, tuple[str, str]] = {  # by name: the preset, and what the specification expects
    "vector only": ("advanced:rewordings=0,imaginings=0,rerank=0,how=vector", "fast, medium recall and precision"),
    ABLATION_BASELINE: ("advanced:rewordings=0,imaginings=0,rerank=0", "medium, high recall"),
    "+ expansion": ("advanced:imaginings=0,rerank=0", "+200 ms, recall +20 %, precision 0"),
    "+ HyDE": ("advanced:rewordings=0,rerank=0", "+300 ms, recall +15 %, precision +10 %"),
    "+ reranking": ("advanced:rewordings=0,imaginings=0", "+500 ms, recall 0, precision +25 %"),
    "full advanced": ("advanced", "+1 s, recall +35 %, precision +35 %"),
}
COMPARED_MEASURES = ("recall@10", "precision@5", "ndcg@10")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of named searches with `baseline`, paired by question.

    `expected` has the effect that the specification expects of each row, or is {}. `is_half`: it covers one half only.
    """

    name: str
    baseline: str
    hosted: bool
    rows: Mapping[str, EvaluationRow]
    expected: Mapping[str, str] = field(default_factory=dict)
    is_half: bool = False

    @property
    def measures(self) -> list[str]:
        return metrics.select_measures(self.rows[self.baseline].scores, COMPARED_MEASURES)

    @property
    def question_count(self) -> int:
        return len(self.rows[self.baseline].scores)

    def split_halves(self) -> dict[str, "Comparison"]:
        """Return the comparison on each half of the questions, so that one can tune on one half and report the other.

        The result is {} when the questions are already a half; a single question has only the first half.
        """
        halves = () if self.is_half else labelled_collection.HALVES[: self.question_count]
        return {f"{half} half": replace(self, rows=_select_half_rows(self.rows, half), expected={}) for half in halves}

    def format_report(self) -> str:
        """Format the table of all questions, the degradations, and the table of each half."""
        heading = f"{self.name}, {self.question_count} questions"
        halves = (
            f"{name} (every second question)\n\n{half.format_table()}" for name, half in self.split_halves().items()
        )
        return "\n\n".join([heading, self.format_table(), *self._list_degradations(), *halves])

    def format_table(self) -> str:
        """Format a Markdown table; `*` marks a difference whose paired 95 % interval excludes 0."""
        difference_columns = (f"{measure} against {self.baseline}" for measure in self.measures)
        model = next(iter(self.rows[self.baseline].usd_per_1000))
        columns = ["", *self.measures, *difference_columns, "p50 ms", "p95 ms", "CPU ms", f"USD per 1,000, {model}"]
        if self.expected:
            columns.append("the specification expects")
        return markdown_tables.format_table(columns, (self._format_row(name) for name in self.rows))

    def to_json(self) -> dict[str, Any]:
        """Return the object that the module's docstring describes."""
        halves = {
            name: {"questions": half.question_count, "rows": half._rows_to_json()}
            for name, half in self.split_halves().items()
        }
        header = {"set": self.name, "questions": self.question_count, "base": self.baseline, "hosted": self.hosted}
        return {**header, "measures": self.measures, "rows": self._rows_to_json(), "halves": halves}

    def _format_row(self, name: str) -> list[str]:
        row = self.rows[name]
        mean_cells = (f"{metrics.average_measure(row.scores, measure):.3f}" for measure in self.measures)
        differences = self._compare_to_baseline(name)
        difference_cells = (str(differences.get(measure, "")) for measure in self.measures)
        return [
            name,
            *mean_cells,
            *difference_cells,
            *self._format_times_and_cost(name),
            *([self.expected[name]] if self.expected else []),
        ]

    def _format_times_and_cost(self, name: str) -> list[str]:
        p50, p95 = self.rows[name].percentiles_ms
        p50_difference = "" if name == self.baseline else f" ({p50 - self.rows[self.baseline].percentiles_ms[0]:+.0f})"
        cost_usd = next(iter(self.rows[name].usd_per_1000.values()))
        cost = "?" if cost_usd is None else f"{cost_usd:.2f}"
        return [f"{p50:.0f}{p50_difference}", f"{p95:.0f}", f"{self.rows[name].cpu_ms:.0f}", cost]

    def _compare_to_baseline(self, name: str) -> dict[str, metrics.MeanDifference]:
        if name == self.baseline:
            return {}
        scores, baseline_scores = self.rows[name].scores, self.rows[self.baseline].scores
        return {measure: metrics.compare_scores(scores, baseline_scores, measure) for measure in self.measures}

    def _list_degradations(self) -> list[str]:
        """List the degradations, because a degraded row does not measure the named configuration."""
        return [
            f"{name}: {count} of {self.question_count} questions degraded: {reason}"
            for name, row in self.rows.items()
            for reason, count in row.usage.degradations.items()
        ]

    def _rows_to_json(self) -> list[dict[str, Any]]:
        return [self._row_to_json(name) for name in self.rows]

    def _row_to_json(self, name: str) -> dict[str, Any]:
        row = self.rows[name]
        p50, p95 = row.percentiles_ms
        return {
            "name": name,
            **{measure: metrics.average_measure(row.scores, measure) for measure in self.measures},
            "differences": {
                measure: asdict(difference) for measure, difference in self._compare_to_baseline(name).items()
            },
            "p50_ms": p50,
            "p95_ms": p95,
            "cpu_ms": row.cpu_ms,
            "input_tokens": row.usage.input_tokens,
            "output_tokens": row.usage.output_tokens,
            "usd_per_1000": dict(row.usd_per_1000),
            "lesser": dict(row.usage.degradations),
        }


def compare_presets(
    directory: Path,
    preset_specs: Mapping[str, str],
    baseline: str,
    *,
    expected: Mapping[str, str] | None = None,
    max_questions: int | None = None,
    half: str = "",
    workflow_field: str | None = None,
    hosted: bool = False,
    settings: Settings = DEFAULT_SETTINGS,
    cache_file: Path = DEFAULT_CACHE_FILE,
    progress: EvaluationProgress = lambda *_: None,
) -> Comparison:
    """Score named presets, written as "advanced:rewordings=0", on the questions of a labelled folder.

    Raises:
        Misconfigured: the folder's layout is unknown, or `hosted` is set and the settings name no hosted service.
        InvalidRequest: a preset or a number of it is invalid.
    """
    collection = labelled_collection.load_labelled_collection(
        directory, max_questions=max_questions, half=half, workflow_field=workflow_field
    )
    presets = {name: parse_preset(preset_text) for name, preset_text in preset_specs.items()}

    async def compare(indexed_collection: IndexedCollection) -> Comparison:
        rows = {
            name: await indexed_collection.evaluate_search(name, indexed_collection.build_pipeline_search(row_preset))
            for name, row_preset in presets.items()
        }
        return Comparison(collection.title, baseline, hosted, rows, expected or {}, is_half=bool(half))

    return run_on_collection(
        collection, compare, hosted=hosted, settings=settings, cache_file=cache_file, progress=progress
    )


def _select_half_rows(rows: Mapping[str, EvaluationRow], half: str) -> dict[str, EvaluationRow]:
    """Limit the scores of every row to one half of the questions."""
    return {name: replace(row, scores=labelled_collection.select_half(row.scores, half)) for name, row in rows.items()}
