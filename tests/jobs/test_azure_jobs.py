"""What is particular to the table of long work in Azure Storage: its blobs, its transactions and its failures."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

import pytest
from azure.core.exceptions import ServiceResponseError
from azure.data.tables.aio import TableClient
from azure.storage.blob import ContainerClient

from rag_core.core.errors import Misconfigured, RagError, Unavailable
from rag_core.core.model import JobProgress
from rag_core.core.ports import Lease
from rag_core.jobs.azure_jobs import CLEANUP_INTERVAL_S, AzureJobs
from rag_core.jobs.azure_storage import (
    JOB_CONTAINER_NAME,
    AzureJobStorage,
    RowChanged,
    StoredRow,
    build_create_operation,
    build_delete_operation,
    build_replace_operation,
)
from rag_core.jobs.job_rows import LEASE_DURATION_S, MAX_ATTEMPTS, JobRow
from tests import azurite
from tests.contracts.test_jobs import DONE, DOWN, SCOPE, Clock, claimed, ended_by, put, state


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def storage() -> str:
    return azurite.emptied()


@pytest.fixture
async def table(storage: str, clock: Clock) -> AsyncIterator[AzureJobs]:
    table = AzureJobs(storage, now=clock)
    yield table
    await table.close()


@pytest.fixture
async def rows(storage: str) -> AsyncIterator[AzureJobStorage]:
    rows = AzureJobStorage(storage)
    yield rows
    await rows.close()


def blobs(storage: str) -> list[str]:
    with ContainerClient.from_connection_string(storage, JOB_CONTAINER_NAME) as container:
        return [blob.name for blob in container.list_blobs()]


async def finish(lease: Lease, table: AzureJobs) -> None:
    await lease.finish(DONE, {})


async def fail(lease: Lease, table: AzureJobs) -> None:
    await lease.fail(DOWN, {})


async def supersede(lease: Lease, table: AzureJobs) -> None:
    async with table.supersede_document("notes", SCOPE):
        pass


async def publish_a_newer_one(lease: Lease, table: AzureJobs) -> None:
    _, newer = await table.add(b"newer work", SCOPE, document_id="notes", hold=True)
    assert newer
    await newer.claim_document("notes")
    await newer.finish(DONE, {})


@pytest.mark.parametrize("end", [finish, fail, supersede, publish_a_newer_one])
async def test_no_blob_outlives_its_job(
    table: AzureJobs, storage: str, end: Callable[[Lease, AzureJobs], Coroutine[Any, Any, None]]
) -> None:
    """S3-16: however it ends, the text that was uploaded and the vectors of it are gone."""
    await put(table)
    lease = await claimed(table)
    await lease.save_vectors({"a": [0.5]}, "small", JobProgress(1, 1))
    assert len(blobs(storage)) == 2
    await end(lease, table)
    assert blobs(storage) == []


async def test_a_job_that_is_given_up_keeps_nothing(table: AzureJobs, storage: str, clock: Clock) -> None:
    await put(table)
    for _ in range(MAX_ATTEMPTS):
        await claimed(table)
        clock.seconds += LEASE_DURATION_S + 1
    assert await table.claim() is None
    assert blobs(storage) == []


async def test_whoever_comes_second_with_a_key_leaves_no_blob(table: AzureJobs, storage: str) -> None:
    first = await put(table, key="k")
    await put(table, key="k")
    assert blobs(storage) == [f"{first.id}/work"]


async def test_a_key_that_another_takes_between_looking_and_adding_is_theirs(
    table: AzureJobs, storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C35 (RELIABILITY): it is given only as it was read when it was free."""
    insert, other = AzureJobs._insert_job, AzureJobs(storage)
    others: list[Any] = []

    async def late(self: AzureJobs, new: JobRow, used: StoredRow | None) -> JobRow:
        if not others:
            others.append(new)
            others.append(await put(other, key="k"))
        return await insert(self, new, used)

    monkeypatch.setattr(AzureJobs, "_insert_job", late)
    job = await put(table, key="k")
    assert job.id == others[1].id
    assert blobs(storage) == [f"{job.id}/work"]
    await other.close()


async def test_blobs_that_a_killed_process_left_are_removed_in_an_idle_hour_and_those_of_jobs_are_not(
    table: AzureJobs, rows: AzureJobStorage, storage: str, clock: Clock
) -> None:
    """S3-16: between two steps of ours there is a moment at which a kill leaves a blob without a job."""
    job = await put(table)
    await rows.upload_blob("0123/work", b"a secret of the garage")
    lease = await claimed(table)
    assert await table.claim() is None
    assert len(blobs(storage)) == 2  # its job might come yet
    clock.seconds += CLEANUP_INTERVAL_S + 5
    await lease.renew()
    assert await table.claim() is None
    assert blobs(storage) == [f"{job.id}/work"]


async def test_a_blob_that_cannot_be_removed_now_does_not_keep_its_job_from_ending(
    table: AzureJobs, storage: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await put(table)
    lease = await claimed(table)

    async def down(*_: object) -> None:
        raise Unavailable("no blobs now", code="jobs_unavailable")

    with monkeypatch.context() as patch:
        patch.setattr(AzureJobStorage, "delete_blob", down)
        await lease.finish(DONE, {})
    assert (await state(table, job)).state == "done"
    clock.seconds += CLEANUP_INTERVAL_S + 5
    assert await table.claim() is None
    assert blobs(storage) == []


async def test_a_job_whose_blob_is_gone_is_passed_over_and_given_up(
    table: AzureJobs, rows: AzureJobStorage, clock: Clock
) -> None:
    lost, other = await put(table), await put(table, document="other")
    await rows.delete_blob(f"{lost.id}/work")
    assert (await claimed(table)).job.id == other.id
    for _ in range(MAX_ATTEMPTS):
        clock.seconds += LEASE_DURATION_S + 1
        await table.claim()
    assert await ended_by(table, lost) == "worker_ended"


async def test_a_row_is_changed_only_as_it_was_read(rows: AzureJobStorage) -> None:
    """C56 (RELIABILITY): in a transaction: when one part of it cannot be, none is."""
    await rows.write_rows(build_create_operation("open-1", {"n": 1}))
    read = await rows.load_row("open-1")
    assert read
    await rows.write_rows(build_replace_operation(read, {"n": 2}))
    for late in (
        build_replace_operation(read, {"n": 3}),
        build_delete_operation(read),
        build_create_operation("open-1", {"n": 3}),
    ):
        with pytest.raises(RowChanged):
            await rows.write_rows(build_create_operation("open-2", {}), late)
    assert [entity.values for entity in await rows.load_rows("open-")] == [{"n": 2}]


async def test_what_was_done_by_a_try_whose_reply_was_lost_is_not_done_again(
    table: AzureJobs, rows: AzureJobStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C35 (RELIABILITY): the work is there once, and whoever brought it is told of that job."""
    commit = TableClient.submit_transaction
    lost: list[datetime] = []

    async def and_the_line_broke(*args: Any, **named: Any) -> Any:
        done = await commit(*args, **named)
        if not lost:
            lost.append(datetime.now(UTC))
            raise ServiceResponseError("reset by peer")
        return done

    monkeypatch.setattr(TableClient, "submit_transaction", and_the_line_broke)
    job, lease = await table.add(b"work", SCOPE, document_id="notes", key="k", hold=True)
    assert lost
    assert lease
    assert (await lease.finish(DONE, {})).id == job.id
    assert len(await rows.load_rows("past-")) == 1
    assert await rows.load_rows("open-") == []


async def test_an_account_that_does_not_answer_is_unavailable() -> None:
    """Port 9 is discard: nobody listens."""
    ends = dict.fromkeys(azurite.SERVICES, "http://127.0.0.1:9/devstoreaccount1")
    table = AzureJobs(azurite.account(ends))
    with pytest.raises(Unavailable) as failed:
        await table.claim()
    assert failed.value.code == "jobs_unavailable"
    await table.close()


@pytest.mark.parametrize("wrong", ["nonsense", "AccountName=a;AccountKey=b"])
async def test_a_setting_that_is_none_is_the_operators_to_put_right_and_not_repeated(wrong: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        await AzureJobs(wrong).claim()
    assert refused.value.field == "AzureWebJobsStorage"
    assert wrong not in refused.value.message


async def test_an_account_that_refuses_us_is_the_operators_to_put_right(storage: str) -> None:
    table = AzureJobs(storage.replace(azurite.KEY, "bm90IHRoZSBrZXk="))
    with pytest.raises(Misconfigured) as refused:
        await put(table)  # type: ignore[arg-type]
    assert "Storage Table Data Contributor" in refused.value.message
    await table.close()


async def test_a_table_that_is_not_there_is_the_operators_to_put_right(table: AzureJobs, storage: str) -> None:
    await table.claim()
    azurite.emptied()
    with pytest.raises(Misconfigured):
        await put(table)


async def test_a_row_that_the_service_refuses_is_no_matter_of_time(rows: AzureJobStorage) -> None:
    with pytest.raises(RagError) as refused:
        await rows.write_rows(build_create_operation("open-1", {"document": "x" * 40_000}))
    assert (refused.value.code, refused.value.retryable) == ("jobs_refused", False)


async def test_by_our_own_identity_the_addresses_follow_from_that_of_the_queues() -> None:
    tables = AzureJobStorage("https://ragdata.queue.core.windows.net")
    table, container = tables._create_clients()
    assert table.url == "https://ragdata.table.core.windows.net"
    assert container.url == "https://ragdata.blob.core.windows.net/index-jobs"
    await tables.close()
    await table.close()
    await container.close()


async def test_however_many_uploads_come_at_once_each_is_taken_on_in_a_place_of_its_own(
    table: AzureJobs, rows: AzureJobStorage
) -> None:
    """C56 (RELIABILITY): all that are added change one row; 22 of 60 were once refused, having waited 17 s."""
    await asyncio.gather(*(put(table, document=f"d{n}") for n in range(60)))  # type: ignore[arg-type]
    assert sorted(row.values["place"] for row in await rows.load_rows("open-")) == list(range(1, 61))


async def test_instances_that_take_on_work_at_the_same_time_wait_for_each_other(storage: str) -> None:
    instances = [AzureJobs(storage) for _ in range(12)]
    jobs = await asyncio.gather(*(put(instance) for instance in instances))  # type: ignore[arg-type]
    assert len({job.id for job in jobs}) == len(instances)
    for instance in instances:
        await instance.close()
