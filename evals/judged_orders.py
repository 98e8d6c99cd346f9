"""What the cross-encoder's order adds to that of the search, by several rules.

python -m evals.judged_orders DATA [--half first|second] [--questions 60]

DATA holds the folders of `evals.quality.SETS`. Each of the first questions of a half is searched once and its best READ
hits are scored once, as `standard` does; then they are ordered by each rule of RULES, which costs no model. What is
shown is the difference in nDCG@10 to hybrid search, by set and over all questions.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from evals.compared_rankings import ScoresByWay, pool_scores, score_chosen_sets
from evals.quality import SETS
from rag_core.core.model import Hit, Ranking
from rag_core.core.presets import SEARCH_PRIOR, resolve_preset
from rag_core.core.run import Run
from rag_core.evaluation import markdown_tables, metrics
from rag_core.evaluation.bulk_indexing import EVALUATION_TIMEOUT_S
from rag_core.evaluation.evaluation_cache import CachedReranker
from rag_core.evaluation.pipeline_evaluation import IndexedCollection
from rag_core.retrieval.candidates import choose_candidates
from rag_core.retrieval.cross_encoding import blend_with_search_scores, compute_standings, prepend_title
from rag_core.retrieval.extractive_answers import to_log_odds
from rag_core.retrieval.search import label_variants
from rag_core.retrieval.steps import search_variants

READ = 20
MEASURE = "ndcg@10"
Rule = Callable[[str, Ranking, Sequence[float], Ranking], list[Hit]]  # of the question, the hits read, scores, all hits


def order_by_standing_among_read(query_text: str, head: Ranking, scores: Sequence[float], _: Ranking) -> list[Hit]:
    """Order hits as until 24 November 2026: by log odds plus 4 times the standing among the hits that were read."""
    standings = compute_standings(head)
    sums = [to_log_odds(score) + 4 * standings[hit.chunk.id] for hit, score in zip(head, scores, strict=True)]
    return [head[n] for n in sorted(range(len(head)), key=lambda n: -sums[n])]


def order_by_blend(
    query_text: str, head: Ranking, scores: Sequence[float], found: Ranking, *, prior: float, least_score: float = 0.0
) -> list[Hit]:
    """Order hits as the product does; scores below `least_score` count as that."""
    counted = [max(score, least_score) for score in scores]
    return blend_with_search_scores(query_text, head, counted, compute_standings(found), prior=prior)


RULES: Mapping[str, tuple[int, Rule]] = {  # and how many hits are read for it
    "before: log odds + 4, 12 read": (12, order_by_standing_among_read),
    **{f"as now, {n} read": (n, partial(order_by_blend, prior=SEARCH_PRIOR)) for n in (8, 10, 12, 20)},
    **{f"prior {prior}, 10 read": (10, partial(order_by_blend, prior=prior)) for prior in (0, 1, 3)},
    "at least 0.5, 10 read": (10, partial(order_by_blend, prior=SEARCH_PRIOR, least_score=0.5)),
}


async def order_questions(collection: IndexedCollection) -> dict[str, dict[str, Ranking]]:
    """Return the rankings of all questions by rule; "hybrid" is that of the search."""
    reranker = CachedReranker(collection.kit.reranker, collection.cache, recompute=False)
    rankings: dict[str, dict[str, Ranking]] = {name: {} for name in ("hybrid", *RULES)}
    for id, question in collection.collection.questions.items():
        query = resolve_preset("standard").build_query(question.text, collection.create_scope(question.workflow_id))
        variants = label_variants([query.text])
        found = (await search_variants(variants, query, collection.kit, Run(EVALUATION_TIMEOUT_S)))["original"]
        chosen = choose_candidates(found, query)
        read = [prepend_title(hit.chunk) for hit in chosen[:READ]]
        scores = await reranker.score_passages(query.text, read)
        rankings["hybrid"][id] = found
        for name, (count, rule) in RULES.items():
            head = chosen[:count]
            rankings[name][id] = [*rule(query.text, head, scores[: len(head)], chosen), *chosen[count:]]
    return rankings


def format_gains(by_set: Mapping[str, ScoresByWay]) -> str:
    """Format a table: the rules' gains over hybrid search by set, their mean, and that over all questions."""
    rows = []
    for rule in RULES:
        gains = [metrics.compare_scores(scores[rule], scores["hybrid"], MEASURE) for scores in by_set.values()]
        ours, theirs = (pool_scores(of[name] for of in by_set.values()) for name in (rule, "hybrid"))
        mean = f"{statistics.mean(gain.mean for gain in gains):+.4f}"
        rows.append([rule, *map(str, gains), mean, str(metrics.compare_scores(ours, theirs, MEASURE))])
    header = ["order", *(Path(name).name for name in by_set), "mean of sets", "all questions"]
    return markdown_tables.format_table(header, rows)


def main() -> None:
    print(format_gains(score_chosen_sets(__doc__, order_questions, SETS, questions=60)))


if __name__ == "__main__":
    main()
