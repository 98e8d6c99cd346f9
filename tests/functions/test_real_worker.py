"""The app in Microsoft's own Python worker library gives the replies that the emulator gives.

`real_worker.py` plays the host and the gRPC proxy around PyPI's azure-functions-runtime, which wants Python 3.13.
`deployed.py` makes its virtual environment.
"""

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

import function_app
from evals import polled_answers
from functions.pages import FILE_ROUTES, PAGE_ROUTES
from functions.routes import ROUTES
from local_emulator.host import run_host
from rag_core.composition import assembly
from rag_core.core.model import Scope
from rag_core.core.settings import Settings
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.upload import Upload
from rag_core.jobs.upload_codec import encode_upload
from tests import azurite
from tests.functions.contract import EXAMPLES
from tests.functions.deployed import NEEDED, ROOT, SCRIPT, prepare_worker_python
from tests.varying_fields import drop_varying_fields

TRIGGERED = ("index_jobs_woken", "index_jobs_timed")

TEXT = {"content-type": "application/json"}
INDEX = EXAMPLES["index_document"]
PASTED = EXAMPLES["paste_expansion"]
EXCHANGES: list[tuple[str, str, Any]] = [
    ("GET", "/api/health", None),
    ("GET", "/api/openapi.json", None),
    ("POST", "/api/index_document", INDEX),
    ("POST", "/api/index_document", INDEX),
    ("POST", "/api/index_document", {"content_base64": "IyBHZWFycwoKUDA3MTUgaXMgYSBzZW5zb3IuCg==", "filename": "g.md"}),
    ("POST", "/api/consult_rag", {"query": "What does P0700 mean?", "pipeline": "standard"}),
    ("POST", "/api/consult_rag", {"query": "What does P0700 mean?", "filters": {"metadata.model_year": {"ge": 2020}}}),
    ("POST", "/api/consult_rag", {"query": "How many unique DTC codes?", "pipeline": "facets", "facets": ["dtc"]}),
    ("POST", "/api/rag/ask", {"query": "What stores P0700?", "pipeline": "standard", "style": "pages"}),
    ("POST", "/api/rag/ask", {"query": "How many?", "pipeline": "facets"}),
    ("GET", "/api/get_document_summary?document_id=transmission-notes&refresh=", None),
    ("POST", "/api/get_document_summary", {"document_id": "unknown"}),
    ("POST", "/api/extract_citations", {"text": "P0700 is stored by the TCM. Cats sleep."}),
    ("GET", "/api/graph_query?operation=top&limit=3", None),
    ("POST", "/api/graph_query", {"operation": "path", "entity": "P0700", "target": "P0715"}),
    ("GET", "/api/index_jobs/nobodys", None),
    ("POST", "/api/consult_rag", {"query": "x", "top_k": "5"}),
    ("POST", "/api/consult_rag", "not JSON"),
    ("DELETE", "/api/consult_rag", None),
    ("POST", "/rag/expansion/manual", PASTED),
    ("POST", "/rag/queries/1/embed", None),  # no body and, without models, 503
    ("POST", "/rag/queries/1/retrieve", {"workflow_id": "default"}),
    ("PATCH", "/rag/queries/1", {"intent": "far too long to be kept " * 5}),
    ("PATCH", "/rag/queries/4242", {"intent": "FACT"}),
    ("GET", "/rag/queries/%D9%A3", None),
    ("GET", "/rag/queries/1/results", None),
    ("DELETE", "/rag/queries/1?workflow_id=other", None),
    ("DELETE", "/rag/queries/1", {"workflow_id": "other"}),
    ("DELETE", "/rag/queries/1", None),
    ("GET", "/rag/presets", None),
    ("PUT", "/rag/presets/standard", {"config": {"top_k": 5}}),
    ("GET", "/api/nothing", None),
    *(("GET", path, None) for path in ("/rag", "/rag/", "/rag/-7", "/rag/x", "/rag/%D9%A3", "/rag/documents/a%2Fb.md")),
    *(("GET", f"/rag/static/{name}", None) for name in ("", "none", "index.html", "app.js", "icon.svg", "..%2Fx")),
    *((method, "/rag", None) for method in ("HEAD", "OPTIONS", "POST")),
    ("POST", "/api/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}),
    ("POST", "/api/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}),
]
HOSTS_OWN = ("connection", "content-length", "date", "server")  # headers


@pytest.fixture(scope="module")
def worker_python() -> Path:
    """The Python of an environment with the worker library and what the app needs."""
    python = prepare_worker_python()
    if python is None and os.environ.get("CI") == "true":
        pytest.fail(NEEDED)
    if python is None:
        pytest.skip(NEEDED)
    return python


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Words only: the worker's environment has no model files."""
    return Settings(data_dir=tmp_path_factory.mktemp("emulator"), models_dir=tmp_path_factory.mktemp("no-models"))


@pytest.fixture(scope="module")
def emulator(settings: Settings) -> Iterator[str]:
    with run_host(function_app.build_app(lambda: settings)) as url:
        yield url


@pytest.fixture(scope="module")
def worker(worker_python: Path, settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    command = [str(worker_python), str(SCRIPT), str(ROOT), "serve", "--port", "0"]
    chosen = {"RAG_DATA_DIR": str(tmp_path_factory.mktemp("worker")), "RAG_MODELS_DIR": str(settings.models_dir)}
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **chosen})
    assert child.stdout
    yield child.stdout.readline().split()[-1]
    child.terminate()
    child.communicate()


def test_the_worker_finds_every_function(worker_python: Path) -> None:
    """S1-56..60: indexed by Microsoft's code, whose rules for names and annotations fail a whole app."""
    mounted = [*(route.name for route in ROUTES), *TRIGGERED, *PAGE_ROUTES, *FILE_ROUTES, "mcp"]
    listing = [
        str(worker_python),
        str(SCRIPT),
        str(ROOT),
        "list",
        "--expect",
        ",".join(mounted),
    ]
    told = subprocess.run(listing, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")
    assert f"{len(mounted)} functions indexed" in told.stdout


def test_the_worker_and_the_emulator_answer_alike(worker: str, emulator: str) -> None:
    """S1-35: status, headers and content of every reply, but for ids and times of a run; pages and MCP too."""
    for method, path, body in EXCHANGES:
        expected, got = (exchange(url, method, path, body) for url in (emulator, worker))
        assert got == expected, f"{method} {path}"


async def test_a_message_in_the_queue_does_the_job_in_the_worker_too(worker_python: Path, settings: Settings) -> None:
    """S1-57, C56 (RELIABILITY): the trigger as Microsoft's code binds and calls it."""
    kit = assembly.build_kit(settings)
    work = encode_upload(Upload(content="P0700 is stored by the TCM.", document_id="queued"), Chunking())
    job, _ = await kit.jobs.add(work, Scope("default"), document_id="queued")
    command = [str(worker_python), str(SCRIPT), str(ROOT)]
    chosen = {"RAG_DATA_DIR": str(settings.data_dir), "RAG_MODELS_DIR": str(settings.models_dir)}
    told = await asyncio.to_thread(
        subprocess.run,
        [*command, "trigger", "index_jobs_woken", "--data", job.id],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **chosen},
    )
    assert told.returncode == 0, told.stderr
    done = await kit.jobs.get(job.id, None)
    await kit.close()
    assert done
    assert done.state == "done"


def test_a_sentence_can_be_polled_in_the_worker_before_it_replies(worker_python: Path, tmp_path: Path) -> None:
    """By the log in a storage account, of which Microsoft's own emulator is one. `python -m evals.polled_answers`."""
    slow = {"writes_for_s": 0.1, "judges_for_s": 6.0}
    with polled_answers.serve_slow_app(worker_python, tmp_path, azurite.emptied(), **slow) as url:
        asked = polled_answers.ask(url, is_polled=True)
    assert asked.first_sentence_s
    assert asked.first_sentence_s < asked.answer_s


def exchange(url: str, method: str, path: str, body: Any) -> tuple[int, dict[str, str], Any]:
    connection = HTTPConnection(url.removeprefix("http://"))
    sent = body if isinstance(body, str | None) else json.dumps(body)
    connection.request(method, path, sent, TEXT)
    reply = connection.getresponse()
    text = reply.read().replace(url.encode(), b"http://the-app")  # which openapi.json names as its server
    headers = {name.lower(): value for name, value in reply.getheaders()}
    connection.close()
    told = {name: value for name, value in headers.items() if name not in HOSTS_OWN}
    is_json = told.get("content-type") == "application/json"
    return reply.status, told, drop_varying_fields(json.loads(text)) if is_json else text
