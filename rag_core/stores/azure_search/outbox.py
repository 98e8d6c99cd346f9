"""The outbox in SQLite: accepted changes that the search service has not applied yet."""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rag_core.core.sqlite_files import DurableSqliteFile

OUTBOX_TABLES_SQL = """
    create table if not exists jobs(
        id integer primary key autoincrement, workflow text, document text, version text, record text);
    create table if not exists items(
        job integer, place integer, chunk text, body text, state text not null default 'waiting',
        primary key (job, place)) without rowid;
    create table if not exists versions(
        workflow text, document text, version text, chunks integer,
        primary key (workflow, document, version)) without rowid;
"""
ITEM_WAITING, ITEM_SENT, ITEM_REFUSED = "waiting", "sent", "refused"


@dataclass(frozen=True, slots=True)
class OutboxJob:
    """A document version to be sent; without a `record`, the removal of the document.

    Its chunks become searchable when the record is live, and hidden when it is not.
    """

    id: int
    workflow_id: str
    document_id: str
    version: str
    record: dict[str, Any] | None

    @property
    def document_ref(self) -> tuple[str, str]:
        return self.workflow_id, self.document_id

    @property
    def is_live(self) -> bool:
        return self.record is not None and bool(self.record["live"])


@dataclass(frozen=True, slots=True)
class OutboxItem:
    """A chunk of a job: its position is part of its key, `body` is its JSON."""

    position: int
    chunk_id: str
    body: str


class Outbox:
    """The outbox in the file `path`; without one, in memory, and unsent changes are lost when the process ends."""

    def __init__(self, path: Path | None) -> None:
        self._file = DurableSqliteFile(
            path,
            OUTBOX_TABLES_SQL,
            name="the outbox of the index",
            code="outbox_unavailable",
            disk_full_effect="the outbox of the index accepts no changes",
        )

    def add(self, job: OutboxJob, bodies: Iterable[tuple[str, dict[str, Any]]]) -> OutboxJob:
        """Accept a version, replacing any unsent one of the same document; the change is durable on return."""
        with self._file.transaction() as db:
            for old_id in _list_job_ids(db, job):
                _delete_outbox_job(db, old_id)
            id = _insert_outbox_job(db, job)
            rows = [
                (id, position, chunk_id, _encode_outbox_json(body)) for position, (chunk_id, body) in enumerate(bodies)
            ]
            db.executemany("insert into items(job, place, chunk, body) values (?, ?, ?, ?)", rows)
            if rows:
                db.execute("insert into versions values (?, ?, ?, ?)", (*job.document_ref, job.version, len(rows)))
            return replace(job, id=id)

    def amend(self, job: OutboxJob) -> OutboxJob:
        """Accept a new record for a version; unsent chunks of the version are sent with it."""
        with self._file.transaction() as db:
            old_ids = _list_job_ids(db, job)
            id = _insert_outbox_job(db, job)
            for old_id in old_ids:
                db.execute("update items set job = ? where job = ?", (id, old_id))
                _delete_outbox_job(db, old_id)
            return replace(job, id=id)

    def find_job(self, workflow_id: str, document_id: str) -> OutboxJob | None:
        """Return the unsent job of a document, if there is one."""
        document_ref = (workflow_id, document_id)
        return next((job for job in self.list_jobs() if job.document_ref == document_ref), None)

    def list_jobs(self) -> list[OutboxJob]:
        """Return all jobs, oldest first."""
        with self._file.connection() as db:
            rows = db.execute("select id, workflow, document, version, record from jobs order by id").fetchall()
        return [
            OutboxJob(id, workflow, document, version, json.loads(record) if record else None)
            for id, workflow, document, version, record in rows
        ]

    def has_job(self, job: OutboxJob) -> bool:
        """Return whether the job is still to be sent."""
        with self._file.connection() as db:
            return db.execute("select 1 from jobs where id = ?", (job.id,)).fetchone() is not None

    def list_items(self, job: OutboxJob, state: str, *, after: int, limit: int) -> list[OutboxItem]:
        """Return the next items in a state, in order of their positions."""
        sql = "select place, chunk, body from items where job = ? and state = ? and place > ? order by place limit ?"
        with self._file.connection() as db:
            return [OutboxItem(*row) for row in db.execute(sql, (job.id, state, after, limit))]

    def list_positions_and_chunk_ids(self, job: OutboxJob, *states: str) -> list[tuple[int, str]]:
        """Return position and chunk id of the items in these states, in order of position."""
        sql = (
            "select place, chunk from items where job = ? and state in (select value from json_each(?)) order by place"
        )
        with self._file.connection() as db:
            return [(position, chunk_id) for position, chunk_id in db.execute(sql, (job.id, json.dumps(states)))]

    def set_item_states(
        self, job: OutboxJob, positions: Iterable[int], state: str, *, drops_bodies: bool = True
    ) -> None:
        """Set the state of these items and drop their bodies, unless they are to be sent once more."""
        body = "''" if drops_bodies else "body"
        with self._file.transaction() as db:
            rows = [(state, job.id, position) for position in positions]
            db.executemany(f"update items set state = ?, body = {body} where job = ? and place = ?", rows)  # noqa: S608

    def list_versions(self, workflow_id: str, document_id: str) -> list[tuple[str, int]]:
        """Return the versions of a document that this outbox may have sent, with the number of their chunks."""
        sql = "select version, chunks from versions where workflow = ? and document = ?"
        with self._file.connection() as db:
            return [(version, chunks) for version, chunks in db.execute(sql, (workflow_id, document_id))]

    def finish_job(self, job: OutboxJob) -> None:
        """Remove a job that the service has applied completely, and forget all other versions of the document."""
        with self._file.transaction() as db:
            _delete_outbox_job(db, job.id)
            sql = "delete from versions where workflow = ? and document = ? and version <> ?"
            db.execute(sql, (*job.document_ref, job.version))

    def erase_deleted_bytes(self) -> None:
        """Rewrite the file so that no deleted byte remains."""
        with self._file.connection() as db:
            db.execute("vacuum")

    def close(self) -> None:
        self._file.close()


def _list_job_ids(db: sqlite3.Connection, job: OutboxJob) -> list[int]:
    return [
        id
        for (id,) in db.execute("select id from jobs where workflow = ? and document = ?", job.document_ref).fetchall()
    ]


def _insert_outbox_job(db: sqlite3.Connection, job: OutboxJob) -> int:
    record = None if job.record is None else json.dumps(job.record)
    values = (*job.document_ref, job.version, record)
    sql = "insert into jobs(workflow, document, version, record) values (?, ?, ?, ?)"
    return db.execute(sql, values).lastrowid or 0


def _delete_outbox_job(db: sqlite3.Connection, job: int) -> None:
    db.execute("delete from items where job = ?", (job,))
    db.execute("delete from jobs where id = ?", (job,))


def _encode_outbox_json(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace").decode()
