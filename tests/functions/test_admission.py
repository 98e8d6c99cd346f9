"""Of a burst of heavy requests some run, some wait and the rest are told when to come again; light ones pass by."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress

import azure.functions as func
import pytest
from werkzeug.test import Client, TestResponse

from functions.admission import Admission
from functions.http import Service, mount_operations
from functions.routes import ROUTES
from local_emulator.host import Host
from rag_core.core.errors import Overloaded
from rag_core.core.index import Index
from rag_core.core.model import Scope
from rag_core.core.run import Run
from rag_core.core.settings import Settings
from rag_core.retrieval import steps
from tests.fakes import ConceptEmbedder, OverlapReranker, chunk, filled, kit

CLIENTS = 30
HEAVY = {"query": "gearbox", "pipeline": "standard"}
LIGHT = {"query": "gearbox", "preset": "pages", "search_type": "keyword"}


class SlowReranker(OverlapReranker):
    """Holds the questions that are with it until two are and it may go on; `most` were with it at once."""

    running = most = 0

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = threading.Event()

    async def score_passages(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        self.running += 1
        self.most = max(self.most, self.running)
        while not (self.may_go_on.is_set() and self.most >= 2):  # noqa: ASYNC110 - set by another thread
            await asyncio.sleep(0.01)
        self.running -= 1
        return await super().score_passages(text, passages)


@pytest.fixture
def reranker() -> SlowReranker:
    return SlowReranker()


@pytest.fixture
def client(reranker: SlowReranker, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """An app with two places for heavy requests and three that may wait."""
    monkeypatch.setattr(steps, "RERANK_TIMEOUT_S", 60.0)
    store = asyncio.run(filled(chunk("a", "The gearbox."), scope=Scope("default"))).store
    settings = Settings(data_dir=None, max_heavy_requests=2, max_waiting_requests=3)
    app = func.FunctionApp()
    parts = kit(Index(store, ConceptEmbedder()), reranker=reranker)
    mount_operations(app, ROUTES, Service(lambda: settings, lambda: parts))
    host = Host(app)
    yield Client(host)
    host.close()


def consult(client: Client, body: object) -> TestResponse:
    return client.post("/api/consult_rag", json=body)


def test_a_burst_is_answered_in_part_and_told_to_come_again(client: Client, reranker: SlowReranker) -> None:
    """All are answered: five with passages, the others at once with when to repeat the request."""
    with ThreadPoolExecutor(CLIENTS) as pool:
        heavy = [pool.submit(consult, client, HEAVY) for _ in range(CLIENTS)]
        replies = []
        for done in as_completed(heavy):
            replies.append(done.result())
            if len(replies) == CLIENTS - 5:  # the others have a place, or wait for one
                reranker.may_go_on.set()
    statuses = Counter(reply.status_code for reply in replies)
    assert statuses == {200: 5, 429: CLIENTS - 5}
    assert reranker.most == 2
    for reply in replies:
        if reply.status_code == 429:
            error = json.loads(reply.data)["error"]
            assert (error["code"], error["retryable"]) == ("overloaded", True)
            assert 1 <= int(reply.headers["Retry-After"]) <= 60
        else:
            assert not json.loads(reply.data)["degraded"]
    assert consult(client, HEAVY).status_code == 200, "the places are free again"


def test_a_lexical_search_and_health_do_not_wait_for_heavy_requests(client: Client, reranker: SlowReranker) -> None:
    with ThreadPoolExecutor(CLIENTS) as pool:
        heavy = [pool.submit(consult, client, HEAVY) for _ in range(CLIENTS)]
        light = [consult(client, LIGHT) for _ in range(10)]
        health = client.get("/api/health")
        assert [reply.status_code for reply in light] == [200] * 10
        assert health.status_code == 200
        reranker.may_go_on.set()
        assert all(one.result().status_code in (200, 429) for one in heavy)


async def test_who_waits_is_admitted_in_the_order_of_arrival() -> None:
    admission, order = Admission(1, 5), list[int]()

    async def work(number: int) -> None:
        async with admission.admit(Run()):
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(work(number) for number in range(6)))
    assert order == list(range(6))


async def test_who_has_waited_for_half_of_the_time_is_told_to_come_again() -> None:
    """The place of a request that gave up, or was cancelled, goes to the next."""
    admission = Admission(1, 5)
    async with admission.admit(Run()):
        with pytest.raises(Overloaded):
            async with admission.admit(Run(0.2)):
                raise AssertionError
        cancelled = asyncio.create_task(_enter(admission))
        await asyncio.sleep(0.01)
        cancelled.cancel()
        with suppress(asyncio.CancelledError):
            await cancelled
        waiting = asyncio.create_task(_enter(admission))
        await asyncio.sleep(0.01)
    await waiting
    await _enter(admission)


async def test_who_is_cancelled_when_its_turn_has_come_loses_no_place() -> None:
    """The turn is given and the request goes away before it runs again, as when its caller hangs up."""
    admission = Admission(1, 5)
    async with admission.admit(Run()):
        waiting = asyncio.create_task(_enter(admission))
        await asyncio.sleep(0.01)
    waiting.cancel()
    with suppress(asyncio.CancelledError):
        await waiting
    async with asyncio.timeout(30):
        await _enter(admission)


async def test_a_failed_request_gives_its_place_back() -> None:
    admission = Admission(1, 0)
    with pytest.raises(ZeroDivisionError):
        async with admission.admit(Run()):
            raise ZeroDivisionError
    await _enter(admission)


async def _enter(admission: Admission) -> None:
    async with admission.admit(Run()):
        pass


async def test_a_request_that_is_cancelled_when_its_place_comes_gives_it_back() -> None:
    """A reader who goes away in this moment took the place along, and after a few of them all others got 429."""
    admission = Admission(1, 5)
    for turns in range(12):  # of the loop, between the release of the place and the cancellation
        async with admission.admit(Run()):
            waiting = asyncio.create_task(_enter(admission))
            await asyncio.sleep(0.01)
        for _ in range(turns):
            await asyncio.sleep(0)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
    async with asyncio.timeout(30):
        await _enter(admission)
