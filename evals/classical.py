"""`python -m evals.classical FOLDER`: what the classical pipeline answers from a labelled corpus, and in which time.

FOLDER has `corpus.jsonl[.gz]`, `queries.jsonl` and `qrels.tsv` (BEIR). Each document is indexed as a text of its own
with the preset's chunks (512 tokens, 50 shared), each question asked through `service.ask`, twice: the second time from
the cache. `--served` puts the chat model behind the OpenAI protocol on the loopback interface (`local_emulator`): the
same techniques, with what a real client adds. Times are this process's own; nothing is remembered between questions but
the vectors of documents.
"""

import argparse
import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from evals.answers import compute_term_recall
from local_emulator.chat_techniques import ChatTechniques
from local_emulator.judging import WordJudge
from local_emulator.model_service import ModelService
from local_emulator.search_service.serving import serve_wsgi
from rag_core.answering.citation_styles import render_cited_answer
from rag_core.composition import assembly, model_assembly
from rag_core.core.kit import Kit
from rag_core.core.model import Answer, Scope
from rag_core.core.ports import LLM
from rag_core.core.presets import resolve_preset
from rag_core.core.run import Run
from rag_core.core.settings import DEFAULT_SETTINGS
from rag_core.evaluation import beir
from rag_core.evaluation.bulk_indexing import EVALUATION_TIMEOUT_S
from rag_core.evaluation.evaluation_cache import CachedEmbedder, EvaluationCache
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.enrichment import select_key_sentences
from rag_core.ingestion.indexing import index_document
from rag_core.ingestion.upload import Upload, UploadLimits
from rag_core.pipelines import answer_with_pipeline
from rag_core.providers.local_techniques import LocalTechniques
from rag_core.providers.openai import OpenAIChatModel
from rag_core.providers.provider_profiles import PROVIDER_PROFILES

SCOPE = Scope("classical")
CACHE = Path(".cache/classical.sqlite3")
CHUNKING = Chunking(chunk_size=512, overlap=50)  # REQUIREMENTS 1.6, the preset's row
BUDGET: Mapping[str, tuple[str, float]] = {  # what, and the milliseconds that its 95th percentile may take
    "S4-33": ("a question, answered anew", 2000),
    "S4-34": ("the same from the cache", 200),
    "S4-35": ("embedding the question", 500),
    "S4-36": ("both legs and their fusion", 500),
    "S4-37": ("reranking", 200),
    "S4-38": ("writing the answer", 3000),
}


@dataclass(frozen=True, slots=True)
class TimedAnswer:
    """A question, its answer, the documents that are relevant, and the milliseconds of each line of the budget."""

    id: str
    text: str
    answer: Answer
    relevant: frozenset[str]
    reference: str
    times_ms: Mapping[str, float]

    @property
    def documents_cited(self) -> list[str]:
        return list(dict.fromkeys(c.document_id for claim in self.answer.claims for c in claim.citations))


def find_percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def format_budget(asked: Sequence[TimedAnswer]) -> str:
    """Format the documents' targets against what was measured; a miss is called one."""
    lines = ["| | target p95, ms | p50 | p95 | |", "| --- | --- | --- | --- | --- |"]
    for id, (what, target) in BUDGET.items():
        values = [one.times_ms[id] for one in asked if id in one.times_ms]
        p50, p95 = (find_percentile(values, share) for share in (0.5, 0.95))
        met = "met" if p95 < target else "**missed**"
        lines.append(f"| {id} {what} | {target:.0f} | {p50:.0f} | {p95:.0f} | {met} |")
    return "\n".join(lines)


def format_quality(asked: Sequence[TimedAnswer]) -> str:
    """Format how many were answered, and whether what was cited is right and holds."""
    answered = [one for one in asked if one.answer.status == "answered"]
    claims = [claim for one in answered for claim in one.answer.claims]
    rows: Mapping[str, Sequence[float]] = {
        "answered": [one.answer.status == "answered" for one in asked],
        "a relevant document is among the passages": [
            any(p.hit.chunk.document_id in one.relevant for p in one.answer.evidence) for one in asked
        ],
        "first document cited is relevant": [bool({*one.documents_cited[:1]} & one.relevant) for one in asked],
        "a document cited is relevant": [bool({*one.documents_cited} & one.relevant) for one in asked],
        "claims verified": [claim.verdict == "verified" for claim in claims],
        "claims with a citation": [bool(claim.citations) for claim in claims],
        "recall of the reference answer's terms": [
            compute_term_recall(one.reference, one.answer.text) for one in asked
        ],
    }
    lines = ["| | share | n |", "| --- | --- | --- |"]
    return "\n".join(
        [*lines, *(f"| {name} | {_compute_mean(values):.3f} | {len(values)} |" for name, values in rows.items())]
    )


async def measure_classical(
    folder: Path, *, every: int, passages: int, llm: LLM | None, cache: EvaluationCache
) -> list[TimedAnswer]:
    """Ask every n-th question of the relevant documents and the first others, `passages` together."""
    collection = beir.load_beir_collection(folder)
    chosen = list(collection.queries)[::every]
    wanted = {id for query in chosen for id, grade in collection.judgements[query].items() if grade > 0}
    kept = sorted(collection.documents, key=lambda passage: passage.id not in wanted)[: max(passages, len(wanted))]
    references = {str(r["_id"]): str(r["metadata"].get("reference_answer", "")) for r in _read_queries(folder)}
    kit = await _index_passages(kept, llm, cache)
    try:
        return [
            await _ask_twice(id, collection.queries[id], collection.judgements[id], references[id], kit)
            for id in chosen
        ]
    finally:
        await kit.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=1, help="ask every n-th question only")
    parser.add_argument("--passages", type=int, default=1000, help="index at most so many documents")
    parser.add_argument("--served", action="store_true", help="ask the chat model over HTTP")
    parser.add_argument("--show", nargs="*", default=(), help="ids of questions whose answers are printed")
    given = parser.parse_args()
    cache = EvaluationCache(CACHE)
    with _open_chat_model(given.served) as llm:
        asked = asyncio.run(
            measure_classical(given.folder, every=given.every, passages=given.passages, llm=llm, cache=cache)
        )
    cache.close()
    halves = {"even": asked[::2], "odd": asked[1::2]}
    print(
        format_budget(asked),
        *(f"{name}\n\n{format_quality(half)}" for name, half in {"all": asked, **halves}.items()),
        sep="\n\n",
    )
    for one in asked:
        if one.id in given.show:
            print(
                f"\n{one.id}: {one.text}\n{one.answer.confidence.value}\n{render_cited_answer(one.answer, 'sections')}"
            )


@contextmanager
def _open_chat_model(over_http: bool) -> Iterator[LLM | None]:
    if not over_http:
        yield None
        return
    embedder, reranker = (
        model_assembly.build_local_embedder(DEFAULT_SETTINGS),
        model_assembly.build_local_reranker(DEFAULT_SETTINGS),
    )
    techniques = ChatTechniques(LocalTechniques(reranker, select_key_sentences), WordJudge())
    with serve_wsgi(ModelService(embedder, techniques, keys={"key"})) as url:
        yield OpenAIChatModel(replace(PROVIDER_PROFILES["openai"], base_url=f"{url}/v1"), key="key")


async def _index_passages(passages: Sequence[beir.BeirDocument], llm: LLM | None, cache: EvaluationCache) -> Kit:
    kit = assembly.build_in_memory_kit()
    embedder = kit.index.embedder
    remembering = replace(kit, index=replace(kit.index, embedder=CachedEmbedder(embedder, cache)))
    limits = UploadLimits(DEFAULT_SETTINGS.max_upload_bytes, EVALUATION_TIMEOUT_S)
    for passage in passages:
        upload = Upload(content=passage.text, title=passage.title, source=passage.id, document_id=passage.id)
        await index_document(upload, SCOPE, remembering, Run(EVALUATION_TIMEOUT_S), chunking=CHUNKING, limits=limits)
    return replace(remembering, llm=llm or kit.llm)


async def _ask_twice(id: str, text: str, judged: Mapping[str, int], reference: str, kit: Kit) -> TimedAnswer:
    query = resolve_preset("classical").build_query(text, SCOPE)
    run = Run(EVALUATION_TIMEOUT_S)
    began = time.perf_counter()
    answer = await answer_with_pipeline(query, kit, run, pipeline="classical")
    first = time.perf_counter()
    await answer_with_pipeline(query, kit, Run(EVALUATION_TIMEOUT_S), pipeline="classical")
    whole, again = (first - began) * 1000, (time.perf_counter() - first) * 1000
    steps = run.timings
    times_ms = {
        "S4-33": whole,
        "S4-34": again,
        "S4-35": steps["embed"],
        "S4-36": steps["words"] + steps["meaning"],  # an upper bound: the two run at once
        "S4-37": steps.get("rerank", 0.0),
    }
    times_ms |= {"S4-38": steps["answer"]} if "answer" in steps else {}
    return TimedAnswer(id, text, answer, frozenset(d for d, grade in judged.items() if grade > 0), reference, times_ms)


def _read_queries(folder: Path) -> Iterator[dict[str, dict[str, str]]]:
    return beir.read_jsonl_records(folder / "queries.jsonl")


def _compute_mean(values: Sequence[float]) -> float:
    return sum(map(float, values)) / max(1, len(values))


if __name__ == "__main__":
    main()
