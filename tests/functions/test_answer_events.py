"""The events of an answer by polling: `progress_id` of api/rag/ask, and api/rag/answer_events."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from http.client import HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

import function_app
from local_emulator.host import run_host
from rag_core.composition import assembly
from rag_core.core.errors import Unavailable
from rag_core.core.kit import NoAnswerLog
from rag_core.core.model import Scope
from rag_core.core.ports import AnswerLog
from rag_core.core.settings import Settings
from rag_core.stores.archive import ArchiveDatabase, SqlAnswerLog
from tests.fakes import SCOPE
from tests.functions.test_event_stream import (
    COPIED,
    EVENTS,
    OWN,
    GatedModel,
    build_gated_kit,
    post,
    read_names,
)
from tests.functions.test_http import OID, credential

ID = "c0b7d9f1e86a4b52a1f3d84e9b6c7a05"
BARE_ID = "an-id-of-nobody-at-all-"
WAIT_S = 60


@contextmanager
def served(model: GatedModel, *logs: AnswerLog, settings: Settings | None = None) -> Iterator[list[str]]:
    """Serve an app for each log, of a host that cannot stream."""
    settings = settings or Settings(data_dir=None)
    with ExitStack() as serving:
        kits = [replace(asyncio.run(build_gated_kit(model)), answer_log=log) for log in logs]
        apps = [function_app.build_app(lambda: settings, lambda kit=kit: kit) for kit in kits]  # type: ignore[misc]
        yield [serving.enter_context(run_host(app, on_close=kit.close)) for app, kit in zip(apps, kits, strict=True)]
        model.answering.set()
        model.judging.set()


def in_memory() -> SqlAnswerLog:
    return SqlAnswerLog(ArchiveDatabase(None))


def poll(url: str, headers: Mapping[str, str] | None = None, **params: Any) -> dict[str, Any]:
    asked = {"progress_id": ID, "workflow_id": SCOPE.workflow_id, **params}
    request = Request(f"{url}/api/rag/answer_events?{urlencode(asked)}", headers=dict(headers or {}))  # noqa: S310
    with urlopen(request, timeout=WAIT_S) as reply:  # noqa: S310
        return dict(json.load(reply))


def poll_until(sign: str, url: str, headers: Mapping[str, str] | None = None, **params: Any) -> dict[str, Any]:
    """The first reply that has this state, or an event of this name."""
    replies: list[dict[str, Any]] = []

    def is_told() -> bool:
        replies.append(poll(url, headers, **params))
        return sign in (replies[-1]["state"], *(event["name"] for event in replies[-1]["events"]))

    wait_for(is_told)
    return replies[-1]


def wait_for(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.05)


@dataclass
class Asking:
    """A question that is asked in a thread, as its reply comes at the end only."""

    url: str
    headers: Mapping[str, str] = field(default_factory=lambda: EVENTS)
    fields: Mapping[str, Any] = field(default_factory=lambda: {"progress_id": ID})
    response: list[HTTPResponse] = field(default_factory=list)

    def __enter__(self) -> "Asking":
        self.thread = threading.Thread(target=lambda: self.response.append(post(self.url, self.headers, **self.fields)))
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.thread.join(WAIT_S)

    @property
    def reply(self) -> HTTPResponse:
        self.thread.join(WAIT_S)
        return self.response[0]


def test_a_sentence_can_be_polled_from_another_instance_before_the_answer_is_there(tmp_path: Path) -> None:
    """Two apps over one store, as instances of a Functions app are: one answers, the other is asked how far it is."""
    model = GatedModel()
    logs = (SqlAnswerLog(ArchiveDatabase(tmp_path / "archive.sqlite3")) for _ in range(2))
    with served(model, *logs) as (first, second):
        assert poll(second) | {"run_id": "", "timings": {}} == poll(first) | {"run_id": "", "timings": {}}
        assert poll(second)["state"] == "waiting"
        with Asking(first) as asking:
            told = poll_until("step", second)
            assert (told["state"], told["events"][0]["number"]) == ("running", 1)
            model.answering.set()
            told = poll_until("sentence", second)
            assert asking.response == []  # the answer waits for its judge
            sentences = [event["data"]["text"] for event in told["events"] if event["name"] == "sentence"]
            assert sentences == [COPIED]
            last = told["events"][-1]["number"]
            assert [event["number"] for event in told["events"]] == list(range(1, last + 1))
            model.judging.set()
            names = read_names(asking.reply)
        later = poll_until("ended", second, after=last)
        assert [event["name"] for event in (*told["events"], *later["events"])] == names[:-1]  # all but `done`
        assert later["events"][-1]["data"]["text"] == OWN
        assert poll(second, after=10**9)["events"] == []


def test_what_is_polled_is_what_is_streamed_word_by_word() -> None:
    model = GatedModel()
    model.answering.set()
    model.judging.set()
    with served(model, in_memory()) as (url,):
        *sent, done, rest = post(url, EVENTS, progress_id=ID).read().decode().split("\n\n")
        assert (done[:11], rest) == ("event: done", "")
        polled = [
            f"event: {event['name']}\ndata: {json.dumps(event['data'], ensure_ascii=False)}"
            for event in poll_until("ended", url)["events"]
        ]
        assert polled == sent


@pytest.mark.parametrize("workflow_id", ["another", "default"])
def test_another_workflow_reads_what_it_would_read_of_nothing(workflow_id: str) -> None:
    """C13 (RELIABILITY)."""
    model = GatedModel()
    model.answering.set()
    model.judging.set()
    with served(model, in_memory()) as (url,):
        post(url, EVENTS, progress_id=ID).read()
        assert poll_until("sentence", url)
        theirs, nothing = poll(url, workflow_id=workflow_id), poll(url, workflow_id=workflow_id, progress_id=BARE_ID)
        assert (theirs["state"], theirs["events"]) == (nothing["state"], nothing["events"]) == ("waiting", [])


def test_another_user_of_the_workflow_reads_nothing() -> None:
    """C14 (RELIABILITY): what it quotes may be of a document that is the first one's alone."""
    model = GatedModel()
    model.answering.set()
    model.judging.set()
    settings = Settings(data_dir=None, trust_principal=True)
    with served(model, in_memory(), settings=settings) as (url,):
        post(url, {**EVENTS, **signed_in("ann")}, progress_id=ID).read()
        assert poll_until("sentence", url, signed_in("ann"))
        assert [poll(url, headers)["state"] for headers in (signed_in("bob"), {})] == ["waiting", "waiting"]


def signed_in(user_id: str) -> dict[str, str]:
    return {"x-ms-client-principal": credential((OID, user_id))}


@dataclass
class NastyLog:
    """A log that fails at its nth call, or does not answer from then on."""

    fails_at: int
    hangs: bool = False
    calls: int = 0

    async def start(self, id: str, scope: Scope) -> None:
        await self._fail()

    async def append(self, id: str, text: str, scope: Scope) -> None:
        await self._fail()

    async def _fail(self) -> None:
        self.calls += 1
        if self.calls >= self.fails_at:
            if self.hangs:
                await asyncio.sleep(WAIT_S)
            raise (Unavailable("no disk") if self.calls % 2 else RuntimeError("a fault of our own"))

    async def read(self, id: str, scope: Scope) -> str | None:
        raise Unavailable("no disk")

    async def purge_workflow(self, workflow_id: str) -> None: ...

    async def close(self) -> None: ...


@pytest.mark.parametrize("hangs", [False, True])
@pytest.mark.parametrize("fails_at", [1, 2])
def test_a_log_that_cannot_be_written_does_not_hurt_the_answer(fails_at: int, hangs: bool) -> None:
    model = GatedModel()
    nasty = NastyLog(fails_at, hangs)
    with served(model, nasty) as (url,):
        with Asking(url) as asking:
            wait_for(lambda: nasty.calls == fails_at)
            model.answering.set()
            model.judging.set()
            text = asking.reply.read().decode()
        assert read_names(post(url, EVENTS)) == [line[7:] for line in text.splitlines() if line.startswith("event: ")]
        done = json.loads(text.rpartition("\ndata: ")[2])
        assert (done["degraded"], done["warnings"]) == ([], [])
        assert nasty.calls == fails_at  # it was given up, and nobody asked for a second one


def test_where_nothing_is_logged_who_polls_waits() -> None:
    model = GatedModel()
    model.answering.set()
    model.judging.set()
    with served(model, NoAnswerLog()) as (url,):
        assert read_names(post(url, EVENTS, progress_id=ID))[-1] == "done"
        assert poll(url)["state"] == "waiting"


def test_a_question_that_is_refused_leaves_no_log_and_one_that_fails_ends_it() -> None:
    log = in_memory()
    with served(GatedModel(), log) as (url,):
        assert post(url, EVENTS, progress_id=ID, pipeline="facets").status == 400
        assert poll(url)["state"] == "waiting"
    model = GatedModel(is_broken=True)
    model.answering.set()
    with served(model, log) as (url,):
        assert read_names(post(url, EVENTS, progress_id=ID))[-1] == "error"
        assert {event["name"] for event in poll_until("ended", url)["events"]} == {"step"}


@pytest.mark.parametrize("progress_id", ["", "short", "x" * 21, "x" * 65, "../../" + "x" * 22, "ä" * 30])
def test_an_id_that_could_be_guessed_or_is_none_is_refused(progress_id: str) -> None:
    with served(GatedModel(), in_memory()) as (url,):
        refused = post(url, EVENTS, progress_id=progress_id)
        assert (refused.status, json.loads(refused.read())["error"]["field"]) == (400, "progress_id")
        with pytest.raises(HTTPError) as failure:
            poll(url, progress_id=progress_id)
        assert failure.value.code == 400
        failure.value.close()


def test_an_id_without_events_is_refused_because_nothing_would_be_told() -> None:
    with served(GatedModel(), in_memory()) as (url,):
        refused = post(url, {}, progress_id=ID)
        assert (refused.status, json.loads(refused.read())["error"]["field"]) == (400, "progress_id")


def test_a_purge_of_a_document_ends_the_logs_of_its_workflow(tmp_path: Path) -> None:
    """S3-16: the kit that the settings choose has its log in the archive, in which a purge leaves no byte of it."""
    settings = Settings(data_dir=tmp_path)
    holder = assembly.KitHolder(lambda: settings)
    app = function_app.build_app(lambda: settings, holder)
    with run_host(app, on_close=holder.close) as url:
        send(url, "index_document", document_id="notes", content=COPIED)
        post(url, EVENTS, progress_id=ID).read()
        told = poll_until("ended", url)
        assert [event["data"]["text"] for event in told["events"] if event["name"] == "sentence"] == [COPIED]
        send(url, "delete_document", document_id="notes", purge=True)
        assert poll(url)["state"] == "waiting"
    assert COPIED.encode() not in (tmp_path / assembly.ARCHIVE_FILE).read_bytes()


def send(url: str, operation: str, **fields: Any) -> None:
    body = json.dumps({"workflow_id": SCOPE.workflow_id, **fields}).encode()
    request = Request(f"{url}/api/{operation}", body, {"content-type": "application/json"})  # noqa: S310
    urlopen(request, timeout=60).close()  # noqa: S310
