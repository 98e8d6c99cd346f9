"""The job table in Azure Storage, which all instances of the app share.

Each job has a row, whose key says whether the job is open or has ended. The upload and the vectors are too large for a
row and are blobs (`azure_job_blobs.py`). An idempotency key has a row of its own, written in one transaction with the
job's row. Every write is conditional on the row's ETag, so that only one of two workers can claim a job.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from random import random
from typing import Any

from rag_core.core.errors import RagError, Unavailable
from rag_core.core.model import IndexingResult, Job, JobProgress, Scope, Vector
from rag_core.jobs import job_rows
from rag_core.jobs.azure_job_blobs import (
    delete_job_blobs,
    load_job_enrichments,
    load_job_payload,
    load_job_vectors,
    parse_job_id,
    save_job_enrichments,
    save_job_payload,
    save_job_vectors,
)
from rag_core.jobs.azure_job_rows import (
    ENDED_JOB_PREFIX,
    OPEN_JOB_PREFIX,
    SEQUENCE_ROW_KEY,
    build_idempotency_row_key,
    document_key_from_row,
    job_row_from_stored,
    select_due_row,
)
from rag_core.jobs.azure_storage import (
    AzureJobStorage,
    RowChanged,
    StoredRow,
    build_create_operation,
    build_delete_operation,
    build_replace_operation,
)
from rag_core.jobs.job_rows import (
    CLAIMED_STATES,
    JOB_RETENTION_S,
    OPEN_STATES,
    SUPERSEDED_ERROR,
    SUSPENSION_S,
    WORKER_ENDED_ERROR,
    DocumentKey,
    JobRow,
    SuspendedJobs,
)

MAX_WRITE_ATTEMPTS = 20  # with n concurrent writers one succeeds in each attempt, so n attempts are enough
MAX_RETRY_PAUSE_S = 0.02  # after the first attempt, and this much more after each further one: a few transactions' time
CLEANUP_INTERVAL_S = 3600.0  # also the minimum age of a deleted orphan blob: a younger one may still get its job
JobRowUpdate = Callable[[JobRow], Mapping[str, Any]]


class AzureJobs:
    """The `Jobs` in a storage account, given by its connection string, or by its queue address and our identity."""

    def __init__(self, storage: str, *, now: Callable[[], float] = time.time) -> None:
        self._tables, self._now = AzureJobStorage(storage), now
        self._add_lock = asyncio.Lock()  # every `add` changes the sequence row: serialized within this process
        self._last_cleanup = 0.0

    async def add(
        self, payload: bytes, scope: Scope, *, document_id: str | None, key: str | None = None, hold: bool = False
    ) -> tuple[Job, "AzureLease | None"]:
        new = job_rows.create_job_row(payload, scope, document_id, key, self._now())
        if hold:
            new |= job_rows.mark_claimed(new, self._now())
        _, earlier = await self._find_by_idempotency_key(new)
        if earlier:
            return job_rows.job_from_row(earlier), None
        await save_job_payload(new["id"], payload, self._tables)
        async with self._add_lock:
            row = await self._add_or_reuse(new)
        if row["id"] != new["id"]:
            await delete_job_blobs(new["id"], self._tables)
        return job_rows.job_from_row(row), AzureLease(self, row, payload) if hold and row["id"] == new["id"] else None

    async def get(self, id: str, user_id: str | None) -> Job | None:
        row = await self._find_job(id) if re.fullmatch("[0-9a-f]{32}", id) else None
        return job_rows.job_from_row(row) if row and row["user"] == (user_id or "") else None

    async def claim(self) -> "AzureLease | None":
        for _ in range(MAX_WRITE_ATTEMPTS):
            try:
                row = await self._claim_next()
            except RowChanged:  # another worker claimed it first
                continue
            if row is None:
                await self._clean_up()
                return None
            work = await load_job_payload(row["id"], self._tables)
            if work is not None:  # else the job ended meanwhile
                return AzureLease(self, row, work)
        return None  # enough other workers are claiming jobs

    async def cancel(self, id: str, user_id: str | None) -> Job | None:
        if await self.get(id, user_id) is None:
            return None
        await job_rows.wait_for_writer(
            lambda: self.update_job(id, lambda row: job_rows.mark_cancelled(row, self._now()))
        )
        return await self.get(id, user_id)

    @asynccontextmanager
    async def supersede_document(self, document_id: str, scope: Scope) -> AsyncIterator[bool]:
        document_key, until = job_rows.make_document_key(document_id, scope), self._now() + SUSPENSION_S
        suspended = await job_rows.wait_for_writer(lambda: self.suspend_document_jobs(document_key, until))
        async with job_rows.end_or_resume(suspended, self.end_jobs, self._resume_jobs) as had_jobs:
            yield had_jobs

    async def close(self) -> None:
        await self._tables.close()

    async def update_job(self, id: str, update: JobRowUpdate) -> JobRow | None:
        """Apply a change to the row of an open job and return the new row; None when the job is not open.

        When the change ends the job, its blobs are deleted.
        """
        for _ in range(MAX_WRITE_ATTEMPTS):
            stored = await self._tables.load_row(OPEN_JOB_PREFIX + id)
            if stored is None:
                return None
            with suppress(RowChanged):
                return await self._replace_row(stored, update(job_row_from_stored(stored)))
        raise _make_contention_error()

    async def suspend_document_jobs(
        self, document_key: DocumentKey, until: float, before_place: int | None = None
    ) -> SuspendedJobs:
        """Suspend a document's open jobs until a time; with `before_place` only those added before that place.

        Raises Unavailable, with no job suspended, when a worker is writing the document: what it writes would come
        after the change.
        """
        suspended: dict[str, float] = {}
        try:
            for row in await self._load_document_jobs(document_key, before_place):
                await self.update_job(row["id"], partial(job_rows.mark_suspended, until=until, now=self.now))
                suspended[row["id"]] = row["due"]
        except Unavailable:
            await self._resume_jobs(suspended)
            raise
        return suspended

    async def end_jobs(self, suspended: SuspendedJobs) -> None:
        for id in suspended:
            await self.update_job(id, lambda _: job_rows.mark_failed(SUPERSEDED_ERROR))

    async def end_earlier_jobs(self, row: JobRow) -> None:
        """End the open jobs that were added for the same document before this one, which is in the index."""
        document_key = (row["workflow"], row["user"], row["document"])
        await self.end_jobs(
            {earlier["id"]: 0.0 for earlier in await self._load_document_jobs(document_key, row["place"])}
        )

    async def save_vectors(self, id: str, space: str, vectors: Mapping[str, Vector]) -> None:
        await save_job_vectors(id, space, vectors, self._tables)

    async def load_vectors(self, id: str, space: str) -> dict[str, Vector]:
        return await load_job_vectors(id, space, self._tables)

    async def save_enrichments(self, id: str, model: str, enrichments: Mapping[str, str]) -> None:
        await save_job_enrichments(id, model, enrichments, self._tables)

    async def load_enrichments(self, id: str, model: str) -> dict[str, str]:
        return await load_job_enrichments(id, model, self._tables)

    @property
    def now(self) -> float:
        return self._now()

    async def _resume_jobs(self, suspended: SuspendedJobs) -> None:
        for id, due_at in suspended.items():
            await self.update_job(id, partial(job_rows.mark_resumed, due_at=due_at))

    async def _add_or_reuse(self, new: JobRow) -> JobRow:
        """Insert a new job and return its row, or the row of the job for which its key was used meanwhile."""
        for attempt in range(MAX_WRITE_ATTEMPTS):
            key_row, earlier = await self._find_by_idempotency_key(new)
            if earlier:
                return earlier
            try:
                return await self._insert_job(new, key_row)
            except RowChanged:  # also when our own write succeeded and only its reply was lost
                if inserted := await self._find_job(new["id"]):
                    return inserted
            await asyncio.sleep(random() * MAX_RETRY_PAUSE_S * (attempt + 1))  # noqa: S311 - no secret
        raise _make_contention_error()

    async def _insert_job(self, new: JobRow, key_row: StoredRow | None) -> JobRow:
        """Write a job's row, the next place of the sequence and the row of its key in one transaction.

        Args:
            new: the row without its place.
            key_row: the row of its idempotency key as it was read when the key was free, None when there was none.

        Raises:
            RowChanged: another process wrote one of these rows meanwhile.
        """
        sequence = await self._tables.load_row(SEQUENCE_ROW_KEY)
        row = {**new, "place": sequence.values["last"] + 1 if sequence else 1}
        sequence_values, key_values = {"last": row["place"]}, {"job": new["id"]}
        operations = [
            build_replace_operation(sequence, sequence_values)
            if sequence
            else build_create_operation(SEQUENCE_ROW_KEY, sequence_values),
            build_create_operation(OPEN_JOB_PREFIX + new["id"], row),
        ]
        if new["key"] is not None:
            operations.append(
                build_replace_operation(key_row, key_values)
                if key_row
                else build_create_operation(build_idempotency_row_key(new), key_values)
            )
        await self._tables.write_rows(*operations)
        return row

    async def _find_by_idempotency_key(self, new: JobRow) -> tuple[StoredRow | None, JobRow | None]:
        """Return the row of a job's idempotency key, and the job that the key stands for.

        A failed job no longer occupies its key. Raises Conflict when the key was used for another upload.
        """
        key_row = await self._tables.load_row(build_idempotency_row_key(new)) if new["key"] is not None else None
        earlier = await self._find_job(key_row.values["job"]) if key_row else None
        return key_row, job_rows.check_same_upload(earlier, new) if earlier and earlier["state"] != "failed" else None

    async def _find_job(self, id: str) -> JobRow | None:
        """Return the row of a job, open or ended; None when there is none."""
        for prefix in (
            OPEN_JOB_PREFIX,
            ENDED_JOB_PREFIX,
        ):  # in this order: a job moves from open to ended, and never back
            if stored := await self._tables.load_row(prefix + id):
                return job_row_from_stored(stored)
        return None

    async def _load_open_rows(self) -> list[StoredRow]:
        return sorted(await self._tables.load_rows(OPEN_JOB_PREFIX), key=lambda stored: int(stored.values["place"]))

    async def _load_document_jobs(self, document_key: DocumentKey, before_place: int | None) -> list[JobRow]:
        rows = [
            row
            for row in map(job_row_from_stored, await self._load_open_rows())
            if document_key_from_row(row) == document_key
        ]
        return [row for row in rows if before_place is None or row["place"] < before_place]

    async def _claim_next(self) -> JobRow | None:
        """Claim the next job that is due and return its row; None when none is due.

        Two workers may claim two jobs of one document when the second becomes due between their reads: the later
        job's `claim_document` then takes the earlier one from its worker. Raises RowChanged.
        """
        now, rows_by_key = self._now(), {stored.key: stored for stored in await self._load_open_rows()}
        for stored in rows_by_key.values():
            if job_rows.has_used_all_attempts(stored.values, now):
                await self._replace_row(stored, job_rows.mark_failed(WORKER_ENDED_ERROR))
                raise RowChanged("a job has failed: read the open jobs again")
        row = select_due_row([job_row_from_stored(stored) for stored in rows_by_key.values()], now)
        return (
            await self._replace_row(rows_by_key[OPEN_JOB_PREFIX + row["id"]], job_rows.mark_claimed(row, now))
            if row
            else None
        )

    async def _replace_row(self, stored: StoredRow, values: Mapping[str, Any]) -> JobRow:
        """Write a row with changed values, moving it when the job has ended, and return it. Raises RowChanged."""
        row = {**job_row_from_stored(stored), "updated": self._now(), **values}
        if row["state"] in OPEN_STATES:
            await self._tables.write_rows(build_replace_operation(stored, row))
            return row
        await self._tables.write_rows(
            build_delete_operation(stored), build_create_operation(ENDED_JOB_PREFIX + row["id"], row)
        )
        with suppress(Unavailable):  # the next cleanup deletes them
            await delete_job_blobs(row["id"], self._tables)
        return row

    async def _clean_up(self) -> None:
        """Delete rows of jobs that ended long ago, and blobs that a killed process left behind."""
        now = self._now()
        if now < self._last_cleanup + CLEANUP_INTERVAL_S:
            return
        self._last_cleanup = now
        for name, written in await self._tables.list_blobs():
            is_old = written.timestamp() < now - CLEANUP_INTERVAL_S
            if is_old and await self._tables.load_row(OPEN_JOB_PREFIX + parse_job_id(name)) is None:
                await self._tables.delete_blob(name)
        for stored in await self._tables.load_rows(ENDED_JOB_PREFIX):
            if stored.values["updated"] < now - JOB_RETENTION_S:
                await self._delete_ended_job(stored)

    async def _delete_ended_job(self, stored: StoredRow) -> None:
        row = job_row_from_stored(stored)
        key_row = await self._tables.load_row(build_idempotency_row_key(row)) if row["key"] is not None else None
        with suppress(RowChanged):  # the next cleanup tries again
            key_operations = [build_delete_operation(key_row)] if key_row and key_row.values["job"] == row["id"] else []
            await self._tables.write_rows(build_delete_operation(stored), *key_operations)


@dataclass(frozen=True, slots=True)
class AzureLease:
    """A `Lease` on a job in Azure Storage; every write first checks that the lease still holds."""

    jobs: AzureJobs
    row: JobRow
    payload: bytes

    @property
    def job(self) -> Job:
        return job_rows.job_from_row(self.row)

    async def renew(self) -> None:
        await self._update_row(lambda row: {})  # every write extends the lease

    async def load_vectors(self, space: str) -> Mapping[str, Vector]:
        await self.renew()
        return await self.jobs.load_vectors(self.row["id"], space)

    async def save_vectors(self, vectors: Mapping[str, Vector], space: str, progress: JobProgress) -> None:
        if vectors:
            await self.renew()
            await self.jobs.save_vectors(self.row["id"], space, vectors)
        await self._update_row(partial(job_rows.mark_progress, progress=progress, has_new_vectors=bool(vectors)))

    async def load_enrichments(self, model: str) -> Mapping[str, str]:
        await self.renew()
        return await self.jobs.load_enrichments(self.row["id"], model)

    async def save_enrichments(self, enrichments: Mapping[str, str], model: str) -> None:
        await self.renew()
        await self.jobs.save_enrichments(self.row["id"], model, enrichments)
        await self._update_row(partial(job_rows.mark_described, enrichments=enrichments))

    async def claim_document(self, document_id: str) -> None:
        row = await self._update_row(lambda row: {"document": document_id, "state": "writing"})
        await self.jobs.suspend_document_jobs((row["workflow"], row["user"], document_id), 0.0, row["place"])

    async def mark_lexical_only(self) -> None:
        await self.jobs.end_earlier_jobs(await self._update_row(lambda row: {"words": 1}))

    async def finish(self, result: IndexingResult, run_notes: Mapping[str, Any]) -> Job:
        await self.jobs.end_earlier_jobs(await self._update_row(lambda row: {}))
        return job_rows.job_from_row(await self._update_row(lambda row: job_rows.mark_finished(result, run_notes)))

    async def release(self, run_notes: Mapping[str, Any]) -> Job:
        return job_rows.job_from_row(await self._update_row(partial(job_rows.mark_released, run_notes=run_notes)))

    async def schedule_retry(self, error: RagError, run_notes: Mapping[str, Any]) -> Job:
        return job_rows.job_from_row(
            await self._update_row(lambda row: job_rows.mark_retry_scheduled(row, error, run_notes, self.jobs.now))
        )

    async def fail(self, error: RagError, run_notes: Mapping[str, Any]) -> Job:
        return job_rows.job_from_row(await self._update_row(lambda row: job_rows.mark_failed(error, run_notes)))

    async def _update_row(self, update: JobRowUpdate) -> JobRow:
        def update_if_held(row: JobRow) -> Mapping[str, Any]:
            if row["state"] not in CLAIMED_STATES or row["lease"] != self.row["lease"]:
                raise job_rows.make_lease_lost_error()
            return {**job_rows.extend_lease(self.jobs.now), **update(row)}

        row = await self.jobs.update_job(self.row["id"], update_if_held)
        if row is None:
            raise job_rows.make_lease_lost_error()
        return row


def _make_contention_error() -> Unavailable:
    return Unavailable("the job table is being changed by too many writers at once", code="jobs_unavailable")
