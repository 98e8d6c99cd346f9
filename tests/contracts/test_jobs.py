"""What every table of long work promises: kept, shown to its owner, done by one at a time, never twice."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from rag_core.core.errors import Conflict, Unavailable
from rag_core.core.model import IndexingResult, Job, JobProgress, Scope
from rag_core.core.ports import Jobs, Lease
from rag_core.jobs import job_rows
from rag_core.jobs.azure_jobs import AzureJobs
from rag_core.jobs.job_rows import JOB_RETENTION_S, LEASE_DURATION_S, MAX_ATTEMPTS, RETRY_DELAYS_S, SUSPENSION_S
from rag_core.jobs.sqlite_jobs import SqliteJobs
from tests import azurite

SCOPE = Scope("garage", "ann", ("mechanics",))
DONE = IndexingResult("notes", 2, 2, 0, 0, None, "text", failed=("a", "b"))
DOWN = Unavailable("it is down", code="down")


class Clock:
    """Time that passes when it is told to. It begins now, as those of other machines do."""

    def __init__(self) -> None:
        self.seconds = time.time()

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "azure"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Callable[[], Jobs]:
    """Another process's way to the one table, which is empty at first."""
    if request.param == "sqlite":
        return lambda: SqliteJobs(tmp_path / "jobs.sqlite3", now=clock)
    storage = azurite.emptied()
    return lambda: AzureJobs(storage, now=clock)


@pytest.fixture
async def table(opened: Callable[[], Jobs]) -> AsyncIterator[Jobs]:
    table = opened()
    yield table
    await table.close()


async def put(table: Jobs, work: bytes = b"work", *, document: str | None = "notes", key: str | None = None) -> Job:
    job, _ = await table.add(work, SCOPE, document_id=document, key=key)
    return job


async def claimed(table: Jobs) -> Lease:
    lease = await table.claim()
    assert lease
    return lease


async def state(table: Jobs, job: Job) -> Job:
    found = await table.get(job.id, "ann")
    assert found
    return found


async def ended_by(table: Jobs, job: Job) -> str | None:
    """The code of what a failed job ended by; None of one that did not."""
    found = await state(table, job)
    return found.error["code"] if found.state == "failed" and found.error else None


async def test_a_job_is_kept_across_processes_with_who_asked_and_what_was_brought(
    table: Jobs, opened: Callable[[], Jobs]
) -> None:
    """C56 (RELIABILITY): the process that took it on may be gone."""
    job = await put(table, b"a file\nof two lines")
    other = opened()
    lease = await claimed(other)
    assert (lease.payload, lease.job.id, lease.job.scope) == (b"a file\nof two lines", job.id, SCOPE)
    assert (await state(table, job)).state == "running"
    await other.close()


@pytest.mark.parametrize("size", [0, 1_000_000])
async def test_work_of_any_size_comes_back_as_it_was(table: Jobs, size: int) -> None:
    work = bytes(range(256)) * (size // 256)
    await put(table, work)
    assert (await claimed(table)).payload == work


async def test_a_job_is_its_owners_to_see(table: Jobs) -> None:
    """C13, C14 (RELIABILITY): another's job is the same as none."""
    job = await put(table)
    assert await table.get(job.id, "ann")
    assert [await table.get(job.id, other) for other in ("bob", None)] == [None, None]
    nobodys, _ = await table.add(b"work", Scope("garage"), document_id=None)
    assert await table.get(nobodys.id, None)
    assert await table.get(nobodys.id, "ann") is None


@pytest.mark.parametrize("id", ["", "no such job", "a/b\\c#d?e\x00\x7f'", "0" * 32])
async def test_an_id_of_any_characters_is_of_no_job(table: Jobs, id: str) -> None:
    await put(table)
    assert await table.get(id, "ann") is None


async def test_one_worker_has_a_job_until_its_lease_runs_out(table: Jobs, clock: Clock) -> None:
    await put(table)
    first = await claimed(table)
    assert await table.claim() is None
    clock.seconds += LEASE_DURATION_S - 1
    await first.renew()
    clock.seconds += LEASE_DURATION_S - 1
    assert await table.claim() is None
    clock.seconds += 2
    second = await claimed(table)
    with pytest.raises(Conflict) as refused:
        await first.claim_document("notes")
    assert refused.value.code == "job_taken_over"
    await second.claim_document("notes")


async def test_of_workers_that_look_at_the_same_time_one_has_the_job(opened: Callable[[], Jobs], table: Jobs) -> None:
    """C56 (RELIABILITY): whoever comes second reads again."""
    await put(table)
    workers = [opened() for _ in range(4)]
    leases = await asyncio.gather(*(worker.claim() for worker in workers))
    assert sum(lease is not None for lease in leases) == 1
    for worker in workers:
        await worker.close()


async def test_a_beat_and_the_work_may_write_at_the_same_time(table: Jobs) -> None:
    job = await put(table)
    lease = await claimed(table)
    kept = (lease.save_vectors({f"{n}": [1.0]}, "small", JobProgress(n, 5, 0, 2)) for n in range(5))
    await asyncio.gather(*kept, *(lease.renew() for _ in range(5)))
    assert set(await lease.load_vectors("small")) == {"0", "1", "2", "3", "4"}
    written = await state(table, job)
    assert (written.progress.chunks, written.progress.pages_done, written.progress.pages) == (5, 0, 2)
    assert written.run_notes == {}


async def test_what_was_embedded_is_kept_by_space_and_gone_when_the_job_is_done(table: Jobs, clock: Clock) -> None:
    job = await put(table)
    lease = await claimed(table)
    await lease.save_vectors({"a": [0.5, 0.25], "b": [1.0, 2.0]}, "small", JobProgress(2, 3))
    await lease.save_vectors({"c": [4.0, 8.0]}, "small", JobProgress(3, 3))
    await lease.save_vectors({}, "small", JobProgress(3, 3))
    clock.seconds += LEASE_DURATION_S + 1
    lease = await claimed(table)
    assert await lease.load_vectors("small") == {"a": [0.5, 0.25], "b": [1.0, 2.0], "c": [4.0, 8.0]}
    assert await lease.load_vectors("large") == {}
    assert (await state(table, job)).progress == JobProgress(3, 3)
    assert await lease.finish(DONE, {"warnings": ["é"]}) == await state(table, job)
    assert ((await state(table, job)).result, (await state(table, job)).run_notes) == (DONE, {"warnings": ["é"]})
    assert await table.claim() is None


async def test_what_a_model_wrote_is_kept_by_model_for_the_next_attempt(table: Jobs, clock: Clock) -> None:
    """S1-31: a killed worker does not make anybody pay twice."""
    job = await put(table)
    lease = await claimed(table)
    await lease.save_enrichments({"a": "{}"}, "mini")
    await lease.save_enrichments({"b": '{"é": 1}'}, "mini")
    clock.seconds += LEASE_DURATION_S + 1
    lease = await claimed(table)
    assert await lease.load_enrichments("mini") == {"a": "{}", "b": '{"é": 1}'}
    assert await lease.load_enrichments("maxi") == {}
    await lease.finish(DONE, {})
    assert (await state(table, job)).state == "done"


async def test_what_is_told_of_a_job_may_be_long(table: Jobs) -> None:
    """S1-57: ten thousand chunks that failed are named each."""
    job = await put(table)
    failed = tuple(f"{n:036x}" for n in range(10_000))
    result = IndexingResult("notes", 10_000, 0, 0, 0, None, "text", failed=failed)
    await (await claimed(table)).finish(result, {})
    assert (await state(table, job)).result == result


async def test_what_fails_is_tried_again_ever_later_and_fails_in_the_end_with_the_reason(
    table: Jobs, clock: Clock
) -> None:
    job = await put(table)
    for attempt in range(1, MAX_ATTEMPTS):
        waits = await (await claimed(table)).schedule_retry(DOWN, {})
        assert (waits.state, waits.attempts, waits.error and waits.error["code"]) == ("queued", attempt, "down")
        assert await table.claim() is None
        clock.seconds += RETRY_DELAYS_S[min(attempt, len(RETRY_DELAYS_S)) - 1]
    failed = await (await claimed(table)).schedule_retry(DOWN, {})
    assert (failed.state, failed.error and failed.error["message"]) == ("failed", "it is down")
    assert (await state(table, job)).state == "failed"


async def test_progress_gives_new_attempts(table: Jobs, clock: Clock) -> None:
    await put(table)
    for attempt in range(MAX_ATTEMPTS + 1):
        lease = await claimed(table)
        await lease.save_vectors({f"hash {attempt}": [1.0]}, "small", JobProgress(attempt, 99))
        assert (await lease.schedule_retry(DOWN, {})).state == "queued"
        clock.seconds += RETRY_DELAYS_S[0]


async def test_descriptions_give_new_attempts_too(table: Jobs, clock: Clock) -> None:
    """A long document is described in more attempts than a failing one may have; nothing new is none."""
    await put(table)
    for attempt in range(MAX_ATTEMPTS + 1):
        lease = await claimed(table)
        await lease.save_enrichments({f"hash {attempt}": "[]"}, "mini")
        assert (await lease.schedule_retry(DOWN, {})).attempts == 1
        clock.seconds += RETRY_DELAYS_S[0]
    lease = await claimed(table)
    await lease.save_enrichments({}, "mini")
    assert (await lease.schedule_retry(DOWN, {})).attempts == 2


async def test_work_that_is_given_back_is_there_at_once_and_was_no_attempt(table: Jobs) -> None:
    await put(table)
    back = await (await claimed(table)).release({})
    assert (back.state, back.attempts) == ("queued", 0)
    assert (await claimed(table)).job.attempts == 1


async def test_work_that_kills_its_worker_is_not_done_for_ever(table: Jobs, clock: Clock) -> None:
    job = await put(table)
    for _ in range(MAX_ATTEMPTS):
        await claimed(table)
        clock.seconds += LEASE_DURATION_S + 1
    assert await table.claim() is None
    assert await ended_by(table, job) == "worker_ended"


async def test_a_key_stands_for_its_first_job_also_eight_at_once(table: Jobs) -> None:
    """C35 (RELIABILITY): the second call is given the first one's job; with another upload it is refused."""
    jobs = await asyncio.gather(*(put(table, key="k") for _ in range(8)))
    assert len({job.id for job in jobs}) == 1
    assert (await put(table, key="other")).id != jobs[0].id
    with pytest.raises(Conflict) as refused:
        await put(table, b"other work", key="k")
    assert refused.value.code == "idempotency_key_reused"
    bob, _ = await table.add(b"work", Scope("garage", "bob"), document_id="notes", key="k")
    assert bob.id != jobs[0].id


@pytest.mark.parametrize("key", ["a/b\\c#d?e", "\x01\x7f\x80", "'; or ''", "é" * 128])
async def test_a_key_may_have_any_characters(table: Jobs, key: str) -> None:
    """C35 (RELIABILITY): also those that a row's key in Azure may not have."""
    assert (await put(table, key=key)).id == (await put(table, key=key)).id


async def test_who_holds_the_work_that_it_brings_has_the_lease_and_a_repeated_key_does_not(table: Jobs) -> None:
    job, lease = await table.add(b"work", SCOPE, document_id="notes", key="k", hold=True)
    assert lease
    assert (job.state, lease.payload, await table.claim()) == ("running", b"work", None)
    again, none = await table.add(b"work", SCOPE, document_id="notes", key="k", hold=True)
    assert (again.id, none) == (job.id, None)
    await lease.finish(DONE, {})
    done, _ = await table.add(b"work", SCOPE, document_id="notes", key="k", hold=True)
    assert done.result == DONE


async def test_a_failed_job_gives_its_key_back(table: Jobs) -> None:
    job = await put(table, key="k")
    await (await claimed(table)).fail(DOWN, {})
    assert (await put(table, b"other work", key="k")).id != job.id


async def test_a_job_that_ended_long_ago_is_forgotten_with_its_key(table: Jobs, clock: Clock) -> None:
    job = await put(table, key="k")
    await (await claimed(table)).finish(DONE, {})
    clock.seconds += JOB_RETENTION_S + 1
    assert await table.claim() is None
    assert (await put(table, b"other work", key="k")).id != job.id
    assert await table.get(job.id, "ann") is None


async def test_jobs_are_done_in_the_order_in_which_they_came(table: Jobs) -> None:
    """C56 (RELIABILITY)"""
    jobs = [await put(table, document=f"d{n}") for n in range(5)]
    assert [(await claimed(table)).job.id for _ in jobs] == [job.id for job in jobs]


async def test_two_jobs_of_one_document_are_done_one_after_the_other_and_the_later_stays(
    table: Jobs, clock: Clock
) -> None:
    """C21: the text that was replaced does not come back."""
    older, newer, other = await put(table), await put(table), await put(table, document="other")
    first = await claimed(table)
    assert first.job.id == older.id
    assert (await claimed(table)).job.id == other.id
    assert await table.claim() is None
    await first.schedule_retry(DOWN, {})
    second = await claimed(table)
    assert second.job.id == newer.id
    await second.claim_document("notes")
    await second.finish(DONE, {})
    clock.seconds += RETRY_DELAYS_S[0]
    assert await table.claim() is None
    assert await ended_by(table, older) == "superseded"


async def test_an_older_job_ends_only_when_the_newer_text_is_in_the_index(table: Jobs, clock: Clock) -> None:
    """C21, C36 (RELIABILITY): whoever works at it loses it before the newer text is written; it is kept until then."""
    older = await put(table)
    first = await claimed(table)
    _, second = await table.add(b"newer work", SCOPE, document_id="notes", hold=True)
    assert second
    await second.claim_document("notes")
    with pytest.raises(Conflict):
        await first.claim_document("notes")
    assert (await state(table, older)).state == "queued"
    await second.fail(DOWN, {})
    again = await claimed(table)
    assert (again.job.id, again.payload, again.job.attempts) == (older.id, b"work", 1)


async def test_an_older_job_ends_when_the_newer_text_is_searchable_by_its_words(table: Jobs) -> None:
    older = await put(table)
    _, lease = await table.add(b"newer work", SCOPE, document_id="notes", hold=True)
    assert lease
    await lease.claim_document("notes")
    await lease.mark_lexical_only()
    assert await ended_by(table, older) == "superseded"
    assert (await lease.schedule_retry(DOWN, {})).lexical_only


async def test_what_is_under_way_is_in_nobodys_hands_while_the_document_is_changed_and_ends_then(
    table: Jobs, clock: Clock
) -> None:
    """S3-16, C21: also what a worker was at; another's, and what comes meanwhile, go on."""
    waiting, other = await put(table), await put(table, document="other")
    running = await put(table)
    at_work = await claimed(table)
    bobs, _ = await table.add(b"work", Scope("garage", "bob"), document_id="notes")
    async with table.supersede_document("notes", SCOPE):
        with pytest.raises(Conflict):
            await at_work.claim_document("notes")
        assert [(await claimed(table)).job.id for _ in range(2)] == [other.id, bobs.id]
        assert await table.claim() is None
        later = await put(table)
    assert [await ended_by(table, job) for job in (waiting, running)] == ["superseded"] * 2
    clock.seconds += SUSPENSION_S + 1
    left = {(await claimed(table)).job.id for _ in range(3)}
    assert left == {other.id, bobs.id, later.id}


async def test_what_is_under_way_goes_on_when_the_document_was_not_changed(table: Jobs, clock: Clock) -> None:
    """S3-16: as if nothing had been: also the pause that it was in."""
    waiting = await put(table, document="other")
    assert (await (await claimed(table)).schedule_retry(DOWN, {})).id == waiting.id
    job = await put(table)
    at_work = await claimed(table)
    for document in ("notes", "other"):
        with pytest.raises(Unavailable):
            async with table.supersede_document(document, SCOPE):
                raise DOWN
    with pytest.raises(Conflict):
        await at_work.claim_document("notes")
    again = await claimed(table)
    assert (again.job.id, again.job.attempts) == (job.id, 1)
    assert await table.claim() is None
    clock.seconds += RETRY_DELAYS_S[0]
    assert (await claimed(table)).job.id == waiting.id


async def test_a_process_that_is_killed_while_it_changes_a_document_does_not_end_its_jobs(
    table: Jobs, opened: Callable[[], Jobs], clock: Clock
) -> None:
    job, killed = await put(table), opened()
    changing = killed.supersede_document("notes", SCOPE)  # held here: what is thrown away ends itself in order
    await changing.__aenter__()
    assert await table.claim() is None
    clock.seconds += SUSPENSION_S + 1
    assert (await claimed(table)).job.id == job.id
    await changing.__aexit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    await killed.close()


async def test_a_job_is_cancelled_by_its_owner_and_by_nobody_else(table: Jobs) -> None:
    job = await put(table)
    assert await table.cancel(job.id, "bob") is None
    assert await table.cancel("0" * 32, "ann") is None
    cancelled = await table.cancel(job.id, "ann")
    assert cancelled
    assert (cancelled.state, await ended_by(table, job)) == ("failed", "cancelled")
    assert await table.claim() is None


async def test_a_worker_whose_job_is_cancelled_loses_it_before_it_writes(table: Jobs) -> None:
    job = await put(table)
    at_work = await claimed(table)
    await table.cancel(job.id, "ann")
    with pytest.raises(Conflict):
        await at_work.claim_document("notes")
    assert await ended_by(table, job) == "cancelled"


async def test_a_job_that_is_done_stays_done_when_it_is_cancelled(table: Jobs) -> None:
    job = await put(table)
    at_work = await claimed(table)
    await at_work.claim_document("notes")
    await at_work.finish(DONE, {})
    cancelled = await table.cancel(job.id, "ann")
    assert cancelled
    assert (cancelled.state, cancelled.result) == ("done", DONE)


async def test_a_change_of_a_document_is_told_whether_there_was_a_job_for_it(table: Jobs) -> None:
    """S3-16: a deletion takes back what was accepted, also where nothing is in the index yet."""
    async with table.supersede_document("notes", SCOPE) as had_jobs:
        assert not had_jobs
    await put(table)
    async with table.supersede_document("notes", Scope("garage", "bob")) as had_jobs:
        assert not had_jobs
    async with table.supersede_document("notes", SCOPE) as had_jobs:
        assert had_jobs


async def test_a_change_of_a_document_waits_for_the_worker_that_writes_it(table: Jobs) -> None:
    """S3-16: what the worker writes would else come after the deletion."""
    job = await put(table)
    at_work = await claimed(table)
    await at_work.claim_document("notes")
    events: list[str] = []

    async def change() -> None:
        async with table.supersede_document("notes", SCOPE):
            events.append("changed")

    changing = asyncio.create_task(change())
    await asyncio.sleep(0.2)
    events.append("written")
    assert (await at_work.finish(DONE, {})).state == "done"
    await changing
    assert events == ["written", "changed"]
    assert (await state(table, job)).state == "done"


@pytest.mark.parametrize("cancels", [False, True])
async def test_who_waits_too_long_for_a_writer_is_told_to_come_again(
    table: Jobs, monkeypatch: pytest.MonkeyPatch, cancels: bool
) -> None:
    """Also nothing is suspended then: the worker finishes."""
    monkeypatch.setattr(job_rows, "WRITE_WAIT_S", 0.1)
    earlier, job = await put(table), await put(table)
    first = await claimed(table)
    await first.schedule_retry(DOWN, {})
    at_work = await claimed(table)
    await at_work.claim_document("notes")
    with pytest.raises(Unavailable) as refused:
        await (table.cancel(job.id, "ann") if cancels else table.supersede_document("notes", SCOPE).__aenter__())
    assert refused.value.code == "document_being_indexed"
    await at_work.finish(DONE, {})
    assert (await ended_by(table, earlier), (await state(table, job)).state) == ("superseded", "done")


async def test_a_later_job_does_not_write_while_an_earlier_one_does(table: Jobs) -> None:
    """C21: else the older text could be written over the newer one."""
    await put(table)
    earlier = await claimed(table)
    _, later = await table.add(b"newer work", SCOPE, document_id="notes", hold=True)
    assert later
    await earlier.claim_document("notes")
    with pytest.raises(Unavailable) as refused:
        await later.claim_document("notes")
    assert refused.value.code == "document_being_indexed"
    await earlier.finish(DONE, {})
    await later.claim_document("notes")
    assert (await later.finish(DONE, {})).state == "done"
