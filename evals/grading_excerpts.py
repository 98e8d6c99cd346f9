"""`python -m evals.grading_excerpts FOLDER`: what is lost when passages are graded by excerpts, and what is saved.

FOLDER is a set of PDFs as for `evals.answers`. The first 20 passages of a hybrid search are graded whole and by
excerpts of several lengths. No chat model is here: the local cross-encoder grades in its place, which shows how much
of what decides stands in an excerpt, and not how a chat model would grade it.
"""

import argparse
import asyncio
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from evals.answers import CACHE, SCOPE, PageQuestion, index_pdf_folder, load_page_questions
from rag_core import prompts
from rag_core.core.kit import Kit
from rag_core.core.model import Hit
from rag_core.core.presets import resolve_preset
from rag_core.core.run import Run
from rag_core.evaluation import markdown_tables
from rag_core.evaluation.bulk_indexing import EVALUATION_TIMEOUT_S
from rag_core.evaluation.evaluation_cache import EvaluationCache
from rag_core.pipelines import search_with_pipeline
from rag_core.retrieval.excerpts import cut_passage
from rag_core.text.tokens import count_tokens

WHOLE = 1_000_000
LENGTHS = (WHOLE, 1100, 600)
CANDIDATES = 20
Gradings = dict[int, list["Grading"]]


class Grading:
    """The order that grades give the passages of one question, and the tokens that the prompt has."""

    def __init__(self, scores: Sequence[float], pages: Sequence[str], relevant: frozenset[str], tokens: int) -> None:
        self.order = sorted(range(len(scores)), key=lambda n: -scores[n])
        ranks = [rank for rank, n in enumerate(self.order, start=1) if pages[n] in relevant]
        self.reciprocal_rank = 1 / ranks[0] if ranks else 0.0
        self.tokens = tokens


async def grade_question(question: PageQuestion, kit: Kit) -> Mapping[int, Grading]:
    """Return the gradings of a question's candidates by the length of the excerpts, in characters."""
    query = resolve_preset("pages", top_k=CANDIDATES).build_query(question.text, SCOPE)
    found = await search_with_pipeline(query, kit, Run(EVALUATION_TIMEOUT_S), pipeline=query.preset.pipeline)
    hits = found.hits[:CANDIDATES]
    return {length: await _grade_excerpts(question, hits, length, kit) for length in LENGTHS}


async def _grade_excerpts(question: PageQuestion, hits: Sequence[Hit], length: int, kit: Kit) -> Grading:
    excerpts = [cut_passage(question.text, hit.chunk.content, max_chars=length) for hit in hits]
    prompt = prompts.build_grading_prompt(question.text, {f"p{n}": text for n, text in enumerate(excerpts, start=1)})
    scores = await kit.reranker.score_passages(question.text, excerpts)
    pages = [f"{Path(hit.chunk.source).name}#page={hit.chunk.page}" for hit in hits]
    return Grading(scores, pages, question.pages, count_tokens(prompt.text))


def format_gradings(gradings: Gradings) -> str:
    """Return a table: by length the tokens, the best page's reciprocal rank, and the agreement with whole passages."""
    rows = []
    for length, of in gradings.items():
        pairs = list(zip(gradings[WHOLE], of, strict=True))
        same = [whole.order[:1] == cut.order[:1] for whole, cut in pairs]
        shared = [len({*whole.order[:5]} & {*cut.order[:5]}) / 5 for whole, cut in pairs]
        rows.append(
            [
                "whole" if length == WHOLE else str(length),
                f"{statistics.mean(grading.tokens for grading in of):,.0f}",
                f"{statistics.mean(grading.reciprocal_rank for grading in of):.3f}",
                f"{statistics.mean(same):.2f}",
                f"{statistics.mean(shared):.2f}",
            ]
        )
    return markdown_tables.format_table(
        ["characters", "tokens in", "reciprocal rank of the page", "same first passage", "same among the first five"],
        rows,
    )


async def measure_excerpts(folder: Path, every: int, cache: EvaluationCache) -> Gradings:
    """Return the gradings of every n-th answerable question, by the length of the excerpts."""
    questions = [question for question in load_page_questions(folder) if question.pages][::every]
    kit = await index_pdf_folder(folder, cache)
    try:
        graded = [await grade_question(question, kit) for question in questions]
    finally:
        await kit.close()
    return {length: [each[length] for each in graded] for length in LENGTHS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=4, help="ask every n-th question only")
    given = parser.parse_args()
    cache = EvaluationCache(CACHE)
    try:
        print(format_gradings(asyncio.run(measure_excerpts(given.folder, given.every, cache))))
    finally:
        cache.close()


if __name__ == "__main__":
    main()
