"""Each kind of fault of the search service ends in its documented result, and never later than the deadline allows."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from tenacity import wait_none
from werkzeug.wrappers import Request

from local_emulator.search_service import SearchService
from local_emulator.search_service.serving import serve_wsgi
from rag_core.core import retrying
from rag_core.core.errors import DeadlineExceeded, Misconfigured, RagError, Unavailable
from rag_core.core.retrying import Dependency
from rag_core.core.run import Run
from rag_core.stores.azure_search import AzureSearchStore
from tests.faults.search_faults import Faulty
from tests.stores.sample import SCOPE, find, ids, put

HANGING = ("black_hole", "drip")  # what only the deadline ends
GRACE_S = 5.0  # of the deadline: a busy or paused machine names the chunks of a write in more than 0.05 s
HUNG_S = 60.0  # a test that takes this long has hung

# fault -> the error, and how often the service is asked: RELIABILITY 6.5, 3.1 and 3.3
FAULTS: dict[str, tuple[type[RagError], str, int]] = {
    "black_hole": (Unavailable, "search_throttled", 1),
    "drip": (Unavailable, "search_throttled", 1),
    "reset": (Unavailable, "search_throttled", 3),
    "reset_after": (Unavailable, "search_throttled", 3),
    "throttled": (Unavailable, "search_throttled", 3),
    "huge_retry_after": (Unavailable, "search_throttled", 1),
    "failed": (Unavailable, "search_throttled", 3),
    "bad_gateway": (Unavailable, "search_throttled", 3),
    "unavailable": (Unavailable, "search_throttled", 3),
    "html": (Unavailable, "search_response_invalid", 1),
    "cut": (Unavailable, "search_response_invalid", 1),
    "empty": (Unavailable, "search_response_invalid", 1),
    "no_numbers": (Unavailable, "search_response_invalid", 1),
    "unauthorized": (Misconfigured, "search_unauthorized", 1),
    "forbidden": (Misconfigured, "search_unauthorized", 1),
    "gone": (Misconfigured, "index_missing", 1),
}
REFUSED = ("unauthorized", "forbidden", "gone")  # by the service, for the operator to put right
PASSING = ("late", "reset", "throttled", "failed", "bad_gateway", "unavailable")


def request(fault: str) -> Run:
    """With little time where all of it will pass, else with what a busy machine may need."""
    return Run(GRACE_S + 1.0 if fault in HANGING else 30.0)


class Script:
    """Faults of the requests to one place: `always`, or `once`."""

    def __init__(self) -> None:
        self.place, self.always, self.once = "", "", [""]
        self.asked = 0

    def plan(self, request: Request) -> str | None:
        if not self.place or not request.path.endswith(self.place):
            return None
        self.asked += 1
        return (self.once.pop() if self.once else self.always) or None


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    monkeypatch.setattr(retrying, "_jitter", wait_none())
    monkeypatch.setattr(retrying, "DEADLINE_GRACE_S", GRACE_S)
    monkeypatch.setattr(retrying, "RESERVE_S", GRACE_S + 0.1)
    return Script()


@pytest.fixture
def app(script: Script) -> Iterator[tuple[str, Faulty]]:
    faulty = Faulty(SearchService(None, keys={"key"}), script.plan)
    with serve_wsgi(faulty) as url:
        yield url, faulty
        faulty.release.set()


@pytest.fixture
async def store(app: tuple[str, Faulty]) -> AsyncIterator[AzureSearchStore]:
    asked = Dependency("Azure AI Search", code="search_throttled", try_s=30.0)
    made = AzureSearchStore(app[0], "key", "faults", dimensions=16, dependency=asked)
    await made.setup()
    await put(made, "doc", ["brake fluid", "brake line"])
    yield made
    await made.close()


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_search_that_meets_the_fault_every_time_ends_as_documented(
    store: AzureSearchStore, script: Script, fault: str
) -> None:
    """C50, G7: at most three tries; an hour's Retry-After, silence and a dripping reply cost the deadline at most."""
    script.place, script.always, script.once = "search.post.search", fault, []
    kind, code, tries = FAULTS[fault]
    async with asyncio.timeout(HUNG_S):
        with pytest.raises(kind) as told:
            await request(fault).step("search", find(store, "brake"))
    late = isinstance(told.value, DeadlineExceeded)
    assert told.value.code == code or (late and fault in HANGING)
    assert script.asked == tries


@pytest.mark.parametrize("fault", PASSING)
async def test_a_search_that_meets_the_fault_once_gives_what_it_gives_without(
    store: AzureSearchStore, script: Script, fault: str
) -> None:
    expected = ids(await find(store, "brake"))
    script.place, script.always, script.once = "search.post.search", "", [fault]
    async with asyncio.timeout(HUNG_S):
        assert ids(await Run(30.0).step("search", find(store, "brake"))) == expected


@pytest.mark.parametrize("fault", [*FAULTS, "partial"])
async def test_a_write_that_meets_the_fault_keeps_the_old_version_and_names_the_new(
    store: AzureSearchStore, script: Script, fault: str
) -> None:
    """C36, C51: searchable as before, and there as soon as the service takes it."""
    if fault in ("no_numbers", "reset_after"):
        pytest.skip("of searches only: a write's reply has no scores, and one that was done is done")
    script.place, script.always, script.once = "search.index", fault, []
    new = [f"new line {i}" for i in range(12)]
    run = request(fault)
    async with asyncio.timeout(HUNG_S):
        if fault in REFUSED:
            with pytest.raises((DeadlineExceeded, Misconfigured)):
                await run.step("index", put(store, "doc", new))
        else:
            told = await run.step("index", put(store, "doc", new))
            assert told.failed == tuple(f"doc:{i:03}" for i in range(12))
    assert [c.content for c in await store.select(SCOPE, limit=50)] == ["brake fluid", "brake line"]
    script.place = ""
    store._client._dependency = Dependency("Azure AI Search", code="search_throttled", try_s=30.0)
    assert await store.flush() == ()
    assert [c.content for c in await store.select(SCOPE, limit=50)] == new
