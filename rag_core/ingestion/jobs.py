"""The table of long work, in SQLite: what was acknowledged is in it until it is in the index.

A rollback journal with synchronous=EXTRA, which is FULL and the folder's entry besides: safe on a file share, with
several processes, and in the SQLite 3.40 of Python 3.11, whose write-ahead log can lose commits (RELIABILITY F8).
Secure delete: what is removed is overwritten, as a purged document must not stay here.
"""

import asyncio
import hashlib
import json
import sqlite3
import threading
import time
import uuid
from array import array
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from rag_core import side_files
from rag_core.errors import Conflict, RagError
from rag_core.model import Indexed, Job, Scope, Vector

SCHEMA = """
    create table if not exists index_jobs(
        place integer primary key autoincrement, id text not null unique, workflow text not null,
        user text not null, groups text not null, document text, key text, fingerprint text not null, work blob,
        state text not null default 'queued', attempts integer not null default 0, words integer not null default 0,
        done integer not null default 0, chunks integer not null default 0, error text, result text, told text,
        lease text, lease_until real not null default 0, due real not null default 0,
        created real not null, updated real not null);
    create unique index if not exists index_jobs_by_key on index_jobs(workflow, user, key)
        where key is not null and state <> 'failed';
    create index if not exists index_jobs_open on index_jobs(state) where state in ('queued', 'running');
    create table if not exists job_vectors(
        job text not null, space text not null, hash text not null, vector blob not null,
        primary key (job, space, hash)) without rowid;
"""
LEASE_S = 60.0
MAX_ATTEMPTS = 8  # without any progress
PAUSES_S = (5.0, 20.0, 80.0, 320.0, 1280.0, 3600.0)  # before the second attempt, the third, and so on: some 3 hours
KEPT_S = 7 * 24 * 3600.0  # how long one that ended is told of, and its key known

# Due, or held by one whose lease ran out; not while another of the same document is in hands.
NEXT = """
    select place from index_jobs one
    where (state = 'queued' and due <= :now or state = 'running' and lease_until <= :now)
    and not exists (
        select 1 from index_jobs other where other.state = 'running' and other.lease_until > :now
        and (other.workflow, other.user, other.document) = (one.workflow, one.user, one.document))
    order by place limit 1
"""
TAKE = """
    update index_jobs set state = 'running', lease = :lease, lease_until = :until, attempts = attempts + 1,
    updated = :now where place = :place returning *
"""
OF_DOCUMENT = """
    select place, id, state from index_jobs
    where workflow = ? and user = ? and document = ? and work is not null and place < ifnull(?, place + 1)
"""
ENDED = RagError("the worker ended before the work did, each time", code="worker_ended")
SUPERSEDED = RagError("a later change of the document took its place", code="superseded")

P = ParamSpec("P")
T = TypeVar("T")
Row = sqlite3.Row

_told = partial(
    side_files.told, "the table of long work", code="jobs_unavailable", full="no more long work is taken on"
)


class JobTable:
    """The `Jobs` of the file `path`, or of memory when there is none: then what is undone ends with the process."""

    def __init__(self, path: Path | None, *, now: Callable[[], float] = time.time) -> None:
        self._path, self._now = path, now
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None

    async def add(
        self, work: bytes, scope: Scope, *, document_id: str | None, key: str | None = None, hold: bool = False
    ) -> tuple[Job, "JobLease | None"]:
        row, new = await self.write(_add, self._now(), work, scope, document_id, key, hold)
        return _job(row), JobLease(self, row) if hold and new else None

    async def get(self, id: str, user_id: str | None) -> Job | None:
        row = await self.write(_get, id, user_id or "")
        return None if row is None else _job(row)

    async def claim(self) -> "JobLease | None":
        row = await self.write(_claim, self._now())
        return None if row is None else JobLease(self, row)

    async def supersede(self, document_id: str, scope: Scope) -> None:
        await self.write(_supersede, self._now(), (scope.workflow_id, scope.user_id or "", document_id))

    async def close(self) -> None:
        with self._lock:
            db, self._db = self._db, None
            if db:
                db.close()

    async def write(
        self, function: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Do it in one durable step, in a thread."""

        def work() -> T:
            with self._lock, _told(), self._opened() as db:  # which commits, or rolls back
                db.execute("begin immediate")
                return function(db, *args, **kwargs)

        return await asyncio.to_thread(work)

    @property
    def now(self) -> float:
        return self._now()

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            db = side_files.connect(self._path, busy_s=5.0, isolation_level=None)
            db.row_factory = sqlite3.Row
            db.execute("pragma synchronous = extra")
            db.execute("pragma secure_delete = on")
            db.executescript(SCHEMA)
            self._db = db  # only now: one that could not be made is tried anew
        return self._db


@dataclass(frozen=True, slots=True)
class JobLease:
    """A `Lease`: every write of it asks first whether it still holds."""

    table: JobTable
    row: Row

    @property
    def job(self) -> Job:
        return _job(self.row)

    @property
    def work(self) -> bytes:
        return bytes(self.row["work"])

    async def renew(self) -> None:
        await self._write(lambda db, row: None)  # any write renews

    async def vectors(self, space: str) -> Mapping[str, Vector]:
        return await self._write(_vectors, space)

    async def keep(self, vectors: Mapping[str, Vector], space: str, *, done: int, chunks: int) -> None:
        await self._write(_keep, vectors, space, done, chunks)

    async def publish(self, document_id: str) -> None:
        await self._write(_publish, document_id, self.table.now)

    async def words_only(self) -> None:
        await self._write(_set, words=1)

    async def finish(self, result: Indexed, told: Mapping[str, Any]) -> Job:
        return _job(await self._write(_finish, result, told))

    async def give_back(self) -> Job:
        return _job(await self._write(_set, state="queued", attempts=self.row["attempts"] - 1))

    async def put_off(self, error: RagError, told: Mapping[str, Any]) -> Job:
        return _job(await self._write(_put_off, _contract(error), told, self.table.now))

    async def fail(self, error: RagError, told: Mapping[str, Any]) -> Job:
        return _job(await self._write(_fail, _contract(error), told))

    async def _write(
        self, function: Callable[Concatenate[sqlite3.Connection, Row, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        def held(db: sqlite3.Connection) -> T:
            return function(db, _renewed(db, self.row["lease"], self.table.now), *args, **kwargs)

        return await self.table.write(held)


def _add(
    db: sqlite3.Connection, now: float, work: bytes, scope: Scope, document_id: str | None, key: str | None, hold: bool
) -> tuple[Row, bool]:
    """The job, and whether it is new: a key that was used stands for the job it was used for."""
    _forget_old(db, now - KEPT_S)
    owner, mark = (scope.workflow_id, scope.user_id or ""), hashlib.sha256(work).hexdigest()
    by_key = "select * from index_jobs where workflow = ? and user = ? and key = ? and state <> 'failed'"
    if earlier := db.execute(by_key, (*owner, key)).fetchone():
        if earlier["fingerprint"] != mark:
            raise Conflict("the idempotency key was used for another upload", code="idempotency_key_reused")
        return earlier, False
    sql = """insert into index_jobs(id, workflow, user, groups, document, key, fingerprint, work, created, updated)
        values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning *"""
    values = (uuid.uuid4().hex, *owner, json.dumps(scope.groups), document_id, key, mark, work, now, now)
    row = db.execute(sql, values).fetchone()
    return (_take(db, now, row["place"]) if hold else row), True


def _forget_old(db: sqlite3.Connection, until: float) -> None:
    db.execute("delete from index_jobs where state in ('done', 'failed') and updated < ?", (until,))
    db.execute("delete from job_vectors where job not in (select id from index_jobs)")


def _get(db: sqlite3.Connection, id: str, user: str) -> Row | None:
    row: Row | None = db.execute("select * from index_jobs where id = ? and user = ?", (id, user)).fetchone()
    return row


def _claim(db: sqlite3.Connection, now: float) -> Row | None:
    ended = (
        "update index_jobs set state = 'failed', error = ?, updated = ? where state = 'running' and lease_until <= ?"
    )
    db.execute(f"{ended} and attempts >= ?", (_contract(ENDED), now, now, MAX_ATTEMPTS))
    place = db.execute(NEXT, {"now": now}).fetchone()
    return _take(db, now, place[0]) if place else None


def _take(db: sqlite3.Connection, now: float, place: int) -> Row:
    asked = {"lease": uuid.uuid4().hex, "until": now + LEASE_S, "now": now, "place": place}
    row: Row = db.execute(TAKE, asked).fetchone()
    return row


def _supersede(db: sqlite3.Connection, now: float, about: tuple[str, str, str], before: int | None = None) -> None:
    """End what is under way for a document, and forget its text; only the jobs `before` one, when it is named."""
    for place, id, state in db.execute(OF_DOCUMENT, (*about, before)).fetchall():
        db.execute("delete from job_vectors where job = ?", (id,))
        db.execute("update index_jobs set work = null where place = ?", (place,))
        if state in ("queued", "running"):
            sql = "update index_jobs set state = 'failed', error = ?, updated = ? where place = ?"
            db.execute(sql, (_contract(SUPERSEDED), now, place))


def _renewed(db: sqlite3.Connection, lease: str, now: float) -> Row:
    sql = "update index_jobs set lease_until = ?, updated = ? where lease = ? and state = 'running' returning *"
    row: Row | None = db.execute(sql, (now + LEASE_S, now, lease)).fetchone()
    if row is None:
        raise Conflict("another took the job over", code="job_taken_over")
    return row


def _vectors(db: sqlite3.Connection, row: Row, space: str) -> dict[str, Vector]:
    found = db.execute("select hash, vector from job_vectors where job = ? and space = ?", (row["id"], space))
    return {hash: array("f", packed).tolist() for hash, packed in found}


def _keep(db: sqlite3.Connection, row: Row, vectors: Mapping[str, Vector], space: str, done: int, chunks: int) -> None:
    rows = [(row["id"], space, hash, array("f", vector).tobytes()) for hash, vector in vectors.items()]
    db.executemany("insert or replace into job_vectors values (?, ?, ?, ?)", rows)
    _set(db, row, done=done, chunks=chunks, attempts=1 if vectors else row["attempts"])  # it gets on


def _publish(db: sqlite3.Connection, row: Row, document_id: str, now: float) -> None:
    _set(db, row, document=document_id)
    _supersede(db, now, (row["workflow"], row["user"], document_id), row["place"])


def _finish(db: sqlite3.Connection, row: Row, result: Indexed, told: Mapping[str, Any]) -> Row:
    db.execute("delete from job_vectors where job = ?", (row["id"],))
    chunks = result.chunks
    ended = {"result": json.dumps(asdict(result)), "error": None, "work": None, "words": 0, "done": chunks}
    return _set(db, row, state="done", chunks=chunks, told=json.dumps(told), **ended)


def _put_off(db: sqlite3.Connection, row: Row, error: str, told: Mapping[str, Any], now: float) -> Row:
    if row["attempts"] >= MAX_ATTEMPTS:
        return _set(db, row, state="failed", error=error, told=json.dumps(told))
    pause_s = PAUSES_S[min(row["attempts"], len(PAUSES_S)) - 1]
    return _set(db, row, state="queued", due=now + pause_s, error=error, told=json.dumps(told))


def _fail(db: sqlite3.Connection, row: Row, error: str, told: Mapping[str, Any]) -> Row:
    db.execute("delete from job_vectors where job = ?", (row["id"],))
    return _set(db, row, state="failed", error=error, told=json.dumps(told), work=None)


def _set(db: sqlite3.Connection, row: Row, /, **values: str | float | None) -> Row:
    named = ", ".join(f"{name} = ?" for name in values)
    sql = f"update index_jobs set {named} where place = ? returning *"  # noqa: S608 - names of our own
    changed: Row = db.execute(sql, (*values.values(), row["place"])).fetchone()
    return changed


def _contract(error: RagError) -> str:
    told = {"code": error.code, "message": error.message, "field": error.field, "retryable": error.retryable}
    return json.dumps({**told, "details": error.details}, default=str)


def _job(row: Row) -> Job:
    result = json.loads(row["result"]) if row["result"] else None
    return Job(
        id=row["id"],
        scope=Scope(row["workflow"], row["user"] or None, tuple(json.loads(row["groups"]))),
        document_id=row["document"],
        state=row["state"],
        attempts=row["attempts"],
        embedded=row["done"],
        chunks=row["chunks"],
        words_only=bool(row["words"]),
        error=json.loads(row["error"]) if row["error"] else None,
        result=result and Indexed(**{**result, "failed": tuple(result["failed"])}),
        told=json.loads(row["told"]) if row["told"] else {},
        created_at=_iso(row["created"]),
        updated_at=_iso(row["updated"]),
    )


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
