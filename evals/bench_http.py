"""Questions a second and their slowest, through the local emulator, beside an empty function of the same host.

python -m evals.bench_http [--rounds 5] [--requests 100] [--clients 4] [--json FILE]

The function and the questions are asked in turns, without a ranker: with one they take as long as it does
(docs/reference/evaluation-retrieval.md).
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import azure.functions as func

import function_app
from evals import record
from evals.benchmark_data import SEED, load_code_definitions
from local_emulator.host import run_host
from rag_core.composition import assembly
from rag_core.core.settings import Settings
from rag_core.evaluation import markdown_tables

ROOT = Path(__file__).parents[1]
DOCUMENTS, CODES_EACH, PARAGRAPH = 20, 200, 10
WORDS = 5  # of a question

KINDS: Mapping[str, Mapping[str, Any] | None] = {
    "an empty function": None,
    "consult_rag, keyword": {"preset": "pages", "search_type": "keyword"},  # a preset of no ranker and no captions
    "consult_rag, hybrid": {"preset": "pages", "search_type": "hybrid"},
}


@dataclass
class RequestTimes:
    """Seconds of each request, and of each round with several clients at a time."""

    seconds: list[float] = field(default_factory=list)
    round_seconds: list[float] = field(default_factory=list)

    def compute_rate(self) -> float:
        return len(self.seconds) / sum(self.round_seconds)

    def compute_percentile_ms(self, percent: int) -> float:
        return statistics.quantiles(self.seconds, n=100)[percent - 1] * 1000

    def summarize_times(self) -> dict[str, float]:
        return {
            "requests/s": self.compute_rate(),
            "p50 ms": self.compute_percentile_ms(50),
            "p99 ms": self.compute_percentile_ms(99),
        }


def serve_app(folder: Path) -> None:
    """Serve our app and the empty function, until the input ends."""
    settings = Settings(data_dir=folder)
    kit = assembly.build_kit(settings)
    app = function_app.build_app(lambda: settings, lambda: kit)

    @app.route("api/empty", methods=["POST"], auth_level=func.AuthLevel.ANONYMOUS)
    async def empty(req: func.HttpRequest) -> func.HttpResponse:
        return func.HttpResponse(req.get_body(), mimetype="application/json")

    with run_host(app, on_close=kit.close) as url:
        print(url, flush=True)
        sys.stdin.read()


def post_request(address: str, function: str, body: Mapping[str, Any]) -> float:
    """Return the seconds until the reply was read. Raises RuntimeError when it is a refusal."""
    began = time.perf_counter()
    connection = HTTPConnection(address, timeout=60)
    connection.request("POST", f"/api/{function}", json.dumps(body), {"content-type": "application/json"})
    reply = connection.getresponse()
    said = reply.read()
    connection.close()
    if reply.status != 200:
        raise RuntimeError(f"{function} answered {reply.status}: {said!r}")
    return time.perf_counter() - began


def index_codes(address: str, definitions: Sequence[str]) -> None:
    for first in range(0, DOCUMENTS * CODES_EACH, CODES_EACH):
        places = range(first, first + CODES_EACH, PARAGRAPH)
        paragraphs = ["; ".join(definitions[place : place + PARAGRAPH]) + "." for place in places]
        post_request(address, "index_document", {"content": "\n\n".join(paragraphs), "document_id": f"codes-{first}"})


def post_question(address: str, numbers: Mapping[str, Any] | None, words: str) -> float:
    if numbers is None:
        return post_request(address, "empty", {"query": words})
    return post_request(address, "consult_rag", {"query": words, "top_k": 5, **numbers})


def measure_requests(address: str, query_texts: Sequence[str], rounds: int, clients: int) -> dict[str, RequestTimes]:
    """Ask every kind's questions in turn; the first few of each only load what the first one loads."""
    times = {kind: RequestTimes() for kind in KINDS}
    for numbers in KINDS.values():
        for words in query_texts[:3]:
            post_question(address, numbers, words)
    each = len(query_texts) // rounds
    with ThreadPoolExecutor(clients) as pool:
        for first in range(0, rounds * each, each):
            for kind, numbers in KINDS.items():
                began = time.perf_counter()
                times[kind].seconds += pool.map(
                    partial(post_question, address, numbers), query_texts[first : first + each]
                )
                times[kind].round_seconds.append(time.perf_counter() - began)
    return times


def format_request_table(found: Mapping[str, Mapping[str, float]]) -> str:
    """Format the numbers of each kind; each ratio is to the empty function."""
    base = next(iter(found.values()))
    return markdown_tables.format_table(
        ["", "requests/s", "of the empty", "p50 ms", "p99 ms", "times the empty's p99"],
        ([kind, *_format_request_cells(of_kind, base)] for kind, of_kind in found.items()),
    )


def _format_request_cells(of_kind: Mapping[str, float], base: Mapping[str, float]) -> list[str]:
    rate, p50, p99 = of_kind.values()
    return [
        f"{rate:.0f}",
        f"{rate / base['requests/s']:.2f}",
        f"{p50:.1f}",
        f"{p99:.1f}",
        f"{p99 / base['p99 ms']:.1f}",
    ]


def serve_and_measure(rounds: int, requests: int, clients: int) -> dict[str, RequestTimes]:
    """Return the times by kind of request to a server that is started for them."""
    draw = random.Random(SEED)
    definitions = load_code_definitions()
    query_texts = [" ".join(draw.choice(definitions).split()[:WORDS]) for _ in range(rounds * requests)]
    with tempfile.TemporaryDirectory() as folder:
        command = (sys.executable, "-m", "evals.bench_http", "--serve", folder)
        with subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            assert server.stdout
            address = server.stdout.readline().strip().removeprefix("http://")
            index_codes(address, definitions)
            times = measure_requests(address, query_texts, rounds, clients)
            assert server.stdin
            server.stdin.close()
    return times


def bench_requests(rounds: int, requests: int, clients: int) -> record.Result:
    """Return what was measured, by kind, and print it as a table."""
    found = {kind: one.summarize_times() for kind, one in serve_and_measure(rounds, requests, clients).items()}
    head = f"{rounds * requests} questions, {clients} at a time, load {record.read_load()}"
    print(f"{head}\n\n{format_request_table(found)}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=100, help="of each kind in a round")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep what was found")
    parser.add_argument("--serve", type=Path, metavar="FOLDER", help="only serve")
    given = parser.parse_args()
    if given.serve:
        serve_app(given.serve)
    else:
        measure = partial(bench_requests, given.rounds, given.requests, given.clients)
        record.record_result(given.json, "python -m evals.bench_http", measure)


if __name__ == "__main__":
    main()
