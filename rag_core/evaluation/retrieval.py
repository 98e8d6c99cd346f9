"""`rag eval run`: how well each leg and pipeline ranks a labelled collection, and how long it takes."""

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
DEPTH = 100  # hits a leg brings: several may be chunks of one document
TIMED = 10  # queries a row is timed on: remembering nothing costs a pipeline seconds a query

Ask = Callable[[Question, Bill, bool], Awaitable[Ranking]]  # the bool: everything must be computed afresh
Progress = Callable[[str, int, int], None]  # what is being done, how much of it is done, of how much


@dataclass(frozen=True, slots=True)
class Row:
    """One way of searching: each query's scores, and the milliseconds of the first TIMED.

    `usd` is what 1,000 such questions cost, by model: really, of a hosted one (None: its price is not known), or would.
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
        """The 50th and the 95th."""
        p50, p95 = np.percentile(self.times_ms, [50, 95])
        return float(p50), float(p95)

    def numbers(self) -> dict[str, str | float]:
        shown = metrics.among(self.scores, metrics.MEASURES)
        means = {measure: round(metrics.mean(self.scores, measure), 4) for measure in shown}
        p50, p95 = (round(ms, 1) for ms in self.percentiles_ms)
        return {"pipeline": self.pipeline, **means, "p50_ms": p50, "p95_ms": p95, "n": len(self.scores)}


@dataclass(frozen=True, slots=True)
class Report:
    """What `rag eval run` prints."""

    collection: str
    documents: int
    chunks: int
    rows: tuple[Row, ...]

    def json(self) -> dict[str, list[dict[str, str | float]]]:
        return {"rows": [row.numbers() for row in self.rows]}

    def table(self) -> str:
        """Markdown; `*` marks a difference whose 95 % interval leaves out 0."""
        counts = f"{self.documents} documents, {self.chunks} chunks, {len(self.rows[0].scores)} queries"
        shown = metrics.among(self.rows[0].scores, metrics.MEASURES)
        columns = ["pipeline", *shown, "p50 ms", "p95 ms", f"{shown[0]} against, 95 % interval"]
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
    """Index a labelled folder into a store of its own, ask its first `queries` questions in every way, and score.

    A `half` is "first" or "second" of `labelled.HALVES`.

    What is judged stands where its best chunk does. Vectors of documents and scores of pairs are remembered in `cache`,
    but not in times: a question's vector is always made, and the pairs of a timed query are always judged.

    Raises:
        Misconfigured: the folder is in no layout that is known.
        InvalidRequest: no preset of that name.
    """
    found = labelled.load(directory, queries=queries, half=half, workflow_field=workflow_field)
    presets = {said: preset(said) for said in pipelines}

    async def evaluated(bench: Bench) -> Report:
        legs = [await bench.row(name, ask) for name, ask in bench.legs().items()]
        rows = [await bench.row(said, bench.pipeline(chosen)) for said, chosen in presets.items()]
        return Report(found.title, len(found.uploads), bench.chunks, tuple(_compared(legs, rows)))

    return measured(found, evaluated, settings=settings, cache=cache, progress=progress)


def measured(
    found: Labelled,
    work: Callable[["Bench"], Awaitable[T]],
    *,
    settings: Settings,
    cache: Path,
    progress: Progress,
    hosted: bool = False,
) -> T:
    """What `work` makes of the collection, indexed. Raises Misconfigured as `indexed` does."""
    remembered = Cache(cache)

    async def done() -> T:
        async with indexed(found, settings, remembered, progress, hosted=hosted) as bench:
            return await work(bench)

    try:
        return asyncio.run(done())
    finally:
        remembered.close()


def preset(said: str) -> Preset:
    """A preset by its name, with numbers of its own: "advanced" or "advanced:rewordings=0,how=vector".

    Raises:
        InvalidRequest: there is no such preset or number, or it is out of its range.
    """
    name, _, numbers = said.partition(":")
    pairs = [pair.partition("=") for pair in numbers.split(",") if pair]
    try:
        return resolve(name, **{field: _value(field, value) for field, _, value in pairs})
    except ValueError:
        raise InvalidRequest("preset", f"{said}: a number is written like rewordings=0") from None


def _value(field: str, written: str) -> str | int | float:
    if field == "how":
        return written
    return int(written) if written.isdecimal() else float(written)


@dataclass(frozen=True, slots=True)
class Bench:
    """A collection in a store of its own, ready to be asked.

    Each of its workflows is called `prefix` and its own name in the store.
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
        """Searching by words only, by meaning only and by both, without a pipeline; by words without an embedder."""
        index = self.kit.index

        def leg(words: bool, meaning: bool) -> Ask:
            async def ask(question: Question, _: Bill, __: bool) -> Ranking:
                vector = await _vector(question.text, index) if meaning else None
                probe = Probe("original", question.text if words else "", vector)
                if not probe.words and probe.vector is None:
                    return []
                return (await index.find([probe], self.scope(question.workflow), limit=DEPTH))[0]

            return ask

        by_meaning = {"meaning": leg(False, True), "hybrid": leg(True, True)} if index.embedder.dimensions else {}
        return {"words": leg(True, False), **by_meaning}

    def pipeline(self, chosen: Preset) -> Ask:
        """Ask by the preset's pipeline: the models of the kit, or local techniques on whose prompts a price is put."""
        reranker = assembly.local_reranker(self.settings)  # its own: the one of the row before remembers pairs

        async def ask(question: Question, bill: Bill, afresh: bool) -> Ranking:
            judge = CachedReranker(reranker, self.cache, afresh)
            llm = self.kit.llm if self.hosted else CountedLLM(LocalText(judge, key_sentences), bill)
            query, run = chosen.query(question.text, self.scope(question.workflow)), Run(PATIENCE_S)
            parts = replace(self.kit, reranker=judge, llm=llm)
            found = await consult(query, parts, run, pipeline=chosen.pipeline)
            bill.book(run, query)
            return found.hits

        return ask

    async def row(self, name: str, ask: Ask) -> Row:
        """Every question in turn, alone; a first one has the models loaded, and is neither scored nor billed."""
        questions = self.labelled.questions
        found: dict[str, Ranking] = {}
        times: list[float] = []
        bill = Bill()
        await ask(replace(next(iter(questions.values())), text="warm up"), Bill(), True)
        for number, (id, question) in enumerate(questions.items(), start=1):
            began = time.perf_counter()
            found[id] = await ask(question, bill, number <= TIMED)
            times.append((time.perf_counter() - began) * 1000)
            self.progress(name, number, len(questions))
        return Row(name, self.labelled.score(found), tuple(times[:TIMED]), bill, self._usd(bill))

    def _usd(self, bill: Bill) -> dict[str, float | None]:
        spent = {self.kit.llm.name: bill.paid_usd} if self.hosted else {model: bill.usd(model) for model in MODELS}
        return {
            model: None if usd is None else 1000 * usd / len(self.labelled.questions) for model, usd in spent.items()
        }


@asynccontextmanager
async def indexed(
    found: Labelled, settings: Settings, cache: Cache, progress: Progress, *, hosted: bool = False
) -> AsyncIterator[Bench]:
    """Index a collection, for as long as the block runs; `hosted` by and into what the settings name.

    Raises:
        Misconfigured: `hosted`, and the settings name nothing hosted.
    """
    with tempfile.TemporaryDirectory() as folder:
        chosen = _apart(settings, Path(folder), hosted=hosted)
        shared = bool(chosen.azure_search_endpoint or chosen.postgres_url)
        kit = assembly.build(chosen)
        kit = replace(kit, index=replace(kit.index, embedder=CachedEmbedder(kit.index.embedder, cache)))
        bench = Bench(found, kit, chosen, cache, progress, hosted, f"eval-{token_hex(4)}-" if shared else "", 0)
        limits = Limits(chosen.max_upload_bytes, PATIENCE_S)
        uploads = [(bench.scope(workflow), upload) for workflow, upload in found.uploads]
        try:
            yield replace(bench, chunks=await index(uploads, kit, limits=limits, progress=partial(progress, "index")))
        finally:
            try:
                if shared:
                    await _purge({scope for scope, _ in uploads}, kit.index.store)
            finally:
                await kit.close()


def _apart(settings: Settings, folder: Path, *, hosted: bool) -> Settings:
    """The settings for a store that ends with the measurement, with nothing kept elsewhere.

    Unless `hosted`, nobody else is asked: not the models that the settings name, nor their search service, nor the web.
    """
    here = replace(settings, data_dir=folder, archive_url=None, redis_url=None, jobs_storage=None, keep_originals=False)
    if not hosted:
        nobody = {"azure_search_endpoint": None, "postgres_url": None, "doc_intelligence_endpoint": None}
        return replace(here, llm_provider="local", web_fallback=False, **nobody)  # type: ignore[arg-type]
    if provider(settings) == "local" and settings.azure_search_endpoint is None:
        models = ", ".join(name for wanted in WANTS.values() for name in wanted)
        raise Misconfigured(f"nothing hosted is configured: set AZURE_SEARCH_ENDPOINT or one of {models}")
    return here


async def _purge(scopes: Iterable[Scope], store: ChunkStore) -> None:
    """Empty these workflows, and print which may still hold something: to raise would cost what was measured, or hide
    why it was not.
    """
    sent = await _sent(store)  # before they are listed: an upload cut short is none of a workflow's documents yet
    left = [scope.workflow_id for scope in scopes if not (await _emptied(scope, store) and sent)]
    if left:
        await _sent(store)
        print(f"not purged for certain, look yourself: {', '.join(sorted(left))}", file=sys.stderr)


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
    """Whether nothing is left in an outbox, which ends with the measurement's folder."""
    return not (isinstance(store, AzureSearchStore) and await store.flush())


async def _vector(text: str, index: Index) -> Vector | None:
    """None for a script that the model does not read, as in the pipelines."""
    with suppress(Unread):
        return (await index.embed([text]))[0]
    return None


def _compared(legs: Sequence[Row], pipelines: Iterable[Row]) -> list[Row]:
    """The rows with what matters beside them: hybrid against its better leg, each pipeline against hybrid."""
    *single, last = legs
    measure = metrics.among(last.scores, metrics.MEASURES)[0]
    best = max(single, key=lambda row: metrics.mean(row.scores, measure), default=None)
    return [*single, _against(last, best, measure), *(_against(row, last, measure) for row in pipelines)]


def _against(row: Row, other: Row | None, measure: str) -> Row:
    if other is None:
        return row
    return replace(row, against=other.pipeline, difference=metrics.compare(row.scores, other.scores, measure))


def _cells(row: Row) -> list[str]:
    name, *means, p50, p95, _ = row.numbers().values()
    beside = f"{row.against} {row.difference}" if row.difference else ""
    return [str(name), *(f"{x:.3f}" for x in means), f"{p50:.0f}", f"{p95:.0f}", beside]
