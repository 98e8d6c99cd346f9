"""Every goal of time in one table: what was measured, its 95 % interval, the goal, and whether it is held.

python -m evals.bench_goals [FOLDER] [--parts questions,tokens,store,http,start,indexing] [--json FILE]

FOLDER is a labelled collection, the gate's questions about a handbook without it; the PDFs below it are indexed, or
those of examples. Each part is the benchmark of its own command, with the numbers below; intervals are of a bootstrap.
"""

import argparse
import asyncio
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from evals import bench_cold_start, bench_http, bench_indexing, bench_questions, bench_store, cost, record
from evals.answers import CACHE, index_in_memory
from evals.benchmark_data import SEED
from rag_core.evaluation import markdown_tables
from rag_core.evaluation.evaluation_cache import EvaluationCache
from rag_core.evaluation.labelled_collection import LabelledCollection, load_labelled_collection
from rag_core.ingestion.upload import upload_from_file
from rag_core.pipelines import search_with_pipeline

HANDBOOK = bench_store.ROOT / "rag_core" / "evaluation" / "gate_sets" / "contoso"
RESAMPLES = 2_000
STORE_QUESTIONS, ROUNDS, REQUESTS, CLIENTS, RUNS = 60, 10, 100, 8, 9
STORE_GOALS_MS = {10_000: 1.6, 100_000: 5.0}  # by the number of chunks
CPU_GOALS_MS = {"standard": 400.0, "rerank": 600.0, "advanced": 900.0, "ask": 1200.0}
RATE_GOALS = {"consult_rag, keyword": 0.35, "consult_rag, hybrid": 0.2}
P99_GOAL_MS, TOKEN_GOAL, FIRST_ANSWER_GOAL_S, PAGE_GOAL_S = 150.0, 6000.0, 0.35, 0.12
UNMEASURED = {"the tests in CI": "≤ 6 min"}  # on its two cores, not here


@dataclass(frozen=True)
class GoalOutcome:
    """What was measured of a goal, with the 95 % interval."""

    measured: float
    low: float
    high: float
    goal: float
    at_least: bool = False

    @property
    def is_held(self) -> bool:
        return self.measured >= self.goal if self.at_least else self.measured <= self.goal

    def format_cells(self) -> list[str]:
        """Return measured with its interval, the goal, and the verdict, marked where chance may have decided it."""
        numbers = [format_number(number) for number in (self.measured, self.low, self.high)]
        sure = not self.low <= self.goal <= self.high
        verdict = ("held" if self.is_held else "missed") + ("" if sure else ", within the interval")
        limit = f"{'≥' if self.at_least else '≤'} {format_number(self.goal)}"
        return [f"{numbers[0]} [{numbers[1]}, {numbers[2]}]", limit, verdict]


Outcomes = dict[str, GoalOutcome]


def format_number(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}" if number >= 10 else f"{number:.2f}"


def judge_goal(
    samples: Sequence[Any], goal: float, *, compute: Callable[[Sequence[Any]], float], at_least: bool = False
) -> GoalOutcome:
    """Compute a number of the samples, and its 95 % interval over samples drawn with replacement."""
    draws = np.random.default_rng(SEED).integers(len(samples), size=(RESAMPLES, len(samples)))
    low, high = np.percentile([compute([samples[i] for i in drawn]) for drawn in draws], [2.5, 97.5])
    return GoalOutcome(float(compute(samples)), float(low), float(high), goal, at_least)


def measure_questions(collection: LabelledCollection, questions: Sequence[str], cache: EvaluationCache) -> Outcomes:
    costs = asyncio.run(bench_questions.measure_requests(collection, questions, cache))
    return {
        f"{name}, CPU ms": judge_goal([one.cpu_ms for one in costs[name]], goal, compute=statistics.median)
        for name, goal in CPU_GOALS_MS.items()
    }


def measure_tokens(collection: LabelledCollection, questions: Sequence[str], cache: EvaluationCache) -> Outcomes:
    bills = asyncio.run(_count_tokens(collection, questions, cache))
    return {"advanced, tokens sent": judge_goal(bills, TOKEN_GOAL, compute=statistics.fmean)}


async def _count_tokens(collection: LabelledCollection, questions: Sequence[str], cache: EvaluationCache) -> list[int]:
    kit = await index_in_memory([upload for _, upload in collection.uploads], cache)
    try:
        return [
            (await cost.count_usage(search_with_pipeline, text, "advanced", kit)).input_tokens for text in questions
        ]
    finally:
        await kit.close()


def measure_stores() -> Outcomes:
    """Return the wall milliseconds of a hybrid question to our store."""
    outcomes = {}
    for size, goal in STORE_GOALS_MS.items():
        (case,) = bench_store.list_cases([size], 0, None, [], STORE_QUESTIONS, [])
        (ours,) = bench_store.measure_case(case)
        outcomes[f"{case.name}, hybrid, ms"] = judge_goal(ours.hybrid_ms, goal, compute=statistics.median)
    return outcomes


def measure_http() -> Outcomes:
    times = bench_http.serve_and_measure(ROUNDS, REQUESTS, CLIENTS)
    empty = next(iter(times.values())).round_seconds
    outcomes = {}
    for kind, goal in RATE_GOALS.items():
        rounds = list(zip(empty, times[kind].round_seconds, strict=True))
        outcomes[f"{kind}, rate by an empty function's"] = judge_goal(
            rounds, goal, compute=_compute_rate_ratio, at_least=True
        )
        slowest = judge_goal(times[kind].seconds, P99_GOAL_MS, compute=_compute_p99_ms)
        outcomes[f"{kind}, p99 ms, {CLIENTS} clients"] = slowest
    return outcomes


def _compute_rate_ratio(rounds: Sequence[tuple[float, float]]) -> float:
    return sum(empty for empty, _ in rounds) / sum(ours for _, ours in rounds)


def _compute_p99_ms(seconds: Sequence[float]) -> float:
    return 1000 * float(np.percentile(seconds, 99))


def measure_start() -> Outcomes:
    with tempfile.TemporaryDirectory() as folder:
        costs = bench_cold_start.measure_startup(RUNS, folder)[bench_cold_start.FIRST_ANSWER]
    samples = [one.cpu_s for one in costs]
    return {
        f"{bench_cold_start.FIRST_ANSWER}, CPU s": judge_goal(samples, FIRST_ANSWER_GOAL_S, compute=statistics.median)
    }


def measure_indexing(folder: Path) -> Outcomes:
    """Return the CPU seconds of a page, its child process counted."""
    files = sorted(folder.rglob("*.pdf")) or sorted((bench_store.ROOT / "examples").glob("*.pdf"))
    costs = asyncio.run(bench_indexing.measure_documents([upload_from_file(file) for file in files]))
    return {"indexing, CPU s a page": judge_goal(costs, PAGE_GOAL_S, compute=_compute_page_s)}


def _compute_page_s(costs: Sequence[bench_indexing.DocumentCost]) -> float:
    return bench_indexing.compute_ms_a_page(costs, bench_indexing.WHOLE) / 1000


def list_parts(
    folder: Path, count: int, cache: EvaluationCache, *, half: str = "second"
) -> dict[str, Callable[[], Outcomes]]:
    """Return the measuring function of each part, in the order in which they run."""
    collection = load_labelled_collection(folder, half=half)
    questions = bench_questions.choose_questions(collection, count)
    return {
        "questions": partial(measure_questions, collection, questions, cache),
        "tokens": partial(measure_tokens, collection, questions, cache),
        "store": measure_stores,
        "http": measure_http,
        "start": measure_start,
        "indexing": partial(measure_indexing, folder),
    }


def bench_goals(parts: Mapping[str, Callable[[], Outcomes]]) -> record.Result:
    """Return the outcomes by goal; print each as it comes, then the table."""
    found: dict[str, dict[str, Any]] = {}
    for part, measure in parts.items():
        print(f"{part}, load {record.read_load()}", flush=True)
        for name, outcome in measure().items():
            print(f"  {name}: {', '.join(outcome.format_cells())}", flush=True)
            found[name] = vars(outcome)
    print(f"\n{format_goal_table(found)}\n\n{record.describe_machine()}, load {record.read_load()}")
    return found


def format_goal_table(found: record.Result) -> str:
    rows = [[name, *GoalOutcome(**of).format_cells()] for name, of in found.items()]
    rows += [[name, "", goal, "not measured here"] for name, goal in UNMEASURED.items()]
    return markdown_tables.format_table(["", "measured", "goal", "held"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=HANDBOOK)
    parser.add_argument("--parts", default="", help="with commas between them; all without it")
    parser.add_argument("--questions", type=int, default=12)
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep what was found")
    given = parser.parse_args()
    cache = EvaluationCache(CACHE)
    try:
        parts = list_parts(given.folder, given.questions, cache)
        wanted = [part for part in given.parts.split(",") if part] or list(parts)
        measure = partial(bench_goals, {part: parts[part] for part in wanted})
        record.record_result(given.json, f"python -m evals.bench_goals {given.folder.name}", measure)
    finally:
        cache.close()


if __name__ == "__main__":
    main()
