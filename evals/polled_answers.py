"""`python -m evals.polled_answers`: what polling an answer brings and costs in Microsoft's worker library.

The app runs as it is deployed, with Azurite as its storage account, beside a chat model that takes seconds to write and
to judge. Each question is asked as a page does, with a `progress_id` that is polled and without one.
"""

import asyncio
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from uuid import uuid4

from azure.storage.blob import ContainerClient

from local_emulator.chat_techniques import ChatTechniques
from local_emulator.judging import WordJudge
from local_emulator.model_service import ModelService
from local_emulator.search_service.serving import serve_wsgi
from rag_core.composition import model_assembly
from rag_core.core.ports import LLM, Completion, Prompt
from rag_core.core.settings import DEFAULT_SETTINGS
from rag_core.ingestion.enrichment import select_key_sentences
from rag_core.providers.local_techniques import LocalTechniques
from rag_core.stores.azure_answer_log import ANSWER_LOG_CONTAINER_NAME
from tests import azurite
from tests.functions import deployed

COPIED, OWN = "P0700 is stored by the TCM.", "The lamp is a request of the module."
CONTENT = f"{COPIED} It asks for the lamp."
QUESTION = {"query": "What stores P0700?", "pipeline": "standard"}
POLL_AFTER_S, POLL_EVERY_S = 1.5, 0.7  # as web/ask/events.js does
ROUNDS = 5


@dataclass(frozen=True, slots=True)
class SlowModel:
    """A chat model that takes its time to write two sentences, of which the judge has to read the second."""

    techniques: LLM
    writes_for_s: float
    judges_for_s: float
    name: str = "slow"

    async def complete(self, prompt: Prompt) -> Completion:
        if prompt.task == "judge":
            await asyncio.sleep(self.judges_for_s)
        if prompt.task != "answer":
            return await self.techniques.complete(prompt)
        await asyncio.sleep(self.writes_for_s)
        sentences = [{"text": text, "evidence": ["e1"]} for text in (COPIED, OWN)]
        return Completion(json.dumps({"answerable": True, "sentences": sentences}), self.name)


@dataclass(slots=True)
class Asked:
    """When a question had its first sentence and its answer, in seconds, and how often it was polled."""

    progress_id: str = field(default_factory=lambda: uuid4().hex)
    first_sentence_s: float | None = None
    answer_s: float = 0.0
    polls: int = 0


@contextmanager
def serve_slow_app(
    python: Path, folder: Path, storage: str, *, writes_for_s: float, judges_for_s: float
) -> Iterator[str]:
    """Serve the deployed app with one document beside a slow chat model, and yield its address."""
    reranker = model_assembly.build_local_reranker(DEFAULT_SETTINGS)
    techniques = ChatTechniques(LocalTechniques(reranker, select_key_sentences), WordJudge())
    slow = SlowModel(techniques, writes_for_s, judges_for_s)
    models = ModelService(model_assembly.build_local_embedder(DEFAULT_SETTINGS), slow, keys={"key"})
    with (
        serve_wsgi(models) as models_url,
        deployed.serve_deployed_app(
            python, folder, AZURE_OPENAI_ENDPOINT=models_url, AZURE_OPENAI_API_KEY="key", AzureWebJobsStorage=storage
        ) as url,
    ):
        deployed.post(url, "index_document", {"content": CONTENT, "document_id": "notes"})
        yield url


def ask(url: str, *, is_polled: bool) -> Asked:
    """Ask, poll meanwhile where that is wanted, and return when what was there."""
    asked, started_at, is_over = Asked(), time.monotonic(), threading.Event()
    polling = threading.Thread(target=_poll, args=(url, asked, started_at, is_over))
    if is_polled:
        polling.start()
    progress = {"progress_id": asked.progress_id} if is_polled else {}
    text = _request(url, "POST", "/api/rag/ask", json.dumps({**QUESTION, **progress}))
    is_over.set()
    asked.answer_s = time.monotonic() - started_at
    assert "event: done" in text, text
    if is_polled:
        polling.join()
    return asked


def count_appends(storage: str, logs: int) -> float:
    """Return how many texts were appended to a log in the mean, of so many logs."""
    with ContainerClient.from_connection_string(storage, ANSWER_LOG_CONTAINER_NAME) as container:
        blobs = [container.get_blob_client(blob.name).get_blob_properties() for blob in container.list_blobs()]
    assert len(blobs) == logs
    return sum(blob.append_blob_committed_block_count or 0 for blob in blobs) / len(blobs)


def main() -> int:
    python = deployed.prepare_worker_python()
    if python is None:
        print(deployed.NEEDED)
        return 1
    for writes_for_s, judges_for_s in ((0.0, 0.0), (3.0, 4.0)):
        storage = azurite.emptied()
        print(f"a model that writes for {writes_for_s} s and judges for {judges_for_s} s, medians of {ROUNDS}")
        slow = {"writes_for_s": writes_for_s, "judges_for_s": judges_for_s}
        with TemporaryDirectory() as folder, serve_slow_app(python, Path(folder), storage, **slow) as url:
            for is_polled in (True, False):  # the first of each loads what is not loaded yet
                ask(url, is_polled=is_polled)
            for is_polled in (False, True):
                before_s = _read_cpu_s()
                rounds = [ask(url, is_polled=is_polled) for _ in range(ROUNDS)]
                cpu_ms = (_read_cpu_s() - before_s) * 1000 / ROUNDS
                how = "polled" if is_polled else "not polled"
                print(f"  {how}: {_describe(rounds)}, {cpu_ms:.0f} ms of the worker's CPU")
            time.sleep(1)  # the last append
            print(f"  appends: {count_appends(storage, ROUNDS + 1):.1f} an answer, after one that creates the blob")
    return 0


def _poll(url: str, asked: Asked, started_at: float, is_over: threading.Event) -> None:
    is_over.wait(POLL_AFTER_S)
    while not is_over.is_set():
        reply = json.loads(_request(url, "GET", f"/api/rag/answer_events?progress_id={asked.progress_id}"))
        asked.polls += 1
        names = [event["name"] for event in reply["events"]]
        if asked.first_sentence_s is None and "sentence" in names and not is_over.is_set():
            asked.first_sentence_s = time.monotonic() - started_at
        is_over.wait(POLL_EVERY_S)


def _request(url: str, method: str, path: str, body: str | None = None) -> str:
    connection = HTTPConnection(url.removeprefix("http://"), timeout=120)
    connection.request(method, path, body, {"content-type": "application/json", "accept": "text/event-stream"})
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    assert response.status == 200, text
    return text


def _describe(rounds: list[Asked]) -> str:
    firsts = [asked.answer_s if asked.first_sentence_s is None else asked.first_sentence_s for asked in rounds]
    answers, polls = median(asked.answer_s for asked in rounds), median(asked.polls for asked in rounds)
    return f"first sentence {median(firsts):.2f} s, answer {answers:.2f} s, {polls:.0f} polls"


def _read_cpu_s() -> float:
    """Return the CPU time of the worker, the only child of this process that is Python 3.13's."""
    ticks = os.sysconf("SC_CLK_TCK")
    for stat in Path("/proc").glob("[0-9]*/stat"):
        fields = stat.read_text().rpartition(")")[2].split()
        if int(fields[1]) == os.getpid() and str(deployed.SCRIPT) in (stat.parent / "cmdline").read_text():
            return (int(fields[11]) + int(fields[12])) / ticks
    raise LookupError("the worker does not run")


if __name__ == "__main__":
    raise SystemExit(main())
