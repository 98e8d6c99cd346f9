"""What is to be sent and what was sent, in SQLite: the index is derived from it until the service has it all.

The journal is a rollback journal with synchronous=EXTRA: safe on a file share, with several processes, and in the
SQLite 3.40 of Python 3.11, whose write-ahead log can lose commits (sqlite.org/wal.html#walresetbug).
"""

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rag_core.core import sqlite_files

SCHEMA = """
    create table if not exists jobs(
        id integer primary key autoincrement, workflow text, document text, version text, record text);
    create table if not exists items(
        job integer, place integer, chunk text, body text, state text not null default 'waiting',
        primary key (job, place)) without rowid;
    create table if not exists versions(
        workflow text, document text, version text, chunks integer,
        primary key (workflow, document, version)) without rowid;
"""
WAITING, SENT, REFUSED = "waiting", "sent", "refused"

_told = partial(
    sqlite_files.told,
    "the outbox of the index",
    code="outbox_unavailable",
    full="the outbox of the index takes nothing",
)


@dataclass(frozen=True, slots=True)
class Job:
    """A version of a document on its way; without a `record` it is the document's removal.

    Its chunks are to be seen when the record is `live`, and kept unseen when it is not.
    """

    id: int
    workflow_id: str
    document_id: str
    version: str
    record: dict[str, Any] | None

    @property
    def about(self) -> tuple[str, str]:
        return self.workflow_id, self.document_id

    @property
    def live(self) -> bool:
        return self.record is not None and bool(self.record["live"])


@dataclass(frozen=True, slots=True)
class Item:
    """A chunk of a job: its place is part of its key, `body` its JSON."""

    place: int
    chunk_id: str
    body: str


class Outbox:
    """The file `path`, or memory when there is none: then what is unsent ends with the process."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None

    def add(self, job: Job, bodies: Iterable[tuple[str, dict[str, Any]]]) -> Job:
        """Take on a version, in place of what still waits for the same document. The return is the promise."""
        with self._writing() as db:
            for older in _waiting_for(db, job):
                _forget(db, older)
            id = _added(db, job)
            rows = [(id, place, chunk, _json(body)) for place, (chunk, body) in enumerate(bodies)]
            db.executemany("insert into items(job, place, chunk, body) values (?, ?, ?, ?)", rows)
            if rows:
                db.execute("insert into versions values (?, ?, ?, ?)", (*job.about, job.version, len(rows)))
            return replace(job, id=id)

    def amend(self, job: Job) -> Job:
        """Take on another record for a version; its chunks that still wait go with it."""
        with self._writing() as db:
            older = _waiting_for(db, job)
            id = _added(db, job)
            for one in older:
                db.execute("update items set job = ? where job = ?", (id, one))
                _forget(db, one)
            return replace(job, id=id)

    def waiting_for(self, workflow_id: str, document_id: str) -> Job | None:
        """The document's version that is on its way."""
        about = (workflow_id, document_id)
        return next((job for job in self.jobs() if job.about == about), None)

    def jobs(self) -> list[Job]:
        with self._reading() as db:
            rows = db.execute("select id, workflow, document, version, record from jobs order by id").fetchall()
        return [
            Job(id, workflow, document, version, json.loads(record) if record else None)
            for id, workflow, document, version, record in rows
        ]

    def has(self, job: Job) -> bool:
        with self._reading() as db:
            return db.execute("select 1 from jobs where id = ?", (job.id,)).fetchone() is not None

    def waiting(self, job: Job, *, after: int, limit: int) -> list[Item]:
        """The next items that are not sent yet, in order of their places."""
        sql = "select place, chunk, body from items where job = ? and state = ? and place > ? order by place limit ?"
        with self._reading() as db:
            return [Item(*row) for row in db.execute(sql, (job.id, WAITING, after, limit))]

    def named(self, job: Job, *states: str) -> list[tuple[int, str]]:
        """Place and chunk id of the items in these states."""
        sql = (
            "select place, chunk from items where job = ? and state in (select value from json_each(?)) order by place"
        )
        with self._reading() as db:
            return [(place, chunk) for place, chunk in db.execute(sql, (job.id, json.dumps(states)))]

    def settle(self, job: Job, places: Iterable[int], state: str) -> None:
        """What was sent is not needed again; what was refused is kept by name only."""
        with self._writing() as db:
            rows = [(state, job.id, place) for place in places]
            db.executemany("update items set state = ?, body = '' where job = ? and place = ?", rows)

    def versions(self, workflow_id: str, document_id: str) -> list[tuple[str, int]]:
        """The versions that may be in the index by this outbox's doing, with the number of their chunks."""
        sql = "select version, chunks from versions where workflow = ? and document = ?"
        with self._reading() as db:
            return [(version, chunks) for version, chunks in db.execute(sql, (workflow_id, document_id))]

    def finish(self, job: Job) -> None:
        """The service has it all: only this version is left."""
        with self._writing() as db:
            _forget(db, job.id)
            sql = "delete from versions where workflow = ? and document = ? and version <> ?"
            db.execute(sql, (*job.about, job.version))

    def scrub(self) -> None:
        """Write the file anew: no byte is left in it of what was removed."""
        with self._reading() as db:
            db.execute("vacuum")

    def close(self) -> None:
        with self._lock:
            db, self._db = self._db, None
            if db:
                db.close()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _told():
            yield self._opened()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _told(), self._opened() as db:  # which commits, or rolls back
            db.execute("begin immediate")
            yield db

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            db = sqlite_files.connect(self._path, busy_s=5.0, isolation_level=None)
            db.execute("pragma synchronous = extra")
            db.executescript(SCHEMA)
            self._db = db  # only now: one that could not be made is tried anew
        return self._db


def _waiting_for(db: sqlite3.Connection, job: Job) -> list[int]:
    return [id for (id,) in db.execute("select id from jobs where workflow = ? and document = ?", job.about).fetchall()]


def _added(db: sqlite3.Connection, job: Job) -> int:
    record = None if job.record is None else json.dumps(job.record)
    values = (*job.about, job.version, record)
    sql = "insert into jobs(workflow, document, version, record) values (?, ?, ?, ?)"
    return db.execute(sql, values).lastrowid or 0


def _forget(db: sqlite3.Connection, job: int) -> None:
    db.execute("delete from items where job = ?", (job,))
    db.execute("delete from jobs where id = ?", (job,))


def _json(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace").decode()
