"""The table `queries_log`: what was asked and how it went, the newest so many (S4-31)."""

import asyncio
import json
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from rag_core import side_files
from rag_core.errors import Unavailable

T = TypeVar("T")

COLUMNS = (
    *("created_at", "query", "workflow_id", "user_id", "preset", "status", "confidence"),
    *("metrics", "timings"),  # JSON
)
SCHEMA = """
create table if not exists queries_log(
    id integer primary key autoincrement, created_at text not null, query text, workflow_id text, user_id text,
    preset text, status text, confidence real, metrics text not null, timings text not null);
"""
INSERT = f"insert into queries_log({', '.join(COLUMNS)}) values ({', '.join('?' * len(COLUMNS))})"  # noqa: S608
LAST = f"select {', '.join(COLUMNS)} from queries_log order by id desc limit ?"  # noqa: S608
KEPT = 100_000  # some 100 MB
DEFERRED = 1_000  # kept in memory while the file takes nothing, the newest
BUSY_S = 0.5


class QueriesLog:
    """In the file `path`, or in memory when there is none; opened when first used."""

    name = "queries_log"

    def __init__(self, path: Path | None, *, kept: int = KEPT) -> None:
        self._path, self._kept = path, kept
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._deferred: deque[tuple[Any, ...]] = deque(maxlen=DEFERRED)

    async def record(self, entry: Mapping[str, Any]) -> None:
        self._deferred.append(_row(entry))
        await asyncio.to_thread(self._tried, self._flush)

    async def last(self, limit: int) -> Sequence[Mapping[str, Any]]:
        return await asyncio.to_thread(self._tried, lambda db: [_entry(row) for row in db.execute(LAST, (limit,))])

    async def close(self) -> None:
        with self._lock:
            db, self._db = self._db, None
            if db:
                db.close()

    def _flush(self, db: sqlite3.Connection) -> None:
        """Write what waits, in order; forget the oldest."""
        waiting = list(self._deferred)
        with db:
            db.executemany(INSERT, waiting)
            db.execute("delete from queries_log where id <= (select max(id) from queries_log) - ?", (self._kept,))
        for _ in waiting:
            self._deferred.popleft()

    def _tried(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock, _told():
            return work(self._opened())

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            db = side_files.connect(self._path, busy_s=BUSY_S)
            db.executescript(SCHEMA)
            self._db = db  # only now: one that could not be made is tried anew
        return self._db


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as failure:
        why = failure.strerror if isinstance(failure, OSError) else failure
        raise Unavailable(f"the log of queries: {why}", code="audit_deferred") from failure


def _row(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    """Raises KeyError for what there is no column for: a value must not be lost without a word."""
    if unknown := entry.keys() - set(COLUMNS):
        raise KeyError(f"queries_log has no {', '.join(sorted(unknown))}")
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    json_of = {name: json.dumps(entry.get(name, {}), ensure_ascii=False) for name in ("metrics", "timings")}
    return tuple(({"created_at": now} | dict(entry) | json_of).get(name) for name in COLUMNS)


def _entry(row: Sequence[Any]) -> dict[str, Any]:
    named = dict(zip(COLUMNS, row, strict=True))
    return named | {name: json.loads(named[name]) for name in ("metrics", "timings")}
