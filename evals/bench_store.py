"""The embedded store beside LanceDB, Zvec, Chroma and Haystack: the same chunks, vectors and questions, in one run.

python -m evals.bench_store [--sizes 10000,100000] [--documents 20000] [--pdfs examples] [--alone 1000000]
                            [--questions 60] [--peers lancedb,zvec,chroma,haystack] [--postgres postgresql://...]
                            [--json FILE]

Each contestant is a process of its own, in an environment of its own (.cache/bench, made from evals/peers/*.txt when it
is not there), and they are asked in turns. `--sizes` are chunks in documents of 500, `--documents` are documents of one
chunk, `--pdfs` is a folder of PDFs, whose spans ours keeps, `--alone` are sizes for our store alone; 0 or nothing is
none. `--postgres` asks our own store in that database, which has to be empty.
"""

import argparse
import json
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
from evals.benchmark_data import SEED, BenchmarkData, make_coded_data, make_pdf_data
from evals.peers import environments
from evals.peers.speech import SMALL, TOP, save_corpus
from rag_core.evaluation import markdown_tables

ROOT = Path(__file__).parents[1]
GROUP = 3  # the one that filtered questions ask within
PATIENCE_S = 60  # a contestant is asked no more once its answers took this long: their number is in the table
OPENINGS, SLOW_S = 3, 10  # times each is opened; once if that is slow
REPLACED = 15  # times
PEERS = ("lancedb", "zvec", "chroma", "haystack")
NAMES = {"lancedb": "LanceDB", "zvec": "Zvec", "chroma": "Chroma, vectors only", "haystack": "Haystack, in memory"}


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
    cpu_ms: list[float] = field(default_factory=list)  # of a hybrid question, all threads
    chunks: int = 0

    def build_store(self, data: Path, question: dict[str, Any]) -> None:
        with ContestantProcess(self.command) as child:
            built = child.send_task("build", data=str(data), **question)
            self.build_s, self.chunks = built["s"], built["chunks"]
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
        asked = child.send_task("ask", group=None, **question)
        self.hybrid_ms.append(asked["ms"])
        self.cpu_ms.append(asked["cpu_ms"])
        self.filter_ms.append(child.send_task("ask", group=GROUP, **question)["ms"])
        meant = child.send_task("ask", group=None, **{**question, "words": ""})
        self.vector_ms.append(meant["ms"])
        self.overlap.append(len(nearest & set(meant["ids"])) / TOP)

    def replace_chunks(self, child: ContestantProcess, number: int, data: BenchmarkData) -> None:
        count = len(data.texts)
        ids = [str(i) for i in range(count - SMALL, count)]
        vectors = data.probes[(SMALL * number + np.arange(SMALL)) % len(data.probes)].tolist()
        self.replace_ms.append(child.send_task("replace", ids=ids, word=f"zq{number}xw", vectors=vectors)["ms"])


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
    save_corpus(folder, data.texts, data.vectors, data.documents, data.spans)
    for one in all_:
        one.build_store(folder, data.build_question(0))
        print(f"{one.name}: {one.chunks:,} chunks searchable after {one.build_s:.1f} s", file=sys.stderr)
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


STORE_MEASURES: Sequence[StoreMeasure] = (
    ("hybrid p50 ms", lambda c: _compute_p50(c.hybrid_ms), ".2f"),
    ("hybrid CPU ms", lambda c: _compute_p50(c.cpu_ms), ".2f"),
    ("hybrid p95 ms", lambda c: _compute_p95(c.hybrid_ms), ".2f"),
    ("2 % filter p50 ms", lambda c: _compute_p50(c.filter_ms), ".2f"),
    ("2 % filter p95 ms", lambda c: _compute_p95(c.filter_ms), ".2f"),
    ("by meaning alone p50 ms", lambda c: _compute_p50(c.vector_ms), ".2f"),
    ("its top 20 of brute force's", lambda c: statistics.mean(c.overlap), ".4f"),
    ("questions", lambda c: len(c.hybrid_ms), ".0f"),
    ("searchable after s", lambda c: c.build_s, ".1f"),
    ("chunks/s", lambda c: c.chunks / c.build_s, ",.0f"),
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


def list_figures(one: Contestant) -> dict[str, float]:
    """Return what was measured of a contestant, by the name of the row."""
    return {name: value(one) for name, value, _ in STORE_MEASURES}


OMITTED = ("p95 ms", "chunks/s")  # of the table; the results keep these numbers


def format_store_table(case: str, found: Mapping[str, Mapping[str, float]]) -> str:
    """Format the figures of each store without OMITTED; times and sizes also as multiples of the first one's."""
    first, *others = found.values()
    rows = [
        [name, format(first[name], form), *(_format_peer_cell(name, form, other, first) for other in others)]
        for name, _, form in STORE_MEASURES
        if name in first and not name.endswith(OMITTED)
    ]
    return markdown_tables.format_table([case, *found], rows)


def _format_peer_cell(name: str, form: str, other: Mapping[str, float], first: Mapping[str, float]) -> str:
    number = format(other[name], form)
    return f"{number} ({other[name] / first[name]:.1f}x)" if name.endswith((" ms", " s", " MB")) else number


@dataclass(frozen=True)
class BenchmarkCase:
    """What the contestants are given, under a name, and who they are beside our store."""

    name: str
    make: Callable[[], BenchmarkData]
    peers: Sequence[str]


def list_cases(
    sizes: Sequence[int], documents: int, pdfs: Path | None, alone: Sequence[int], questions: int, peers: Sequence[str]
) -> list[BenchmarkCase]:
    """Return the cases in the order in which they are measured: the largest last."""

    def build_case(size: int, peers: Sequence[str]) -> BenchmarkCase:
        return BenchmarkCase(f"{size:,} chunks", partial(make_coded_data, size, questions), peers)

    cases = [build_case(size, peers) for size in sizes]
    if documents:
        make = partial(make_coded_data, documents, questions, per_document=1)
        cases.append(BenchmarkCase(f"{documents:,} documents of one chunk", make, peers))
    if pdfs:
        cases.append(BenchmarkCase("PDFs with spans", partial(make_pdf_data, pdfs, questions), peers))
    return [*cases, *(build_case(size, []) for size in alone)]


def measure_case(case: BenchmarkCase, postgres: str | None = None) -> list[Contestant]:
    """Return the contestants with what was measured of them, ours first."""
    print(f"{case.name}, load {record.read_load()}", file=sys.stderr)
    data = case.make()
    with tempfile.TemporaryDirectory() as folder:
        all_ = build_contestants(case.peers, postgres, Path(folder))
        measure_contestants(data, all_, Path(folder))
    return all_


def bench_stores(cases: Sequence[BenchmarkCase], postgres: str | None) -> record.Result:
    """Return what was measured by case, then by store, and print each table as it comes."""
    machine = f"{record.describe_machine()}, load {record.read_load()}"
    print(f"{datetime.now(UTC):%d %B %Y %H:%M} UTC, {machine}, Python {platform.python_version()}, seed {SEED}\n")
    found: dict[str, dict[str, dict[str, float]]] = {}
    for case in cases:
        all_ = measure_case(case, postgres)
        found[case.name] = of_case = {one.name: list_figures(one) for one in all_}
        print(format_store_table(case.name, of_case), f"\n\nload {record.read_load()}\n", flush=True)
    return found


def parse_sizes(written: str) -> list[int]:
    """Return the numbers of a list such as "10000,100000"; "0" and nothing are none."""
    return [int(size) for size in written.split(",") if size.strip("0 ")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--documents", type=int, default=20_000, help="of one chunk each; 0 for none")
    parser.add_argument("--pdfs", metavar="FOLDER", default=str(ROOT / "examples"), help="of real PDFs; empty for none")
    parser.add_argument("--alone", default="", help="sizes for our store alone, as 1000000")
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--peers", default=",".join(PEERS), help=f"of {', '.join(PEERS)}; empty for none")
    parser.add_argument("--postgres", help="the address of an empty database")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep what was found")
    given = parser.parse_args()
    sizes, alone = (parse_sizes(written) for written in (given.sizes, given.alone))
    peers = [peer for peer in given.peers.split(",") if peer]
    pdfs = Path(given.pdfs) if given.pdfs else None
    cases = list_cases(sizes, given.documents, pdfs, alone, given.questions, peers)
    command = f"python -m evals.bench_store --sizes {given.sizes}" + (f" --alone {given.alone}" if alone else "")
    record.record_result(given.json, command, partial(bench_stores, cases, given.postgres))


if __name__ == "__main__":
    main()
