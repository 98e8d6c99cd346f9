"""Short work is done at once; long work, and what time can put right, becomes a job that is resumed where it was."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag_core.core.errors import Conflict, InvalidRequest, NotFound, RagError, TooLarge, Unavailable, UnreadableDocument
from rag_core.core.index import Index
from rag_core.core.kit import EnrichmentModel, Kit
from rag_core.core.model import Block, IndexingResult, Job, Vector
from rag_core.core.ports import Probe, ReplacementResult
from rag_core.core.run import Run
from rag_core.ingestion import lifecycle
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import index_document
from rag_core.ingestion.upload import Upload, UploadLimits
from rag_core.jobs import indexer
from rag_core.jobs.indexer import Indexer, IndexingPolicy, run_due_jobs
from rag_core.jobs.job_rows import RETRY_DELAYS_S, SUSPENSION_S, SuspendedJobs
from rag_core.jobs.sqlite_jobs import SqliteJobs
from rag_core.jobs.upload_codec import decode_upload, encode_upload
from rag_core.stores.embedded import EmbeddedStore
from tests.contracts.test_jobs import Clock
from tests.fakes import SCOPE, ConceptEmbedder, ScriptedLLM, kit
from tests.ingestion.test_model_enrichment import describe

TERMS = IndexingPolicy(UploadLimits(10_000, 10.0), max_inline_bytes=500, max_inline_chunks=5)
NOTES = Upload(content="P0700 is stored by the TCM.", document_id="notes")


def rows(count: int, document: str = "codes") -> Upload:
    """A table, which has a chunk a row."""
    lines = ["code,kept", *(f"P{row:04},gearbox" for row in range(count))]
    return Upload(content="\n".join(lines), source="codes.csv", document_id=document)


class Moody(ConceptEmbedder):
    """Does not answer while it is `down`, nor once it has made as many vectors as it is `allowed`."""

    down, allowed = False, 10**6

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        if self.down or len(self.asked) + len(texts) > self.allowed:
            raise Unavailable("the embedder is down", code="embedding_unavailable")
        return await super().embed_documents(texts)


class MoodyStore(EmbeddedStore):
    down = broken = False

    async def replace_document(self, *args: Any, **named: Any) -> ReplacementResult:
        if self.down:
            raise Unavailable("the store is down", code="store_down")
        if self.broken and "older" not in args[1][0].content:
            raise TooLarge("what no time puts right")
        return await super().replace_document(*args, **named)


class Bell:
    def __init__(self) -> None:
        self.rung: list[tuple[str, float]] = []

    async def notify(self, job_id: str, *, after_s: float = 0.0) -> None:
        self.rung.append((job_id, after_s))

    async def close(self) -> None: ...


class Flaky:
    """A lease of a table that is busy at first."""

    def __init__(self, renewed: asyncio.Event) -> None:
        self.asked, self._renewed = 0, renewed

    async def renew(self) -> None:
        self.asked += 1
        if self.asked == 1:
            raise Unavailable("the table is busy", code="jobs_unavailable")
        self._renewed.set()


class Shop:
    """The parts, those that can fail in reach."""

    def __init__(self) -> None:
        self.clock, self.embedder, self.store, self.bell = Clock(), Moody(), MoodyStore(None), Bell()
        self.jobs = SqliteJobs(None, now=self.clock)
        index = Index(self.store, self.embedder)
        self.kit: Kit = replace(kit(index), jobs=self.jobs, job_notifier=self.bell)
        self.run = Run()

    async def index(self, upload: Upload, terms: IndexingPolicy = TERMS, **asked: Any) -> IndexingResult | Job:
        self.run = Run()
        return await Indexer(self.kit, self.run, terms).index(upload, SCOPE, chunking=Chunking(), **asked)

    async def drain(self) -> int:
        return await run_due_jobs(self.kit, TERMS, within_s=30.0)

    async def job(self, job: IndexingResult | Job) -> Job:
        assert isinstance(job, Job)
        found = await self.jobs.get(job.id, None)
        assert found
        return found

    async def found(self, words: str, *, meaning: str = "") -> list[str]:
        vector = await self.embedder.embed_query(meaning) if meaning else None
        (ranking,) = await self.kit.index.search([Probe("q", words, vector)], SCOPE, limit=99)
        return [hit.chunk.content for hit in ranking]


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    shop = Shop()
    yield shop
    await shop.kit.close()


async def test_short_work_is_done_at_once_and_leaves_no_job(shop: Shop) -> None:
    """S1-57: indexed when the reply comes."""
    assert isinstance(await shop.index(NOTES), IndexingResult)
    assert await shop.found("stored")
    assert await shop.drain() == 0


async def test_an_upload_that_is_indexed_at_once_is_not_encoded_for_a_job(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[Upload] = []
    monkeypatch.setattr(indexer, "encode_upload", lambda upload, _: encoded.append(upload) or b"")
    assert isinstance(await shop.index(NOTES), IndexingResult)
    assert not encoded
    await shop.index(NOTES, as_job=True)
    assert encoded == [NOTES]


@pytest.mark.parametrize(
    ("upload", "asked"),
    [
        pytest.param(Upload(content="x" * 501), {}, id="more bytes than are short"),
        pytest.param(rows(6), {}, id="more chunks than are short"),
        pytest.param(rows(6), {"key": "k"}, id="more chunks than are short, with a key"),
        pytest.param(NOTES, {"as_job": True}, id="asked for"),
    ],
)
async def test_long_work_is_taken_on_and_done_by_the_worker(shop: Shop, upload: Upload, asked: dict[str, Any]) -> None:
    """S1-57: what takes longer than a request goes on without it."""
    job = await shop.job(await shop.index(upload, **asked))
    assert (job.state, job.document_id) == ("queued", upload.document_id)
    assert not await shop.store.list_documents(SCOPE)
    assert await shop.drain() == 1
    done = await shop.job(job)
    assert (done.state, done.progress.embedded) == ("done", done.progress.chunks)
    assert done.result
    assert done.result.embedded == done.progress.chunks
    assert [document.id for document in await shop.store.list_documents(SCOPE)] == [done.document_id]


async def test_a_job_rings_the_bell_and_a_broken_bell_is_told_of_and_loses_nothing(shop: Shop) -> None:
    job = await shop.job(await shop.index(NOTES, as_job=True))
    assert shop.bell.rung == [(job.id, 0.0)]

    async def broken(job_id: str, *, after_s: float = 0.0) -> None:
        raise Unavailable("no queue", code="queue_unavailable")

    shop.bell.notify = broken  # type: ignore[method-assign]
    await shop.index(rows(1), as_job=True)
    assert [lesser.code for lesser in shop.run.degraded] == ["queue_unavailable"]
    assert await shop.drain() == 2


async def test_without_an_embedder_that_answers_the_text_is_found_by_words_at_once_and_by_meaning_later(
    shop: Shop,
) -> None:
    """(RELIABILITY 3.2): acknowledged, searchable by words, vectors pending; the job makes them."""
    shop.embedder.down = True
    job = await shop.job(await shop.index(NOTES))
    assert (job.state, job.lexical_only, job.error and job.error["code"]) == ("queued", True, "embedding_unavailable")
    assert [lesser.code for lesser in shop.run.degraded] == ["embedding_pending"]
    assert await shop.found("stored")
    assert not await shop.store.load_vectors("notes", SCOPE)
    shop.embedder.down = False
    shop.clock.seconds += RETRY_DELAYS_S[0]
    assert await shop.drain() == 1
    assert ((await shop.job(job)).state, (await shop.job(job)).lexical_only) == ("done", False)
    assert await shop.found("", meaning="gearbox") == ["P0700 is stored by the TCM."]


async def test_whoever_puts_a_job_off_has_the_bell_rung_when_it_is_due(shop: Shop) -> None:
    """S1-57: in the request that found the embedder away, and in the worker that did."""
    shop.embedder.down = True
    job = await shop.job(await shop.index(NOTES))
    shop.clock.seconds += RETRY_DELAYS_S[0]
    await shop.drain()
    assert shop.bell.rung == [(job.id, RETRY_DELAYS_S[0]), (job.id, RETRY_DELAYS_S[1])]


async def test_what_turned_out_to_be_long_rings_the_bell_too(shop: Shop) -> None:
    job = await shop.job(await shop.index(rows(6), key="k"))
    assert shop.bell.rung == [(job.id, 0.0)]


async def test_unchanged_parts_keep_their_vectors_while_others_wait(shop: Shop) -> None:
    await shop.index(rows(2))
    shop.embedder.down = True
    await shop.index(rows(3))
    assert len(await shop.store.load_vectors("codes", SCOPE)) == 2
    assert len(await shop.found("gearbox")) == 3


@pytest.mark.parametrize("key", [None, "k"])
async def test_where_vectors_are_required_a_text_without_them_is_refused(shop: Shop, key: str | None) -> None:
    """(RELIABILITY 3.2): 503 only then, and nothing is left behind."""
    shop.embedder.down = True
    with pytest.raises(Unavailable):
        await shop.index(NOTES, replace(TERMS, require_vectors=True), key=key)
    assert not await shop.found("stored")
    assert await shop.drain() == 0


@pytest.mark.parametrize("key", [None, "k"])
async def test_what_the_index_cannot_take_now_is_kept_and_tried_again(shop: Shop, key: str | None) -> None:
    """C36, C50 (RELIABILITY): the old version stays searchable until the new one is there."""
    await shop.index(Upload(content="The older text.", document_id="notes"))
    shop.store.down = True
    job = await shop.job(await shop.index(NOTES, key=key))
    assert job.state == "queued"
    assert await shop.found("older")
    shop.store.down = False
    shop.clock.seconds += RETRY_DELAYS_S[0]
    assert await shop.drain() == 1
    assert (await shop.job(job)).state == "done"
    assert not await shop.found("older")
    assert shop.embedder.asked.count("P0700 is stored by the TCM.") == 1


async def test_where_neither_embedder_nor_index_answers_there_is_one_job_and_nothing_is_called_searchable(
    shop: Shop,
) -> None:
    """C36, C50 (RELIABILITY): the job that is told of is the one that is done."""
    shop.store.down = shop.embedder.down = True
    job = await shop.job(await shop.index(NOTES))
    assert (job.state, job.lexical_only) == ("queued", False)
    assert [(one.step, one.code) for one in shop.run.degraded] == [("index", "store_down")]
    shop.store.down = shop.embedder.down = False
    shop.clock.seconds += 3600.0
    assert await shop.drain() == 1
    assert (await shop.job(job)).state == "done"


async def test_a_lease_that_could_not_be_renewed_once_is_renewed_after(monkeypatch: pytest.MonkeyPatch) -> None:
    """C56 (RELIABILITY): else a second worker would take the job, and pay for the same vectors."""
    monkeypatch.setattr(indexer, "LEASE_RENEWAL_INTERVAL_S", 0.0)
    renewed = asyncio.Event()
    lease: Any = Flaky(renewed)
    async with asyncio.timeout(5), indexer._keep_lease_alive(lease):
        await renewed.wait()
    assert lease.asked == 2


@pytest.mark.parametrize("words", [True, False])
async def test_finished_batches_are_not_paid_again(shop: Shop, words: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """C56 (RELIABILITY): the embedder fails after six of ten; the next attempt asks for four."""
    monkeypatch.setattr(indexer, "EMBED_BATCH_CHUNKS", 2)
    shop.embedder.allowed = 7
    job = await shop.index(rows(10))
    await run_due_jobs(shop.kit, replace(TERMS, require_vectors=not words), within_s=30.0)
    assert ((await shop.job(job)).progress.embedded, (await shop.job(job)).lexical_only) == (6, words)
    assert len(await shop.found("gearbox")) == (10 if words else 0)
    shop.embedder.allowed = 99
    shop.clock.seconds += RETRY_DELAYS_S[0]
    await shop.drain()
    assert (await shop.job(job)).state == "done"
    assert sorted(shop.embedder.asked) == sorted(set(shop.embedder.asked))
    assert len(shop.embedder.asked) == 10


async def test_what_a_chat_model_wrote_is_not_paid_again_by_the_next_attempt(shop: Shop) -> None:
    """S1-31: a worker that is killed before the document is in the index has saved the descriptions."""
    llm = ScriptedLLM(enrichment=describe, summary="A table of rows.")
    model = EnrichmentModel("mini", 1.0, 1.0, 0, budget_usd=1.0)
    shop.kit = replace(shop.kit, llm=llm, enrichment=model)
    await shop.index(rows(60))
    shop.store.down = True
    await shop.drain()
    asked = len(llm.prompts)
    assert asked == 7, "six for the passages and one for the document"
    shop.store.down = False
    shop.clock.seconds += RETRY_DELAYS_S[0]
    assert await shop.drain() == 1
    assert len(llm.prompts) == asked
    chunks = await shop.store.select(SCOPE, limit=100)
    assert {chunk.metadata.get("enriched_by") for chunk in chunks} == {"mini"}


async def test_what_a_chat_model_wrote_in_the_request_is_not_paid_again_by_the_job(shop: Shop) -> None:
    llm = ScriptedLLM(enrichment=describe, summary="A table of rows.")
    shop.kit = replace(shop.kit, llm=llm, enrichment=EnrichmentModel("mini", 1.0, 1.0, 0, budget_usd=1.0))
    job = await shop.index(rows(12))
    asked = len(llm.prompts)
    assert asked == 3, "more chunks to embed than a request waits for, but few enough to describe"
    await shop.drain()
    ended = await shop.job(job)
    assert (ended.state, len(llm.prompts)) == ("done", asked)
    assert ended.run_notes["usage"]["cost_usd"] == 0.003, "what the request has paid is of the job too"


async def test_the_ceiling_of_a_document_is_one_for_all_attempts(shop: Shop) -> None:
    """What earlier attempts have paid for the document is not there to be spent again."""
    llm = ScriptedLLM(enrichment=describe, summary="A table of rows.")  # a call books 0.001 USD, and costs more at most
    shop.kit = replace(shop.kit, llm=llm, enrichment=EnrichmentModel("mini", 0.1, 0.1, 0, budget_usd=0.0035))
    job = await shop.index(rows(80))
    shop.store.down = True
    for wait_s in RETRY_DELAYS_S[:3]:
        await shop.drain()
        shop.clock.seconds += wait_s
    shop.store.down = False
    await shop.drain()
    ended = await shop.job(job)
    assert ended.state == "done"
    assert 0 < len(llm.prompts) <= 4, "0.0035 USD are less than four calls"
    assert ended.run_notes["usage"]["cost_usd"] == pytest.approx(0.001 * len(llm.prompts)), "each attempt is counted"


async def test_what_a_job_has_cost_is_told_also_when_it_is_cancelled(shop: Shop) -> None:
    llm = ScriptedLLM(enrichment=describe, summary="A table of rows.")
    shop.kit = replace(shop.kit, llm=llm, enrichment=EnrichmentModel("mini", 1.0, 1.0, 0, budget_usd=1.0))
    job = await shop.index(rows(80))
    shop.store.down = True
    await shop.drain()
    waiting = await shop.job(job)
    assert len(llm.prompts) > 0
    assert waiting.run_notes["usage"]["cost_usd"] == pytest.approx(0.001 * len(llm.prompts))
    await shop.jobs.cancel(waiting.id, None)
    assert (await shop.job(job)).run_notes["usage"] == waiting.run_notes["usage"]


async def test_the_same_key_gives_the_first_result_also_eight_at_once(shop: Shop) -> None:
    """C35 (RELIABILITY): one copy; whoever comes while it is made is given its job."""
    given = await asyncio.gather(*(shop.index(NOTES, key="k") for _ in range(8)))
    assert sum(isinstance(one, IndexingResult) for one in given) >= 1
    assert len({one.id for one in given if isinstance(one, Job)}) <= 1
    assert len(shop.embedder.asked) == 1
    assert await shop.index(NOTES, key="k") == next(one for one in given if isinstance(one, IndexingResult))


async def test_the_same_document_eight_times_at_once_is_there_once(shop: Shop) -> None:
    """C35 (RELIABILITY): without a key too."""
    await asyncio.gather(*(shop.index(NOTES) for _ in range(8)))
    assert len(await shop.found("stored")) == 1


async def test_a_later_upload_is_not_undone_by_a_job_of_the_earlier_text(shop: Shop) -> None:
    """C21: the text that was replaced does not come back."""
    shop.embedder.down = True
    older = await shop.index(Upload(content="The older text.", document_id="notes"))
    shop.embedder.down = False
    await shop.index(NOTES)
    shop.clock.seconds += RETRY_DELAYS_S[0]
    assert await shop.drain() == 0
    ended = await shop.job(older)
    assert (ended.state, ended.error and ended.error["code"]) == ("failed", "superseded")
    assert await shop.found("stored")
    assert not await shop.found("older")


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize("later", [False, True])
async def test_an_older_job_goes_on_until_the_newer_text_is_in_the_index(
    shop: Shop, required: bool, later: bool
) -> None:
    """C36 (RELIABILITY): else the older text, which is searchable, would be without vectors for good."""
    shop.embedder.down = True
    older = await shop.index(Upload(content="The older text.", document_id="notes"))
    shop.embedder.down, shop.store.broken = False, True
    with suppress(RagError):
        await shop.index(NOTES, replace(TERMS, require_vectors=required), as_job=later)
    shop.clock.seconds += RETRY_DELAYS_S[0]
    await shop.drain()  # where the newer one is a job, it too fails for good
    shop.store.broken = False
    shop.clock.seconds += RETRY_DELAYS_S[1]
    await shop.drain()
    assert (await shop.job(older)).state == "done"
    assert await shop.found("", meaning="older") == ["The older text."]


async def test_a_job_of_an_older_text_cannot_overtake_the_upload_that_is_being_written(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C21: a worker that finished the older text's vectors meanwhile writes nothing."""
    await shop.index(Upload(content="The older text.", document_id="notes"), as_job=True)
    lease = await shop.jobs.claim()
    assert lease
    write, overtaken = shop.store.replace_document, False

    async def slowly(*args: Any, **named: Any) -> ReplacementResult:
        nonlocal overtaken
        with pytest.raises(Conflict):
            await Indexer(shop.kit, Run(), TERMS).run_job(lease)
        overtaken = True
        return await write(*args, **named)

    monkeypatch.setattr(shop.store, "replace_document", slowly)
    assert isinstance(await shop.index(NOTES), IndexingResult)
    assert overtaken
    monkeypatch.undo()
    shop.clock.seconds += SUSPENSION_S
    assert await shop.drain() == 0
    assert not await shop.found("older")


async def test_indexing_without_the_service_ends_what_it_took_on_for_the_document_before(shop: Shop) -> None:
    """C21: `rag index` and `rag ingest` write into the same store."""
    older = await shop.index(Upload(content="The older text.", document_id="notes"), as_job=True)
    await index_document(NOTES, SCOPE, shop.kit, Run(), chunking=Chunking(), limits=TERMS.upload_limits)
    assert await shop.drain() == 0
    assert (await shop.job(older)).state == "failed"
    assert not await shop.found("older")


class Gone(SqliteJobs):
    """Cannot be reached when what it holds back is to end."""

    async def _end_jobs(self, suspended: SuspendedJobs) -> None:
        raise Unavailable("the table is gone", code="jobs_unavailable")


@pytest.mark.parametrize("purge", [False, True])
async def test_a_table_that_goes_away_after_the_deletion_does_not_bring_the_document_back(
    shop: Shop, tmp_path: Path, purge: bool
) -> None:
    """C21, S3-16: nor when the caller, who was told 503, tries again and hears that there is no such document."""
    shop.jobs, gone = SqliteJobs(tmp_path / "jobs", now=shop.clock), Gone(tmp_path / "jobs", now=shop.clock)
    shop.kit = replace(shop.kit, jobs=shop.jobs)
    await shop.index(NOTES)
    shop.clock.seconds -= 60
    job = await shop.index(NOTES, as_job=True)
    with pytest.raises(Unavailable):
        await lifecycle.delete_document("notes", SCOPE, replace(shop.kit, jobs=gone), Run(), purge=purge)
    with suppress(NotFound):
        await lifecycle.delete_document("notes", SCOPE, shop.kit, Run(), purge=purge)
    shop.clock.seconds += 60 + SUSPENSION_S
    await shop.drain()
    ended = await shop.job(job)
    assert (ended.state, ended.error and ended.error["code"]) == ("failed", "superseded")
    assert not await shop.found("stored")
    assert len(await shop.store.list_deleted(SCOPE)) == (not purge)
    await gone.close()


async def test_what_comes_after_a_deletion_is_indexed(shop: Shop) -> None:
    """C36 (RELIABILITY): also right after it, by a clock that is somewhat slow."""
    await shop.index(NOTES)
    await lifecycle.delete_document("notes", SCOPE, shop.kit, Run())
    shop.clock.seconds -= 2
    job = await shop.index(NOTES, as_job=True)
    await shop.drain()
    assert (await shop.job(job)).state == "done"
    assert await shop.found("stored")


async def test_a_job_that_time_cannot_help_fails_with_its_reason(shop: Shop) -> None:
    job = await shop.index(Upload(data=b"%PDF-1.7 torn", filename="torn.pdf"), as_job=True)
    await shop.drain()
    failed = await shop.job(job)
    assert (failed.state, failed.error and failed.error["retryable"]) == ("failed", False)


async def test_with_a_key_too_a_document_that_cannot_be_read_is_refused_at_once(shop: Shop) -> None:
    with pytest.raises(UnreadableDocument):
        await shop.index(Upload(data=b"%PDF-1.7 torn", filename="torn.pdf"), key="k")


async def test_what_can_be_said_without_reading_is_said_before_a_job_is_taken_on(shop: Shop) -> None:
    with pytest.raises(InvalidRequest):
        await shop.index(Upload(content="a", data=b"b"), as_job=True)
    assert await shop.drain() == 0


async def test_a_worker_out_of_time_leaves_the_rest(shop: Shop) -> None:
    """Also one with too little of it: an attempt that can only fail is one of the eight that a job has."""
    job = await shop.index(NOTES, as_job=True)
    for too_short_s in (0.0, indexer.MIN_JOB_S):
        assert await run_due_jobs(shop.kit, TERMS, within_s=too_short_s) == 0
    assert (await shop.job(job)).attempts == 0
    assert await shop.drain() == 1


@pytest.mark.parametrize(
    "upload",
    [
        NOTES,
        Upload(data=b"\x00\n\xff two\nlines", filename="a.pdf", metadata={"year": 2021, "new": True}),
        Upload(blocks=(Block("a", "row", 1, 1, 2, (1.0, 2.0, 3.0, 4.0), ("A",), {"b": 1}, ((1.0, 2.0, 3.0, 4.0),)),)),
    ],
)
def test_an_upload_comes_back_as_it_was(upload: Upload) -> None:
    assert decode_upload(encode_upload(upload, Chunking(chunk_size=900))) == (upload, Chunking(chunk_size=900))
