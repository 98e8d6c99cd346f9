"""`rag eval run`: how well each leg and pipeline ranks a labelled collection, and how long it takes."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evals import beir, markdown, metrics
from evals.bill import Bill, CountedLLM
from evals.cache import Cache, CachedEmbedder, CachedReranker
from rag_core import bootstrap
from rag_core.errors import InvalidRequest, Unread, UnreadableDocument
from rag_core.index import Index
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.enrich import key_sentences
from rag_core.ingestion.indexing import Limits, Upload, index_document
from rag_core.kit import Kit
from rag_core.model import Ranking, Scope, Vector
from rag_core.ports import Probe
from rag_core.presets import SHARES, Preset, resolve
from rag_core.providers.local_text import LocalText
from rag_core.run import Run
from rag_core.service import consult
from rag_core.settings import DEFAULTS, Settings

PIPELINES = ("standard", "rerank", "advanced")
DEPTH = 100  # hits a leg brings: several may be chunks of one document
TIMED = 10  # queries a row is timed on: remembering nothing costs a pipeline seconds a query
TOGETHER = 4  # documents indexed at once: enough to keep two model threads busy
PATIENCE_S = 3600.0  # a measurement waits for the slowest answer
CACHE = Path(".cache/evals.sqlite3")

Ask = Callable[[str, bool], Awaitable[Ranking]]  # a question, and whether everything must be computed afresh
Progress = Callable[[str, int, int], None]  # what is being done, how much of it is done, of how much


@dataclass(frozen=True, slots=True)
class Row:
    """One way of searching: each query's scores, and the milliseconds of the first TIMED."""

    pipeline: str
    scores: metrics.Scores
    times_ms: tuple[float, ...]
    against: str = ""
    difference: metrics.Difference | None = None

    def numbers(self) -> dict[str, str | float]:
        means = {measure: round(metrics.mean(self.scores, measure), 4) for measure in metrics.MEASURES}
        p50, p95 = (round(float(ms), 1) for ms in np.percentile(self.times_ms, [50, 95]))
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
        columns = ["pipeline", *metrics.MEASURES, "p50 ms", "p95 ms", "nDCG@10 against, 95 % interval"]
        return f"{self.collection}: {counts}\n\n{markdown.table(columns, map(_cells, self.rows))}"


def run(
    directory: Path,
    *,
    queries: int | None = None,
    pipelines: Sequence[str] = PIPELINES,
    settings: Settings = DEFAULTS,
    cache: Path = CACHE,
    progress: Progress = lambda *_: None,
) -> Report:
    """Index a BEIR folder into a store of its own, ask its first `queries` questions in every way, and score.

    A document stands where its best chunk does. Vectors of documents and scores of pairs are remembered in `cache`,
    but not in times: a question's vector is always made, and the pairs of a timed query are always judged.

    Raises:
        Misconfigured: the folder is not in BEIR's layout.
        InvalidRequest: no preset of that name.
    """
    collection = beir.load(directory, queries=queries)
    presets = {said: preset(said) for said in pipelines}
    remembered = Cache(cache)

    async def evaluated() -> Report:
        async with indexed(collection, settings, remembered, progress) as bench:
            legs = [await row(name, ask, collection, progress) for name, ask in _legs(bench).items()]
            rows = [await row(said, bench.pipeline(chosen), collection, progress) for said, chosen in presets.items()]
            return Report(collection.name, len(collection.passages), bench.chunks, tuple(_compared(legs, rows)))

    try:
        return asyncio.run(evaluated())
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
    return written if field == "how" else float(written) if field in SHARES else int(written)


@dataclass(frozen=True, slots=True)
class Bench:
    """A collection's corpus in a store of its own, ready to be asked."""

    kit: Kit
    scope: Scope
    settings: Settings
    cache: Cache
    chunks: int

    def pipeline(self, chosen: Preset, *, bill: Bill | None = None) -> Ask:
        """Ask by the preset's pipeline, without a chat model; `bill` counts what one would have been sent."""
        reranker = bootstrap.local_reranker(self.settings)  # its own: the one of the row before remembers pairs

        async def ask(text: str, afresh: bool) -> Ranking:
            judge = CachedReranker(reranker, self.cache, afresh)
            llm = LocalText(judge, key_sentences)
            parts = replace(self.kit, reranker=judge, llm=CountedLLM(llm, bill) if bill else llm)
            query = chosen.query(text, self.scope)
            return (await consult(query, parts, Run(PATIENCE_S), pipeline=chosen.pipeline)).hits

        return ask


@asynccontextmanager
async def indexed(
    collection: beir.Collection, settings: Settings, cache: Cache, progress: Progress
) -> AsyncIterator[Bench]:
    """Index a collection, for as long as the block runs."""
    scope = Scope(collection.name)
    with tempfile.TemporaryDirectory() as folder:
        kit = bootstrap.build(replace(settings, data_dir=Path(folder)))
        kit = replace(kit, index=replace(kit.index, embedder=CachedEmbedder(kit.index.embedder, cache)))
        try:
            chunks = await _index(collection, kit, scope, settings, progress)
            yield Bench(kit, scope, settings, cache, chunks)
        finally:
            await kit.close()


async def _index(collection: beir.Collection, kit: Kit, scope: Scope, settings: Settings, progress: Progress) -> int:
    """Index the corpus as any document is; how many chunks came of it."""
    limits = Limits(settings.max_upload_bytes, settings.parse_timeout_s)
    turns = asyncio.Semaphore(TOGETHER)
    done = 0

    async def add(place: int, passage: beir.Passage) -> int:
        nonlocal done
        content = f"{passage.title}\n\n{passage.text}".strip()
        upload = Upload(content=content, document_id=str(place), title=passage.title)  # its own id may be any string
        async with turns:
            work = index_document(upload, scope, kit, Run(PATIENCE_S), chunking=Chunking(), limits=limits)
            try:
                chunks = (await work).chunks
            except UnreadableDocument:  # some collections hold empty ones, which nothing can find
                chunks = 0
        done += 1
        progress("index", done, len(collection.passages))
        return chunks

    return sum(await asyncio.gather(*(add(place, passage) for place, passage in enumerate(collection.passages))))


def _legs(bench: Bench) -> Mapping[str, Ask]:
    """Searching by words only, by meaning only and by both, without a pipeline; by words alone without an embedder."""
    index = bench.kit.index

    def leg(words: bool, meaning: bool) -> Ask:
        async def ask(text: str, _: bool) -> Ranking:
            probe = Probe("original", text if words else "", await _vector(text, index) if meaning else None)
            if not probe.words and probe.vector is None:
                return []
            return (await index.find([probe], bench.scope, limit=DEPTH))[0]

        return ask

    by_meaning = {"meaning": leg(False, True), "hybrid": leg(True, True)} if index.embedder.dimensions else {}
    return {"words": leg(True, False), **by_meaning}


async def _vector(text: str, index: Index) -> Vector | None:
    """None for a script that the model does not read, as in the pipelines."""
    with suppress(Unread):
        return (await index.embed([text]))[0]
    return None


async def row(name: str, ask: Ask, collection: beir.Collection, progress: Progress) -> Row:
    """Every query in turn, alone; a first question that is not scored has the models loaded."""
    await ask("warm up", True)
    rankings: dict[str, list[str]] = {}
    times: list[float] = []
    for number, (query, text) in enumerate(collection.queries.items(), start=1):
        began = time.perf_counter()
        hits = await ask(text, number <= TIMED)
        times.append((time.perf_counter() - began) * 1000)
        places = dict.fromkeys(int(hit.chunk.document_id) for hit in hits)
        rankings[query] = [collection.passages[place].id for place in places]
        progress(name, number, len(collection.queries))
    return Row(name, metrics.evaluate(rankings, collection.judgements), tuple(times[:TIMED]))


def _compared(legs: Sequence[Row], pipelines: Iterable[Row]) -> list[Row]:
    """The rows with what matters beside them: hybrid against its better leg, each pipeline against hybrid."""
    *single, last = legs
    best = max(single, key=lambda row: metrics.mean(row.scores, "ndcg@10"), default=None)
    return [*single, _against(last, best), *(_against(row, last) for row in pipelines)]


def _against(row: Row, other: Row | None) -> Row:
    return replace(row, against=other.pipeline, difference=metrics.compare(row.scores, other.scores)) if other else row


def _cells(row: Row) -> list[str | float]:
    name, *numbers, _ = row.numbers().values()
    beside = f"{row.against} {row.difference}" if row.difference else ""
    return [name, *(f"{x:.3f}" for x in numbers[:3]), *(f"{x:.0f}" for x in numbers[3:]), beside]
