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
from evals.peers.speech import SMALL, TOP, Floats, saved
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
PEERS = ("lancedb", "chroma", "haystack")
NAMES = {"lancedb": "LanceDB", "chroma": "Chroma, vectors only", "haystack": "Haystack, in memory"}


@dataclass(frozen=True)
class Data:
    """Texts and unit vectors of chunks, and the words and vectors of questions."""

    texts: Sequence[str]
    vectors: Floats
    asked: Sequence[str]
    probes: Floats

    def question(self, i: int) -> dict[str, Any]:
        return {"words": self.asked[i], "vector": self.probes[i].tolist()}

    def nearest(self, question: int) -> set[str]:
        """By brute force."""
        return {str(i) for i in np.argsort(-(self.vectors @ self.probes[question]), kind="stable")[:TOP]}


class Child:
    """A contestant's process, spoken to by lines of JSON."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        assert self._process.stdout
        self._process.stdout.close()

    def do(self, what: str, **given: Any) -> dict[str, Any]:
        """What came of it. Raises RuntimeError when the process ended instead: its own words are on stderr."""
        assert self._process.stdin
        assert self._process.stdout
        with suppress(BrokenPipeError):
            print(json.dumps({"do": what, **given}), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args!r} ended at {what}")
        done: dict[str, Any] = json.loads(line)
        return done

    def memory_mb(self) -> float:
        """Its resident set, files that it maps included."""
        told = subprocess.run(["ps", "-o", "rss=", "-p", str(self._process.pid)], capture_output=True, check=True)
        return int(told.stdout) / 1024


@dataclass
class Contestant:
    """A name, the command that starts it, and what was measured of it."""

    name: str
    command: Sequence[str]
    folder: Path | None
    built_s: float = 0.0
    disk_mb: float = 0.0
    memory_mb: float = 0.0
    opened: list[float] = field(default_factory=list)
    hybrid: list[float] = field(default_factory=list)
    filtered: list[float] = field(default_factory=list)
    meaning: list[float] = field(default_factory=list)
    overlap: list[float] = field(default_factory=list)
    replaced: list[float] = field(default_factory=list)

    def build(self, data: Path, question: dict[str, Any]) -> None:
        with Child(self.command) as child:
            self.built_s = child.do("build", data=str(data), **question)["s"]
        if self.folder:
            self.disk_mb = sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file()) / 2**20

    def open(self, question: dict[str, Any]) -> None:
        """Not after one that was slow."""
        if self.opened and self.opened[0] > SLOW_S:
            return
        began = time.perf_counter()
        with Child(self.command) as child:
            child.do("open", **question)
            self.opened.append(time.perf_counter() - began)

    def answer(self, child: Child, question: dict[str, Any], nearest: set[str]) -> None:
        if sum(self.hybrid) + sum(self.filtered) > PATIENCE_S * 1000:
            return
        self.hybrid.append(child.do("ask", group=None, **question)["ms"])
        self.filtered.append(child.do("ask", group=GROUP, **question)["ms"])
        meant = child.do("ask", group=None, **{**question, "words": ""})
        self.meaning.append(meant["ms"])
        self.overlap.append(len(nearest & set(meant["ids"])) / TOP)

    def replace(self, child: Child, number: int, data: Data) -> None:
        count = len(data.texts)
        ids = [str(i) for i in range(count - SMALL, count)]
        vectors = data.probes[(SMALL * number + np.arange(SMALL)) % len(data.probes)].tolist()
        self.replaced.append(child.do("replace", ids=ids, word=f"zq{number}xw", vectors=vectors)["ms"])


def definitions() -> list[str]:
    with gzip.open(CODES, "rt", encoding="utf-8") as file:
        return [f"{row['code']} {row['description']}" for row in csv.DictReader(file)]


async def embedded(texts: Sequence[str]) -> Floats:
    """The vectors of real texts, with the rate at which they were made printed."""
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


def contestants(peers: Sequence[str], postgres: str | None, folder: Path) -> list[Contestant]:
    """Ours first."""

    def one(name: str, interpreter: str, module: str, where: Path) -> Contestant:
        return Contestant(name, (interpreter, "-m", f"evals.peers.{module}", str(where)), where)

    mine = one("embedded", sys.executable, "ours", folder / "ours")
    served = Contestant("PostgreSQL", (sys.executable, "-m", "evals.peers.ours", postgres or ""), None)
    others = [one(NAMES[peer], str(environments.python(peer)), peer, folder / peer) for peer in peers]
    return [mine, *([served] if postgres else []), *others]


def measure(data: Data, all_: Sequence[Contestant], folder: Path) -> None:
    """Each step of each contestant in turn, so that the machine's other work slows all alike."""
    saved(folder, data.texts, data.vectors)
    for one in all_:
        one.build(folder, data.question(0))
    for _ in range(OPENINGS):
        for one in all_:
            one.open(data.question(0))
    with ExitStack() as stack:
        running = [(one, stack.enter_context(Child(one.command))) for one in all_]
        for _, child in running:
            child.do("open", **data.question(0))
        for number in range(len(data.asked)):
            nearest = data.nearest(number)
            for one, child in running:
                one.answer(child, data.question(number), nearest)
        for one, child in running:
            one.memory_mb = child.memory_mb()
        for number in range(REPLACED):
            for one, child in running:
                one.replace(child, number, data)


Measure = tuple[str, Callable[[Contestant], float], str]  # name, value, format; one with a unit is compared


def measures(size: int) -> Sequence[Measure]:
    return (
        ("hybrid p50 ms", lambda c: _p50(c.hybrid), ".2f"),
        ("hybrid p95 ms", lambda c: _p95(c.hybrid), ".2f"),
        ("2 % filter p50 ms", lambda c: _p50(c.filtered), ".2f"),
        ("2 % filter p95 ms", lambda c: _p95(c.filtered), ".2f"),
        ("by meaning alone p50 ms", lambda c: _p50(c.meaning), ".2f"),
        ("its top 20 of brute force's", lambda c: statistics.mean(c.overlap), ".4f"),
        ("questions", lambda c: len(c.hybrid), ".0f"),
        ("searchable after s", lambda c: c.built_s, ".1f"),
        ("chunks/s", lambda c: size / c.built_s, ",.0f"),
        ("open s", lambda c: _p50(c.opened), ".2f"),
        ("replaced and found p50 ms", lambda c: _p50(c.replaced), ".1f"),
        ("replaced and found p95 ms", lambda c: _p95(c.replaced), ".1f"),
        ("memory MB", lambda c: c.memory_mb, ",.0f"),
        ("disk MB", lambda c: c.disk_mb, ",.0f"),
    )


def _p50(times: Sequence[float]) -> float:
    return statistics.median(times)


def _p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1] if len(times) > 1 else times[0]


def numbers(size: int, one: Contestant) -> dict[str, float]:
    """What was measured of it, by the name of the row."""
    return {name: value(one) for name, value, _ in measures(size)}


OMITTED = ("p95 ms", "chunks/s")  # of the table; the results keep these numbers


def table(size: int, found: Mapping[str, Mapping[str, float]]) -> str:
    """The `numbers` of each store without OMITTED; its times and sizes also as multiples of the first one's."""
    first, *others = found.values()
    rows = [
        [name, format(first[name], form), *(_beside(name, form, other, first) for other in others)]
        for name, _, form in measures(size)
        if not name.endswith(OMITTED)
    ]
    return markdown_tables.format_table([f"{size:,} chunks", *found], rows)


def _beside(name: str, form: str, other: Mapping[str, float], first: Mapping[str, float]) -> str:
    number = format(other[name], form)
    return f"{number} ({other[name] / first[name]:.1f}x)" if name.endswith((" ms", " s", " MB")) else number


def bench(sizes: Sequence[int], questions: int, peers: Sequence[str], postgres: str | None) -> record.Found:
    """What was measured by the number of chunks, then by store; printed as tables as it comes."""
    machine = f"{record.machine()}, load {record.load()}"
    print(f"{datetime.now(UTC):%d %B %Y %H:%M} UTC, {machine}, Python {platform.python_version()}, seed {SEED}\n")
    draw = np.random.default_rng(SEED)
    known = definitions()
    texts = ["\n".join(known[i] for i in draw.integers(0, len(known), 10)) for _ in range(TEXTS)]
    real = asyncio.run(embedded(texts))
    found: dict[str, dict[str, dict[str, float]]] = {}
    for size in sizes:
        data = made(size, questions, real)
        with tempfile.TemporaryDirectory() as folder:
            all_ = contestants(peers, postgres, Path(folder))
            measure(data, all_, Path(folder))
        found[str(size)] = of_size = {one.name: numbers(size, one) for one in all_}
        print(table(size, of_size), f"\n\nload {record.load()}\n", flush=True)
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
    measured = partial(bench, sizes, given.questions, peers, given.postgres)
    record.keep(given.json, f"python -m evals.bench_store --sizes {given.sizes}", measured)


if __name__ == "__main__":
    main()
