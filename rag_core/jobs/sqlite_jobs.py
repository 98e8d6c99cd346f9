"""The job table in SQLite: an acknowledged upload stays in it until its document is in the index.

The journal is a rollback journal with synchronous=EXTRA, which also syncs the directory entry: it is safe on a file
share, with several processes, and in the SQLite 3.40 of Python 3.11, whose write-ahead log can lose commits. With
secure_delete removed data is overwritten, because a purged document must not remain in the file.
"""

import asyncio
import sqlite3
import threading
import time
from array import array
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from rag_core.core import sqlite_files
from rag_core.core.errors import RagError
from rag_core.core.model import Indexed, Job, Scope, Vector
from rag_core.jobs import job_rows
from rag_core.jobs.job_rows import ENDED, HOLD_S, KEPT_S, MAX_ATTEMPTS, SUPERSEDED, UNDER_WAY, About, Held, Row

SCHEMA = """
    create table if not exists index_jobs(
        place integer primary key autoincrement, id text not null unique, workflow text not null,
        user text not null, groups text not null, document text, key text, fingerprint text not null, work blob,
        state text not null, attempts integer not null, words integer not null,
        done integer not null, chunks integer not null, error text, result text, told text,
        lease text, lease_until real not null, due real not null, created real not null, updated real not null);
    create unique index if not exists index_jobs_by_key on index_jobs(workflow, user, key)
        where key is not null and state <> 'failed';
    create index if not exists index_jobs_open on index_jobs(state) where state in ('queued', 'running');
    create table if not exists job_vectors(
        job text not null, space text not null, hash text not null, vector blob not null,
        primary key (job, space, hash)) without rowid;
"""

# The first job that is due or whose lease has expired, except while a worker is indexing the same document.
NEXT = """
    select * from index_jobs one
    where (state = 'queued' and due <= :now or state = 'running' and lease_until <= :now)
    and not exists (
        select 1 from index_jobs other where other.state = 'running' and other.lease_until > :now
        and (other.workflow, other.user, other.document) = (one.workflow, one.user, one.document))
    order by place limit 1
"""
OF_DOCUMENT = """
    select * from index_jobs where state in ('queued', 'running')
    and workflow = ? and user = ? and document = ? and place < ifnull(?, place + 1)
"""

P = ParamSpec("P")
T = TypeVar("T")

_told = partial(sqlite_files.told, "the job table", code="jobs_unavailable", full="no new jobs are accepted")


class JobTable:
    """The `Jobs` in an SQLite file, or in memory when `path` is None: open jobs are then lost with the process."""

    def __init__(self, path: Path | None, *, now: Callable[[], float] = time.time) -> None:
        self._path, self._now = path, now
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None

    async def add(
        self, work: bytes, scope: Scope, *, document_id: str | None, key: str | None = None, hold: bool = False
    ) -> tuple[Job, "JobLease | None"]:
        new = job_rows.added(work, scope, document_id, key, self._now())
        row = await self.write(_add, new, work, hold, self._now())
        return job_rows.job(row), JobLease(self, row) if hold and row["id"] == new["id"] else None

    async def get(self, id: str, user_id: str | None) -> Job | None:
        row = await self.write(_get, id, user_id or "")
        return None if row is None else job_rows.job(row)

    async def claim(self) -> "JobLease | None":
        row = await self.write(_claim, self._now())
        return None if row is None else JobLease(self, row)

    @asynccontextmanager
    async def superseding(self, document_id: str, scope: Scope) -> AsyncIterator[None]:
        suspended = await self.write(_hold_back, job_rows.about(document_id, scope), self._now() + HOLD_S)
        async with job_rows.instead(suspended, self._end, self._release):
            yield

    async def close(self) -> None:
        with self._lock:
            db, self._db = self._db, None
            if db:
                db.close()

    async def write(
        self, function: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call the function with the connection in one durable transaction, in a thread."""

        def run_locked() -> T:
            with self._lock, _told(), self._opened() as db:  # commits, or rolls back on an error
                db.execute("begin immediate")
                return function(db, *args, **kwargs)

        return await asyncio.to_thread(run_locked)

    @property
    def now(self) -> float:
        return self._now()

    async def _end(self, held: Held) -> None:
        if held:
            await self.write(_end, tuple(held), self._now())

    async def _release(self, held: Held) -> None:
        if held:
            await self.write(_release, held)

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            db = sqlite_files.connect(self._path, busy_s=5.0, isolation_level=None)
            db.row_factory = sqlite3.Row
            db.execute("pragma synchronous = extra")
            db.execute("pragma secure_delete = on")
            db.executescript(SCHEMA)
            self._db = db  # only now, so that a failed opening is tried again
        return self._db


@dataclass(frozen=True, slots=True)
class JobLease:
    """A `Lease` on a job in SQLite; every write first checks that the lease still holds."""

    table: JobTable
    row: Row

    @property
    def job(self) -> Job:
        return job_rows.job(self.row)

    @property
    def work(self) -> bytes:
        return bytes(self.row["work"])

    async def renew(self) -> None:
        await self._write(lambda db, row: None)  # every write extends the lease

    async def vectors(self, space: str) -> Mapping[str, Vector]:
        return await self._write(_vectors, space)

    async def keep(self, vectors: Mapping[str, Vector], space: str, *, done: int, chunks: int) -> None:
        await self._write(_keep, vectors, space, done, chunks)

    async def publish(self, document_id: str) -> None:
        await self._write(_publish, document_id)

    async def words_only(self) -> None:
        await self._write(_words_only, self.table.now)

    async def finish(self, result: Indexed, told: Mapping[str, Any]) -> Job:
        return job_rows.job(await self._write(_finish, result, told, self.table.now))

    async def give_back(self) -> Job:
        return job_rows.job(await self._write(_give_back))

    async def put_off(self, error: RagError, told: Mapping[str, Any]) -> Job:
        return job_rows.job(await self._write(_put_off, error, told, self.table.now))

    async def fail(self, error: RagError, told: Mapping[str, Any]) -> Job:
        return job_rows.job(await self._write(_fail, error, told))

    async def _write(
        self, function: Callable[Concatenate[sqlite3.Connection, Row, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        def run_if_held(db: sqlite3.Connection) -> T:
            return function(db, _renewed(db, self.row["lease"], self.table.now), *args, **kwargs)

        return await self.table.write(run_if_held)


def _add(db: sqlite3.Connection, new: Row, work: bytes, hold: bool, now: float) -> Row:
    """Insert a new job and return its row, or the row of the job for which its key was used."""
    _forget_old(db, now - KEPT_S)
    by_key = "select * from index_jobs where workflow = ? and user = ? and key = ? and state <> 'failed'"
    if earlier := _first(db, by_key, new["workflow"], new["user"], new["key"]):
        return job_rows.same_work(earlier, new)
    values = {**new, "work": work, **(job_rows.taken(new, now) if hold else {})}
    placeholders = ", ".join(f":{name}" for name in values)
    sql = f"insert into index_jobs({', '.join(values)}) values ({placeholders}) returning *"  # noqa: S608 - our columns
    return dict(db.execute(sql, values).fetchone())


def _forget_old(db: sqlite3.Connection, until: float) -> None:
    db.execute("delete from index_jobs where state in ('done', 'failed') and updated < ?", (until,))


def _get(db: sqlite3.Connection, id: str, user: str) -> Row | None:
    return _first(db, "select * from index_jobs where id = ? and user = ?", id, user)


def _first(db: sqlite3.Connection, sql: str, *values: Any) -> Row | None:
    row = db.execute(sql, values).fetchone()
    return None if row is None else dict(row)


def _claim(db: sqlite3.Connection, now: float) -> Row | None:
    last_attempts = "select * from index_jobs where state = 'running' and lease_until <= ? and attempts >= ?"
    for row in db.execute(last_attempts, (now, MAX_ATTEMPTS)).fetchall():
        _set(db, row, updated=now, **job_rows.failed(ENDED))
    due = db.execute(NEXT, {"now": now}).fetchone()
    return _set(db, due, **job_rows.taken(due, now)) if due else None


def _hold_back(db: sqlite3.Connection, about: About, until: float, before: int | None = None) -> Held:
    """Suspend a document's open jobs until a time; with `before_place` only those added before that place."""
    rows = db.execute(OF_DOCUMENT, (*about, before)).fetchall()
    for row in rows:
        _set(db, row, **job_rows.held_back(row, until))
    return {row["id"]: row["due"] for row in rows}


def _release(db: sqlite3.Connection, held: Held) -> None:
    due_times = [(due_at, id) for id, due_at in held.items()]
    db.executemany("update index_jobs set due = ? where id = ? and state = 'queued'", due_times)


def _end(db: sqlite3.Connection, ids: Sequence[str], now: float) -> None:
    for id in ids:
        row = _first(db, "select * from index_jobs where id = ?", id)
        if row and row["state"] in UNDER_WAY:
            _set(db, row, updated=now, **job_rows.failed(SUPERSEDED))


def _renewed(db: sqlite3.Connection, lease: str, now: float) -> Row:
    """Extend a lease and return the job's row. Raises Conflict when the lease no longer holds."""
    row = _first(db, "select * from index_jobs where lease = ? and state = 'running'", lease)
    if row is None:
        raise job_rows.taken_over()
    return _set(db, row, **job_rows.renewed(now))


def _vectors(db: sqlite3.Connection, row: Row, space: str) -> dict[str, Vector]:
    rows = db.execute("select hash, vector from job_vectors where job = ? and space = ?", (row["id"], space))
    return {content_hash: array("f", packed).tolist() for content_hash, packed in rows}


def _keep(db: sqlite3.Connection, row: Row, vectors: Mapping[str, Vector], space: str, done: int, chunks: int) -> None:
    rows = [(row["id"], space, content_hash, array("f", vector).tobytes()) for content_hash, vector in vectors.items()]
    db.executemany("insert or replace into job_vectors values (?, ?, ?, ?)", rows)
    _set(db, row, **job_rows.progressed(row, has_new_vectors=bool(vectors), embedded=done, chunks=chunks))


def _publish(db: sqlite3.Connection, row: Row, document_id: str) -> None:
    _set(db, row, document=document_id)
    _hold_back(db, (row["workflow"], row["user"], document_id), 0.0, row["place"])


def _words_only(db: sqlite3.Connection, row: Row, now: float) -> None:
    _end_earlier(db, row, now)
    _set(db, row, words=1)


def _finish(db: sqlite3.Connection, row: Row, result: Indexed, told: Mapping[str, Any], now: float) -> Row:
    _end_earlier(db, row, now)
    return _set(db, row, **job_rows.finished(result, told))


def _end_earlier(db: sqlite3.Connection, row: Row, now: float) -> None:
    """End the open jobs that were added for the same document before this one, which is in the index."""
    parameters = (row["workflow"], row["user"], row["document"], row["place"])
    _end(db, [earlier["id"] for earlier in db.execute(OF_DOCUMENT, parameters).fetchall()], now)


def _give_back(db: sqlite3.Connection, row: Row) -> Row:
    return _set(db, row, **job_rows.given_back(row))


def _put_off(db: sqlite3.Connection, row: Row, error: RagError, told: Mapping[str, Any], now: float) -> Row:
    return _set(db, row, **job_rows.put_off(row, error, told, now))


def _fail(db: sqlite3.Connection, row: Row, error: RagError, told: Mapping[str, Any]) -> Row:
    return _set(db, row, **job_rows.failed(error, told))


def _set(db: sqlite3.Connection, row: Row, /, **values: Any) -> Row:
    """Change columns of a job and return the new row; when the job ends, its upload and vectors are deleted."""
    if values.get("state", "queued") not in UNDER_WAY:
        values["work"] = None
        db.execute("delete from job_vectors where job = ?", (row["id"],))
    assignments = ", ".join(f"{name} = ?" for name in values)
    sql = f"update index_jobs set {assignments} where place = ? returning *"  # noqa: S608 - our columns
    return dict(db.execute(sql, (*values.values(), row["place"])).fetchone())
