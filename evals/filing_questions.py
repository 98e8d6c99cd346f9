"""`python -m evals.filing_questions`: is the page found that states a figure of one company and year, among many alike?

The documents are those of `evals.filing_documents`. Of each search and pipeline: how often the page is among the first
ten hits and among the first three, how often it is the first, and how often the first hit is of the right document.
Of the answers by `standard`: how many there are, and whether the page that each cites first is the right one.
"""

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from evals.answers import SCOPE, index_in_memory
from evals.filing_documents import FilingQuestion, build_uploads, load_questions
from rag_core.core.kit import Kit
from rag_core.core.model import Answer, Ranking
from rag_core.core.ports import Probe
from rag_core.core.presets import resolve_preset
from rag_core.core.run import Run
from rag_core.evaluation import markdown_tables, metrics
from rag_core.evaluation.bulk_indexing import EVALUATION_TIMEOUT_S
from rag_core.evaluation.evaluation_cache import EvaluationCache
from rag_core.pipelines import answer_with_pipeline, search_with_pipeline

CACHE = Path(".cache/filings.sqlite3")
SEARCHES = ("words", "meaning", "hybrid")
DEPTH = 10
MEASURES = ("page in ten", "page in three", "page first", "document first")


async def search_filings(questions: Sequence[FilingQuestion], kit: Kit, name: str) -> list[Ranking]:
    """Return what a search of SEARCHES or a pipeline finds for each question."""
    if name in SEARCHES:
        return [await _search_legs(question.text, kit, name) for question in questions]
    preset = resolve_preset(name, captions=0, answers=0)
    rankings = []
    for question in questions:
        query = preset.build_query(question.text, SCOPE)
        found = await search_with_pipeline(query, kit, Run(EVALUATION_TIMEOUT_S), pipeline=preset.pipeline)
        rankings.append(found.hits)
    return rankings


async def answer_filings(questions: Sequence[FilingQuestion], kit: Kit) -> list[Answer]:
    """Return the answer of `standard` to each question."""
    preset = resolve_preset("standard")
    return [
        await answer_with_pipeline(
            preset.build_query(question.text, SCOPE), kit, Run(EVALUATION_TIMEOUT_S), pipeline=preset.pipeline
        )
        for question in questions
    ]


def format_answers(questions: Sequence[FilingQuestion], answers: Sequence[Answer]) -> str:
    """Say how many questions have an answer, and how many of these cite the right page first."""
    given = [pair for pair in zip(questions, answers, strict=True) if pair[1].status == "answered"]
    right = sum(cites_page_first(answer, question) for question, answer in given)
    return f"answered: {len(given)} of {len(questions)}; the right page cited first: {right} of {len(given)}"


def cites_page_first(answer: Answer, question: FilingQuestion) -> bool:
    """Return whether the first citation of an answer is of the question's file and page."""
    first = next((citation for claim in answer.claims for citation in claim.citations), None)
    page = first.place.page if first and first.place else None
    return first is not None and first.source == question.source and question.page in (0, page)


def score_filings(questions: Sequence[FilingQuestion], rankings: Sequence[Ranking]) -> metrics.MeasureScores:
    """Return MEASURES of each question."""
    return {
        question.text: dict(zip(MEASURES, map(float, _score_hits(question, hits)), strict=True))
        for question, hits in zip(questions, rankings, strict=True)
    }


def format_scores(scores: Mapping[str, metrics.MeasureScores]) -> str:
    """Format a table with a row for each search."""
    rows = [[name, *(f"{metrics.average_measure(of, m):.3f}" for m in MEASURES)] for name, of in scores.items()]
    return markdown_tables.format_table([f"{len(next(iter(scores.values())))} questions", *MEASURES], rows)


async def _search_legs(text: str, kit: Kit, name: str) -> Ranking:
    vector = None if name == "words" else (await kit.index.embed_queries([text]))[0]
    probe = Probe("original", "" if name == "meaning" else text, vector)
    return (await kit.index.search([probe], SCOPE, limit=DEPTH))[0]


def _score_hits(question: FilingQuestion, hits: Ranking) -> tuple[bool, bool, bool, bool]:
    found = [hit.chunk.source == question.source and question.page in (0, hit.chunk.page) for hit in hits[:DEPTH]]
    return any(found), any(found[:3]), any(found[:1]), bool(hits) and hits[0].chunk.source == question.source


async def measure(searches: Sequence[str], cache: EvaluationCache) -> str:
    """Index the documents in memory and return the report of each search and of the answers."""
    questions = load_questions()
    kit = await index_in_memory(build_uploads(), cache)
    try:
        scores = {name: score_filings(questions, await search_filings(questions, kit, name)) for name in searches}
        return f"{format_scores(scores)}\n\n{format_answers(questions, await answer_filings(questions, kit))}"
    finally:
        await kit.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--searches", nargs="+", default=[*SEARCHES, "standard"])
    cache = EvaluationCache(CACHE)
    try:
        print(asyncio.run(measure(parser.parse_args().searches, cache)))
    finally:
        cache.close()


if __name__ == "__main__":
    main()
