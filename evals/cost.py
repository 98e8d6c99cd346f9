"""`python -m evals.cost FOLDER`: what a question costs with a hosted model, by pipeline, counted from the real prompts.

FOLDER is a set of PDFs as for `evals.answers`. Every prompt is made as for a hosted model and counted in its tokens;
what answers is the local stand-in, so the replies counted are its own: grades, wordings and sentences as asked for.
"""

import argparse
import asyncio
import statistics
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

from evals import markdown
from evals.answers import CACHE, PATIENCE_S, SCOPE, indexed, load
from evals.bill import MODELS, Bill, CountedEmbedder, CountedLLM
from evals.cache import Cache
from rag_core.kit import Kit
from rag_core.presets import resolve
from rag_core.run import Run
from rag_core.service import ask, consult

PIPELINES = ("standard", "rerank", "advanced")
ANSWERING = (*PIPELINES, "pages", "classical")


async def found(text: str, name: str, kit: Kit) -> object:
    preset = resolve(name)
    return await consult(preset.query(text, SCOPE), kit, Run(PATIENCE_S), pipeline=preset.pipeline)


async def answered(text: str, name: str, kit: Kit) -> object:
    preset = resolve(name)
    return await ask(preset.query(text, SCOPE), kit, Run(PATIENCE_S), pipeline=preset.pipeline)


async def billed(work: Callable[[str, str, Kit], Awaitable[object]], text: str, name: str, kit: Kit) -> Bill:
    """What one question came to."""
    bill = Bill()
    index = replace(kit.index, embedder=CountedEmbedder(kit.index.embedder, bill))
    await work(text, name, replace(kit, index=index, llm=CountedLLM(kit.llm, bill)))
    return bill


def row(name: str, bills: Sequence[Bill]) -> str:
    """A line of the table: means, the most calls of a question, and USD for 1,000 questions."""
    calls = [len(bill.calls) for bill in bills]
    tasks = ", ".join(dict.fromkeys(task for bill in bills for task in bill.calls)) or "none"
    tokens = [
        statistics.mean(values)
        for values in zip(*[(b.input_tokens, b.output_tokens, b.embedded_tokens) for b in bills], strict=True)
    ]
    money = [f"{1000 * statistics.mean(bill.usd(model) for bill in bills):.2f}" for model in MODELS]
    cells = [name, tasks, f"{statistics.mean(calls):.1f}, {max(calls)}", *[f"{n:,.0f}" for n in tokens], *money]
    return markdown.line(cells)


async def measure(folder: Path, every: int, cache: Cache) -> list[str]:
    """The table's lines."""
    questions = [question.text for question in load(folder)[::every]]
    kit = await indexed(folder, cache)
    models = " | ".join(f"USD per 1,000, {model}" for model in MODELS)
    lines = [f"{len(questions)} questions of {folder.name}", ""]
    lines += [f"| pipeline | chat calls | mean, most | tokens in | out | embedded | {models} |"]
    lines += ["| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    try:
        for work, names in ((found, PIPELINES), (answered, ANSWERING)):
            for name in names:
                bills = [await billed(work, text, name, kit) for text in questions]
                lines.append(row(f"{'find' if work is found else 'ask'}: {name}", bills))
    finally:
        await kit.close()
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=10, help="ask every n-th question only")
    given = parser.parse_args()
    cache = Cache(CACHE)
    try:
        print("\n".join(asyncio.run(measure(given.folder, given.every, cache))))
    finally:
        cache.close()


if __name__ == "__main__":
    main()
