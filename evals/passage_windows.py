"""What it costs and loses when the cross-encoder reads some windows of a passage instead of all.

python -m evals.passage_windows FOLDER [--half first|second] [--questions 40]

FOLDER is a labelled collection. Each question is searched once, and what is found is reranked as `standard` does, by
models that read one, two, three or all windows, or a second one only where the first decides nothing. All CPU of the
process counts, that of other threads too.
"""

import argparse
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from evals.answers import CACHE
from rag_core.core.model import Ranking
from rag_core.core.presets import resolve_preset
from rag_core.core.run import Run
from rag_core.core.settings import DEFAULT_SETTINGS
from rag_core.evaluation import markdown_tables, metrics, pipeline_evaluation
from rag_core.evaluation.bulk_indexing import EVALUATION_TIMEOUT_S
from rag_core.evaluation.labelled_collection import HALVES, load_labelled_collection
from rag_core.evaluation.pipeline_evaluation import IndexedCollection
from rag_core.providers import local_models
from rag_core.providers.cross_encoder import UNDECIDED_LOGITS, CrossEncoder
from rag_core.retrieval.candidates import choose_candidates
from rag_core.retrieval.search import label_variants
from rag_core.retrieval.steps import rerank_with_cross_encoder, search_variants

ALWAYS = (-math.inf, math.inf)
READERS: Mapping[
    str, tuple[int, tuple[float, float]]
] = {  # the windows read, and the logits at which more than one are
    "all": (10_000, ALWAYS),
    "3": (3, ALWAYS),
    "2": (2, ALWAYS),
    "2 where undecided": (2, UNDECIDED_LOGITS),
    "1": (1, ALWAYS),
}
MEASURE = "ndcg@10"


@dataclass(slots=True)
class Reading:
    """The rankings of the questions by a model that reads so many windows, and the CPU seconds that these took."""

    rankings: dict[str, Ranking] = field(default_factory=dict)
    cpu_s: float = 0.0


async def rerank_questions(collection: IndexedCollection) -> Mapping[str, Reading]:
    """Return the rankings of all questions by the reader of READERS."""
    folder = local_models.find_model_folder("reranker", None)
    assert folder, local_models.MODELS_NOT_INSTALLED
    models = {
        name: CrossEncoder(folder, threads=DEFAULT_SETTINGS.model_threads, read_windows=n, undecided_logits=undecided)
        for name, (n, undecided) in READERS.items()
    }
    readings = {name: Reading() for name in READERS}
    for model in models.values():
        await model.score_passages("warm up", ["a passage"])
    for id, question in collection.collection.questions.items():
        query = resolve_preset("standard").build_query(question.text, collection.create_scope(question.workflow_id))
        run = Run(EVALUATION_TIMEOUT_S)
        found = await search_variants(label_variants([query.text]), query, collection.kit, run)
        candidates = choose_candidates(found["original"], query)
        for name, model in models.items():
            began = time.process_time()
            kit = replace(collection.kit, reranker=model)
            readings[name].rankings[id] = await rerank_with_cross_encoder(candidates, query, kit, run)
            readings[name].cpu_s += time.process_time() - began
    return readings


def format_readings(scores: Mapping[str, metrics.MeasureScores], cpu_ms: Mapping[str, float]) -> str:
    """Return a table: by reader the measure, its difference to reading all, and CPU milliseconds a question."""
    rows = [
        [
            name,
            f"{metrics.average_measure(of, MEASURE):.3f}",
            "" if name == "all" else str(metrics.compare_scores(of, scores["all"], MEASURE)),
            f"{cpu_ms[name]:.0f}",
        ]
        for name, of in scores.items()
    ]
    return markdown_tables.format_table(["windows", MEASURE, "against all", "ms CPU"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=HALVES, default="second")
    parser.add_argument("--questions", type=int, default=40)
    given = parser.parse_args()
    collection = load_labelled_collection(given.folder, half=given.half, max_questions=given.questions)
    readings = pipeline_evaluation.run_on_collection(
        collection, rerank_questions, settings=DEFAULT_SETTINGS, cache_file=CACHE, progress=lambda *_: None
    )
    scores = {name: collection.score(reading.rankings) for name, reading in readings.items()}
    cpu_ms = {name: 1000 * reading.cpu_s / len(collection.questions) for name, reading in readings.items()}
    print(collection.title, format_readings(scores, cpu_ms), sep="\n\n")


if __name__ == "__main__":
    main()
