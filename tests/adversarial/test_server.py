"""The server answers others in time while it reads the worst of texts, and keeps the time limit of who sent them."""

import json
import threading
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from local_emulator.host import run_service
from rag_core.core.settings import Settings
from tests.adversarial.shapes import SHAPES

TIMEOUT_S = 30.0  # of a request to the server
JOB_LIMIT_S = 180.0  # of a document of a megabyte
SPARE_S = 10.0  # beyond it, for a busy machine to write the reply
HEALTH_WITHIN_S = 3.0  # of CPU of this process, which no other process and no pause takes from it
QUESTION_CHARS, CITED_CHARS, UPLOAD_CHARS = 8_000, 20_000, 1_000_000
ANSWERED = range(200, 500)  # a refusal is an answer; 504 says that the time limit was kept
QUESTION_SHAPES = ("long references", "SQL unions", "opening quotes")
CITED_SHAPES = ("opening quotes", "digit triples", "Chinese stops")
UPLOAD_SHAPES = (
    ("text", "opening quotes"),
    pytest.param("md", "open links", marks=pytest.mark.soak),
    pytest.param("csv", "900 columns", marks=pytest.mark.soak),
)
ASKED = "Working memory holds a few items. It is limited."


@dataclass(slots=True)
class Health:
    """How much CPU went by before the slowest answer of /api/health, in seconds, and how many answers there were."""

    slowest_s: float = 0.0
    answers: int = 0


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server without models, which has a document."""
    no_models: Path = tmp_path_factory.mktemp("no-models")
    with run_service(Settings(data_dir=None, models_dir=no_models, request_timeout_s=TIMEOUT_S)) as url:
        assert post(url, "index_document", content=ASKED, document_id="asked")[0] == 200
        assert post(url, "rag/ask", query="What holds a few items?", pipeline="standard")[0] == 200
        yield url


@pytest.mark.parametrize("shape", QUESTION_SHAPES)
@pytest.mark.parametrize("path", ["consult_rag", "rag/ask"])
def test_a_question_holds_up_nobody(url: str, path: str, shape: str) -> None:
    check(url, path, query=SHAPES[shape](QUESTION_CHARS), pipeline="advanced")


@pytest.mark.parametrize("shape", CITED_SHAPES)
def test_a_text_to_cite_holds_up_nobody(url: str, shape: str) -> None:
    check(url, "extract_citations", text=SHAPES[shape](CITED_CHARS))


@pytest.mark.parametrize(("ending", "shape"), UPLOAD_SHAPES)
def test_an_upload_of_a_megabyte_holds_up_nobody(url: str, ending: str, shape: str) -> None:
    """A document of that size is a job, and the job is done in the process of the server, as in a Functions worker."""
    text = SHAPES[shape](UPLOAD_CHARS)
    with watched(url, f"{ending} of {shape}"):
        status, body = post(url, "index_document", content=text, source=f"{shape}.{ending}")
        assert status in ANSWERED or status == 504, body
        ends_at = time.monotonic() + JOB_LIMIT_S
        while status == 202 and body["status"] in ("queued", "running"):
            assert time.monotonic() < ends_at, body
            time.sleep(0.5)
            body = get(url, f"index_jobs/{body['job_id']}")


def test_a_freeze_is_seen_whenever_it_begins(url: str) -> None:
    """The twin of what must not be: the lock of Python is held, as by one pattern, while no health is asked for."""
    health, done = Health(), threading.Event()
    watching = threading.Thread(target=watch, args=(url, health, done))
    watching.start()
    frozen_s = 0.0
    for _ in range(3):
        answers = health.answers
        while health.answers == answers:
            time.sleep(0.001)
        began = time.process_time()
        unicodedata.normalize("NFKC", "\u0301\u0327" * 10_000)
        frozen_s = max(frozen_s, time.process_time() - began)
    done.set()
    watching.join()
    assert health.slowest_s >= 0.9 * frozen_s


def check(url: str, path: str, **fields: object) -> None:
    """Send a request while /api/health is asked all the time."""
    with watched(url, path):
        began = time.monotonic()
        status, body = post(url, path, **fields)
        assert status in ANSWERED or status == 504, body
        assert time.monotonic() - began < TIMEOUT_S + SPARE_S


@contextmanager
def watched(url: str, what: str) -> Iterator[None]:
    """Ask /api/health all the time that the block takes; each answer must come in time."""
    health, done = Health(), threading.Event()
    watching = threading.Thread(target=watch, args=(url, health, done))
    watching.start()
    began = time.monotonic()
    try:
        yield
    finally:
        done.set()
        watching.join()
    took_s = time.monotonic() - began
    print(f"{what}: {took_s:.2f} s, health at worst after {health.slowest_s:.2f} s of {health.answers} answers")
    assert health.answers
    assert health.slowest_s < HEALTH_WITHIN_S


def watch(url: str, health: Health, done: threading.Event) -> None:
    """Time each answer from the one before: who shares a process with the server freezes with it, also between two."""
    answered_at = time.process_time()
    while not done.is_set():
        done.wait(0.05)
        get(url, "health")
        last, answered_at = answered_at, time.process_time()
        health.slowest_s = max(health.slowest_s, answered_at - last)
        health.answers += 1


def post(url: str, path: str, **fields: object) -> tuple[int, dict[str, object]]:
    request = Request(f"{url}/api/{path}", json.dumps(fields).encode(), {"content-type": "application/json"})  # noqa: S310
    try:
        with urlopen(request, timeout=300) as reply:  # noqa: S310
            return reply.status, json.loads(reply.read())
    except HTTPError as refusal:
        return refusal.code, json.loads(refusal.read())


def get(url: str, path: str) -> dict[str, object]:
    with urlopen(f"{url}/api/{path}", timeout=300) as reply:  # noqa: S310 - our own server
        body: dict[str, object] = json.loads(reply.read())
        return body
