"""What a question costs with the local models: CPU, and the pairs that the cross-encoder reads, by pipeline.

python -m evals.bench_questions FOLDER [--questions 12] [--half first|second]

FOLDER is a labelled collection. All CPU of the process counts, of all threads; each question is a request of its own,
after one that loads the models and is not counted.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from evals.answers import CACHE, SCOPE, index_in_memory
from rag_core.composition import assembly
from rag_core.core.kit import Kit
from rag_core.core.ports import Reranker
from rag_core.core.presets import resolve_preset
from rag_core.core.run import Run
from rag_core.evaluation import markdown_tables
from rag_core.evaluation.bulk_indexing import EVALUATION_TIMEOUT_S
from rag_core.evaluation.evaluation_cache import EvaluationCache
from rag_core.evaluation.labelled_collection import HALVES, LabelledCollection, load_labelled_collection
from rag_core.ingestion.enrichment import select_key_sentences
from rag_core.pipelines import answer_with_pipeline, search_with_pipeline
from rag_core.providers.local_techniques import LocalTechniques
from rag_core.retrieval.extractive_answers import get_least_answerability
from rag_core.retrieval.shared_scores import SharingReranker

REQUESTS: dict[str, tuple[Callable[..., Awaitable[object]], str]] = {
    **{name: (search_with_pipeline, name) for name in ("standard", "rerank", "advanced")},
    "ask": (answer_with_pipeline, "standard"),
}


@dataclass(slots=True)
class CountingReranker:
    """A reranker that notes the pairs it scores."""

    reranker: Reranker
    pairs: list[tuple[str, str]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.reranker.name

    async def score_passages(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        self.pairs += ((text, passage) for passage in passages)
        return await self.reranker.score_passages(text, passages)


@dataclass(frozen=True, slots=True)
class RequestCost:
    cpu_ms: float
    pairs: int
    repeated_pairs: int


async def index_for_counting(collection: LabelledCollection, cache: EvaluationCache) -> tuple[Kit, CountingReranker]:
    """Return a kit with the collection indexed, whose models score every pair anew, and the count of the pairs."""
    index = (await index_in_memory([upload for _, upload in collection.uploads], cache)).index
    kit = assembly.build_in_memory_kit()
    assert isinstance(kit.reranker, SharingReranker)
    counting = CountingReranker(kit.reranker.reranker)
    shared = SharingReranker(counting)
    embedder = kit.index.embedder  # without the cache of documents' vectors
    least = get_least_answerability(kit.entailment_scorer)  # as `build_llm` has it
    llm = LocalTechniques(shared, select_key_sentences, least_answerability=least)
    return replace(kit, index=replace(index, embedder=embedder), reranker=shared, llm=llm), counting


async def measure_request(name: str, text: str, kit: Kit, counting: CountingReranker) -> RequestCost:
    work, preset_name = REQUESTS[name]
    preset = resolve_preset(preset_name)
    counting.pairs.clear()
    began = time.process_time()
    await work(preset.build_query(text, SCOPE), kit, Run(EVALUATION_TIMEOUT_S), pipeline=preset.pipeline)
    cpu_ms = 1000 * (time.process_time() - began)
    return RequestCost(cpu_ms, len(counting.pairs), len(counting.pairs) - len(set(counting.pairs)))


async def measure_requests(
    collection: LabelledCollection, questions: Sequence[str], cache: EvaluationCache
) -> dict[str, list[RequestCost]]:
    """Return what each question costs by each kind of request; the kinds take turns."""
    kit, counting = await index_for_counting(collection, cache)
    try:
        for name in REQUESTS:
            await measure_request(name, "warm up", kit, counting)
        costs: dict[str, list[RequestCost]] = {name: [] for name in REQUESTS}
        for text in questions:
            for name, list_of_kind in costs.items():
                list_of_kind.append(await measure_request(name, text, kit, counting))
        return costs
    finally:
        await kit.close()


def format_costs(costs: dict[str, list[RequestCost]]) -> str:
    """Format the medians, and the range of the CPU from the least to the greatest."""
    rows = [
        [
            name,
            f"{statistics.median(one.cpu_ms for one in of):.0f}",
            f"{min(one.cpu_ms for one in of):.0f} to {max(one.cpu_ms for one in of):.0f}",
            f"{statistics.median(one.pairs for one in of):.0f}",
            sum(one.repeated_pairs for one in of),
        ]
        for name, of in costs.items()
    ]
    return markdown_tables.format_table(["request", "ms CPU", "range", "pairs", "pairs scored twice"], rows)


def choose_questions(collection: LabelledCollection, count: int) -> list[str]:
    """Return about so many questions, evenly spread over the collection's."""
    texts = [question.text for question in collection.questions.values()]
    return texts[:: max(1, len(texts) // count)][:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=12)
    parser.add_argument("--half", choices=HALVES, default="second")
    given = parser.parse_args()
    collection = load_labelled_collection(given.folder, half=given.half)
    chosen = choose_questions(collection, given.questions)
    cache = EvaluationCache(CACHE)
    try:
        print(format_costs(asyncio.run(measure_requests(collection, chosen, cache))))
    finally:
        cache.close()


if __name__ == "__main__":
    main()
