"""Answers that are told while they are made: `Accept: text/event-stream` on api/rag/ask."""

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import pytest
from werkzeug.test import Client

import function_app
from local_emulator.host import Host, run_host
from rag_core.core.errors import Unavailable
from rag_core.core.kit import Kit
from rag_core.core.model import Judgement
from rag_core.core.ports import ClaimToJudge, Completion, Prompt
from rag_core.core.settings import Settings
from tests.fakes import SCOPE, chunk, filled, kit
from tests.varying_fields import drop_varying_fields

COPIED, OWN = "P0700 is stored by the TCM.", "The lamp is a request of the module."
QUESTION = {"query": "What stores P0700?", "pipeline": "standard", "workflow_id": SCOPE.workflow_id}
EVENTS = {"accept": "text/event-stream"}


@dataclass
class GatedModel:
    """A chat model and a judge that say nothing before their gates are opened."""

    name: str = "gated"
    is_multilingual: bool = True
    answering: threading.Event = field(default_factory=threading.Event)
    judging: threading.Event = field(default_factory=threading.Event)
    is_broken: bool = False

    async def complete(self, prompt: Prompt) -> Completion:
        await asyncio.to_thread(self.answering.wait, 60)
        if self.is_broken:
            raise RuntimeError("a fault of our own")
        sentences = [{"text": text, "evidence": ["e1"]} for text in (COPIED, OWN)]
        return Completion(json.dumps({"answerable": True, "sentences": sentences}), self.name)

    async def judge_claims(self, claims: Sequence[ClaimToJudge]) -> Sequence[Judgement | None]:
        await asyncio.to_thread(self.judging.wait, 60)
        return [Judgement("supported", 0.9, 0, COPIED) for _ in claims]


@contextmanager
def served(model: GatedModel, *, can_stream: bool = True) -> Iterator[str]:
    """Serve the app with this model on a socket."""
    parts = asyncio.run(build_gated_kit(model))
    app = function_app.build_app(lambda: Settings(data_dir=None), lambda: parts, can_stream=can_stream)
    with run_host(app) as url:
        yield url
        model.answering.set()
        model.judging.set()


async def build_gated_kit(model: GatedModel) -> Kit:
    passage = f"{COPIED} It asks for the lamp."
    return replace(kit(await filled(chunk("c1", passage, "P0700")), llm=model), judge=model)


def post(url: str, headers: Mapping[str, str], **fields: Any) -> HTTPResponse:
    """Send a question and return the response, of which nothing but the head is read."""
    connection = HTTPConnection(url.removeprefix("http://"), timeout=30)
    body = json.dumps({**QUESTION, **fields})
    connection.request("POST", "/api/rag/ask", body, {"content-type": "application/json", **headers})
    return connection.getresponse()


def read_event(response: HTTPResponse) -> tuple[str, Any]:
    """Return the next event, as soon as it is there."""
    name, data, end = (response.readline().decode().rstrip("\n") for _ in range(3))
    assert (name[:7], data[:6], end) == ("event: ", "data: ", "")
    return name[7:], json.loads(data[6:])


def read_until(name: str, response: HTTPResponse) -> Any:
    """Return the data of the next event of this name."""
    while (event := read_event(response))[0] != name:
        pass
    return event[1]


def read_names(response: HTTPResponse) -> list[str]:
    return [line[7:].decode().strip() for line in response.read().splitlines() if line.startswith(b"event: ")]


def test_events_come_before_the_model_has_answered_and_before_the_judge_has_judged() -> None:
    """A slow model: the steps are told while it writes, and a sentence that needs no judge while that one reads."""
    model = GatedModel()
    with served(model) as url:
        response = post(url, EVENTS)
        assert response.headers["content-type"].startswith("text/event-stream")
        assert read_event(response)[0] == "step"
        while read_event(response)[1] != {"step": "answer", "state": "started"}:
            pass
        assert not model.answering.is_set()  # the answer is not even begun, and we were told of the search
        model.answering.set()
        assert read_until("citation", response)["document_id"] == "manual"
        assert read_until("sentence", response)["text"] == COPIED
        assert not model.judging.is_set()
        model.judging.set()
        later = read_until("sentence", response)
        assert (later["text"], later["lead"]) == (OWN, " ")
        done = read_until("done", response)
        assert [claim["text"] for claim in done["claims"]] == [COPIED, OWN]
        assert response.read() == b""


def test_without_the_header_the_reply_is_as_ever_and_done_has_the_same() -> None:
    model = GatedModel()
    model.answering.set()
    model.judging.set()
    with served(model) as url:
        plain = json.loads(post(url, {"accept": "application/json, */*"}).read())
        told = read_until("done", post(url, {"accept": "text/event-stream; q=1, */*"}))
        assert drop_varying_fields(told) == drop_varying_fields(plain)


def test_a_host_that_cannot_send_parts_sends_the_same_events_at_the_end() -> None:
    """As Azure Functions does: one body, with a length."""
    model = GatedModel()
    model.answering.set()
    model.judging.set()
    with served(model, can_stream=False) as url:
        response = post(url, EVENTS)
        assert int(response.headers["content-length"]) > 0
        names = read_names(response)
    assert names[0] == "step"
    assert [name for name in names if name != "step"] == ["citation", "sentence", "citation", "sentence", "done"]


def test_a_failure_in_the_middle_is_an_event_with_the_body_of_an_error() -> None:
    model = GatedModel(is_broken=True)
    with served(model) as url:
        response = post(url, EVENTS)
        read_event(response)
        model.answering.set()
        error = read_until("error", response)
        assert (error["success"], error["error"]["code"]) == (False, "internal")
        assert error["run_id"]
        assert response.read() == b""


def test_what_is_refused_before_the_first_event_is_refused_as_ever() -> None:
    with served(GatedModel()) as url:
        for fields, status in (({"query": " "}, 400), ({"pipeline": "facets"}, 400)):
            response = post(url, EVENTS, **fields)  # type: ignore[arg-type]
            assert (response.status, json.loads(response.read())["error"]["code"]) == (status, "invalid_request")


def test_a_place_for_a_heavy_request_is_free_again_when_nobody_reads_on() -> None:
    """A reader who goes away ends the call, whatever the model does."""
    model = GatedModel()
    parts = asyncio.run(build_gated_kit(model))
    settings = Settings(data_dir=None, max_heavy_requests=1, max_waiting_requests=0)
    host = Host(function_app.build_app(lambda: settings, lambda: parts, can_stream=True))
    client = Client(host)
    response = client.post("/api/rag/ask", json=QUESTION, headers=EVENTS, buffered=False)
    next(iter(response.response))
    assert client.post("/api/rag/ask", json=QUESTION).status_code == 429
    response.close()
    model.answering.set()
    model.judging.set()
    statuses = {client.post("/api/rag/ask", json=QUESTION).status_code for _ in range(50)}
    assert 200 in statuses
    host.close()


def test_a_host_that_closes_does_not_end_a_reply_in_silence() -> None:
    model = GatedModel()
    parts = asyncio.run(build_gated_kit(model))
    host = Host(function_app.build_app(lambda: Settings(data_dir=None), lambda: parts, can_stream=True))
    response = Client(host).post("/api/rag/ask", json=QUESTION, headers=EVENTS, buffered=False)
    chunks = iter(response.response)
    while b'"answer"' not in next(chunks):
        pass
    closing = threading.Timer(0.2, host.close)
    closing.start()
    rest = b"".join(chunks)
    closing.join()
    assert b"event: error" in rest
    model.answering.set()


@pytest.mark.parametrize(
    "accept", ["", "*/*", "text/html", "text/event-streams", "application/json", "application/json, text/event-stream"]
)
def test_only_the_name_of_the_media_type_asks_for_events(accept: str) -> None:
    model = GatedModel()
    model.answering.set()
    model.judging.set()
    with served(model) as url:
        assert post(url, {"accept": accept}).headers["content-type"].startswith("application/json")


def test_a_service_that_is_not_there_before_the_first_event_keeps_its_status() -> None:
    def get_kit() -> Kit:
        raise Unavailable("nothing is open yet")

    app = function_app.build_app(lambda: Settings(data_dir=None), get_kit, can_stream=True)
    with run_host(app) as url:
        assert post(url, EVENTS).status == 503
