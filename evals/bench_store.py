"""The embedded store beside LanceDB, Chroma and Haystack: the same chunks, vectors and questions, in one run.

python -m evals.bench_store [--sizes 10000,100000] [--questions 60] [--peers lancedb,chroma,haystack]
                            [--postgres postgresql://...] [--json FILE]

Each contestant is a process of its own, in an environment of its own (.cache/bench, made from evals/peers/*.txt when it
is not there), and they are asked in turns. `--postgres` asks our own store in that database, which has to be empty.
"""

import argparse
import asyncio
import csv
import gzip
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from evals import record
from evals.peers import environments
from evals.peers.speech import SMALL, TOP, Floats, save_corpus
from rag_core.evaluation import markdown_tables
from rag_core.providers import local_models
from rag_core.providers.local_embedder import LocalEmbedder

ROOT = Path(__file__).parents[1]
CODES = ROOT / "tests" / "data" / "dtc" / "dtc_codes.csv.gz"
SEED = 7
TEXTS = 500  # real texts that are really embedded; the rest are these with noise
NOISE = 0.05  # of each of the 384 numbers of a unit vector, whose own are about as large
GROUP = 3  # the one that filtered questions ask within
PATIENCE_S = 60  # a contestant is asked no more once its answers took this long: their number is in the table
OPENINGS, SLOW_S = 3, 10  # times each is opened; once if that is slow
REPLACED = 15  # times
PEERS = ("lancedb", "zvec", "chroma", "haystack")
NAMES = {"lancedb": "LanceDB", "zvec": "Zvec", "chroma": "Chroma, vectors only", "haystack": "Haystack, in memory"}


@dataclass(frozen=True)
class BenchmarkData:
    """Texts and unit vectors of chunks, and the words and vectors of questions."""

    texts: Sequence[str]
    vectors: Floats
    query_texts: Sequence[str]
    probes: Floats

    def build_question(self, i: int) -> dict[str, Any]:
        return {"words": self.query_texts[i], "vector": self.probes[i].tolist()}

    def find_nearest(self, question: int) -> set[str]:
        """Return the ids of the TOP nearest chunks to a question, by brute force."""
        return {str(i) for i in np.argsort(-(self.vectors @ self.probes[question]), kind="stable")[:TOP]}


class ContestantProcess:
    """A contestant's process, spoken to by lines of JSON."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> "ContestantProcess":
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        assert self._process.stdout
        self._process.stdout.close()

    def send_task(self, what: str, **given: Any) -> dict[str, Any]:
        """Return what came of a task. Raises RuntimeError when the process ended: its words are on stderr."""
        assert self._process.stdin
        assert self._process.stdout
        with suppress(BrokenPipeError):
            print(json.dumps({"do": what, **given}), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args!r} ended at {what}")
        done: dict[str, Any] = json.loads(line)
        return done

    def measure_memory_mb(self) -> float:
        """Return the resident set of the process in MB, files that it maps included."""
        told = subprocess.run(["ps", "-o", "rss=", "-p", str(self._process.pid)], capture_output=True, check=True)
        return int(told.stdout) / 1024


@dataclass
class Contestant:
    """A name, the command that starts it, and what was measured of it."""

    name: str
    command: Sequence[str]
    folder: Path | None
    build_s: float = 0.0
    disk_mb: float = 0.0
    memory_mb: float = 0.0
    open_s: list[float] = field(default_factory=list)
    hybrid_ms: list[float] = field(default_factory=list)
    filter_ms: list[float] = field(default_factory=list)
    vector_ms: list[float] = field(default_factory=list)
    overlap: list[float] = field(default_factory=list)
    replace_ms: list[float] = field(default_factory=list)

    def build_store(self, data: Path, question: dict[str, Any]) -> None:
        with ContestantProcess(self.command) as child:
            self.build_s = child.send_task("build", data=str(data), **question)["s"]
        if self.folder:
            self.disk_mb = sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file()) / 2**20

    def open_store(self, question: dict[str, Any]) -> None:
        """Measure the opening of the store, but not again after one that was slow."""
        if self.open_s and self.open_s[0] > SLOW_S:
            return
        began = time.perf_counter()
        with ContestantProcess(self.command) as child:
            child.send_task("open", **question)
            self.open_s.append(time.perf_counter() - began)

    def answer_question(self, child: ContestantProcess, question: dict[str, Any], nearest: set[str]) -> None:
        if sum(self.hybrid_ms) + sum(self.filter_ms) > PATIENCE_S * 1000:
            return
        self.hybrid_ms.append(child.send_task("ask", group=None, **question)["ms"])
        self.filter_ms.append(child.send_task("ask", group=GROUP, **question)["ms"])
        meant = child.send_task("ask", group=None, **{**question, "words": ""})
        self.vector_ms.append(meant["ms"])
        self.overlap.append(len(nearest & set(meant["ids"])) / TOP)

    def replace_chunks(self, child: ContestantProcess, number: int, data: BenchmarkData) -> None:
        count = len(data.texts)
        ids = [str(i) for i in range(count - SMALL, count)]
        vectors = data.probes[(SMALL * number + np.arange(SMALL)) % len(data.probes)].tolist()
        self.replace_ms.append(child.send_task("replace", ids=ids, word=f"zq{number}xw", vectors=vectors)["ms"])


def load_code_definitions() -> list[str]:
    with gzip.open(CODES, "rt", encoding="utf-8") as file:
        return [f"{row['code']} {row['description']}" for row in csv.DictReader(file)]


async def embed_texts(texts: Sequence[str]) -> Floats:
    """Return the vectors of real texts, and print the rate at which they were made."""
    folder = local_models.find_model_folder("embedder", None)
    if folder is None:
        raise SystemExit(local_models.MODELS_NOT_INSTALLED)
    embedder = LocalEmbedder(folder, threads=os.cpu_count() or 1)
    await embedder.embed_query("the first one loads the model")
    began = time.perf_counter()
    vectors = await embedder.embed_documents(texts)
    spent, words = time.perf_counter() - began, sum(len(text.split()) for text in texts)
    print(f"Embedding: {len(texts)} chunks of {words / len(texts):.0f} words, {len(texts) / spent:.0f} chunks/s\n")
    return np.asarray(vectors, dtype=np.float32)


def repeat_vectors(vectors: Floats, count: int, draw: np.random.Generator) -> Floats:
    """Return `count` unit vectors: the real ones in turn, each moved a little."""
    moved = vectors[np.arange(count) % len(vectors)] + draw.normal(0, NOISE, (count, vectors.shape[1]))
    units: Floats = (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32)
    return units


def make_benchmark_data(size: int, questions: int, real: Floats) -> BenchmarkData:
    draw = np.random.default_rng(SEED)
    known = load_code_definitions()
    texts = ["\n".join(known[j] for j in draw.integers(0, len(known), 10)) for _ in range(size)]
    sources = [texts[i].split() for i in draw.integers(0, size, questions)]
    asked = [" ".join(draw.choice(words, 4, replace=False)) for words in sources]
    vectors = repeat_vectors(real, size, draw)
    return BenchmarkData(texts, vectors, asked, repeat_vectors(real[draw.permutation(len(real))], questions, draw))


def build_contestants(peers: Sequence[str], postgres: str | None, folder: Path) -> list[Contestant]:
    """Return the contestants, ours first."""

    def build_contestant(name: str, interpreter: str, module: str, where: Path) -> Contestant:
        return Contestant(name, (interpreter, "-m", f"evals.peers.{module}", str(where)), where)

    mine = build_contestant("embedded", sys.executable, "ours", folder / "ours")
    served = Contestant("PostgreSQL", (sys.executable, "-m", "evals.peers.ours", postgres or ""), None)
    others = [
        build_contestant(NAMES[peer], str(environments.prepare_interpreter(peer)), peer, folder / peer)
        for peer in peers
    ]
    return [mine, *([served] if postgres else []), *others]


def measure_contestants(data: BenchmarkData, all_: Sequence[Contestant], folder: Path) -> None:
    """Take each step of each contestant in turn, so that the machine's other work slows all alike."""
    save_corpus(folder, data.texts, data.vectors)
    for one in all_:
        one.build_store(folder, data.build_question(0))
    for _ in range(OPENINGS):
        for one in all_:
            one.open_store(data.build_question(0))
    with ExitStack() as stack:
        running = [(one, stack.enter_context(ContestantProcess(one.command))) for one in all_]
        for _, child in running:
            child.send_task("open", **data.build_question(0))
        for number in range(len(data.query_texts)):
            nearest = data.find_nearest(number)
            for one, child in running:
                one.answer_question(child, data.build_question(number), nearest)
        for one, child in running:
            one.memory_mb = child.measure_memory_mb()
        for number in range(REPLACED):
            for one, child in running:
                one.replace_chunks(child, number, data)


StoreMeasure = tuple[str, Callable[[Contestant], float], str]  # name, value, format; one with a unit is compared


def list_measures(size: int) -> Sequence[StoreMeasure]:
    return (
        ("hybrid p50 ms", lambda c: _compute_p50(c.hybrid_ms), ".2f"),
        ("hybrid p95 ms", lambda c: _compute_p95(c.hybrid_ms), ".2f"),
        ("2 % filter p50 ms", lambda c: _compute_p50(c.filter_ms), ".2f"),
        ("2 % filter p95 ms", lambda c: _compute_p95(c.filter_ms), ".2f"),
        ("by meaning alone p50 ms", lambda c: _compute_p50(c.vector_ms), ".2f"),
        ("its top 20 of brute force's", lambda c: statistics.mean(c.overlap), ".4f"),
        ("questions", lambda c: len(c.hybrid_ms), ".0f"),
        ("searchable after s", lambda c: c.build_s, ".1f"),
        ("chunks/s", lambda c: size / c.build_s, ",.0f"),
        ("open s", lambda c: _compute_p50(c.open_s), ".2f"),
        ("replaced and found p50 ms", lambda c: _compute_p50(c.replace_ms), ".1f"),
        ("replaced and found p95 ms", lambda c: _compute_p95(c.replace_ms), ".1f"),
        ("memory MB", lambda c: c.memory_mb, ",.0f"),
        ("disk MB", lambda c: c.disk_mb, ",.0f"),
    )


def _compute_p50(times: Sequence[float]) -> float:
    return statistics.median(times)


def _compute_p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1] if len(times) > 1 else times[0]


def list_figures(size: int, one: Contestant) -> dict[str, float]:
    """Return what was measured of a contestant, by the name of the row."""
    return {name: value(one) for name, value, _ in list_measures(size)}


OMITTED = ("p95 ms", "chunks/s")  # of the table; the results keep these numbers


def format_store_table(size: int, found: Mapping[str, Mapping[str, float]]) -> str:
    """Format the figures of each store without OMITTED; times and sizes also as multiples of the first one's."""
    first, *others = found.values()
    rows = [
        [name, format(first[name], form), *(_format_peer_cell(name, form, other, first) for other in others)]
        for name, _, form in list_measures(size)
        if not name.endswith(OMITTED)
    ]
    return markdown_tables.format_table([f"{size:,} chunks", *found], rows)


def _format_peer_cell(name: str, form: str, other: Mapping[str, float], first: Mapping[str, float]) -> str:
    number = format(other[name], form)
    return f"{number} ({other[name] / first[name]:.1f}x)" if name.endswith((" ms", " s", " MB")) else number


def bench_stores(sizes: Sequence[int], questions: int, peers: Sequence[str], postgres: str | None) -> record.Result:
    """Return what was measured by the number of chunks, then by store, and print each table as it comes."""
    machine = f"{record.describe_machine()}, load {record.read_load()}"
    print(f"{datetime.now(UTC):%d %B %Y %H:%M} UTC, {machine}, Python {platform.python_version()}, seed {SEED}\n")
    draw = np.random.default_rng(SEED)
    known = load_code_definitions()
    texts = ["\n".join(known[i] for i in draw.integers(0, len(known), 10)) for _ in range(TEXTS)]
    real = asyncio.run(embed_texts(texts))
    found: dict[str, dict[str, dict[str, float]]] = {}
    for size in sizes:
        data = make_benchmark_data(size, questions, real)
        with tempfile.TemporaryDirectory() as folder:
            all_ = build_contestants(peers, postgres, Path(folder))
            measure_contestants(data, all_, Path(folder))
        found[str(size)] = of_size = {one.name: list_figures(size, one) for one in all_}
        print(format_store_table(size, of_size), f"\n\nload {record.read_load()}\n", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--peers", default=",".join(PEERS), help="of lancedb, chroma, haystack; empty for none")
    parser.add_argument("--postgres", help="the address of an empty database")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep what was found")
    given = parser.parse_args()
    peers = [peer for peer in given.peers.split(",") if peer]
    sizes = [int(size) for size in given.sizes.split(",")]
    measure = partial(bench_stores, sizes, given.questions, peers, given.postgres)
    record.record_result(given.json, f"python -m evals.bench_store --sizes {given.sizes}", measure)


if __name__ == "__main__":
    main()
