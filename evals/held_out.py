"""`python -m evals.held_out FOLDER [SET...]`: published sets on which nothing was tuned, beside the goals for them.

FOLDER has a folder for each set, as `evals.published_sets` writes it. The rows of each SET are measured and written to
held-out-SET.json of evals/results; then the table of all such files is printed. There is no chat model. Refusals are
counted of the unanswerable questions and of as many answerable ones, by the SHA-256 of their ids.
"""

import argparse
import hashlib
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

from evals import record
from rag_core.core.model import Answer, Chunk
from rag_core.core.presets import resolve_preset
from rag_core.core.run import Run
from rag_core.core.settings import DEFAULT_SETTINGS
from rag_core.evaluation import beir, markdown_tables, metrics
from rag_core.evaluation.bulk_indexing import EVALUATION_TIMEOUT_S
from rag_core.evaluation.evaluation_cache import CachedReranker
from rag_core.evaluation.labelled_collection import (
    LabelledCollection,
    LabelledQuestion,
    list_page_ids,
    load_labelled_collection,
    parse_question,
)
from rag_core.evaluation.pipeline_evaluation import TIMED_QUESTIONS, IndexedCollection, parse_preset, run_on_collection
from rag_core.rag import RAG

CACHES = Path(".cache")  # a file a set: two that are measured at once would lock one
SEARCHES = {"hybrid": "standard:semantic=0,captions=0,answers=0", "standard": "standard", "advanced": "advanced"}
NO_EVIDENCE, LOW_CONFIDENCE, NO_SENTENCE = (  # of a refusal: what it lacked, by the first stage that lacked it
    "no relevant passage in the evidence",
    "low confidence",
    "no sentence chosen or upheld",
)
LEGS = ("words", "meaning")
ALONE, WITH_HISTORY = "last turn alone", "with history"

Scores = Mapping[str, float]  # of one question, by measure
QUESTION_MEASURES: Mapping[str, Callable[[Scores], float]] = {
    "nDCG@10": lambda scores: scores["ndcg@10"],
    "all documents in ten": lambda scores: float(scores["recall@10"] == 1),
    "page in ten": lambda scores: float(scores["mrr"] >= 1 / 10),
}


@dataclass(frozen=True, slots=True)
class HeldOutSet:
    """A set: the measure of its searches, the least value wanted by search and way, and how answers are judged.

    `folder` is the name of its folder, where it is not its own; without `ways` nothing is searched.
    """

    measure: str
    goals: Mapping[tuple[str, str], float]  # by search and way of asking
    ways: tuple[str, ...] = ("",)
    judge: "Callable[[IndexedCollection, Path, int | None], Awaitable[list[record.Result]]] | None" = None
    folder: str = ""


async def measure_set(
    indexed: IndexedCollection, held_out: HeldOutSet, folder: Path, searches: Sequence[str], most: int | None
) -> record.Result:
    """Return the rows of the searches by each way of asking, and of the answers."""
    rows = [row for way in held_out.ways for row in await _measure_searches(indexed, held_out, way, searches)]
    answers = await held_out.judge(indexed, folder, most) if held_out.judge else []
    return {"documents": len(indexed.collection.uploads), "chunks": indexed.chunk_count, "rows": [*rows, *answers]}


async def _measure_searches(
    indexed: IndexedCollection, held_out: HeldOutSet, way: str, names: Sequence[str]
) -> list[record.Result]:
    asked = indexed if way != ALONE else replace(indexed, collection=_drop_history(indexed))
    presets = {
        name: indexed.build_pipeline_search(parse_preset(spec)) for name, spec in SEARCHES.items() if name in names
    }
    legs = {name: search for name, search in indexed.build_leg_searches().items() if name in LEGS}
    searches = presets if way == WITH_HISTORY else {**legs, **presets}  # the legs alone know no history
    compute = QUESTION_MEASURES[held_out.measure]
    rows: list[record.Result] = []
    hybrid: metrics.MeasureScores = {}
    for name, search in searches.items():
        found = await asked.evaluate_search(name, search)
        scores = {id: {held_out.measure: compute(of)} for id, of in found.scores.items()}
        hybrid = scores if name == "hybrid" else hybrid
        beside = {"difference": str(metrics.compare_scores(scores, hybrid, held_out.measure))} if hybrid else {}
        values = [of[held_out.measure] for of in scores.values()]
        row = build_row(" ".join(filter(None, (name, way))), held_out.measure, values, found.cpu_ms)
        rows.append({**row, **(beside if scores is not hybrid else {}), "goal": held_out.goals.get((name, way))})
    return rows


def _drop_history(indexed: IndexedCollection) -> LabelledCollection:
    questions = {id: replace(question, history=()) for id, question in indexed.collection.questions.items()}
    return replace(indexed.collection, questions=questions)


def build_row(name: str, measure: str, values: Sequence[float], cpu_ms: float) -> record.Result:
    """Return the mean of the questions' values with its 95 % interval: Wilson's of shares, else a bootstrap's."""
    if set(values) <= {0, 1}:
        low, high = metrics.compute_wilson_interval(int(sum(values)), len(values))
    else:
        scores = {str(n): {measure: value} for n, value in enumerate(values)}
        gap = metrics.compare_scores(scores, {id: {measure: 0.0} for id in scores}, measure)
        low, high = gap.low, gap.high
    mean = sum(values) / len(values)
    return {"way": name, "measure": measure, "n": len(values), "value": mean, "interval": [low, high], "cpu_ms": cpu_ms}


async def judge_refusals(indexed: IndexedCollection, folder: Path, most: int | None) -> list[record.Result]:
    """Return the shares refused of the unanswerable conversations, and of as many answerable ones."""
    records = list(beir.read_jsonl_records(folder / beir.QUERIES_FILE))
    kinds = {
        kind: [one for one in records if one["metadata"]["answerability"] == kind]
        for kind in ("unanswerable", "answerable")
    }
    count = min(len(kinds["unanswerable"]), most or sys.maxsize)
    judged = beir.load_beir_queries(folder)[1]
    ids = [str(one["_id"]) for one in beir.read_jsonl_records(beir.find_corpus_file(folder))]
    rows: list[record.Result] = []
    for kind, goal in (("answerable", 0.1), ("unanswerable", None)):
        chosen = sorted(kinds[kind], key=lambda one: hashlib.sha256(one["_id"].encode()).hexdigest())[:count]
        questions = {one["_id"]: parse_question(one["text"], indexed.collection.name) for one in chosen}
        answers, doubted, cpu_ms = await _ask_questions(questions, indexed)
        row = build_row("ask", f"{kind} refused", [float(one.status == "unknown") for one in answers.values()], cpu_ms)
        stages = count_refusals(answers, judged, lambda chunk: [ids[int(chunk.document_id)]], doubted)
        rows.append({**row, "most": goal, "stages": stages})
    return rows


async def judge_pages(indexed: IndexedCollection, folder: Path, _: int | None) -> list[record.Result]:
    """Return the share of questions answered, and of the answers the share whose first citation is of a right page."""
    judged = beir.load_beir_queries(folder)[1]
    answers, doubted, cpu_ms = await _ask_questions(indexed.collection.questions, indexed)
    given = {id: answer for id, answer in answers.items() if answer.status == "answered"}
    right = [float(_name_first_page(answer) in judged[id]) for id, answer in given.items()]
    answered = build_row("ask", "answered", [float(id in given) for id in answers], cpu_ms)
    stages = count_refusals(answers, judged, list_page_ids, doubted)
    cited = build_row("ask", "first cited page right, of answered", right or [0.0], cpu_ms)
    return [{**answered, "goal": 0.7, "stages": stages}, {**cited, "goal": 0.6}]


def count_refusals(
    answers: Mapping[str, Answer],
    judged: Mapping[str, Mapping[str, int]],
    list_ids: Callable[[Chunk], Sequence[str]],
    doubted: Set[str],
) -> Mapping[str, int]:
    """Count the refusals by what they lacked; `doubted` has the ids of those whose quotes were hardly right."""

    def name_stage(id: str) -> str:
        found = {judged_id for evidence in answers[id].evidence for judged_id in list_ids(evidence.hit.chunk)}
        if found.isdisjoint(judged.get(id, {})):
            return NO_EVIDENCE
        return LOW_CONFIDENCE if id in doubted else NO_SENTENCE

    return Counter(name_stage(id) for id, answer in answers.items() if answer.status == "unknown")


def _name_first_page(answer: Answer) -> str:
    first = next((citation for claim in answer.claims for citation in claim.citations), None)
    return f"{first.source}#page={first.place.page}" if first and first.place else ""


async def _ask_questions(
    questions: Mapping[str, LabelledQuestion], indexed: IndexedCollection
) -> tuple[dict[str, Answer], set[str], float]:
    """Return the answers of `standard`, the ids of those of low confidence, and the median processor milliseconds.

    The times are of the first questions, for which no pair's score is cached.
    """
    answers, doubted, times = {}, set(), []
    for number, (id, question) in enumerate(questions.items()):
        ranker = CachedReranker(indexed.kit.reranker, indexed.cache, number < TIMED_QUESTIONS)
        rag = RAG(replace(indexed.kit, reranker=ranker), indexed.settings)
        scope, begun = indexed.create_scope(question.workflow_id), time.process_time()
        preset, run = resolve_preset("standard"), Run(EVALUATION_TIMEOUT_S)
        reply = await rag.answer(question.text, scope=scope, history=question.history, run=run, preset=preset)
        times.append((time.process_time() - begun) * 1000)
        answers[id] = reply.answer
        if any(warning.code == "low_confidence" for warning in run.warnings):
            doubted.add(id)
        indexed.progress("ask", number + 1, len(questions))
    return answers, doubted, median(times[:TIMED_QUESTIONS])


SETS: Mapping[str, HeldOutSet] = {
    "scifact": HeldOutSet("nDCG@10", {("hybrid", ""): 0.74, ("standard", ""): 0.75}),
    "vaswani": HeldOutSet("nDCG@10", {("hybrid", ""): 0.52}),
    "hotpot": HeldOutSet("all documents in ten", {("hybrid", ""): 0.96, ("standard", ""): 0.96}),
    "mtrag": HeldOutSet("nDCG@10", {("hybrid", ALONE): 0.855, ("hybrid", WITH_HISTORY): 0.93}, (ALONE, WITH_HISTORY)),
    "mtrag-refusals": HeldOutSet("", {}, (), judge_refusals, "mtrag"),
    "financebench": HeldOutSet("page in ten", {("hybrid", ""): 0.65, ("standard", ""): 0.65}, judge=judge_pages),
}


def print_progress(name: str, done: int, total: int) -> None:
    print(f"\r{name} {done} of {total}  ", end="", file=sys.stderr, flush=True)


def evaluate_set(data: Path, name: str, searches: Sequence[str], most: int | None) -> record.Result:
    """Index a set and return its rows. What the models say of its texts is cached in CACHES."""
    folder = data / (SETS[name].folder or name)
    measure = partial(measure_set, held_out=SETS[name], folder=folder, searches=searches, most=most)
    collection = load_labelled_collection(folder)
    return run_on_collection(
        collection,
        measure,
        settings=DEFAULT_SETTINGS,
        cache_file=CACHES / f"held-out-{name}.sqlite3",
        progress=print_progress,
    )


def format_table(results: Mapping[str, record.Result]) -> str:
    """Format a row for each search and measure of each set; a row without a goal shows by which stage one is missed."""
    columns = ["set", "way", "measure", "questions", "value", "goal", "held", "against hybrid", "CPU ms", "measured"]
    rows = [
        [name, *_format_row(row), f"{of['date']}, {of['machine']}"]
        for name, of in results.items()
        for row in of["found"]["rows"]
    ]
    return markdown_tables.format_table(columns, rows)


def _format_row(row: record.Result) -> list[str]:
    low, high = row["interval"]
    least, most = row.get("goal"), row.get("most")
    goal = f"at least {least}" if least else f"at most {most}" if most else ""
    held = "" if not goal else "yes" if (row["value"] >= least if least else row["value"] <= most) else "no"
    value = f"{row['value']:.3f} [{low:.3f}, {high:.3f}]"
    return [
        row["way"], row["measure"], str(row["n"]), value, goal, held, row.get("difference", ""), f"{row['cpu_ms']:.0f}"
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"measured anew, of {', '.join(SETS)}")
    parser.add_argument("--searches", nargs="+", choices=SEARCHES, default=list(SEARCHES))
    parser.add_argument("--most", type=int, help="questions of either kind of which refusals are counted")
    given = parser.parse_args()
    if unknown := set(given.sets) - set(SETS):
        parser.error(f"there is no set {', '.join(sorted(unknown))}")
    options = "" if given.searches == list(SEARCHES) else f" --searches {' '.join(given.searches)}"
    options += f" --most {given.most}" if given.most else ""
    for name in given.sets:
        command = f"python -m evals.held_out FOLDER {name}{options}"
        record.record_result(
            record.RESULTS / f"held-out-{name}.json",
            command,
            partial(evaluate_set, given.folder, name, given.searches, given.most),
        )
    kept = [name for name in SETS if (record.RESULTS / f"held-out-{name}.json").is_file()]
    print(format_table({name: record.read_result(f"held-out-{name}") for name in kept}))


if __name__ == "__main__":
    main()
