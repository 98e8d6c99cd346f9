"""What the table of long work promises: kept, shown to its owner, done by one at a time, never twice."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rag_core.errors import Conflict, Unavailable
from rag_core.ingestion.jobs import LEASE_S, MAX_ATTEMPTS, PAUSES_S, JobTable
from rag_core.model import Indexed, Job, Scope
from rag_core.ports import Lease

SCOPE = Scope("garage", "ann", ("mechanics",))
DONE = Indexed("notes", 2, 2, 0, 0, None, "text")
DOWN = Unavailable("it is down", code="down")


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.seconds = 1_000_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def table(tmp_path: Path, clock: Clock) -> AsyncIterator[JobTable]:
    table = JobTable(tmp_path / "jobs.sqlite3", now=clock)
    yield table
    await table.close()


async def put(table: JobTable, work: bytes = b"work", *, document: str | None = "notes", key: str | None = None) -> Job:
    job, _ = await table.add(work, SCOPE, document_id=document, key=key)
    return job


async def claimed(table: JobTable) -> Lease:
    lease = await table.claim()
    assert lease
    return lease


async def state(table: JobTable, job: Job) -> Job:
    found = await table.get(job.id, "ann")
    assert found
    return found


async def test_what_was_brought_is_for_the_eyes_of_the_process_only(table: JobTable, tmp_path: Path) -> None:
    await put(table)
    assert (tmp_path / "jobs.sqlite3").stat().st_mode & 0o777 == 0o600


async def test_a_job_is_kept_across_processes_with_who_asked_and_what_was_brought(
    table: JobTable, tmp_path: Path, clock: Clock
) -> None:
    job = await put(table, b"a file\nof two lines")
    other = JobTable(tmp_path / "jobs.sqlite3", now=clock)
    lease = await claimed(other)
    assert (lease.work, lease.job.id, lease.job.scope) == (b"a file\nof two lines", job.id, SCOPE)
    assert (await state(table, job)).state == "running"
    await other.close()


async def test_a_job_is_its_owners_to_see(table: JobTable) -> None:
    job = await put(table)
    assert await table.get(job.id, "ann")
    assert [await table.get(job.id, other) for other in ("bob", None)] == [None, None]


async def test_one_worker_has_a_job_until_its_lease_runs_out(table: JobTable, clock: Clock) -> None:
    await put(table)
    first = await claimed(table)
    assert await table.claim() is None
    clock.seconds += LEASE_S - 1
    await first.renew()
    clock.seconds += LEASE_S - 1
    assert await table.claim() is None
    clock.seconds += 2
    second = await claimed(table)
    with pytest.raises(Conflict) as refused:
        await first.publish("notes")
    assert refused.value.code == "job_taken_over"
    await second.publish("notes")


async def test_what_was_embedded_is_kept_by_space_and_gone_when_the_job_is_done(table: JobTable, clock: Clock) -> None:
    job = await put(table)
    lease = await claimed(table)
    await lease.keep({"a": [0.5, 0.25]}, "small", done=1, chunks=2)
    clock.seconds += LEASE_S + 1
    lease = await claimed(table)
    assert (await lease.vectors("small"), await lease.vectors("large")) == ({"a": [0.5, 0.25]}, {})
    assert ((await state(table, job)).embedded, (await state(table, job)).chunks) == (1, 2)
    await lease.finish(DONE, {})
    assert (await state(table, job)).result == DONE
    assert await table.claim() is None


async def test_what_fails_is_tried_again_ever_later_and_fails_in_the_end_with_the_reason(
    table: JobTable, clock: Clock
) -> None:
    job = await put(table)
    for attempt in range(1, MAX_ATTEMPTS):
        waits = await (await claimed(table)).put_off(DOWN, {})
        assert (waits.state, waits.attempts, waits.error and waits.error["code"]) == ("queued", attempt, "down")
        assert await table.claim() is None
        clock.seconds += PAUSES_S[min(attempt, len(PAUSES_S)) - 1]
    failed = await (await claimed(table)).put_off(DOWN, {})
    assert (failed.state, failed.error and failed.error["message"]) == ("failed", "it is down")
    assert (await state(table, job)).state == "failed"


async def test_progress_gives_new_attempts(table: JobTable, clock: Clock) -> None:
    await put(table)
    for attempt in range(2 * MAX_ATTEMPTS):
        lease = await claimed(table)
        await lease.keep({f"hash {attempt}": [1.0]}, "small", done=attempt, chunks=99)
        assert (await lease.put_off(DOWN, {})).state == "queued"
        clock.seconds += PAUSES_S[0]


async def test_work_that_kills_its_worker_is_not_done_for_ever(table: JobTable, clock: Clock) -> None:
    job = await put(table)
    for _ in range(MAX_ATTEMPTS):
        await claimed(table)
        clock.seconds += LEASE_S + 1
    assert await table.claim() is None
    ended = await state(table, job)
    assert (ended.state, ended.error and ended.error["code"]) == ("failed", "worker_ended")


async def test_a_key_stands_for_its_first_job_also_eight_at_once(table: JobTable) -> None:
    """C35 (RELIABILITY): the second call is given the first one's job; with another upload it is refused."""
    jobs = await asyncio.gather(*(put(table, key="k") for _ in range(8)))
    assert len({job.id for job in jobs}) == 1
    assert (await put(table, key="other")).id != jobs[0].id
    with pytest.raises(Conflict) as refused:
        await put(table, b"other work", key="k")
    assert refused.value.code == "idempotency_key_reused"
    bob, _ = await table.add(b"work", Scope("garage", "bob"), document_id="notes", key="k")
    assert bob.id != jobs[0].id


async def test_a_failed_job_gives_its_key_back(table: JobTable) -> None:
    job = await put(table, key="k")
    await (await claimed(table)).fail(DOWN, {})
    assert (await put(table, key="k")).id != job.id


async def test_two_jobs_of_one_document_are_done_one_after_the_other_and_the_later_stays(
    table: JobTable, clock: Clock
) -> None:
    older, newer, other = await put(table), await put(table), await put(table, document="other")
    first = await claimed(table)
    assert first.job.id == older.id
    assert (await claimed(table)).job.id == other.id
    assert await table.claim() is None
    await first.put_off(DOWN, {})
    second = await claimed(table)
    assert second.job.id == newer.id
    await second.publish("notes")
    clock.seconds += PAUSES_S[0]
    assert await table.claim() is None
    ended = await state(table, older)
    assert (ended.state, ended.error and ended.error["code"]) == ("failed", "superseded")


async def test_nothing_of_a_superseded_text_stays_in_the_file(table: JobTable, tmp_path: Path) -> None:
    job = await put(table, b"a secret of the garage, " * 5000)
    await table.supersede("notes", SCOPE)
    assert (await state(table, job)).state == "failed"
    await table.close()
    assert b"secret" not in (tmp_path / "jobs.sqlite3").read_bytes()


async def test_a_file_that_cannot_be_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Unavailable) as failed:
        await put(JobTable(tmp_path / "file" / "jobs.sqlite3"))
    assert failed.value.code == "jobs_unavailable"
