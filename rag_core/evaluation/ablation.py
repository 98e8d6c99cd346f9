"""`rag eval compare` and `rag eval ablate`: quality, latency and cost of each stage on labelled questions.

With --json they print the object below. The measures depend on the collection: recall@10, precision@5 and ndcg@10
where documents or pages are judged, recall@5 and iou@5 where characters are judged.

    {"set": "contoso", "questions": 201, "base": "hybrid", "hosted": false,
     "measures": ["recall@10", "precision@5", "ndcg@10"],
     "rows": [{"name": "hybrid", "recall@10": 0.945, "precision@5": 0.2, "ndcg@10": 0.783,
               "differences": {"recall@10": {"mean": 0.01, "low": -0.01, "high": 0.03}, ...},  # {} for the base itself
               "p50_ms": 12.1, "p95_ms": 14.0, "input_tokens": 0, "output_tokens": 0,  # totals of all questions
               "usd_per_1000": {"gpt-4o-mini": 0.0, "gpt-4o": 0.0},  # hosted: {its name: the cost, or null}
               "lesser": {"query_expansion: llm_unavailable": 3}}, ...],  # number of questions by degradation
     "halves": {"first half": {"questions": 101, "rows": [...]}, "second half": {"questions": 100, "rows": [...]}}}

In the rows of the halves, times, tokens and costs are those of all questions. With --half, "halves" is {}.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from evals import markdown
from rag_core.core.settings import DEFAULTS, Settings
from rag_core.evaluation import labelled, metrics
from rag_core.evaluation.cache import CACHE
from rag_core.evaluation.retrieval import Bench, Progress, Row, measured, preset

BASE = "hybrid"
ABLATED: Mapping[str, tuple[str, str]] = {  # by name: the preset, and what the specification expects
    "vector only": ("advanced:rewordings=0,imaginings=0,rerank=0,how=vector", "fast, medium recall and precision"),
    BASE: ("advanced:rewordings=0,imaginings=0,rerank=0", "medium, high recall"),
    "+ expansion": ("advanced:imaginings=0,rerank=0", "+200 ms, recall +20 %, precision 0"),
    "+ HyDE": ("advanced:rewordings=0,rerank=0", "+300 ms, recall +15 %, precision +10 %"),
    "+ reranking": ("advanced:rewordings=0,imaginings=0", "+500 ms, recall 0, precision +25 %"),
    "full advanced": ("advanced", "+1 s, recall +35 %, precision +35 %"),
}
COMPARED = ("recall@10", "precision@5", "ndcg@10")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of named searches with the baseline `base`, paired by question.

    `expected` has the effect that the specification expects of each row, or is {}. `halved`: it covers one half only.
    """

    name: str
    base: str
    hosted: bool
    rows: Mapping[str, Row]
    expected: Mapping[str, str] = field(default_factory=dict)
    halved: bool = False

    @property
    def measures(self) -> list[str]:
        return metrics.among(self.rows[self.base].scores, COMPARED)

    @property
    def questions(self) -> int:
        return len(self.rows[self.base].scores)

    def halves(self) -> dict[str, "Comparison"]:
        """Return the comparison on each half of the questions, so that one can tune on one half and report the other.

        The result is {} when the questions are already a half; a single question has only the first half.
        """
        halves = () if self.halved else labelled.HALVES[: self.questions]
        return {f"{half} half": replace(self, rows=_half(self.rows, half), expected={}) for half in halves}

    def report(self) -> str:
        """Format the table of all questions, the degradations, and the table of each half."""
        heading = f"{self.name}, {self.questions} questions"
        halves = (f"{name} (every second question)\n\n{half.table()}" for name, half in self.halves().items())
        return "\n\n".join([heading, self.table(), *self._lesser(), *halves])

    def table(self) -> str:
        """Format a Markdown table; `*` marks a difference whose paired 95 % interval excludes 0."""
        difference_columns = (f"{measure} against {self.base}" for measure in self.measures)
        model = next(iter(self.rows[self.base].usd))
        columns = ["", *self.measures, *difference_columns, "p50 ms", "p95 ms", f"USD per 1,000, {model}"]
        if self.expected:
            columns.append("the specification expects")
        return markdown.table(columns, (self._cells(name) for name in self.rows))

    def json(self) -> dict[str, Any]:
        """Return the object that the module's docstring describes."""
        halves = {name: {"questions": half.questions, "rows": half._numbers()} for name, half in self.halves().items()}
        header = {"set": self.name, "questions": self.questions, "base": self.base, "hosted": self.hosted}
        return {**header, "measures": self.measures, "rows": self._numbers(), "halves": halves}

    def _cells(self, name: str) -> list[str]:
        row = self.rows[name]
        mean_cells = (f"{metrics.mean(row.scores, measure):.3f}" for measure in self.measures)
        differences = self._differences(name)
        difference_cells = (str(differences.get(measure, "")) for measure in self.measures)
        return [
            name,
            *mean_cells,
            *difference_cells,
            *self._price(name),
            *([self.expected[name]] if self.expected else []),
        ]

    def _price(self, name: str) -> list[str]:
        p50, p95 = self.rows[name].percentiles_ms
        p50_difference = "" if name == self.base else f" ({p50 - self.rows[self.base].percentiles_ms[0]:+.0f})"
        cost_usd = next(iter(self.rows[name].usd.values()))
        return [f"{p50:.0f}{p50_difference}", f"{p95:.0f}", "?" if cost_usd is None else f"{cost_usd:.2f}"]

    def _differences(self, name: str) -> dict[str, metrics.Difference]:
        if name == self.base:
            return {}
        scores, baseline_scores = self.rows[name].scores, self.rows[self.base].scores
        return {measure: metrics.compare(scores, baseline_scores, measure) for measure in self.measures}

    def _lesser(self) -> list[str]:
        """List the degradations, because a degraded row does not measure the named configuration."""
        return [
            f"{name}: {count} of {self.questions} questions degraded: {reason}"
            for name, row in self.rows.items()
            for reason, count in row.bill.lesser.items()
        ]

    def _numbers(self) -> list[dict[str, Any]]:
        return [self._row(name) for name in self.rows]

    def _row(self, name: str) -> dict[str, Any]:
        row = self.rows[name]
        p50, p95 = row.percentiles_ms
        return {
            "name": name,
            **{measure: metrics.mean(row.scores, measure) for measure in self.measures},
            "differences": {measure: asdict(difference) for measure, difference in self._differences(name).items()},
            "p50_ms": p50,
            "p95_ms": p95,
            "input_tokens": row.bill.input_tokens,
            "output_tokens": row.bill.output_tokens,
            "usd_per_1000": dict(row.usd),
            "lesser": dict(row.bill.lesser),
        }


def tried(
    directory: Path,
    said: Mapping[str, str],
    base: str,
    *,
    expected: Mapping[str, str] | None = None,
    queries: int | None = None,
    half: str = "",
    workflow_field: str | None = None,
    hosted: bool = False,
    settings: Settings = DEFAULTS,
    cache: Path = CACHE,
    progress: Progress = lambda *_: None,
) -> Comparison:
    """Score named presets, written as "advanced:rewordings=0", on the questions of a labelled folder.

    Raises:
        Misconfigured: the folder's layout is unknown, or `hosted` is set and the settings name no hosted service.
        InvalidRequest: a preset or a number of it is invalid.
    """
    collection = labelled.load(directory, queries=queries, half=half, workflow_field=workflow_field)
    presets = {name: preset(preset_text) for name, preset_text in said.items()}

    async def compare(indexed_collection: Bench) -> Comparison:
        rows = {
            name: await indexed_collection.row(name, indexed_collection.pipeline(row_preset))
            for name, row_preset in presets.items()
        }
        return Comparison(collection.title, base, hosted, rows, expected or {}, halved=bool(half))

    return measured(collection, compare, hosted=hosted, settings=settings, cache=cache, progress=progress)


def _half(rows: Mapping[str, Row], half: str) -> dict[str, Row]:
    """Limit the scores of every row to one half of the questions."""
    return {name: replace(row, scores=labelled.every_second(row.scores, half)) for name, row in rows.items()}
