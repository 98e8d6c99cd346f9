"""The embedded store beside LanceDB, or beside our own in PostgreSQL: the same chunks, vectors and questions, asked
in turns in one run.

python -m evals.bench_store [--sizes 10000,100000] [--questions 60] [--postgres postgresql://...]

The database has to be empty.
"""

import argparse
import asyncio
import csv
import gzip
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_core.model import Chunk, Document, Filter, Scope
from rag_core.ports import ChunkStore, Probe
from rag_core.providers import local_models
from rag_core.providers.local_embedder import LocalEmbedder
from rag_core.stores.embedded import EmbeddedStore

CODES = Path(__file__).parents[1] / "tests" / "data" / "dtc" / "dtc_codes.csv.gz"
SEED = 7
TEXTS = 500  # real texts that are really embedded; the rest are these with noise
NOISE = 0.05  # of each of the 384 numbers of a unit vector, whose own are about as large
GROUPS = 50  # a filter on one of them admits 2 %
PER_DOCUMENT = 500
TOP = 20
SCOPE = Scope("bench")

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Data:
    """Texts and unit vectors of chunks, and the words and vectors of questions."""

    texts: Sequence[str]
    vectors: Floats
    asked: Sequence[str]
    probes: Floats

    def group(self, i: int) -> int:
        return i % GROUPS

    def nearest(self, question: int) -> list[str]:
        """By brute force."""
        return [str(i) for i in np.argsort(-(self.vectors @ self.probes[question]), kind="stable")[:TOP]]


@dataclass(frozen=True)
class Contestant:
    """Asks by both legs, by both within one group, and by meaning alone; each gives ids, best first."""

    name: str
    load_s: float
    ready_s: float
    hybrid: Callable[[str, Floats], Awaitable[list[str]]]
    filtered: Callable[[str, Floats], Awaitable[list[str]]]
    meaning: Callable[[str, Floats], Awaitable[list[str]]]


def definitions() -> list[str]:
    with gzip.open(CODES, "rt", encoding="utf-8") as file:
        return [f"{row['code']} {row['description']}" for row in csv.DictReader(file)]


async def embedded(texts: Sequence[str]) -> Floats:
    """The vectors of real texts, with the rate at which they were made printed."""
    folder = local_models.find("embedder", None)
    if folder is None:
        raise SystemExit(local_models.MISSING)
    embedder = LocalEmbedder(folder, threads=os.cpu_count() or 1)
    await embedder.embed_query("the first one loads the model")
    began = time.perf_counter()
    vectors = await embedder.embed_documents(texts)
    spent, words = time.perf_counter() - began, sum(len(text.split()) for text in texts)
    print(f"Embedding: {len(texts)} chunks of {words / len(texts):.0f} words, {len(texts) / spent:.0f} chunks/s\n")
    return np.asarray(vectors, dtype=np.float32)


def tiled(vectors: Floats, count: int, draw: np.random.Generator) -> Floats:
    """`count` unit vectors: the real ones in turn, each moved a little."""
    moved = vectors[np.arange(count) % len(vectors)] + draw.normal(0, NOISE, (count, vectors.shape[1]))
    units: Floats = (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32)
    return units


def made(size: int, questions: int, real: Floats) -> Data:
    draw = np.random.default_rng(SEED)
    known = definitions()
    texts = ["\n".join(known[j] for j in draw.integers(0, len(known), 10)) for _ in range(size)]
    sources = [texts[i].split() for i in draw.integers(0, size, questions)]
    asked = [" ".join(draw.choice(words, 4, replace=False)) for words in sources]
    return Data(texts, tiled(real, size, draw), asked, tiled(real[draw.permutation(len(real))], questions, draw))


async def ours(data: Data, store: ChunkStore, name: str) -> Contestant:
    """Any store behind our port."""
    began = time.perf_counter()
    for first in range(0, len(data.texts), PER_DOCUMENT):
        part = range(first, min(first + PER_DOCUMENT, len(data.texts)))
        title = f"document {first}"
        chunks = [
            Chunk(str(i), title, i, data.texts[i], "", title, str(i), metadata={"group": data.group(i)}) for i in part
        ]
        document = Document(title, SCOPE.workflow_id, "", title, title, "bench")
        vectors = data.vectors[part.start : part.stop].tolist()
        await store.replace_document(document, chunks, vectors, SCOPE, space="bench")
    loaded = time.perf_counter()

    async def ask(probe: Probe, *filters: Filter) -> list[str]:
        (ranking,) = await store.search([probe], SCOPE, limit=TOP, filters=filters)
        return [hit.chunk.id for hit in ranking]

    await ask(Probe("first", data.asked[0], data.probes[0].tolist()))
    return Contestant(
        name,
        loaded - began,
        time.perf_counter() - began,
        lambda words, vector: ask(Probe("q", words, vector.tolist())),
        lambda words, vector: ask(Probe("q", words, vector.tolist()), Filter("metadata.group", "eq", 3)),
        lambda words, vector: ask(Probe("q", "", vector.tolist())),
    )


async def served(data: Data, url: str) -> Contestant:
    from rag_core.stores.postgres import PostgresStore

    store = PostgresStore(url, dimensions=data.vectors.shape[1])
    await store.setup()
    return await ours(data, store, "PostgreSQL")


async def lance(data: Data, folder: Path) -> Contestant:
    """Exact vectors and its own full-text index, fused by reciprocal rank: what it offers for the same question."""
    os.environ["LANCEDB_LOG"] = "error"  # 0.40 warns at every question; read when it is imported
    import lancedb
    from lancedb.rerankers import RRFReranker

    database = await asyncio.to_thread(lancedb.connect, folder)
    began = time.perf_counter()
    rows = [
        {"id": str(i), "text": text, "vector": data.vectors[i], "group": data.group(i)}
        for i, text in enumerate(data.texts)
    ]
    table: Any = await asyncio.to_thread(database.create_table, "chunks", rows)
    loaded = time.perf_counter()
    await asyncio.to_thread(table.create_fts_index, "text")
    fused = RRFReranker()

    def hybrid(words: str, vector: Floats) -> Any:
        return table.search(query_type="hybrid").vector(vector).text(words).rerank(fused).limit(TOP)

    async def ask(query: Any) -> list[str]:
        found = await asyncio.to_thread(query.select(["id", "text"]).to_list)
        return [row["id"] for row in found][:TOP]

    await ask(hybrid(data.asked[0], data.probes[0]))
    return Contestant(
        "LanceDB",
        loaded - began,
        time.perf_counter() - began,
        lambda words, vector: ask(hybrid(words, vector)),
        lambda words, vector: ask(hybrid(words, vector).where("group = 3", prefilter=True)),
        lambda _, vector: ask(table.search(vector).limit(TOP)),
    )


async def timed(ask: Callable[[str, Floats], Awaitable[list[str]]], words: str, vector: Floats) -> float:
    began = time.perf_counter()
    await ask(words, vector)
    return (time.perf_counter() - began) * 1000


async def compare(data: Data, contestants: Sequence[Contestant]) -> None:
    """Each question to each contestant in turn, so that the machine's other work slows all alike."""
    hybrid: dict[str, list[float]] = {c.name: [] for c in contestants}
    filtered: dict[str, list[float]] = {c.name: [] for c in contestants}
    overlap: dict[str, list[float]] = {c.name: [] for c in contestants}
    for number, (words, vector) in enumerate(zip(data.asked, data.probes, strict=True)):
        expected = set(data.nearest(number))
        for c in contestants:
            hybrid[c.name].append(await timed(c.hybrid, words, vector))
            filtered[c.name].append(await timed(c.filtered, words, vector))
            overlap[c.name].append(len(expected & set(await c.meaning(words, vector))) / TOP)
    for c in contestants:
        cells = [
            f"{len(data.texts):,} | {c.name}",
            f"{len(data.texts) / c.load_s:,.0f} | {c.ready_s:.1f}",
            spread(hybrid[c.name]),
            spread(filtered[c.name]),
            f"{statistics.mean(overlap[c.name]):.4f}",
        ]
        print("| " + " | ".join(cells) + " |", flush=True)
    first, *others = contestants
    for other in others:
        times = [statistics.median(by[other.name]) / statistics.median(by[first.name]) for by in (hybrid, filtered)]
        print(f"| | {other.name} / {first.name} | | | {times[0]:.1f}x | | {times[1]:.1f}x | | |", flush=True)


def spread(times: Sequence[float]) -> str:
    return f"{statistics.median(times):.2f} | {statistics.quantiles(times, n=20)[-1]:.2f}"


async def bench(sizes: Sequence[int], questions: int, postgres: str | None) -> None:
    peer = "psycopg" if postgres else "lancedb"
    versions = f"Python {platform.python_version()}, {peer} {version(peer)}"
    print(
        f"{datetime.now(UTC):%d %B %Y}, {platform.processor() or platform.machine()}, {os.cpu_count()} cores, ", end=""
    )
    print(f"load {os.getloadavg()[0]:.1f}, {versions}, {questions} questions, seed {SEED}\n")
    draw = np.random.default_rng(SEED)
    known = definitions()
    real = await embedded(["\n".join(known[i] for i in draw.integers(0, len(known), 10)) for _ in range(TEXTS)])
    print(
        "| chunks | store | stored chunks/s | searchable after s | hybrid p50 ms | p95 | 2 % filter p50 ms | p95 ",
        end="",
    )
    print("| top-20 by meaning equal to brute force |\n|---|---|---|---|---|---|---|---|---|")
    for size in sizes:
        data = made(size, questions, real)
        with tempfile.TemporaryDirectory() as folder:
            mine = await ours(data, EmbeddedStore(Path(folder) / "ours"), "embedded")
            other = await served(data, postgres) if postgres else await lance(data, Path(folder) / "lance")
            await compare(data, [mine, other])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--postgres", help="the address of an empty database, asked in place of LanceDB")
    given = parser.parse_args()
    asyncio.run(bench([int(size) for size in given.sizes.split(",")], given.questions, given.postgres))


if __name__ == "__main__":
    main()
