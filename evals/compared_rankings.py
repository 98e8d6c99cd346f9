"""The rankings of the same questions in several ways, scored set by set: what the comparing evaluations share."""

import argparse
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from rag_core.core.model import Ranking
from rag_core.core.settings import DEFAULT_SETTINGS
from rag_core.evaluation import metrics
from rag_core.evaluation.evaluation_cache import DEFAULT_CACHE_FILE
from rag_core.evaluation.labelled_collection import HALVES, load_labelled_collection
from rag_core.evaluation.pipeline_evaluation import IndexedCollection, run_on_collection

RankInWays = Callable[[IndexedCollection], Awaitable[Mapping[str, Mapping[str, Ranking]]]]  # by way and question
ScoresByWay = Mapping[str, metrics.MeasureScores]


def score_chosen_sets(
    description: str, rank: RankInWays, sets: Mapping[str, Mapping[str, Any]], *, questions: int
) -> dict[str, ScoresByWay]:
    """Score every set of DATA that is there by each way; DATA, the half and the questions a set are arguments."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--half", choices=HALVES, default="second")
    parser.add_argument("--questions", type=int, default=questions)
    given = parser.parse_args()
    chosen = {name: {**how, "max_questions": given.questions} for name, how in sets.items()}
    return {
        name: _score_set(given.data, name, rank, half=given.half, **how)
        for name, how in chosen.items()
        if (given.data / name).is_dir()
    }


def _score_set(data: Path, name: str, rank: RankInWays, **how: Any) -> ScoresByWay:
    """Return the scores of each way on a set; the ids of its questions have the set's name before them."""
    collection = load_labelled_collection(data / name, **how)
    rankings = run_on_collection(
        collection, rank, settings=DEFAULT_SETTINGS, cache_file=DEFAULT_CACHE_FILE, progress=lambda *_: None
    )
    return {
        way: {f"{name} {id}": scores for id, scores in collection.score(of_way).items()}
        for way, of_way in rankings.items()
    }


def pool_scores(of_sets: Iterable[metrics.MeasureScores]) -> metrics.MeasureScores:
    """Return the scores of all sets' questions as those of one."""
    return {id: measures for scores in of_sets for id, measures in scores.items()}
