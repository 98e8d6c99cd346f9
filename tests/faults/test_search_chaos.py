"""Through every fault of the search service each chunk ends indexed or named, and the final set is exact."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from azure.core.credentials import AzureKeyCredential
from azure.search.documents import SearchIndexingBufferedSender
from tenacity import wait_none
from werkzeug.wrappers import Request

from local_emulator.search_service import SearchService
from local_emulator.search_service.serving import serve_wsgi
from rag_core.core import retrying
from rag_core.core.errors import Unavailable
from rag_core.core.model import Scope
from rag_core.core.ports import ReplacementResult
from rag_core.core.retrying import Dependency
from rag_core.stores.azure_search import AzureSearchStore, action_batches
from rag_core.stores.azure_search.index_client import DocumentOutcome
from tests.faults.search_faults import CHAOS, ITEM_FAULTS, Faulty
from tests.stores.sample import chunk, document

SCOPE = Scope("chaos")
INDEX = "chaos"
SHARE = 0.3  # of the requests fail
ROUNDS = 200


@pytest.fixture(autouse=True)
def without_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries follow each other at once: it is not time that is tested here."""
    monkeypatch.setattr(retrying, "_jitter", wait_none())
    monkeypatch.setattr(retrying.CircuitBreaker, "PAUSE_S", 0.0)


@contextmanager
def faulty(service: SearchService, plan: object) -> Iterator[tuple[str, Faulty]]:
    app = Faulty(service, plan)  # type: ignore[arg-type]
    with serve_wsgi(app) as url:
        yield url, app


@asynccontextmanager
async def opened(url: str, outbox: Path | None = None) -> AsyncIterator[AzureSearchStore]:
    store = AzureSearchStore(url, "key", INDEX, dimensions=0, outbox=outbox, dependency=dependency())
    try:
        yield store
    finally:
        await store.close()


def dependency() -> Dependency:
    return Dependency("Azure AI Search", code="search_throttled", try_s=10.0)


async def replaced(store: AzureSearchStore, name: str, texts: Sequence[str]) -> ReplacementResult:
    """Ask until it is accepted: a refusal says that nothing was."""
    chunks = [chunk(name, i, text) for i, text in enumerate(texts)]
    for _ in range(ROUNDS):
        try:
            return await store.replace_document(document(name, SCOPE), chunks, [None] * len(chunks), SCOPE, space="")
        except Unavailable:
            continue
    raise AssertionError("never accepted")


async def flushed(store: AzureSearchStore) -> None:
    for _ in range(ROUNDS):
        if not await store.flush():
            return
    raise AssertionError("never sent")


@pytest.mark.parametrize(
    "chunks", [pytest.param(2_000, id="2000"), pytest.param(10_000, id="10000", marks=pytest.mark.soak)]
)
async def test_each_chunk_ends_indexed_or_named_and_the_final_set_is_exact(chunks: int) -> None:
    """C51, G8: random 207, 413, 429, 502, 503, resets before and after, duplicates, replies cut off.

    One that is named may be there all the same: the reply that said so was lost.
    """
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    seen, named = await chaos(chunks, seed)
    print({"seed": seed, "chunks": chunks, "named at first": named, **seen})
    assert len(seen) > len(CHAOS) - 2, "nearly every kind of fault was met"
    assert named, "some were named, or the test shows nothing"


async def test_the_harness_finds_a_sender_that_counts_its_intentions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: the outcome of each document is not looked at, as in the products of RELIABILITY 1.3."""
    monkeypatch.setattr(action_batches, "RETRIED_DOCUMENT_STATUSES", frozenset())
    monkeypatch.setattr(DocumentOutcome, "succeeded", True)
    with pytest.raises(AssertionError, match="in neither"):
        await chaos(2_000, 7)


async def chaos(chunks: int, seed: int) -> tuple[Counter[str], int]:
    """Write documents of 30 chunks and again with 20 through random faults; the faults met, and how many were named."""
    draw = random.Random(seed)
    quiet = [True]

    def plan(request: Request) -> str | None:
        if quiet[0] or draw.random() > SHARE:
            return None
        return draw.choice([f for f in CHAOS if request.path.endswith("search.index") or f not in ITEM_FAULTS])

    with faulty(SearchService(None, keys={"key"}), plan) as (url, app):
        async with opened(url) as store:
            await store.setup()
            wanted: dict[str, list[str]] = {}
            named = 0
            for turn in range(chunks // 25):
                name = f"doc{turn // 2:03}"
                wanted[name] = [f"{name} turn {turn} line {i}" for i in range(20 if turn % 2 else 30)]
                quiet[0] = False
                told = await replaced(store, name, wanted[name])
                quiet[0] = True
                named += len(told.failed)
                chunks_now = await store.select(replace(SCOPE, document_ids=(name,)), limit=1000)
                there = {c.id for c in chunks_now if c.content in wanted[name]}
                ids = {f"{name}:{i:03}" for i in range(len(wanted[name]))}
                assert {*told.failed} | there == ids, "a chunk in neither"
            quiet[0] = False
            await flushed(store)
            quiet[0] = True
            await exactly(store, wanted)
    return app.seen, named


async def exactly(store: AzureSearchStore, wanted: Mapping[str, Sequence[str]]) -> None:
    """Nothing is missing, twice, or left over."""
    found = await store.select(SCOPE, limit=100_000)
    assert [c.content for c in found] == [text for name in sorted(wanted) for text in wanted[name]]
    described = await store.describe()
    assert (described.documents, described.chunks) == (len(wanted), len(found))
    assert described.details["unsent"] == 0
    keys = await store._client.search("*", select=["key"], top=100_000)
    assert len(keys) == len(found) + len(wanted) + 1, "no version but the last is left, and the workflow's own record"


async def test_one_503_costs_the_vendors_sender_nine_of_ten_documents_and_ours_none() -> None:
    """F1: SearchIndexingBufferedSender 12.0.0 gives up what it does not requeue, and tells nobody."""
    service = SearchService(None, keys={"key"})
    script: list[str | None] = []

    def plan(request: Request) -> str | None:
        return script.pop(0) if script and request.path.endswith("search.index") else None

    with faulty(service, plan) as (url, _):
        async with opened(url) as store:
            await store.setup()
            errors: list[object] = []
            script.append("unavailable")
            await asyncio.to_thread(vendor_sends, url, errors)
            left = await store._client.search("*", select=["key"])
            assert (len(left), errors) == (1, []), "nine of ten are gone without a word"
            script.append("unavailable")
            told = await replaced(store, "ours", [f"line {i}" for i in range(10)])
            assert told.failed == ()
            assert len(await store.select(SCOPE, limit=50)) == 10


def vendor_sends(url: str, errors: list[object]) -> None:
    credential = AzureKeyCredential("key")
    with SearchIndexingBufferedSender(
        url, INDEX, credential, auto_flush=False, retry_total=0, on_error=errors.append
    ) as sender:
        sender.upload_documents([{"key": f"k{i}", "kind": "vendor"} for i in range(10)])
        sender.flush()


async def test_what_an_outage_left_is_sent_by_the_next_process(tmp_path: Path) -> None:
    """Acknowledged is in the outbox: another process finishes what this one could not."""
    service = SearchService(None, keys={"key"})
    down = [False]

    def plan(request: Request) -> str | None:
        return "unavailable" if down[0] and request.path.endswith("search.index") else None

    with faulty(service, plan) as (url, _):
        async with opened(url, tmp_path / "outbox.db") as first:
            await first.setup()
            assert (await replaced(first, "doc", ["old words"])).failed == ()
            down[0] = True
            assert (await replaced(first, "doc", ["new words", "more"])).failed == ("doc:000", "doc:001")
            assert [c.content for c in await first.select(SCOPE, limit=9)] == ["old words"]
        down[0] = False
        async with opened(url, tmp_path / "outbox.db") as second:
            assert (await second.describe()).details["unsent"] == 1
            assert await second.flush() == ()
            assert [c.content for c in await second.select(SCOPE, limit=9)] == ["new words", "more"]
