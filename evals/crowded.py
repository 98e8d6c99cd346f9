"""`python -m evals.crowded`: ranks of the page of a manual that defines a code, beside a log that repeats the code."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from evals.answers import SCOPE, index_in_memory
from evals.crowded_corpus import MANUAL, CrowdedQuestion, build_questions, build_uploads
from rag_core.core.kit import Kit
from rag_core.core.model import Ranking
from rag_core.core.presets import resolve_preset
from rag_core.core.run import Run
from rag_core.evaluation import markdown_tables
from rag_core.evaluation.bulk_indexing import EVALUATION_TIMEOUT_S
from rag_core.evaluation.evaluation_cache import EvaluationCache
from rag_core.pipelines import search_with_pipeline

CACHE = Path(".cache/crowded.sqlite3")
PIPELINES = ("standard", "rerank", "advanced")
NOT_FOUND = 1000  # the rank of a page that is not in the reply
DEPTH = 10

RanksByPipeline = Mapping[str, Sequence[int]]  # of each question, in order


async def rank_pages(questions: Sequence[CrowdedQuestion], kit: Kit, pipelines: Sequence[str]) -> RanksByPipeline:
    """Return for each pipeline and question the rank, from 1, of the last of the pages that define what it asks for."""
    ranks: dict[str, list[int]] = {}
    for name in pipelines:
        preset = resolve_preset(name, captions=0, answers=0)
        for question in questions:
            query, run = preset.build_query(question.text, SCOPE), Run(EVALUATION_TIMEOUT_S)
            found = await search_with_pipeline(query, kit, run, pipeline=preset.pipeline)
            ranks.setdefault(name, []).append(find_last_rank(found.hits, question.pages))
    return ranks


def find_last_rank(hits: Ranking, pages: frozenset[int]) -> int:
    """Return the rank by which all these pages of the manual have been shown; NOT_FOUND when one is missing."""
    shown = [hit.chunk.page if hit.chunk.source == MANUAL else None for hit in hits]
    return max(shown.index(page) + 1 if page in shown else NOT_FOUND for page in pages)


def format_report(questions: Sequence[CrowdedQuestion], ranks: RanksByPipeline) -> str:
    """Format for each pipeline the share of questions with their pages in the first ten, by kind, and ranks."""
    kinds = list(dict.fromkeys(question.kind for question in questions))
    rows = []
    for name, of in ranks.items():
        groups = [[rank for rank, question in zip(of, questions, strict=True) if question.kind == k] for k in kinds]
        shares = [sum(rank <= DEPTH for rank in group) / len(group) for group in (of, *groups)]
        rows.append([name, *(f"{share:.2f}" for share in shares), str(sorted(of)[len(of) // 2]), str(max(of))])
    counts = [f"{kind} ({sum(question.kind == kind for question in questions)})" for kind in kinds]
    return markdown_tables.format_table(
        ["pipeline", f"in the first ten ({len(questions)})", *counts, "median rank", "worst"], rows
    )


async def measure() -> str:
    """Index the corpus in memory and return the report."""
    cache, questions = EvaluationCache(CACHE), build_questions()
    kit = await index_in_memory(build_uploads(), cache)
    try:
        return format_report(questions, await rank_pages(questions, kit, PIPELINES))
    finally:
        await kit.close()
        cache.close()


if __name__ == "__main__":
    print(asyncio.run(measure()))
