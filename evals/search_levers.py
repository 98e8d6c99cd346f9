"""What each lever of hybrid search is worth alone, and what the others are worth without it.

python -m evals.search_levers DATA [--half first|second] [--questions 100]

DATA holds the folders of `evals.quality.SETS`. Every question is searched with none of LEVERS, with each alone, with
all, and with all but one; no cross-encoder reads what is found. What is shown is the difference in nDCG@10 with its
95 % interval: of each alone to none, and of all to all without it, so that both say what it brings. Titles in vectors,
which are of indexing, and the cross-encoder are measured by `evals.filing_questions` and `evals.judged_orders`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from evals.compared_rankings import ScoresByWay, pool_scores, score_chosen_sets
from evals.quality import SETS
from rag_core.core import index as core_index
from rag_core.core.model import Hit, Ranking
from rag_core.core.presets import resolve_preset
from rag_core.evaluation import markdown_tables, metrics
from rag_core.evaluation.model_usage import ModelUsage
from rag_core.evaluation.pipeline_evaluation import IndexedCollection
from rag_core.retrieval import candidates
from rag_core.retrieval.candidates import choose_candidates
from rag_core.stores.embedded import lexical_index, search
from rag_core.stores.embedded.lexical_index import LexicalIndex

Switch = Callable[[], AbstractContextManager[Any]]  # off, for as long as its block lasts
NONE, ALL = "none", "all"


def _keep_ranking(ranking: Ranking, *_: str) -> list[Hit]:
    return list(ranking)


def _build_clauses_of_all_words(index: LexicalIndex, text: str) -> Any:
    with patch.object(index, "_analyze_without_stop_words", index._analyze):
        return BUILD_TEXT_CLAUSES(index, text)


def _score_alike(legs: Sequence[Sequence[float | None]]) -> list[float]:
    """Give every hit the same score, so that reciprocal rank decides."""
    return [0.0] * len(legs[0])


BUILD_TEXT_CLAUSES = LexicalIndex._build_text_clauses
LEVERS: Mapping[str, Sequence[Switch]] = {
    "no stop words": [partial(patch.object, LexicalIndex, "_build_text_clauses", _build_clauses_of_all_words)],
    "titles at 0.7, not 1": [partial(patch.dict, lexical_index.FIELD_WEIGHTS, title=1.0)],
    "pairs of terms": [partial(patch.object, lexical_index, "MAX_QUERY_PAIRS", 0)],
    "fusion by score": [partial(patch.object, search, "average_normalized_scores", _score_alike)],
    "codes first": [
        partial(patch.object, module, "sort_by_code_matches", _keep_ranking) for module in (core_index, candidates)
    ],
    "named documents": [partial(patch.object, candidates, "lift_named_documents", lambda _, ranking: list(ranking))],
    "documents asked about": [partial(patch.object, candidates, "find_asked_documents", lambda *_: {})],
    "room for documents": [partial(patch.object, candidates, "give_documents_room", lambda ranking, *_, **__: ranking)],
}


def list_ways() -> dict[str, frozenset[str]]:
    """Return which levers are on, by the name of each way to search."""
    every = frozenset(LEVERS)
    alone = {name: frozenset({name}) for name in LEVERS}
    return {NONE: frozenset(), **alone, ALL: every, **{_name_rest(name): every - {name} for name in LEVERS}}


def _name_rest(lever: str) -> str:
    return f"{ALL} but {lever}"


def switch_off(levers: Iterable[str]) -> ExitStack:
    """Return the block within which a search goes without these levers."""
    with ExitStack() as stack:
        for lever in levers:
            for switch in LEVERS[lever]:
                stack.enter_context(switch())
        return stack.pop_all()


async def search_in_every_way(collection: IndexedCollection) -> dict[str, dict[str, Ranking]]:
    """Return the candidates of all questions by way, in the order in which the pipelines have them."""
    search_both_legs = collection.build_leg_searches()["hybrid"]
    rankings: dict[str, dict[str, Ranking]] = {}
    for way, on in list_ways().items():
        with switch_off(LEVERS.keys() - on):
            rankings[way] = {
                id: choose_candidates(
                    await search_both_legs(question, ModelUsage(), False),
                    resolve_preset("standard").build_query(
                        question.text, collection.create_scope(question.workflow_id)
                    ),
                )
                for id, question in collection.collection.questions.items()
            }
    return rankings


def format_levers(by_set: Mapping[str, ScoresByWay]) -> str:
    """Format a table with a row for each lever, alone and beside the others, and a column for each set."""
    comparisons = {
        **{f"{lever}: alone": (lever, NONE) for lever in LEVERS},
        "together": (ALL, NONE),
        **{f"{lever}: beside the others": (ALL, _name_rest(lever)) for lever in LEVERS},
    }
    pooled = {way: pool_scores(of[way] for of in by_set.values()) for way in list_ways()}
    rows = [
        [label, *(_compare(of, *ways) for of in by_set.values()), _compare(pooled, *ways)]
        for label, ways in comparisons.items()
    ]
    return markdown_tables.format_table(["lever", *(Path(name).name for name in by_set), "all questions"], rows)


def _compare(scores: ScoresByWay, way: str, other: str) -> str:
    return str(metrics.compare_scores(scores[way], scores[other]))


def main() -> None:
    print(format_levers(score_chosen_sets(__doc__, search_in_every_way, SETS, questions=100)))


if __name__ == "__main__":
    main()
