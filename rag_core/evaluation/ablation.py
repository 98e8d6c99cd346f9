"""`rag eval compare` and `rag eval ablate`: what a stage is worth on labelled questions, and what it takes.

With --json they print, measures being those of the collection (recall@10, precision@5 and ndcg@10 where documents or
pages are judged, recall@5 and iou@5 where characters are):

    {"set": "contoso", "questions": 201, "base": "hybrid", "hosted": false,
     "measures": ["recall@10", "precision@5", "ndcg@10"],
     "rows": [{"name": "hybrid", "recall@10": 0.945, "precision@5": 0.2, "ndcg@10": 0.783,
               "differences": {"recall@10": {"mean": 0.01, "low": -0.01, "high": 0.03}, ...},  # {} for the base itself
               "p50_ms": 12.1, "p95_ms": 14.0, "input_tokens": 0, "output_tokens": 0,  # of all questions together
               "usd_per_1000": {"gpt-4o-mini": 0.0, "gpt-4o": 0.0},  # hosted: {its name: what was paid, or null}
               "lesser": {"query_expansion: llm_unavailable": 3}}, ...],  # questions, by why something stood in
     "halves": {"first half": {"questions": 101, "rows": [...]}, "second half": {"questions": 100, "rows": [...]}}}

Of these halves, times, tokens and money are those of all questions. With --half there are none.
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
ABLATED: Mapping[str, tuple[str, str]] = {  # what it is called: the preset, and what the specification expects of it
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
    """Ways of searching a collection by what they are called, each against `base`, question by question.

    `expected` is what the specification says of each, if it is to stand beside; `halved`, these questions are a half.
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
        """The same for every second question, from the first and from the second: to tune on one, report the other.

        Of a half, and of a single question, there is no other half.
        """
        halves = () if self.halved else labelled.HALVES[: self.questions]
        return {f"{half} half": replace(self, rows=_half(self.rows, half), expected={}) for half in halves}

    def report(self) -> str:
        """What is printed: the table of all questions, then of each half."""
        head = f"{self.name}, {self.questions} questions"
        halves = (f"{name} (every second question)\n\n{half.table()}" for name, half in self.halves().items())
        return "\n\n".join([head, self.table(), *self._lesser(), *halves])

    def table(self) -> str:
        """Markdown; `*` where the 95 % interval of a difference, paired, leaves out 0."""
        against = (f"{measure} against {self.base}" for measure in self.measures)
        priced = next(iter(self.rows[self.base].usd))
        columns = ["", *self.measures, *against, "p50 ms", "p95 ms", f"USD per 1,000, {priced}"]
        if self.expected:
            columns.append("the specification expects")
        return markdown.table(columns, (self._cells(name) for name in self.rows))

    def json(self) -> dict[str, Any]:
        """As this module says."""
        halves = {name: {"questions": half.questions, "rows": half._numbers()} for name, half in self.halves().items()}
        told = {"set": self.name, "questions": self.questions, "base": self.base, "hosted": self.hosted}
        return {**told, "measures": self.measures, "rows": self._numbers(), "halves": halves}

    def _cells(self, name: str) -> list[str]:
        row = self.rows[name]
        means = (f"{metrics.mean(row.scores, measure):.3f}" for measure in self.measures)
        differences = self._differences(name)
        gaps = (str(differences.get(measure, "")) for measure in self.measures)
        return [name, *means, *gaps, *self._price(name), *([self.expected[name]] if self.expected else [])]

    def _price(self, name: str) -> list[str]:
        p50, p95 = self.rows[name].percentiles_ms
        more = "" if name == self.base else f" ({p50 - self.rows[self.base].percentiles_ms[0]:+.0f})"
        usd = next(iter(self.rows[name].usd.values()))
        return [f"{p50:.0f}{more}", f"{p95:.0f}", "?" if usd is None else f"{usd:.2f}"]

    def _differences(self, name: str) -> dict[str, metrics.Difference]:
        if name == self.base:
            return {}
        ours, base = self.rows[name].scores, self.rows[self.base].scores
        return {measure: metrics.compare(ours, base, measure) for measure in self.measures}

    def _lesser(self) -> list[str]:
        """Where something stood in, for then a row is not that of what it is called."""
        return [
            f"{name}: of {self.questions} questions {count} with {reason}"
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
            "differences": {measure: asdict(gap) for measure, gap in self._differences(name).items()},
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
    """Ask a labelled folder's questions by each of these presets ("advanced:rewordings=0"), by what it is called.

    Raises:
        Misconfigured: the folder is in no layout that is known, or `hosted` and the settings name nothing hosted.
        InvalidRequest: there is no such preset or number.
    """
    found = labelled.load(directory, queries=queries, half=half, workflow_field=workflow_field)
    presets = {name: preset(written) for name, written in said.items()}

    async def every(bench: Bench) -> Comparison:
        rows = {name: await bench.row(name, bench.pipeline(chosen)) for name, chosen in presets.items()}
        return Comparison(found.title, base, hosted, rows, expected or {}, halved=bool(half))

    return measured(found, every, hosted=hosted, settings=settings, cache=cache, progress=progress)


def _half(rows: Mapping[str, Row], half: str) -> dict[str, Row]:
    return {name: replace(row, scores=labelled.every_second(row.scores, half)) for name, row in rows.items()}
