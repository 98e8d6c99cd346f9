"""The job table in SQLite: an acknowledged upload stays in it until its document is in the index."""

import asyncio
import sqlite3
import time
from array import array
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from rag_core.core.errors import RagError
from rag_core.core.model import IndexingResult, Job, JobProgress, Scope, Vector
from rag_core.core.sqlite_files import DurableSqliteFile, allow_any_place
from rag_core.jobs import job_rows
from rag_core.jobs.job_rows import (
    JOB_RETENTION_S,
    MAX_ATTEMPTS,
    OPEN_STATES,
    SUPERSEDED_ERROR,
    SUSPENSION_S,
    WORKER_ENDED_ERROR,
    DocumentKey,
    JobRow,
    SuspendedJobs,
)
from rag_core.jobs.worker_locks import WorkerLocks

JOBS_SCHEMA = """
    create table if not exists index_jobs(
        place integer primary key autoincrement, id text not null unique, workflow text not null,
        user text not null, groups text not null, document text, key text, fingerprint text not null, work blob,
        state text not null, attempts integer not null, words integer not null,
        done integer not null, chunks integer not null, error text, result text, told text,
        lease text, lease_until real not null, due real not null, created real not null, updated real not null);
    create unique index if not exists index_jobs_by_key on index_jobs(workflow, user, key)
        where key is not null and state <> 'failed';
    drop index if exists index_jobs_open;
    create index if not exists index_jobs_unfinished on index_jobs(state)
        where state in ('queued', 'running', 'writing');
    create table if not exists job_vectors(
        job text not null, space text not null, hash text not null, vector blob not null,
        primary key (job, space, hash)) without rowid;
    create table if not exists job_enrichments(
        job text not null, model text not null, hash text not null, enrichment text not null,
        primary key (job, model, hash)) without rowid;
"""

# The first job that is due or whose lease has expired, except while a worker is indexing the same document.
NEXT_DUE_JOB_SQL = """
    select * from index_jobs one
    where (state = 'queued' and due <= :now or state in ('running', 'writing') and lease_until <= :now)
    and not exists (
        select 1 from index_jobs other where other.state in ('running', 'writing') and other.lease_until > :now
        and (other.workflow, other.user, other.document) = (one.workflow, one.user, one.document))
    order by place limit 1
"""
DOCUMENT_JOBS_SQL = """
    select * from index_jobs where state in ('queued', 'running', 'writing')
    and workflow = ? and user = ? and document = ? and place < ifnull(?, place + 1)
"""

P = ParamSpec("P")
T = TypeVar("T")


class SqliteJobs:
    """The `Jobs` in an SQLite file, or in memory when `path` is None: open jobs are then lost with the process."""

    def __init__(
        self,
        path: Path | None,
        *,
        now: Callable[[], float] = time.time,
        require_in_place: Callable[[], None] = allow_any_place,
    ) -> None:
        self._now = now
        self._workers = WorkerLocks(path and path.with_name(f"{path.name}.workers"))
        self._file = DurableSqliteFile(
            path,
            JOBS_SCHEMA,
            name="the job table",
            code="jobs_unavailable",
            disk_full_effect="no new jobs are accepted",
            secure_delete=True,  # a purged document must not remain in the file
            require_in_place=require_in_place,
        )

    async def add(
        self, payload: bytes, scope: Scope, *, document_id: str | None, key: str | None = None, hold: bool = False
    ) -> tuple[Job, "SqliteLease | None"]:
        new = job_rows.create_job_row(payload, scope, document_id, key, self._now())
        row = await self.run_transaction(_add_job_row, new, payload, self._workers if hold else None, self._now())
        return job_rows.job_from_row(row), SqliteLease(self, row) if hold and row["id"] == new["id"] else None

    async def get(self, id: str, user_id: str | None) -> Job | None:
        row = await self.run_transaction(_select_user_job_row, id, user_id or "")
        return None if row is None else job_rows.job_from_row(row)

    async def claim(self) -> "SqliteLease | None":
        row = await self.run_transaction(_claim_job_row, self._workers, self._now())
        return None if row is None else SqliteLease(self, row)

    async def cancel(self, id: str, user_id: str | None) -> Job | None:
        row = await job_rows.wait_for_writer(
            lambda: self.run_transaction(_cancel_job_row, id, user_id or "", self._workers, self._now())
        )
        return None if row is None else job_rows.job_from_row(row)

    @asynccontextmanager
    async def supersede_document(self, document_id: str, scope: Scope) -> AsyncIterator[bool]:
        document_key, until = job_rows.make_document_key(document_id, scope), self._now() + SUSPENSION_S
        suspended = await job_rows.wait_for_writer(
            lambda: self.run_transaction(_suspend_job_rows, document_key, until, self._workers, self._now())
        )
        async with job_rows.end_or_resume(suspended, self._end_jobs, self._resume_jobs) as had_jobs:
            yield had_jobs

    async def close(self) -> None:
        self._file.close()
        self._workers.close()

    async def run_transaction(
        self, function: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call the function with the connection in one durable transaction, in a thread."""

        def run() -> T:
            with self._file.transaction() as db:
                return function(db, *args, **kwargs)

        return await asyncio.to_thread(run)

    @property
    def now(self) -> float:
        return self._now()

    @property
    def workers(self) -> WorkerLocks:
        """The lock files of the workers that share this table."""
        return self._workers

    async def _end_jobs(self, suspended: SuspendedJobs) -> None:
        if suspended:
            await self.run_transaction(_end_job_rows, tuple(suspended), self._now())

    async def _resume_jobs(self, suspended: SuspendedJobs) -> None:
        if suspended:
            await self.run_transaction(_resume_job_rows, suspended)


@dataclass(frozen=True, slots=True)
class SqliteLease:
    """A `Lease` on a job in SQLite; every write first checks that the lease still holds."""

    jobs: SqliteJobs
    row: JobRow

    @property
    def job(self) -> Job:
        return job_rows.job_from_row(self.row)

    @property
    def payload(self) -> bytes:
        return bytes(self.row["work"])

    async def renew(self) -> None:
        await self._run_with_lease(lambda db, row: None)  # every write extends the lease

    async def load_vectors(self, space: str) -> Mapping[str, Vector]:
        return await self._run_with_lease(_select_job_vectors, space)

    async def save_vectors(self, vectors: Mapping[str, Vector], space: str, progress: JobProgress) -> None:
        await self._run_with_lease(_insert_job_vectors, vectors, space, progress)

    async def load_enrichments(self, model: str) -> Mapping[str, str]:
        return await self._run_with_lease(_select_job_enrichments, model)

    async def save_enrichments(self, enrichments: Mapping[str, str], model: str) -> None:
        await self._run_with_lease(_insert_job_enrichments, enrichments, model)

    async def claim_document(self, document_id: str) -> None:
        await self._run_with_lease(_claim_document_for_job, document_id, self.jobs.workers, self.jobs.now)

    async def mark_lexical_only(self) -> None:
        await self._run_with_lease(_mark_job_row_lexical_only, self.jobs.now)

    async def finish(self, result: IndexingResult, run_notes: Mapping[str, Any]) -> Job:
        return job_rows.job_from_row(await self._run_with_lease(_finish_job_row, result, run_notes, self.jobs.now))

    async def release(self, run_notes: Mapping[str, Any]) -> Job:
        return job_rows.job_from_row(await self._run_with_lease(_release_job_row, run_notes))

    async def schedule_retry(self, error: RagError, run_notes: Mapping[str, Any]) -> Job:
        return job_rows.job_from_row(
            await self._run_with_lease(_schedule_job_row_retry, error, run_notes, self.jobs.now)
        )

    async def fail(self, error: RagError, run_notes: Mapping[str, Any]) -> Job:
        return job_rows.job_from_row(await self._run_with_lease(_fail_job_row, error, run_notes))

    async def _run_with_lease(
        self, function: Callable[Concatenate[sqlite3.Connection, JobRow, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        def run_if_held(db: sqlite3.Connection) -> T:
            return function(db, _renew_lease(db, self.row["lease"], self.jobs.now), *args, **kwargs)

        return await self.jobs.run_transaction(run_if_held)


def _add_job_row(db: sqlite3.Connection, new: JobRow, payload: bytes, holder: WorkerLocks | None, now: float) -> JobRow:
    """Insert a new job and return its row, or the row of the job for which its key was used."""
    _delete_ended_job_rows(db, now - JOB_RETENTION_S)
    by_key = "select * from index_jobs where workflow = ? and user = ? and key = ? and state <> 'failed'"
    if earlier := _select_first_job_row(db, by_key, new["workflow"], new["user"], new["key"]):
        return job_rows.check_same_upload(earlier, new)
    values = {**new, "work": payload, **(_mark_claimed_by(holder, new, now) if holder else {})}
    placeholders = ", ".join(f":{name}" for name in values)
    sql = f"insert into index_jobs({', '.join(values)}) values ({placeholders}) returning *"  # noqa: S608 - our columns
    return dict(db.execute(sql, values).fetchone())


def _delete_ended_job_rows(db: sqlite3.Connection, ended_before: float) -> None:
    db.execute("delete from index_jobs where state in ('done', 'failed') and updated < ?", (ended_before,))


def _select_user_job_row(db: sqlite3.Connection, id: str, user: str) -> JobRow | None:
    return _select_first_job_row(db, "select * from index_jobs where id = ? and user = ?", id, user)


def _select_first_job_row(db: sqlite3.Connection, sql: str, *values: Any) -> JobRow | None:
    row = db.execute(sql, values).fetchone()
    return None if row is None else dict(row)


def _mark_claimed_by(workers: WorkerLocks, row: JobRow, now: float) -> JobRow:
    """Return the columns of a job that this worker claims: its lease begins with the worker's id."""
    columns = job_rows.mark_claimed(row, now)
    return {**columns, "lease": f"{workers.get_worker_id()}.{columns['lease']}"}


def _expire_leases_of_dead_workers(db: sqlite3.Connection, workers: WorkerLocks, now: float) -> None:
    claimed = "select * from index_jobs where state in ('running', 'writing') and lease_until > ?"
    for row in db.execute(claimed, (now,)).fetchall():
        worker_id, _, lease = row["lease"].partition(".")
        if lease and workers.is_dead(worker_id):
            _update_job_row(db, row, lease_until=0.0)


def _claim_job_row(db: sqlite3.Connection, workers: WorkerLocks, now: float) -> JobRow | None:
    _expire_leases_of_dead_workers(db, workers, now)
    last_attempts = "select * from index_jobs where state in (?, ?) and lease_until <= ? and attempts >= ?"
    for row in db.execute(last_attempts, (*job_rows.CLAIMED_STATES, now, MAX_ATTEMPTS)).fetchall():
        _update_job_row(db, row, updated=now, **job_rows.mark_failed(WORKER_ENDED_ERROR))
    due = db.execute(NEXT_DUE_JOB_SQL, {"now": now}).fetchone()
    return _update_job_row(db, due, **_mark_claimed_by(workers, due, now)) if due else None


def _cancel_job_row(db: sqlite3.Connection, id: str, user: str, workers: WorkerLocks, now: float) -> JobRow | None:
    _expire_leases_of_dead_workers(db, workers, now)
    row = _select_user_job_row(db, id, user)
    return row and _update_job_row(db, row, updated=now, **job_rows.mark_cancelled(row, now))


def _suspend_job_rows(
    db: sqlite3.Connection,
    document_key: DocumentKey,
    until: float,
    workers: WorkerLocks,
    now: float,
    before_place: int | None = None,
) -> SuspendedJobs:
    """Suspend a document's open jobs until a time; with `before_place` only those added before that place.

    Raises Unavailable when a worker is writing the document: what it writes would come after the change.
    """
    _expire_leases_of_dead_workers(db, workers, now)
    rows = [dict(row) for row in db.execute(DOCUMENT_JOBS_SQL, (*document_key, before_place))]
    for row in rows:
        _update_job_row(db, row, **job_rows.mark_suspended(row, until, now))
    return {row["id"]: row["due"] for row in rows}


def _resume_job_rows(db: sqlite3.Connection, suspended: SuspendedJobs) -> None:
    due_times = [(due_at, id) for id, due_at in suspended.items()]
    db.executemany("update index_jobs set due = ? where id = ? and state = 'queued'", due_times)


def _end_job_rows(db: sqlite3.Connection, ids: Sequence[str], now: float) -> None:
    for id in ids:
        row = _select_first_job_row(db, "select * from index_jobs where id = ?", id)
        if row and row["state"] in OPEN_STATES:
            _update_job_row(db, row, updated=now, **job_rows.mark_failed(SUPERSEDED_ERROR))


def _renew_lease(db: sqlite3.Connection, lease: str, now: float) -> JobRow:
    """Extend a lease and return the job's row. Raises Conflict when the lease no longer holds."""
    row = _select_first_job_row(
        db, "select * from index_jobs where lease = ? and state in ('running', 'writing')", lease
    )
    if row is None:
        raise job_rows.make_lease_lost_error()
    return _update_job_row(db, row, **job_rows.extend_lease(now))


def _select_job_vectors(db: sqlite3.Connection, row: JobRow, space: str) -> dict[str, Vector]:
    rows = db.execute("select hash, vector from job_vectors where job = ? and space = ?", (row["id"], space))
    return {content_hash: array("f", packed).tolist() for content_hash, packed in rows}


def _insert_job_vectors(
    db: sqlite3.Connection, row: JobRow, vectors: Mapping[str, Vector], space: str, progress: JobProgress
) -> None:
    rows = [(row["id"], space, content_hash, array("f", vector).tobytes()) for content_hash, vector in vectors.items()]
    db.executemany("insert or replace into job_vectors values (?, ?, ?, ?)", rows)
    _update_job_row(db, row, **job_rows.mark_progress(row, progress, has_new_vectors=bool(vectors)))


def _select_job_enrichments(db: sqlite3.Connection, row: JobRow, model: str) -> dict[str, str]:
    return dict(
        db.execute("select hash, enrichment from job_enrichments where job = ? and model = ?", (row["id"], model))
    )


def _insert_job_enrichments(db: sqlite3.Connection, row: JobRow, enrichments: Mapping[str, str], model: str) -> None:
    rows = [(row["id"], model, content_hash, text) for content_hash, text in enrichments.items()]
    db.executemany("insert or replace into job_enrichments values (?, ?, ?, ?)", rows)
    _update_job_row(db, row, **job_rows.mark_described(row, enrichments))


def _claim_document_for_job(
    db: sqlite3.Connection, row: JobRow, document_id: str, workers: WorkerLocks, now: float
) -> None:
    document_key = (row["workflow"], row["user"], document_id)
    _suspend_job_rows(db, document_key, 0.0, workers, now, before_place=row["place"])
    _update_job_row(db, row, document=document_id, state="writing")


def _mark_job_row_lexical_only(db: sqlite3.Connection, row: JobRow, now: float) -> None:
    _end_earlier_job_rows(db, row, now)
    _update_job_row(db, row, words=1)


def _finish_job_row(
    db: sqlite3.Connection, row: JobRow, result: IndexingResult, run_notes: Mapping[str, Any], now: float
) -> JobRow:
    _end_earlier_job_rows(db, row, now)
    return _update_job_row(db, row, **job_rows.mark_finished(result, run_notes))


def _end_earlier_job_rows(db: sqlite3.Connection, row: JobRow, now: float) -> None:
    """End the open jobs that were added for the same document before this one, which is in the index."""
    parameters = (row["workflow"], row["user"], row["document"], row["place"])
    _end_job_rows(db, [earlier["id"] for earlier in db.execute(DOCUMENT_JOBS_SQL, parameters).fetchall()], now)


def _release_job_row(db: sqlite3.Connection, row: JobRow, run_notes: Mapping[str, Any]) -> JobRow:
    return _update_job_row(db, row, **job_rows.mark_released(row, run_notes))


def _schedule_job_row_retry(
    db: sqlite3.Connection, row: JobRow, error: RagError, run_notes: Mapping[str, Any], now: float
) -> JobRow:
    return _update_job_row(db, row, **job_rows.mark_retry_scheduled(row, error, run_notes, now))


def _fail_job_row(db: sqlite3.Connection, row: JobRow, error: RagError, run_notes: Mapping[str, Any]) -> JobRow:
    return _update_job_row(db, row, **job_rows.mark_failed(error, run_notes))


def _update_job_row(db: sqlite3.Connection, row: JobRow, /, **values: Any) -> JobRow:
    """Change columns of a job and return the new row; when the job ends, its upload and vectors are deleted."""
    if values.get("state", "queued") not in OPEN_STATES:
        values["work"] = None
        db.execute("delete from job_vectors where job = ?", (row["id"],))
        db.execute("delete from job_enrichments where job = ?", (row["id"],))
    assignments = ", ".join(f"{name} = ?" for name in values)
    sql = f"update index_jobs set {assignments} where place = ? returning *"  # noqa: S608 - our columns
    return dict(db.execute(sql, (*values.values(), row["place"])).fetchone())
