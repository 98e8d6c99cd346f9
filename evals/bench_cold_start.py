"""What a cold start costs, in fresh processes, beside an Azure Functions app that has one empty function.

python -m evals.bench_cold_start [--runs 9] [--json FILE]

The import is what the host pays before it knows the functions; the first answer is all from the start of the process
to a reply, with what was indexed read from disk. Byte code and file cache are warm.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from evals import record
from rag_core.evaluation import markdown_tables

ROOT = Path(__file__).parents[1]
GOAL = 1.5
FIRST_ANSWER = "first answer, hybrid"
IMPORTED = "import time; began = time.process_time(); import {}; print(time.process_time() - began)"
BARE = """
import azure.functions as func
app = func.FunctionApp()

@app.route("api/empty")
async def empty(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(req.get_body())
"""
OURS = """
import azure.functions as func
from function_app import app
"""
ANSWERED = """
import asyncio, sys, time
functions = {{one.get_function_name(): one.get_user_function() for one in app.get_functions()}}
kind = {{"content-type": "application/json"}}
request = func.HttpRequest(method="POST", url="/", headers=kind, params={{}}, route_params={{}}, body={body!r})
reply = asyncio.run(functions[{name!r}](request))
assert reply.status_code == 200, reply.get_body()
print(time.process_time(), flush=True)
"""
TEXT = "P0700 is stored by the transmission control module. P0715 is the input speed sensor."


@dataclass(frozen=True)
class ProcessCost:
    cpu_s: float
    wall_s: float


def measure_process(code: str, folder: str) -> ProcessCost:
    """Measure a new process, which prints the CPU seconds that count."""
    env = {**os.environ, "RAG_DATA_DIR": folder, "PYTHONPYCACHEPREFIX": f"{folder}/byte-code"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # a third of a first answer would be compiling
    began = time.perf_counter()
    child = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return ProcessCost(float(child.stdout), time.perf_counter() - began)


def build_request_code(app: str, name: str, **body: Any) -> str:
    return app + ANSWERED.format(name=name, body=json.dumps(body).encode())


def measure_turns(tasks: Mapping[str, Callable[[], ProcessCost]], runs: int) -> dict[str, list[ProcessCost]]:
    """Run the tasks in turns, so that a busy machine slows all alike; the first, to fill the caches, is not counted."""
    turns = [[task() for task in tasks.values()] for _ in range(runs + 1)]
    return dict(zip(tasks, map(list, zip(*turns[1:], strict=True)), strict=True))


def measure_startup(runs: int, folder: str) -> dict[str, list[ProcessCost]]:
    """Return the costs of so many processes, by what was started, over one document that is indexed before."""
    measure_process(build_request_code(OURS, "index_document", content=TEXT, document_id="notes"), folder)
    ask = partial(build_request_code, OURS, "consult_rag", query="What does P0700 mean?", preset="pages", top_k=3)
    codes = {
        "import azure.functions": IMPORTED.format("azure.functions"),
        "import function_app": IMPORTED.format("function_app"),
        "first answer, an empty function": build_request_code(BARE, "empty"),
        "first answer, keyword": ask(search_type="keyword"),
        FIRST_ANSWER: ask(search_type="hybrid"),
    }
    return measure_turns({name: partial(measure_process, code, folder) for name, code in codes.items()}, runs)


def bench_startup(runs: int, folder: str) -> record.Result:
    """Return the medians by what was started, and print them as a table."""
    found = {name: _compute_medians(costs) for name, costs in measure_startup(runs, folder).items()}
    print(f"{format_startup_table(found)}\n\nGoal of the import: at most {GOAL}. Load {record.read_load()}")
    return found


def _compute_medians(costs: Sequence[ProcessCost]) -> dict[str, float]:
    cpu_s, wall_s = (statistics.median(seconds) for seconds in zip(*map(astuple, costs), strict=True))
    return {"ms CPU": 1000 * cpu_s, "ms": 1000 * wall_s}


def format_startup_table(found: Mapping[str, Mapping[str, float]]) -> str:
    """Format a table; each ratio is to the import of azure.functions, or to the first answer of an empty function."""
    return markdown_tables.format_table(
        ["", "ms CPU", "ratio", "ms in all"], ([name, *_format_startup_cells(name, found)] for name in found)
    )


def _format_startup_cells(name: str, found: Mapping[str, Mapping[str, float]]) -> list[str]:
    imported = name.startswith("import")
    base = found["import azure.functions" if imported else "first answer, an empty function"]
    spent = found[name]["ms CPU"]
    return [f"{spent:.0f}", f"{spent / base['ms CPU']:.2f}", "" if imported else f"{found[name]['ms']:.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep what was found")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        record.record_result(given.json, "python -m evals.bench_cold_start", partial(bench_startup, given.runs, folder))


if __name__ == "__main__":
    main()
