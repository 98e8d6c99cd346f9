"""`python -m evals.cost FOLDER`: what a question costs with a hosted model, by pipeline, counted from the real prompts.

FOLDER is a set of PDFs as for `evals.answers`. Every prompt is made as for a hosted model and counted in its tokens;
what answers is the local stand-in, so the replies counted are its own: grades, wordings and sentences as asked for. It
imagines no answer: where one is asked for, `rag_core.evaluation.model_usage.HYDE_ANSWER_TOKENS` are counted in its
place.
"""

import argparse
import asyncio
import statistics
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from pathlib import Path
from typing import Any

from evals import record
from evals.answers import CACHE, SCOPE, index_pdf_folder, load_page_questions
from rag_core.core.kit import Kit
from rag_core.core.model import Vector
from rag_core.core.ports import Embedder
from rag_core.core.presets import resolve_preset
from rag_core.core.run import Run
from rag_core.evaluation import markdown_tables
from rag_core.evaluation.bulk_indexing import EVALUATION_TIMEOUT_S
from rag_core.evaluation.evaluation_cache import EvaluationCache
from rag_core.evaluation.model_usage import PRICED_MODELS, CountingLLM, ModelUsage
from rag_core.pipelines import answer_with_pipeline, search_with_pipeline
from rag_core.text.tokens import count_tokens

PIPELINES = ("standard", "rerank", "advanced")
ANSWERING = (*PIPELINES, "pages", "classical")


@dataclass(frozen=True, slots=True)
class CountingEmbedder:
    """An embedder that counts the tokens which a hosted model would read."""

    inner: Embedder
    usage: ModelUsage

    @property
    def space(self) -> str:
        return self.inner.space

    @property
    def dimensions(self) -> int:
        return self.inner.dimensions

    async def embed_query(self, text: str) -> Vector:
        self.usage.embedded_tokens += count_tokens(text)
        return await self.inner.embed_query(text)

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.usage.embedded_tokens += sum(map(count_tokens, texts))
        return await self.inner.embed_documents(texts)


async def count_usage(work: Callable[..., Awaitable[object]], text: str, name: str, kit: Kit) -> ModelUsage:
    """Return the model usage of one question, by `consult` or by `ask`."""
    bill, preset = ModelUsage(), resolve_preset(name)
    index = replace(kit.index, embedder=CountingEmbedder(kit.index.embedder, bill))
    counted = replace(kit, index=index, llm=CountingLLM(kit.llm, bill))
    await work(preset.build_query(text, SCOPE), counted, Run(EVALUATION_TIMEOUT_S), pipeline=preset.pipeline)
    return bill


def summarize_usage(bills: Sequence[ModelUsage]) -> dict[str, Any]:
    """Return means, the most calls of a question, and USD for 1,000 questions by model."""
    calls = [len(bill.chat_tasks) for bill in bills]
    return {
        "tasks": list(dict.fromkeys(task for bill in bills for task in bill.chat_tasks)),
        "calls": statistics.mean(calls),
        "most": max(calls),
        "input_tokens": round(statistics.mean(bill.input_tokens for bill in bills)),
        "output_tokens": round(statistics.mean(bill.output_tokens for bill in bills)),
        "embedded_tokens": round(statistics.mean(bill.embedded_tokens for bill in bills)),
        "usd": {model: 1000 * statistics.mean(bill.estimate_usd(model) for bill in bills) for model in PRICED_MODELS},
    }


def format_cost_table(found: record.Result) -> str:
    head = ["pipeline", "chat calls", "tokens in", "out", "embedded"]
    return markdown_tables.format_table(
        [*head, *(f"USD per 1,000, {model}" for model in PRICED_MODELS)], starmap(_format_cost_cells, found.items())
    )


def _format_cost_cells(name: str, of: Mapping[str, Any]) -> list[str]:
    tokens = [f"{of[kind]:,}" for kind in ("input_tokens", "output_tokens", "embedded_tokens")]
    money = [f"{usd:.2f}" for usd in of["usd"].values()]
    return [name, ", ".join(of["tasks"]) or "none", *tokens, *money]


async def measure_costs(folder: Path, every: int, cache: EvaluationCache) -> record.Result:
    """Return the usage that was counted, by pipeline."""
    questions = [question.text for question in load_page_questions(folder)[::every]]
    kit = await index_pdf_folder(folder, cache)
    found: dict[str, Any] = {}
    try:
        for work, names in ((search_with_pipeline, PIPELINES), (answer_with_pipeline, ANSWERING)):
            for name in names:
                bills = [await count_usage(work, text, name, kit) for text in questions]
                found[f"{'find' if work is search_with_pipeline else 'ask'}: {name}"] = summarize_usage(bills)
    finally:
        await kit.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=10, help="ask every n-th question only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep what was found")
    given = parser.parse_args()
    cache = EvaluationCache(CACHE)

    def measure_and_print() -> record.Result:
        found = asyncio.run(measure_costs(given.folder, given.every, cache))
        print(f"every {given.every}. question of {given.folder.name}\n\n{format_cost_table(found)}")
        return found

    try:
        record.record_result(
            given.json, f"python -m evals.cost {given.folder.name} --every {given.every}", measure_and_print
        )
    finally:
        cache.close()


if __name__ == "__main__":
    main()
