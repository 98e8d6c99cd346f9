"""`python -m evals.deployed_app`: the app as deployed is weighed, started and asked, and its traces printed.

Microsoft's worker library runs it with the packages of requirements.txt alone over the emulated Azure services; what
takes the place of Application Insights prints the spans that the worker's process sent to it. Local techniques answer,
which cost nothing and name themselves; once under the names of the models that `azd up` deploys, at their list prices.
"""

import io
import resource
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.faults.server import FaultServer, failing, reply
from tests.functions import deployed
from tests.functions.deployed import INSTRUMENTATION_KEY, WATCHED, list_spans, post, told, wait_for_spans

DOCUMENT = deployed.ROOT / "examples" / "workshop-notes.txt"
QUESTION = "What resistance did solenoid A measure?"
SHOWN = (
    "gen_ai.response.model",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "gen_ai.response.finish_reasons",
    "rag.cost_usd",
)


def main() -> int:
    python = deployed.prepare_worker_python()
    if python is None:
        print(deployed.NEEDED)
        return 1
    print(describe_package(deployed.list_deployed_files()))
    for run in range(1, 4):
        print(f"cold start {run}: {_start_worker(python):.2f} s of CPU until every function is known")
    print(subprocess.run([python, deployed.SCRIPT, deployed.ROOT, "list"], capture_output=True, text=True).stdout)
    _ask_and_print(python, ("standard", "agentic"), priced=False)
    _ask_and_print(python, ("standard",), priced=True)
    return 0


def _ask_and_print(python: Path, pipelines: Sequence[str], *, priced: bool) -> None:
    """Start the app, ask each pipeline the question, and print its answer, its cost and its trace."""
    sent = reply(200, {"itemsReceived": 1, "itemsAccepted": 1, "errors": []})
    with failing(sent) as insights, TemporaryDirectory() as folder:
        named = f"InstrumentationKey={INSTRUMENTATION_KEY};IngestionEndpoint={insights.url}"
        settings = {**WATCHED, "APPLICATIONINSIGHTS_CONNECTION_STRING": named}
        with deployed.serve_deployed_app(python, Path(folder), priced=priced, **settings) as url:
            post(url, "index_document", {"content": DOCUMENT.read_text("utf-8"), "document_id": "notes"})
            for pipeline in pipelines:
                answer = post(url, "rag/ask", {"query": QUESTION, "pipeline": pipeline})
                prices = "at list prices" if priced else "local techniques are free"
                print(f"{pipeline}: {answer['status']}: {answer['answer']}")
                print(f"  degraded {answer['degraded']}, cost {answer['usage']['cost_usd']} USD ({prices})\n")
                print("\n".join(_print_trace(_wait_for_trace(insights, answer["run_id"]))), end="\n\n")


def describe_package(names: Iterable[str]) -> str:
    """Describe what azd uploads: these files, zipped; the packages of requirements.txt are installed on Azure."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(names):
            archive.write(deployed.ROOT / name, name)
    files = archive.infolist()
    unpacked = sum(file.file_size for file in files)
    return f"package: {len(files)} files, {unpacked / 1e6:.2f} MB, zipped {held.tell() / 1e6:.2f} MB"


def _start_worker(python: Path) -> float:
    """Start a worker, which ends once it has named its functions; return the CPU seconds of its process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([python, deployed.SCRIPT, deployed.ROOT, "list"], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _wait_for_trace(insights: FaultServer, run_id: str) -> list[dict[str, Any]]:
    """Return the spans of the trace whose request has this run, as soon as the request's own span has come."""
    roots = wait_for_spans(insights, lambda spans: [each for each in spans if told(each).get("rag.run.id") == run_id])
    traces = {root["tags"]["ai.operation.id"] for root in roots}
    return [each for each in list_spans(insights) if each["tags"]["ai.operation.id"] in traces]


def _get_properties(span: Mapping[str, Any]) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = span["data"]["baseData"].get("properties") or {}
    return properties


def _print_trace(spans: Sequence[Mapping[str, Any]], parent: str | None = None, depth: int = 0) -> Iterator[str]:
    """Yield a line for each span, below its parent; the root's parent is the host's span, which is not sent here."""
    ids = {span["data"]["baseData"]["id"] for span in spans}
    for span in sorted(spans, key=lambda one: str(one["time"])):
        above, data = span["tags"].get("ai.operation.parentId"), span["data"]["baseData"]
        if above != parent and not (parent is None and above not in ids):
            continue
        told = {name: value for name, value in _get_properties(span).items() if name in SHOWN}
        yield f"{'  ' * depth}{data['name']}  {data['duration']}  {told or ''}".rstrip()
        yield from _print_trace(spans, data["id"], depth + 1)


if __name__ == "__main__":
    sys.exit(main())
