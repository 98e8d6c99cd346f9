"""`rag eval run`: ranking quality and latency of each leg and pipeline on a labelled collection."""

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TypeVar

import numpy as np

from evals import markdown
from rag_core.composition import assembly
from rag_core.composition.choices import WANTS, provider
from rag_core.core.errors import InvalidRequest, Misconfigured, RagError, Unread
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Ranking, Scope, Vector
from rag_core.core.ports import ChunkStore, Probe
from rag_core.core.presets import Preset, resolve
from rag_core.core.run import Run
from rag_core.core.settings import DEFAULTS, Settings
from rag_core.evaluation import labelled, metrics
from rag_core.evaluation.bill import MODELS, Bill, CountedLLM
from rag_core.evaluation.cache import CACHE, Cache, CachedEmbedder, CachedReranker
from rag_core.evaluation.indexing import PATIENCE_S, index
from rag_core.evaluation.labelled import Labelled, Question
from rag_core.ingestion.enrichment import key_sentences
from rag_core.ingestion.indexing import Limits
from rag_core.providers.local_text import LocalText
from rag_core.service import consult
from rag_core.stores.azure_search.store import AzureSearchStore

T = TypeVar("T")

PIPELINES = ("standard", "rerank", "advanced")
DEPTH = 100  # hits per leg; several may be chunks of one document
TIMED = 10  # questions per row that are timed: without a cache a pipeline takes seconds per question

Ask = Callable[[Question, Bill, bool], Awaitable[Ranking]]  # the bool: ignore cached scores
Progress = Callable[[str, int, int], None]  # name of the work, done, total


@dataclass(frozen=True, slots=True)
class Row:
    """The result of one search: each query's scores, and the milliseconds of the first TIMED queries.

    `usd` is the cost of 1,000 such questions by model: measured for a hosted model (None: its price is unknown), else
    estimated. `difference` compares the row with the row named `against`.
    """

    pipeline: str
    scores: metrics.Scores
    times_ms: tuple[float, ...]
    bill: Bill
    usd: Mapping[str, float | None]
    against: str = ""
    difference: metrics.Difference | None = None

    @property
    def percentiles_ms(self) -> tuple[float, float]:
        """The 50th and the 95th percentile."""
        p50, p95 = np.percentile(self.times_ms, [50, 95])
        return float(p50), float(p95)

    def numbers(self) -> dict[str, str | float]:
        measures = metrics.among(self.scores, metrics.MEASURES)
        means = {measure: round(metrics.mean(self.scores, measure), 4) for measure in measures}
        p50, p95 = (round(ms, 1) for ms in self.percentiles_ms)
        return {"pipeline": self.pipeline, **means, "p50_ms": p50, "p95_ms": p95, "n": len(self.scores)}


@dataclass(frozen=True, slots=True)
class Report:
    """The report that `rag eval run` prints."""

    collection: str
    documents: int
    chunks: int
    rows: tuple[Row, ...]

    def json(self) -> dict[str, list[dict[str, str | float]]]:
        return {"rows": [row.numbers() for row in self.rows]}

    def table(self) -> str:
        """Format a Markdown table; `*` marks a difference whose 95 % interval excludes 0."""
        counts = f"{self.documents} documents, {self.chunks} chunks, {len(self.rows[0].scores)} queries"
        measures = metrics.among(self.rows[0].scores, metrics.MEASURES)
        columns = ["pipeline", *measures, "p50 ms", "p95 ms", f"{measures[0]} against, 95 % interval"]
        return f"{self.collection}: {counts}\n\n{markdown.table(columns, map(_cells, self.rows))}"


def run(
    directory: Path,
    *,
    queries: int | None = None,
    half: str = "",
    workflow_field: str | None = None,
    pipelines: Sequence[str] = PIPELINES,
    settings: Settings = DEFAULTS,
    cache: Path = CACHE,
    progress: Progress = lambda *_: None,
) -> Report:
    """Index a labelled folder into a temporary store and score each leg and pipeline on its first `queries` questions.

    `half` is one of `labelled.HALVES`, or "" for all questions. A judged document or page has the rank of its best
    chunk. `cache` holds vectors of documents and scores of pairs; timed queries compute both anew.

    Raises:
        Misconfigured: the folder's layout is unknown.
        InvalidRequest: there is no preset of a given name.
    """
    collection = labelled.load(directory, queries=queries, half=half, workflow_field=workflow_field)
    presets = {spec: preset(spec) for spec in pipelines}

    async def evaluate(indexed_collection: Bench) -> Report:
        leg_rows = [await indexed_collection.row(name, search) for name, search in indexed_collection.legs().items()]
        pipeline_rows = [
            await indexed_collection.row(spec, indexed_collection.pipeline(row_preset))
            for spec, row_preset in presets.items()
        ]
        return Report(
            collection.title,
            len(collection.uploads),
            indexed_collection.chunks,
            tuple(_compared(leg_rows, pipeline_rows)),
        )

    return measured(collection, evaluate, settings=settings, cache=cache, progress=progress)


def measured(
    found: Labelled,
    work: Callable[["Bench"], Awaitable[T]],
    *,
    settings: Settings,
    cache: Path,
    progress: Progress,
    hosted: bool = False,
) -> T:
    """Index the collection and return the result of `work` on it. Raises Misconfigured as `indexed` does."""
    evaluation_cache = Cache(cache)

    async def run_measurement() -> T:
        async with indexed(found, settings, evaluation_cache, progress, hosted=hosted) as indexed_collection:
            return await work(indexed_collection)

    try:
        return asyncio.run(run_measurement())
    finally:
        evaluation_cache.close()


def preset(said: str) -> Preset:
    """Parse a preset with overrides, such as "advanced" or "advanced:rewordings=0,how=vector".

    Raises:
        InvalidRequest: there is no such preset or number, or a number is out of its range.
    """
    name, _, numbers = said.partition(":")
    pairs = [pair.partition("=") for pair in numbers.split(",") if pair]
    try:
        return resolve(name, **{field: _value(field, value) for field, _, value in pairs})
    except ValueError:
        raise InvalidRequest("preset", f"{said}: write a number as in rewordings=0") from None


def _value(field: str, written: str) -> str | int | float:
    if field == "how":
        return written
    return int(written) if written.isdecimal() else float(written)


@dataclass(frozen=True, slots=True)
class Bench:
    """A labelled collection, indexed into a store of its own.

    The store's workflow ids are those of the collection with `prefix` in front.
    """

    labelled: Labelled
    kit: Kit
    settings: Settings
    cache: Cache
    progress: Progress
    hosted: bool
    prefix: str
    chunks: int

    def scope(self, workflow: str) -> Scope:
        return Scope(f"{self.prefix}{workflow}")

    def legs(self) -> Mapping[str, Ask]:
        """Return lexical, vector and hybrid search without a pipeline, by name; without an embedder only the first."""
        index = self.kit.index

        def build_leg_search(use_lexical: bool, use_vector: bool) -> Ask:
            async def search(question: Question, _: Bill, __: bool) -> Ranking:
                vector = await _vector(question.text, index) if use_vector else None
                probe = Probe("original", question.text if use_lexical else "", vector)
                if not probe.words and probe.vector is None:
                    return []
                return (await index.find([probe], self.scope(question.workflow), limit=DEPTH))[0]

            return search

        vector_searches = (
            {"meaning": build_leg_search(False, True), "hybrid": build_leg_search(True, True)}
            if index.embedder.dimensions
            else {}
        )
        return {"words": build_leg_search(True, False), **vector_searches}

    def pipeline(self, chosen: Preset) -> Ask:
        """Return a search by the preset's pipeline: with the kit's models, or local techniques and a token count."""
        reranker = assembly.local_reranker(self.settings)  # a new one: the previous row's has cached pair scores

        async def search(question: Question, usage: Bill, recompute: bool) -> Ranking:
            cached_reranker = CachedReranker(reranker, self.cache, recompute)
            llm = self.kit.llm if self.hosted else CountedLLM(LocalText(cached_reranker, key_sentences), usage)
            query, run = chosen.query(question.text, self.scope(question.workflow)), Run(PATIENCE_S)
            run_kit = replace(self.kit, reranker=cached_reranker, llm=llm)
            result = await consult(query, run_kit, run, pipeline=chosen.pipeline)
            usage.book(run, query)
            return result.hits

        return search

    async def row(self, name: str, ask: Ask) -> Row:
        """Ask the questions one by one, after a warm-up question that is neither scored nor counted."""
        questions = self.labelled.questions
        rankings: dict[str, Ranking] = {}
        times: list[float] = []
        usage = Bill()
        await ask(replace(next(iter(questions.values())), text="warm up"), Bill(), True)
        for number, (question_id, question) in enumerate(questions.items(), start=1):
            started_s = time.perf_counter()
            rankings[question_id] = await ask(question, usage, number <= TIMED)
            times.append((time.perf_counter() - started_s) * 1000)
            self.progress(name, number, len(questions))
        return Row(name, self.labelled.score(rankings), tuple(times[:TIMED]), usage, self._usd(usage))

    def _usd(self, usage: Bill) -> dict[str, float | None]:
        usd_by_model = (
            {self.kit.llm.name: usage.paid_usd} if self.hosted else {model: usage.usd(model) for model in MODELS}
        )
        return {
            model: None if usd is None else 1000 * usd / len(self.labelled.questions)
            for model, usd in usd_by_model.items()
        }


@asynccontextmanager
async def indexed(
    found: Labelled, settings: Settings, cache: Cache, progress: Progress, *, hosted: bool = False
) -> AsyncIterator[Bench]:
    """Index a collection for the duration of the block; `hosted` uses the models and the store of the settings.

    Raises:
        Misconfigured: `hosted` is set, and the settings name no hosted service.
    """
    with tempfile.TemporaryDirectory() as folder:
        isolated_settings = _apart(settings, Path(folder), hosted=hosted)
        is_shared_store = bool(isolated_settings.azure_search_endpoint or isolated_settings.postgres_url)
        kit = assembly.build(isolated_settings)
        kit = replace(kit, index=replace(kit.index, embedder=CachedEmbedder(kit.index.embedder, cache)))
        prefix = f"eval-{token_hex(4)}-" if is_shared_store else ""
        indexed_collection = Bench(found, kit, isolated_settings, cache, progress, hosted, prefix, 0)
        limits = Limits(isolated_settings.max_upload_bytes, PATIENCE_S)
        uploads = [(indexed_collection.scope(workflow), upload) for workflow, upload in found.uploads]
        try:
            chunk_count = await index(uploads, kit, limits=limits, progress=partial(progress, "index"))
            yield replace(indexed_collection, chunks=chunk_count)
        finally:
            try:
                if is_shared_store:
                    await _purge({scope for scope, _ in uploads}, kit.index.store)
            finally:
                await kit.close()


def _apart(settings: Settings, folder: Path, *, hosted: bool) -> Settings:
    """Return settings for a temporary store that keeps nothing elsewhere.

    Unless `hosted`, no service is called: neither the configured models nor the search service nor the web.
    """
    temporary = replace(
        settings, data_dir=folder, archive_url=None, redis_url=None, jobs_storage=None, keep_originals=False
    )
    if not hosted:
        no_services = {"azure_search_endpoint": None, "postgres_url": None, "doc_intelligence_endpoint": None}
        return replace(temporary, llm_provider="local", web_fallback=False, **no_services)  # type: ignore[arg-type]
    if provider(settings) == "local" and settings.azure_search_endpoint is None:
        models = ", ".join(name for names in WANTS.values() for name in names)
        raise Misconfigured(f"nothing hosted is configured: set AZURE_SEARCH_ENDPOINT or one of {models}")
    return temporary


async def _purge(scopes: Iterable[Scope], store: ChunkStore) -> None:
    """Purge these workflows, and print those that may still hold documents.

    It does not raise, because an error here would lose the measured scores or hide an earlier error.
    """
    is_flushed = await _sent(store)  # before the documents are listed: an interrupted upload is not in the list yet
    unconfirmed = [scope.workflow_id for scope in scopes if not (await _emptied(scope, store) and is_flushed)]
    if unconfirmed:
        await _sent(store)
        print(
            f"could not confirm that these workflows are purged; check them: {', '.join(sorted(unconfirmed))}",
            file=sys.stderr,
        )


async def _emptied(scope: Scope, store: ChunkStore) -> bool:
    try:
        documents = await store.documents(scope)
    except RagError:
        return False
    return all([await _purged(document.id, scope, store) for document in documents])


async def _purged(document_id: str, scope: Scope, store: ChunkStore) -> bool:
    try:
        await store.purge(document_id, scope)
    except RagError:
        return False
    return True


async def _sent(store: ChunkStore) -> bool:
    """Flush the store's outbox, which is in the temporary folder; tell whether it is empty."""
    return not (isinstance(store, AzureSearchStore) and await store.flush())


async def _vector(text: str, index: Index) -> Vector | None:
    """Embed a question; return None for a script that the model does not read, as in the pipelines."""
    with suppress(Unread):
        return (await index.embed([text]))[0]
    return None


def _compared(legs: Sequence[Row], pipelines: Iterable[Row]) -> list[Row]:
    """Compare hybrid search with its better leg, and each pipeline with hybrid search."""
    *leg_results, hybrid = legs
    measure = metrics.among(hybrid.scores, metrics.MEASURES)[0]
    best_leg = max(leg_results, key=lambda row: metrics.mean(row.scores, measure), default=None)
    return [*leg_results, _against(hybrid, best_leg, measure), *(_against(row, hybrid, measure) for row in pipelines)]


def _against(row: Row, other: Row | None, measure: str) -> Row:
    if other is None:
        return row
    return replace(row, against=other.pipeline, difference=metrics.compare(row.scores, other.scores, measure))


def _cells(row: Row) -> list[str]:
    name, *means, p50, p95, _ = row.numbers().values()
    difference = f"{row.against} {row.difference}" if row.difference else ""
    return [str(name), *(f"{x:.3f}" for x in means), f"{p50:.0f}", f"{p95:.0f}", difference]
